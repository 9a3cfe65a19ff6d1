"""Reading QASC rows, from a file in either of its two forms."""

from collections import Counter
from pathlib import Path

import pytest

import mpir
from mpir.errors import InputError
from mpir.lab.sia.qasc import read_items

from .conftest import ITEMS, qasc_record, write_lines


def test_items_hold_what_the_rows_say(qasc: Path) -> None:
    assert list(read_items(str(qasc))) == ITEMS


def test_the_form_of_the_hub_reads_the_same(tmp_path: Path) -> None:
    records = []
    for item in ITEMS:
        record = qasc_record(item)
        choices = record["question"]["choices"]
        record["choices"] = {key: [choice[key] for choice in choices] for key in ("text", "label")}
        record["question"] = item.question
        records.append(record)
    assert list(read_items(str(write_lines(tmp_path / "hub.jsonl", records)))) == ITEMS


@pytest.mark.parametrize("field", ["fact1", "fact2", "combinedfact", "question", "answerKey"])
def test_a_missing_field_is_named_with_its_row(field: str, tmp_path: Path) -> None:
    records = [qasc_record(item) for item in ITEMS]
    del records[1][field]
    path = write_lines(tmp_path / "bad.jsonl", records)
    with pytest.raises(InputError, match=rf"bad\.jsonl: row 2: {field} is missing"):
        list(read_items(str(path)))
    counts: Counter[str] = Counter()
    assert list(read_items(str(path), skip_bad=True, counts=counts)) == [ITEMS[0], ITEMS[2]]
    assert counts == {f"bad row: no {field}": 1}


def test_an_answer_key_without_choice_is_a_bad_row(tmp_path: Path) -> None:
    record = qasc_record(ITEMS[0]) | {"answerKey": "Z"}
    with pytest.raises(InputError, match=r"key\.jsonl: row 1: answerKey is 'Z'"):
        list(read_items(str(write_lines(tmp_path / "key.jsonl", [record]))))


def test_a_hub_that_cannot_be_reached_is_said_in_one_sentence() -> None:
    with pytest.raises(InputError, match=r"allenai/no-such-set: .*no such"):
        list(read_items("allenai/no-such-set"))


def test_the_sample_is_good_qasc() -> None:
    items = list(read_items(str(Path(mpir.__file__).parent / "sample/qasc.jsonl")))
    assert len(items) >= 60
    assert len({item.id for item in items}) == len({item.question for item in items}) == len(items)
    assert all(len(item.partial) == 2 and item.full not in item.partial for item in items)
