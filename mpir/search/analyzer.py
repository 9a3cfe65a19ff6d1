"""Tokenise texts for Lucene: Anserini's English analyzer with Porter stems and a choice of stop words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from mpir.core.text.terms import StopWords, stop_words_of
from mpir.search.java import java_class

PORTER = "DefaultEnglishAnalyzer (Porter)"
ANALYZERS: Mapping[str, StopWords] = {
    PORTER if name == "english" else f"{PORTER}, stop words: {name}": name for name in get_args(StopWords)
}
"""Stop words by the analyzer's name in the manifest of an index."""
FILE = "stop-words.txt"


def analyzer_name(stop_words: StopWords) -> str:
    """Return the name in manifests of the analyzer with these stop words."""
    return next(name for name, choice in ANALYZERS.items() if choice == stop_words)


def analyzer(stop_words: StopWords) -> Any:
    """Return Lucene's analyzer for queries, which must have the stop words of the index."""
    words = java_class("java.util.ArrayList")()
    for word in sorted(stop_words_of(stop_words)):
        words.add(word)
    left_out = java_class("org.apache.lucene.analysis.CharArraySet")(words, False)
    return java_class("io.anserini.analysis.DefaultEnglishAnalyzer").newStemmingInstance("porter", left_out)


def indexing_options(stop_words: StopWords, folder: Path) -> list[str]:
    """Return Anserini's indexing options for these stop words; custom ones are read from a file in the folder."""
    if stop_words == "english":
        return []
    (folder / FILE).write_text("".join(f"{word}\n" for word in sorted(stop_words_of(stop_words))), encoding="utf-8")
    return ["-stopwords", str(folder / FILE)]
