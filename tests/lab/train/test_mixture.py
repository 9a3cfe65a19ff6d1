"""The file that declares a training: its files of rows, what is left out of it, and its mistakes."""

import json
from pathlib import Path
from typing import Any

import pytest

from mpir.errors import InputError
from mpir.lab.train.examples import read_rows
from mpir.lab.train.leakage import EvaluationQuestions
from mpir.lab.train.mixture import read_mixture
from tests.lab.train.labelled_rows import BAD, rows, write


def test_what_is_left_out(mixture: Path) -> None:
    folder, declared = mixture.parent, json.loads(mixture.read_text())
    variants = [{**row, "kind": "golden" if row["label"] else "bm25"} for row in rows(1.0, 4)]
    single = {"id": "q0", "question": "does aspirin thin blood", "sentence": BAD, "label": 0.0, "kind": "mined"}
    write(folder / "kinds.jsonl", [*variants, single])
    declared["perspectives"][0]["train"].append({"file": "kinds.jsonl"})
    mixture.write_text(json.dumps(declared))

    def counts(*without: str) -> dict[str, int]:
        return {
            t.name: sum(len(g) for groups, _ in t.train for g in groups) for t in read_mixture(mixture, without=without)
        }

    assert counts() == {"relevance": 24 + 9, "sts": 24}
    assert counts("sts") == {"relevance": 33}
    assert counts("kinds.jsonl") == {"relevance": 24, "sts": 24}
    assert counts("mined") == counts("kinds.jsonl:mined") == {"relevance": 24 + 8, "sts": 24}
    assert counts("bm25") == {"relevance": 24 + 2, "sts": 24}  # q0 alone has another negative
    write(folder / "kinds.jsonl", [{**row, "kind": None} for row in rows(1.0, 4)])
    assert counts() == {"relevance": 24 + 8, "sts": 24}
    with pytest.raises(InputError, match=r"'None' .*kinds\.jsonl, relevance,"):
        read_mixture(mixture, without=["None"])
    write(folder / "kinds.jsonl", [*variants, single])
    with pytest.raises(InputError, match=r"'magic' .*bm25, golden, kinds"):
        read_mixture(mixture, without=["magic"])
    with pytest.raises(InputError, match=r"mixture\.json: no perspective"):
        read_mixture(mixture, without=["relevance", "sts"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"losses": ["magic"]}, "relevance: .*loss is 'magic'"),
        ({"losses": []}, r"'relevance': losses is \[\]"),
        ({"losses": [None]}, "relevance: .*loss is missing"),
        ({"losses": "bce"}, "'relevance': losses is 'bce'"),
        ({"name": 5}, "5: name is 5"),
        ({"train": {"file": "relevance.jsonl"}}, r"train is {'file': 'relevance\.jsonl'}"),
        ({"train": ["relevance.jsonl"]}, r"a file is 'relevance\.jsonl'"),
        ({"train": [{"file": None}]}, "a file is {'file': None}"),
        ({"dev": 5}, "dev is 5"),
        ({"losses": ["cosine5"], "pooling": "median"}, "relevance: pooling is 'median'"),
        (
            {"train": [{"file": "relevance.jsonl", "epochs": 0}]},
            r"relevance\.jsonl: epochs is 0",
        ),
        ({"dev": "empty.jsonl"}, r"empty\.jsonl: .*no rows, .*chosen"),
        ({"train": [{"file": "relevance.jsonl"}, {"file": "empty.jsonl"}]}, r"empty\.jsonl: .*no rows; add"),
        ({"train": [{"file": "nowhere.jsonl"}]}, r"nowhere\.jsonl: .*read"),
        ({"train": [{"file": "high.jsonl"}]}, r"high\.jsonl:2: label 7\.0 .*\b0 to 1\b"),
        ({"train": [{"file": "zeros.jsonl"}]}, "relevance .*no row"),
        ({"train": [{"file": "alone.jsonl"}]}, "'q0' .*no negative"),
        ({"train": [{"file": "broken.jsonl"}]}, r"broken\.jsonl:1: .* question, sentence, label .got"),
        ({"train": [{"file": "null.jsonl"}]}, r"null\.jsonl:2: .*sentence is missing"),
        ({"train": [{"file": "blank.jsonl"}]}, r"blank\.jsonl:1: .*sentence is ' '"),
        ({"train": [{"file": "list.jsonl"}]}, r"list\.jsonl:1: .*question is \['why'\]"),
        ({"train": [{"file": "huge.jsonl"}]}, r"huge\.jsonl:1: label is 1000"),
        ({"train": [{"file": "word.jsonl"}]}, r"word\.jsonl:1: label is 'yes'"),
        ({"train": [{"file": "none.jsonl"}]}, r"none\.jsonl:1: label is missing"),
        ({"train": [{"file": "teacher.jsonl"}]}, r"teacher\.jsonl:1: teacher is 'x'"),
        (
            {"train": [{"file": "names.jsonl"}]},
            r"names\.jsonl:1: .* question .got id, sentence,",
        ),
        (
            {"train": [{"file": "shared.jsonl"}]},
            "id 'q0' .*ranking loss",
        ),
        ({"lossess": 1}, "'relevance': .*key is 'lossess'"),
        ({"train": [{"file": "relevance.jsonl", "epoch": 7}]}, "train: .*key is 'epoch'"),
        ({"train": [{"file": "relevance.jsonl", "corpus": "c"}]}, "train: .*key is 'corpus'"),
        ({"train": [{"epochs": 1}]}, "a file is {'epochs': 1}"),
        ({"train": [{"file": "a\0b"}]}, r"train: file is 'a\\x00b'"),
        ({"train": [{"file": " "}]}, "train: file is ' '"),
        (
            {"train": [{"triples": None, "file": "relevance.jsonl"}]},
            "a file is {'triples': None,",
        ),
        ({"dev": "a\0b"}, r"'relevance': dev is 'a\\x00b'"),
        ({"name": "sts"}, "two .*'sts'"),
        ({"name": "bm25"}, "called 'bm25'"),
        ({"name": "context"}, "called 'context'"),
    ],
)
def test_bad_mixtures(mixture: Path, changes: dict[str, Any], message: str) -> None:
    folder = mixture.parent
    good = rows(1.0, 1)
    write(folder / "high.jsonl", [good[0], {**good[1], "label": 7.0}])
    write(folder / "zeros.jsonl", [good[1]])
    write(folder / "alone.jsonl", [good[0]])
    write(folder / "broken.jsonl", [{"id": "q"}])
    write(folder / "null.jsonl", [good[0], {**good[1], "sentence": None}])
    write(folder / "blank.jsonl", [{**good[0], "sentence": " "}])
    write(folder / "list.jsonl", [{**good[0], "question": ["why"]}])
    write(folder / "huge.jsonl", [{**good[0], "label": 10**400}])
    write(folder / "word.jsonl", [{**good[0], "label": "yes"}])
    write(folder / "none.jsonl", [{**good[0], "label": None}])
    write(folder / "teacher.jsonl", [{**good[0], "teacher": "x"}])
    named = {key: value for key, value in good[0].items() if key != "question"}
    write(folder / "names.jsonl", [{**named, "query": "why"}])
    write(folder / "shared.jsonl", [*good, {**good[1], "question": "another"}])
    write(folder / "empty.jsonl", [])
    declared = json.loads(mixture.read_text())
    declared["perspectives"][0] |= changes
    mixture.write_text(json.dumps(declared))
    with pytest.raises(InputError, match=message):
        read_mixture(mixture)


