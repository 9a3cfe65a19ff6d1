"""How Lucene cuts texts into terms: Anserini's English analyzer with Porter stems, and stop words of one's choice."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from mpir.retrieve.java import java_class
from mpir.text.terms import StopWords, stop_words_of

PORTER = "DefaultEnglishAnalyzer (Porter)"
ANALYZERS: Mapping[str, StopWords] = {
    PORTER if name == "english" else f"{PORTER}, stop words: {name}": name for name in get_args(StopWords)
}
"""The stop words of an index by what its manifest calls the analyzer."""
FILE = "stop-words.txt"


def analyzer_name(stop_words: StopWords) -> str:
    """What a manifest calls the analyzer with these stop words."""
    return next(name for name, choice in ANALYZERS.items() if choice == stop_words)


def analyzer(stop_words: StopWords) -> Any:
    """Lucene's analyzer of queries. One must read queries with the stop words that its index was made with."""
    words = java_class("java.util.ArrayList")()
    for word in sorted(stop_words_of(stop_words)):
        words.add(word)
    left_out = java_class("org.apache.lucene.analysis.CharArraySet")(words, False)
    return java_class("io.anserini.analysis.DefaultEnglishAnalyzer").newStemmingInstance("porter", left_out)


def indexing_options(stop_words: StopWords, folder: Path) -> list[str]:
    """The options with which Anserini indexes so. Other stop words than its own it takes from a file in the folder."""
    if stop_words == "english":
        return []
    (folder / FILE).write_text("".join(f"{word}\n" for word in sorted(stop_words_of(stop_words))), encoding="utf-8")
    return ["-stopwords", str(folder / FILE)]
