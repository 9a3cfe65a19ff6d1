"""Pairs by a lexicon: what sentences affirm and deny, and the command that writes them."""

import json
from pathlib import Path

import pytest

from mpir.app.cli import main
from mpir.core.text import Document
from mpir.lab.annotate import Lexicon
from mpir.lab.annotate.pairs import lexicon_pairs, report_sentences

LEXICON = Lexicon.of({"pleural effusion": ["effusion*"], "edema": ["edema"]})
REPORTS = [
    Document("1", "", "Small effusion.No edema."),
    Document("2", "", "SMALL EFFUSION. Edema cannot be excluded. Clear apex."),
]


def test_sentences_answer_what_they_affirm_and_deny() -> None:
    texts = report_sentences(REPORTS)
    assert texts == ["small effusion.", "no edema.", "edema cannot be excluded.", "clear apex."]
    assert lexicon_pairs(texts, LEXICON) == {"no edema": ["no edema."], "pleural effusion": ["small effusion."]}
    assert lexicon_pairs(texts, LEXICON, fewest=2) == {}


def test_the_command_writes_rows_of_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    LEXICON.save(tmp_path / "lexicon.tsv")
    lines = [json.dumps({"id": report.id, "text": report.abstract}) for report in REPORTS]
    (tmp_path / "reports.jsonl").write_text("\n".join(lines))
    files = [str(tmp_path / "reports.jsonl"), "--lexicon", str(tmp_path / "lexicon.tsv")]
    output = ["--output", str(tmp_path / "pairs.jsonl")]
    assert main(["data", "lexicon-pairs", *files, *output]) == 0
    assert "2 pairs of 2 queries, from 4 different sentences" in capsys.readouterr().out
    first = json.loads((tmp_path / "pairs.jsonl").read_text().splitlines()[0])
    assert first == {"id": "no edema", "question": "no edema", "sentence": "no edema.", "label": 1}
    assert main(["data", "lexicon-pairs", *files, *output, "--overwrite", "--set", "pairs.fewest=9"]) == 2
    assert "pairs.jsonl: no sentence mentions" in capsys.readouterr().err
