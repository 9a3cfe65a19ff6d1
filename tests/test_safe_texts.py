"""What a file or a server says never commands a terminal or a spreadsheet, and never repeats a key."""

import csv
import io
import json
import logging
import os
import pty
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpir import Perspective, Reranker
from mpir.errors import (
    KEYS,
    EndpointError,
    InputError,
    SafeFormatter,
    error_context,
    format_names,
    format_value,
    printable,
    shortened,
)
from mpir.reranking.render.spreadsheet import spreadsheet
from tests.faults.report import count

ESCAPES = "\x1b[2J\x1b]0;title\x07\x1b]8;;http://a.example\x1b\\\x9b31m\x7f\x08\r\u202e"
FORBIDDEN = set(ESCAPES) - set(printable(ESCAPES))
DOCUMENT = {
    "id": f"1{ESCAPES}",
    "title": f"Aspirin{ESCAPES}",
    "text": f"Aspirin does {ESCAPES} thin the blood. It is old.",
    "journal": f"Heart{ESCAPES}",
    "pmid": "7",
}


class Ones(Perspective):
    name = '=HYPERLINK("http://a.example")'

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> np.ndarray[Any, Any]:
        return np.ones(len(pairs))

    def explain(self, query: str, sentence: str) -> list[str]:
        return [f"because{ESCAPES}"]


def test_a_ranking_is_shown_without_control_characters() -> None:
    ranking = Reranker(perspectives=[Ones()]).rerank(f"thin{ESCAPES}", [DOCUMENT])
    forms = (ranking.table, lambda: ranking.sentence_table(3), ranking.explain, ranking.to_markdown, ranking.to_ris,
             ranking.to_nbib, lambda: spreadsheet(ranking))  # fmt: skip
    count("control characters", len(forms))
    for form in forms:
        text = form()
        assert "Aspirin" in text or "=HYPERLINK" in text
        assert not FORBIDDEN & set(text.replace("\r\n", "\n"))


def test_the_heads_of_a_spreadsheet_are_no_formulas() -> None:
    count("formulas in a spreadsheet")
    ranking = Reranker(perspectives=[Ones()]).rerank("thin", [{**DOCUMENT, "id": "=1+1"}])
    for sentences in (None, 3):
        rows = list(csv.reader(io.StringIO(spreadsheet(ranking, sentences))))
        assert not any(cell.startswith("=") for row in rows for cell in row)
        assert f"'{Ones.name}" in rows[0]


@pytest.mark.parametrize("form", ["table", "jsonl", "trec", "md", "csv"])
def test_a_terminal_gets_no_control_characters(form: str, tiny_bundle: Path, tmp_path: Path) -> None:
    """Whatever the format; in a pipe, JSON keeps the texts as they are."""
    count("control characters")
    (tmp_path / "a.jsonl").write_text(json.dumps(DOCUMENT))
    command = [sys.executable, "-m", "mpir", "rerank", "aspirin", "--docs", str(tmp_path / "a.jsonl"), "--quiet"]
    master, slave = pty.openpty()
    process = subprocess.Popen([*command, "--bundle", str(tiny_bundle), "--format", form], stdout=slave, stderr=slave)
    os.close(slave)
    shown = b""
    try:
        while block := os.read(master, 4096):
            shown += block
    except OSError:  # the end of a terminal on Linux
        pass
    finally:
        os.close(master)
    assert process.wait() == 0, shown
    text = shown.decode().replace("\r\n", "\n")
    assert "1" in text
    assert not FORBIDDEN & set(text)


def test_errors_and_logs_have_no_control_characters_and_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS:
        count("keys in messages")
        monkeypatch.setenv(name, f"key-of-{name}")
        said = f"wrong key key-of-{name}{ESCAPES}"
        texts = [
            str(EndpointError(said)),
            shortened(f"{'a' * 70} {said}"),
            format_value(f"{'a' * 70} {said}"),
            format_value({"message": said}),
            format_names([said]),
            SafeFormatter("%(message)s").format(logging.makeLogRecord({"msg": "%s", "args": (said,)})),
        ]
        with pytest.raises(InputError) as caught, error_context(said):
            raise InputError("no")
        for text in (*texts, str(caught.value)):
            assert not FORBIDDEN & set(text)
            assert "key-of" not in text


def test_a_short_key_is_no_word_to_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPIR_LLM_KEY", "none")
    assert str(InputError("there is none")) == "there is none"
