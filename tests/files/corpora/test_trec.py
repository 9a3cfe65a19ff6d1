"""TREC files: what is written is read back, and a bad line is named."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpir.errors import InputError, OutputError
from mpir.files.corpora.trec import read_qrels, read_run, stream_run, write_qrels, write_run

IDS = st.text(st.characters(codec="utf-8", exclude_categories=["Z", "C"]), min_size=1, max_size=5)
SCORES = st.floats(allow_nan=False, allow_infinity=False)


def file_of(folder, text):
    path = folder / "file.trec"
    path.write_text(text, "utf-8")
    return path


def test_a_run_is_written_best_first_and_ties_keep_their_order(tmp_path):
    write_run(tmp_path / "run", {"q": {"b": 1.0, "z": 2.5, "a": 1.0}}, tag="bm25")
    lines = (tmp_path / "run").read_text().splitlines()
    assert lines == ["q Q0 z 1 2.5 bm25", "q Q0 b 2 1.0 bm25", "q Q0 a 3 1.0 bm25"]


def test_a_run_is_read_in_the_order_of_the_file(tmp_path):
    path = file_of(tmp_path, "2 Q0 b 1 1e-3 x\n\n1\tQ0\tc  7 -3 x\r\n2 Q0 a 9 4 x\n")
    run = read_run(path)
    assert run == {"2": {"b": 0.001, "a": 4.0}, "1": {"c": -3.0}}
    assert list(run) == ["2", "1"]
    assert list(run["2"]) == ["b", "a"]


def test_a_streamed_run_has_each_querys_documents_best_first_and_ties_in_the_order_of_the_file(tmp_path):
    path = file_of(tmp_path, "2 Q0 b 1 1e-3 x\n2 Q0 a 9 4 x\n2 Q0 c 3 1e-3 x\n\n1 Q0 d 1 -3 x\n1 Q0 e 2 0 x\n")
    assert list(stream_run(path)) == [("2", ["a", "b", "c"]), ("1", ["e", "d"])]


@settings(max_examples=25)
@given(run=st.dictionaries(IDS, st.dictionaries(IDS, SCORES, min_size=1, max_size=4), min_size=1, max_size=3))
def test_a_run_round_trips(run, tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "run.trec"
    write_run(path, run)
    assert read_run(path) == run


def test_qrels_round_trip(tmp_path):
    qrels = {"2": {"b": 1, "a": 0}, "1": {"c": -1}}
    write_qrels(tmp_path / "qrels", qrels)
    assert (tmp_path / "qrels").read_text() == "2 0 b 1\n2 0 a 0\n1 0 c -1\n"
    assert read_qrels(tmp_path / "qrels") == qrels


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q Q0 a 1 2.0 x\nq Q0 b 2 1.0\n", r"file\.trec:2: .*\b6 columns .*\b5\b"),
        ("q Q0 a 1 high x\n", r"file\.trec:1: .*score is 'high'"),
        ("q Q0 a 1 nan x\n", r"file\.trec:1: .*score is 'nan'"),
        ("q Q0 a 1 -inf x\n", r"file\.trec:1: .*score is '-inf'"),
        ("q Q0 a 1 2 x\nq Q0 a 2 1 x\n", r"file\.trec:2: .*document a .*query q"),
        ("\n\n", r"file\.trec: .*no lines"),
    ],
)
def test_a_bad_run_is_refused(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_run(file_of(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q Q0 a 1 2.0 x\nq Q0 a 2 1.0 x\n", r"file\.trec:2: .*document a .*query q"),
        ("\n", r"file\.trec: .*no lines"),
    ],
)
def test_a_bad_run_is_refused_where_it_is_streamed(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        list(stream_run(file_of(tmp_path, text)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q 0 a 1\nq 0 b 1.5\n", r"file\.trec:2: .*grade is '1\.5'"),
        (f"q 0 a {10**22}\n", r"file\.trec:1: .*grade is '10+'"),
        (f"q 0 a {'9' * 5000}\n", r"file\.trec:1: .*grade is '9{60,79}…"),
        ("q 0 a\n", r"file\.trec:1: .*\b4 columns .*\b3\b"),
        ("q 0 a 1\nq 0 a 0\n", r"file\.trec:2: .*document a\b"),
    ],
)
def test_bad_qrels_are_refused(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_qrels(file_of(tmp_path, text))


@pytest.mark.parametrize(
    ("run", "tag", "message"),
    [
        ({"q": {"a b": 1.0}}, "x", "'a b'"),
        ({"": {"a": 1.0}}, "x", "''"),
        ({"q": {"a": 1.0}}, "two words", "'two words'"),
        ({"q": {"b": 1.0, "a": float("nan")}}, "x", "document a: .*score is nan"),
        ({"q": {"a": float("inf")}}, "x", "document a: .*score is inf"),
    ],
)
def test_a_run_that_cannot_be_written_leaves_no_file(tmp_path, run, tag, message):
    with pytest.raises(InputError, match=message):
        write_run(tmp_path / "run", run, tag=tag)
    assert list(tmp_path.iterdir()) == []


def test_a_grade_that_is_not_an_integer_is_not_written(tmp_path):
    with pytest.raises(InputError, match=r"document a: .*grade is 0\.5"):
        write_qrels(tmp_path / "qrels", {"q": {"a": 0.5}})


def test_a_place_that_cannot_be_written(tmp_path):
    with pytest.raises(OutputError, match="cannot be written"):
        write_run(tmp_path, {"q": {"a": 1.0}})


@pytest.mark.parametrize(
    "text",
    [
        "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\n",
        "\ufeffquery_id\tcorpus_id\trelevance\r\n\r\nq1\td1\t1.0\r\nq1\td2\t0\r\n",
        "topic iteration document grade\nq1 0 d1 1\nq1 0 d2 0\n",
        "q1 0 d1 1\nq1 0 d2 0\n",
    ],
)
def test_beir_s_qrels_have_three_columns_and_a_header(tmp_path, text):
    assert read_qrels(file_of(tmp_path, text)) == {"q1": {"d1": 1, "d2": 0}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("query-id\tcorpus-id\tscore\nq1\td1\n", r":2: .*\b3 columns .*\b2\b"),
        ("q1\td1\t1\n", r":1: .*\b4 columns .*\b3\b"),
        ("query-id\tcorpus-id\tscore\n", r"file\.trec: .*no lines"),
        ("q1 0 d1 score\n", "grade is 'score'"),
    ],
)
def test_qrels_of_other_columns_are_refused(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_qrels(file_of(tmp_path, text))
