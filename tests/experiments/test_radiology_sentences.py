"""Retrieval of sentences: brat's annotations, forms of queries, and the separation by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.radiology.brat import read_brat_pairs
from experiments.radiology.sentences import Recipe, Source, findings, opposite, separation, templates, without
from mpir.errors import InputError

ROOT = Path(__file__).parents[2]
ANSWERS = {
    "edema": ["edema.", "edema without effusion."],
    "no effusion": ["edema without effusion.", "clear."],
    "effusion": ["effusion."],
}


def test_brat_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Small Effusion. No edema.\n")
    (tmp_path / "a.ann").write_text(
        "T1\tPleural_Effusion 6 14\tEffusion\nT2\tEdema 19 24\tedema\nA1\tPolarity T2 negative\nR1\tx Arg1:T1 Arg2:T2\n"
    )
    texts, answers = read_brat_pairs(tmp_path)
    assert texts == ["small effusion.", "no edema."]
    assert answers == {"no edema": ["no edema."], "pleural effusion": ["small effusion."]}
    (tmp_path / "a.ann").write_text("T1\tEdema 190 240\tedema\n")
    with pytest.raises(InputError, match=r"a\.ann:1: character 190"):
        read_brat_pairs(tmp_path)
    (tmp_path / "a.ann").write_text("T1 Edema\n")
    with pytest.raises(InputError, match=r"a\.ann:1: found 'T1 Edema'"):
        read_brat_pairs(tmp_path)


def test_the_sample_of_brat_has_both_polarities() -> None:
    source = Source.read(ROOT / "experiments/radiology/brat_sample", 1)
    assert len(source.texts) == 17
    assert {"cardiomegaly", "no cardiomegaly", "no pleural effusion"} <= set(source.answers)
    assert source.answers["no fracture"] == ["no pneumothorax or fracture.", "the ribs are intact."]


def test_forms_of_queries() -> None:
    assert findings(ANSWERS)["denials"] == {"no effusion": ANSWERS["no effusion"]}
    forms = templates(ANSWERS)
    assert forms["{} is present"]["edema is present"] == ANSWERS["edema"]
    assert forms["without {}"] == {"without effusion": ANSWERS["no effusion"]}
    assert without(ANSWERS) == {"A without C": {"edema without effusion": ["edema without effusion."]}}
    assert (opposite("edema"), opposite("no edema")) == ("no edema", "edema")


def test_separation_by_hand() -> None:
    class Encoder:
        def cosines(self, queries: list[str], texts: list[str]) -> Any:
            value = {"edema": 0.9, "no edema": 0.5}
            return np.array([[value[query] - 0.1 * row for row, _ in enumerate(texts)] for query in queries])

    values = separation(Encoder(), {"edema": ["a", "b"], "no edema": ["b"]})  # type: ignore[arg-type]
    assert values == pytest.approx([0.4, 0.4, -0.4])


def test_the_papers_recipe_is_the_default() -> None:
    settings = Recipe().settings(21_612, "encoder")
    assert (settings.learning_rate, settings.batch_size, settings.max_steps) == (2e-5, 32, 6753)
    assert settings.warmup * 6753 == pytest.approx(100)
    assert Recipe(steps=10).settings(5, "encoder").warmup == 1.0
