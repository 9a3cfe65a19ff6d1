"""TripClick's groups in both packagings, their measures by hand, and every file that can be missing or wrong."""

from collections.abc import Callable
from pathlib import Path

import pytest

from experiments.tripclick.groups import read_group, read_groups, table
from mpir.errors import InputError
from mpir.evaluate import evaluate_run

TOPIC = "<top>\n<num> Number: {0}\n<title> query {0}\n<desc> Descrption:\n</top>\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A split of three groups with two queries each; head has judgements by DCTR and by raw clicks."""
    for name in ("topics", "qrels"):
        (tmp_path / name).mkdir()
    for number, group in enumerate(("head", "torso", "tail")):
        queries = [f"{number}1", f"{number}2"]
        (tmp_path / f"topics/topics.{group}.val.txt").write_text("".join(map(TOPIC.format, queries)))
        judged = "".join(f"{query} 0 d1 1\n{query} 0 d2 0\n" for query in queries)
        (tmp_path / f"qrels/qrels.raw.{group}.val.txt").write_text(judged)
    (tmp_path / "qrels/qrels.dctr.head.val.txt").write_text("01 0 d1 3\n01 0 d3 1\n")
    return tmp_path


def test_groups_and_their_judgements(folder: Path) -> None:
    head, torso, tail = read_groups(folder, "val")
    assert [(query.id, query.body) for query in tail.queries] == [("21", "query 21"), ("22", "query 22")]
    assert head.qrels == {"01": {"d1": 3, "d3": 1}}  # by DCTR
    assert torso.qrels["12"] == {"d1": 1, "d2": 0}
    (folder / "qrels/qrels.dctr.head.val.txt").unlink()
    assert read_group(folder, "head", "val").qrels["02"] == {"d1": 1, "d2": 0}
    (folder / "topics/topics.tail.val.txt").unlink()
    (folder / "topics/topics.tail.val.tsv").write_text("21\tquery 21\n")
    tail = read_group(folder, "tail", "val")
    assert ([query.id for query in tail.queries], set(tail.qrels)) == (["21"], {"21"})


def test_judged_at_10_by_hand() -> None:
    """Three of four, and one of ten: what is judged irrelevant counts, too; an unanswered query is 0."""
    qrels = {"a": {"x": 1, "y": 0, "z": 2}, "b": {"x": 1}, "c": {"x": 1}}
    run = {"a": {"x": 4.0, "y": 3.0, "z": 2.0, "w": 1.0}, "b": {f"d{i}": -i for i in range(9)} | {"x": -9.5, "y": -10}}
    result = evaluate_run(qrels, run, ["Judged@10"])
    assert result == {"Judged@10": pytest.approx((3 / 4 + 1 / 10 + 0) / 3)}


def test_a_table_has_a_row_for_each_system_and_three_measures_of_each_group(folder: Path) -> None:
    groups = read_groups(folder, "val")
    right = [{query: {"d1": 2.0, "d9": 1.0} for query in group.qrels} for group in groups]
    wrong = [{query: {"d9": 2.0, "d1": 1.0} for query in group.qrels} for group in groups]
    lines = table(groups, {"good": right, "bad": wrong}).splitlines()
    assert [cell.strip() for cell in lines[0].split("|")][2:5] == ["head nDCG@10", "head MRR@10", "head J@10"]
    good, bad = ([cell.strip() for cell in line.split("|")][1:-1] for line in lines[2:])
    assert good[0] == "good"
    assert good[4:7] == ["1.000", "1.000", "0.500"]
    assert bad[4:7] == ["0.631", "0.500", "0.500"]  # 1 / log2(3)
    assert good[1] == "0.826"  # gains are the grades: 3 of 3 + 1 / log2(3)


def cut(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def put(name: str, text: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / name).write_text(text)

    return write


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (cut("topics/topics.torso.val.txt"), r"torso\.val\.txt: .*topics\.torso\.val\.tsv; .*"
         r"topics\.head\.val\.txt, .*topics\.tail\.val\.txt"),
        (cut("qrels/qrels.raw.tail.val.txt"), r"qrels\.raw\.tail\.val\.txt: .*no such"),
        (put("topics/topics.head.val.txt", "<top>\n<title> text\n</top>\n"), r"val\.txt:1: .*no number"),
        (put("qrels/qrels.raw.tail.val.txt", "21 0 d1 1 5\n"), r"tail\.val\.txt:1: .*\b4 columns .*\b5\b"),
        (put("qrels/qrels.raw.tail.val.txt", "21 0 d1 yes\n"), r"tail\.val\.txt:1: .*grade is 'yes'"),
        (put("qrels/qrels.raw.tail.val.txt", "91 0 d1 1\n"), r"\b2 queries .*topics\.tail\.val\.txt"),
        (put("topics/topics.tail.val.txt", TOPIC.format("01").replace("query", "other")
             + TOPIC.format("21")), "query 01 .*two"),
    ],
)  # fmt: skip
def test_what_is_missing_or_wrong_is_one_sentence(folder: Path, fault: Callable[[Path], None], message: str) -> None:
    fault(folder)
    with pytest.raises(InputError, match=message) as result:
        read_groups(folder, "val")
    assert "\n" not in str(result.value)


def test_a_run_of_other_queries(folder: Path) -> None:
    groups = read_groups(folder, "val")
    with pytest.raises(InputError, match=r"\b1 queries"):
        table(groups, {"other": [{"99": {"d1": 1.0}}] * 3})


def test_half_a_gzip(folder: Path) -> None:
    import gzip

    complete = gzip.compress((folder / "qrels/qrels.raw.tail.val.txt").read_bytes())
    (folder / "qrels/qrels.raw.tail.val.txt").unlink()
    (folder / "qrels/qrels.raw.tail.val.txt.gz").write_bytes(complete[: len(complete) // 2])
    with pytest.raises(InputError, match=r"qrels\.raw\.tail\.val\.txt\.gz.*"):
        read_groups(folder, "val")
