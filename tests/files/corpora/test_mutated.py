"""Mutated exports: each is read or refused in one sentence, and no record that is whole gets lost."""

import os
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from mpir.core.text.legible import without_markup
from mpir.core.text.types import Document
from mpir.errors import InputError
from mpir.files.corpora import read_corpus
from mpir.files.corpora.deduplicate import without_copies
from tests.faults.report import count
from tests.files.corpora.exports import FORMATS, Paper
from tests.files.corpora.mutations import Export, exports

FILES = int(os.environ.get("MPIR_MUTATIONS", "350"))
"""How many files; `make fuzz` reads 5,000."""
SLOWEST = 10
"""Seconds of processor time for a file."""


@pytest.mark.parametrize("format_name", FORMATS)
def test_every_record_is_read_or_the_file_refused(format_name: str, tmp_path: Path) -> None:
    if format_name == "BibTeX":
        pytest.importorskip("bibtexparser")

    @settings(max_examples=-(-FILES // len(FORMATS)), suppress_health_check=[HealthCheck.data_too_large])
    @given(exports(format_name))
    def read(export: Export) -> None:
        path = tmp_path / export.name
        path.write_bytes(export.content)
        begin = time.process_time()
        outcome = _outcome(path, export)
        assert time.process_time() - begin < SLOWEST
        count(f"{format_name}, {'damaged' if export.is_damaged else 'whole'}: {outcome}")

    read()


def _outcome(path: Path, export: Export) -> str:
    try:
        documents = list(read_corpus([path]))
    except InputError as error:
        assert export.is_damaged, error
        assert path.name in str(error)
        assert str(error).endswith(".")
        assert "\n" not in str(error)
        return "refused"
    expected, found = Counter(map(_of_paper, export.undamaged)), Counter(map(_of_document, documents))
    if export.is_damaged:
        assert not expected - found
        return "read"
    assert found == expected
    assert Counter(map(_of_document, without_copies(documents))) == Counter(dict.fromkeys(expected, 1))
    return "read"


Record = tuple[str, str, str, str]


def _of_paper(paper: Paper) -> Record:
    return paper.pmid, _words(paper.title), _words(paper.abstract), paper.doi


def _words(text: str) -> str:
    """A text without markup, which readers of references leave out, and with single spaces."""
    return " ".join(without_markup(text).split())


def _of_document(document: Document) -> Record:
    title, abstract = _words(document.title), _words(document.abstract)
    return document.id, title, abstract, document.metadata.get("doi", "")
