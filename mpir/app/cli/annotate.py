"""``mpir annotate``: a lexicon's concepts in documents, each affirmed, negated, possible or historical."""

from __future__ import annotations

import json
import logging
import sys
from typing import TYPE_CHECKING, Any

from mpir.app.cli.lexicon_options import NOT_FOR_CLINICAL_USE, AnnotationArguments, load_annotation

if TYPE_CHECKING:
    from mpir.core.text import Document
    from mpir.lab.annotate import Lexicon, NegEx
    from mpir.lab.annotate.mentions import Matcher

log = logging.getLogger(__name__)

EPILOG = """\
A lexicon is a UTF-8 file with a concept, a tab and a phrase on each line. A phrase that ends with * matches any ending;
one that begins with ! is never a mention of its concept. The output is one JSON object per document:
  {"id": "…", "mentions": [{"concept": "pleural effusion", "phrase": "effusion*", "section": "abstract",
                            "begin": 3, "end": 11, "status": "negated", "trigger": "No"}, …]}
It is not for clinical use.

examples:
  mpir annotate notes.jsonl --lexicon diseases.tsv
  mpir annotate reports.jsonl --lexicon chest-xray.tsv --set lexicon.triggers=negation,hedges,radiology
"""


def run(arguments: AnnotationArguments) -> int:
    """Annotate and print; 0 is the exit status. Raises MpirError for a user's mistake."""
    from mpir.files.corpora.corpus import read_corpus

    annotation = load_annotation(arguments)
    print(f"mpir annotate: {NOT_FOR_CLINICAL_USE}", file=sys.stderr)
    blank = 0
    for document in read_corpus(arguments.paths):
        blank += not document.text.strip()
        print(json.dumps(_record(document, *annotation), ensure_ascii=False))
    if blank:
        log.warning("documents without text, and therefore without mentions: %d", blank)
    return 0


def _record(document: Document, lexicon: Lexicon, negation: NegEx, matcher: Matcher) -> dict[str, Any]:
    from mpir.core.text.split import sentences
    from mpir.lab.annotate import annotate

    split_sentences = sentences(document, splitting="report")
    mentions = [
        {
            "concept": mention.concept,
            "phrase": mention.phrase,
            "section": sentence.section,
            "begin": mention.begin,
            "end": mention.end,
            "status": mention.status,
            "trigger": mention.trigger,
        }
        for sentence, several in zip(
            split_sentences, annotate(split_sentences, lexicon, negation=negation, matcher=matcher), strict=True
        )
        for mention in several
    ]
    return {"id": document.id, "mentions": mentions}
