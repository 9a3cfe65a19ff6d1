"""A language model without knowledge, for trying the generative step."""

import runpy
import sys
from pathlib import Path

import pytest

from mpir.lab.sia.writer import Decoding, Writer

ROOT = Path(__file__).parents[2]
MAIN = runpy.run_path(str(ROOT / "data_scripts/tiny_writer.py"))["main"]


def make(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["tiny_writer", *map(str, arguments)])
    return int(MAIN())


def test_it_can_write_and_is_the_same_for_a_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"id": "1", "text": "Insulin lowers sugar. Glucagon raises it."}\n')
    for name in ("one", "two"):
        assert make(monkeypatch, corpus, "--output", tmp_path / name, "--vocabulary", 300) == 0
    item, two = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "two"))
    assert item == two
    writer = Writer(tmp_path / "one", "query", device="cpu")
    assert writer.tokenizer.decode(writer.tokenizer.encode("Zinc lowers sugar.")) == "Zinc lowers sugar."
    assert len(writer.write(["Insulin lowers sugar."], Decoding(most_tokens=5), seed=1)) == 1


def test_a_missing_corpus_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert make(monkeypatch, tmp_path / "none.jsonl", "--output", tmp_path / "out") == 2
    assert "none.jsonl" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
