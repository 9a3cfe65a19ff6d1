"""Teacher-labelled STS rows: new pairs only, none that dev or test holds, labels on the scale."""

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

from mpir.files.read import read_json_lines

FOLDER = Path(__file__).parents[2] / "data_scripts"
TEXTS = ["aspirin thin blood", "heart attack risk", "a gene in a cell", "patients of the trial", "placebo and aspirin"]


@pytest.fixture
def language_model(tiny_checkpoint: Path, tmp_path: Path) -> Path:
    """A random causal model of one layer with the tiny checkpoint's tokenizer."""
    tokenizer = AutoTokenizer.from_pretrained(tiny_checkpoint)
    tokenizer.save_pretrained(tmp_path / "causal")
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), **sizes)).save_pretrained(tmp_path / "causal")
    return tmp_path / "causal"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.syspath_prepend(str(FOLDER))
    return runpy.run_path(str(FOLDER / "sts_teachers.py"))


def lines(pairs: list[tuple[str, str, float]]) -> str:
    return "\n".join(
        f"g\tf\ty\t{number}\t{label}\t{first}\t{second}" for number, (first, second, label) in enumerate(pairs)
    )


ABSTRACTS = ["the patients", "a trial of aspirin", "placebo in patients", "gene risk", "blood in a heart", "the gene"]
KNOWN = [(TEXTS[i], TEXTS[(i + 1) % 5], float(i)) for i in range(5)]
KNOWN += [(f"{text} is", f"no {text}", 2.0) for text in TEXTS]


@pytest.fixture
def options(tiny_checkpoint: Path, tmp_path: Path) -> list[str]:
    """A small data folder, and the arguments that name it."""
    (tmp_path / "sts/stsb").mkdir(parents=True)
    (tmp_path / "sts/biosses").mkdir()
    (tmp_path / "sts/biosses/biosses.tsv").write_text("sentence1\tsentence2\tscore_mean\nthe Patients\tno\t1\n")
    sentences = "\n".join(json.dumps({"sentence": text}) for text in [*ABSTRACTS, ABSTRACTS[1]])
    (tmp_path / "in_document.train.jsonl").write_text(sentences)
    held = [("yes no", TEXTS[4].upper(), 1.0), ("a cell", "the gene", 3.0), ("risk", "blood", 2.0), ("no", "is", 5.0)]
    for name, pairs in {"train": KNOWN, "dev": held, "test": held[:2]}.items():
        (tmp_path / f"sts/stsb/sts-{name}.csv").write_text(lines(pairs))
    (tmp_path / "relevance.train.jsonl").write_text('{"question": "is aspirin", "sentence": "yes", "label": 1}\n')
    values = {"data": tmp_path, "rows": tmp_path, "output": tmp_path, "encoder": tiny_checkpoint}
    values["cross-encoder"] = tiny_checkpoint
    return [word for name, value in values.items() for word in (f"--{name}", str(value))]


def pairs_of(path: Path) -> list[frozenset[str]]:
    return [frozenset((row["question"], row["sentence"])) for _, row in read_json_lines(path)]


def test_new_pairs_are_labelled_and_nothing_is_held_out(
    script: dict[str, Any], options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["sts_teachers.py", *options])
    assert script["main"]() == 0
    pairs = pairs_of(tmp_path / "sts.augmented.train.jsonl")
    assert pairs and len(set(pairs)) == len(pairs)
    assert not {frozenset(pair[:2]) for pair in KNOWN} & set(pairs)
    assert not any(TEXTS[4] in pair for pair in pairs)  # dev has it, in capitals
    labels = [row["label"] for _, row in read_json_lines(tmp_path / "sts.augmented.train.jsonl")]
    assert all(0.0 <= label <= 5.0 for label in labels)
    texts = frozenset().union(*pairs_of(tmp_path / "sts.biomedical.train.jsonl"))
    assert texts == set(ABSTRACTS[1:-1])  # BIOSSES has the first, STS-B dev the last
    rows = [row for _, row in read_json_lines(tmp_path / "sts.questions.train.jsonl")]
    assert [(row["question"], row["sentence"]) for row in rows] == [("is aspirin", "yes")]


def test_a_language_model_has_a_say_in_some_of_the_pairs(
    script: dict[str, Any],
    options: list[str],
    language_model: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = language_model.parent
    monkeypatch.setattr(sys, "argv", ["sts_teachers.py", *options])
    assert script["main"]() == 0
    pairs = set(pairs_of(folder / "sts.augmented.train.jsonl"))
    content = (folder / "sts.questions.train.jsonl").read_text()
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--language-model", str(language_model), "--judged", "5"])
    capsys.readouterr()
    assert script["main"]() == 0
    quick, every = capsys.readouterr().out.splitlines()[:2]
    assert "language model" in every and "language model" not in quick
    judged = pairs_of(folder / "sts.augmented.train.jsonl")
    assert len(judged) == 5
    assert set(judged) <= pairs
    assert (folder / "sts.questions.train.jsonl").read_text() == content


def test_a_language_model_learns_likeness_whatever_the_order(
    language_model: Path, script: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["language_model"], "LEARNING_RATE", 3e-3)
    model = script["LanguageModel"](str(language_model))
    alike, unlike = ("the heart", "a heart"), ("aspirin", "patients of the trial")
    model.tune([alike, unlike] * 200, np.array([5.0, 0.0] * 200), seed=1)
    high, low, turned = model.score([alike, unlike, unlike[::-1]])
    assert high > 0.8
    assert low < 0.2
    assert turned == pytest.approx(low, abs=1e-6)
    assert model.score([("a", "b"), unlike] * 30)[1] == pytest.approx(low, abs=0.02)  # in company
