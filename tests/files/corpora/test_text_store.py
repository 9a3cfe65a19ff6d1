"""Texts on disk: a changed byte is detected, and the texts are read again."""

import json
import logging
from pathlib import Path

import pytest

from mpir.files.corpora.text_store import DATABASE, Texts
from mpir.files.folder_format import FILE_LIST
from mpir.files.write import cache_folder
from tests import damage
from tests.damage import check_flips

TEXTS = {"1": "Aspirin thins blood.", "2": "Genes in cells.", "3": "naïve"}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in TEXTS.items()))
    return path


def test_every_changed_byte_is_read_anew(corpus: Path, caplog: pytest.LogCaptureFixture) -> None:
    def read() -> dict[str, str]:
        return Texts.of_corpus([corpus]).find(TEXTS)

    assert read() == TEXTS
    caplog.set_level(logging.WARNING)
    for name in (DATABASE, FILE_LIST):
        (file,) = cache_folder().rglob(name)
        assert check_flips([file], read, number=25) == 0
    assert "texts are read again." in caplog.text


def test_texts_without_a_list_of_files_are_read_anew(corpus: Path) -> None:
    Texts.of_corpus([corpus])
    (file,) = cache_folder().rglob(DATABASE)
    damage.write(file, b"damaged")
    file.with_name(FILE_LIST).unlink()
    assert Texts.of_corpus([corpus]).find(["3"]) == {"3": "naïve"}
