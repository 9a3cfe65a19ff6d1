"""Sentence ends that were marked by hand: how they are read, counted and compared."""

import numpy as np
import pytest

from experiments.splitting.marked_ends import counted, difference, ends_of, errors_of, measures, read_marked
from tests.experiments.conftest import RunScript


def test_marked_texts_are_joined_as_their_marks_say(tmp_path) -> None:
    path = tmp_path / "marked.txt"
    path.write_text("# a\nOne.\n+Two.\nThree.\n\n# b\nFour.\n\n# a\nFive.\nSix.\n")
    for_rules, reported = read_marked(path)
    expected = [("a", "One.Two. Three.", {4, 9}), ("b", "Four.", set())]
    assert [(item.genre, item.text, item.ends) for item in for_rules] == expected
    assert [(item.genre, item.text, item.ends) for item in reported] == [("a", "Five. Six.", {6})]


def test_half_of_500_ends_is_for_reporting() -> None:
    for_rules, reported = (sum(len(item.ends) for item in half) for half in read_marked())
    assert for_rules + reported >= 500
    assert min(for_rules, reported) >= 200


def test_ends_are_where_sentences_begin() -> None:
    assert ends_of(lambda _: [(0, 4), (4, 9), (9, 15)], "One. Two. Three") == {5, 10}


def test_measures_of_two_texts(tmp_path) -> None:
    path = tmp_path / "marked.txt"
    path.write_text("# a\nOne.\nTwo.\nThree.\n\n# b\nFour.\nFive.\n")
    marked, _ = read_marked(path)
    whole, halved = (lambda text: [(0, len(text))]), (lambda text: [(0, 4), (4, 7), (7, len(text))])
    counts = counted(halved, marked)
    assert counts.tolist() == [[1, 2, 2], [0, 2, 1]]
    assert measures(counts) == {"precision": 25, "recall": pytest.approx(100 / 3), "F1": pytest.approx(200 / 7)}
    assert measures(counted(whole, marked)) == {"precision": 0, "recall": 0, "F1": 0}
    assert difference(counts, counts) == (0, 0)
    low, high = difference(np.array([[2, 2, 2], [1, 1, 1]]), counted(whole, marked))
    assert (low, high) == (100, 100)
    assert list(errors_of(whole, marked[1:])) == ["missed  b              Four. |Five."]


def test_the_script_reports_every_splitter_that_is_there(run_script: RunScript, tmp_path) -> None:
    finished = run_script("experiments/splitting/marked_ends.py", "--seconds", "0.05", "--json", tmp_path / "ends.json")
    assert finished.returncode == 0, finished.stderr
    assert "| mpir.core.text.split" in finished.stdout
    assert (tmp_path / "ends.json").exists()