@pytest.mark.parametrize("identifier", [None, "", " ", True, 1.5, [1], {"q": 1}])
def test_an_id_that_names_no_question_is_refused(tmp_path: Path, identifier: Any) -> None:
    write(tmp_path / "rows.jsonl", [rows(1.0, 1)[0], {**rows(1.0, 1)[1], "id": identifier}])
    with pytest.raises(InputError, match=r"rows\.jsonl:2: .*id is"):
        read_rows(tmp_path / "rows.jsonl", 1.0)


@pytest.mark.parametrize("labels", [[1.0], [0.0, 0.0], [1.0, 0.5]])
def test_dev_rows_by_which_no_checkpoint_can_be_chosen(
    mixture: Path, caplog: pytest.LogCaptureFixture, labels: list[float]
) -> None:
    """A ranking of positives alone is always perfect, and one without any is worth nothing: the first would be kept."""
    write(mixture.parent / "blind.jsonl", [{**rows(1.0, 1)[0], "label": label} for label in labels])
    mixture.write_text(mixture.read_text().replace('"dev": "relevance.jsonl"', '"dev": "blind.jsonl"'))
    message = "rows of relevance"
    assert len(read_mixture(mixture)) == 2
    assert message in caplog.text
    with pytest.raises(InputError, match=message):
        read_mixture(mixture, without=["sts"])


def test_dev_rows_of_a_grade_by_which_no_checkpoint_can_be_chosen(mixture: Path) -> None:
    write(mixture.parent / "blind.jsonl", [{**row, "label": 2.0} for row in rows(5.0, 3)])
    mixture.write_text(mixture.read_text().replace('"dev": "sts.jsonl"', '"dev": "blind.jsonl"'))
    with pytest.raises(InputError, match="rows of sts"):
        read_mixture(mixture, without=["relevance"])


def test_an_id_may_be_a_number(tmp_path: Path) -> None:
    write(tmp_path / "rows.jsonl", [{**row, "id": number} for number, row in enumerate(rows(1.0, 1))])
    assert [row.group for row in read_rows(tmp_path / "rows.jsonl", 1.0)] == ["0", "1"]


def test_a_misspelt_key_of_a_mixture(mixture: Path) -> None:
    mixture.write_text(json.dumps({**json.loads(mixture.read_text()), "setings": {}}))
    with pytest.raises(InputError, match=r"mixture\.json: .*key is 'setings'"):
        read_mixture(mixture)


def test_a_mixture_without_a_key(mixture: Path) -> None:
    mixture.write_text('{"perspectives": [{"name": "x"}]}')
    with pytest.raises(InputError, match="'losses' is missing"):
        read_mixture(mixture)


def test_evaluation_questions_are_known_by_id_and_by_text() -> None:
    retained = EvaluationQuestions([("5a", "Does aspirin thin the blood?")])
    retained.refuse("q1", "Is aspirin a drug?")
    for identifier, text in (("5a", "anything"), ("q2", "does ASPIRIN thin  the blood")):
        with pytest.raises(InputError, match="kept for evaluation"):
            retained.refuse(identifier, text)


def test_a_mixture_of_documents_alone_is_refused_before_it_trains(mixture: Path) -> None:
    declared = json.loads(mixture.read_text())
    for item in declared["perspectives"]:
        item["level"] = "document"
    mixture.write_text(json.dumps(declared))
    with pytest.raises(InputError, match=r"mixture\.json: all .*documents"):
        read_mixture(mixture)


def test_a_level_that_is_none_is_named(mixture: Path) -> None:
    declared = json.loads(mixture.read_text())
    declared["perspectives"][0]["level"] = "page"
    mixture.write_text(json.dumps(declared))
    with pytest.raises(InputError, match="level is 'page'"):
        read_mixture(mixture)
