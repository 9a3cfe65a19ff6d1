"""Triples and the texts that their ids stand for: read line by line, with located errors."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpir.errors import InputError
from mpir.files.corpora.queries import read_queries
from mpir.files.corpora.text_store import Texts
from mpir.files.corpora.triples import Triple, read_triples


def written(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", ["t.tsv", "t.tsv.gz", "t.txt"])
def test_cells_with_and_without_scores(name: str, tmp_path: Path) -> None:
    path = written(tmp_path / name, "a\tb\t c \n\n4.5\t-2\t1\t2\t3\n")
    assert list(read_triples(path)) == [(1, Triple("a", "b", "c")), (3, Triple("1", "2", "3", (4.5, -2.0)))]
    assert list(read_triples(path, 1)) == [(3, Triple("1", "2", "3", (4.5, -2.0)))]


def test_json_lines(tmp_path: Path) -> None:
    rows = [{"question": "a", "positive": "b", "negative": "c"}]
    rows += [{**rows[0], "teacher": [1, 0.5]}, {**rows[0], "teacher": None}]
    path = written(tmp_path / "t.jsonl.gz", "".join(json.dumps(row) + "\n" for row in rows))
    plain = Triple("a", "b", "c")
    assert list(read_triples(path)) == [(1, plain), (2, plain._replace(teacher=(1.0, 0.5))), (3, plain)]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.tsv", "a\tb\tc\na\tb", r"t\.tsv:2: .*\b3 tab-separated .*\b5 .*\b2\b"),
        ("t.tsv", "a\t \tc", r"t\.tsv:1: .*positive is ' '"),
        ("t.tsv", "1\tx\ta\tb\tc", r"t\.tsv:1: .*teacher.*\['1', 'x'\]"),
        ("t.tsv", "1\tnan\ta\tb\tc", r"t\.tsv:1: .*teacher.*'nan'"),
        ("t.jsonl", '{"question": "a", "positive": "b"}', r"t\.jsonl:1: .*negative is missing"),
        ("t.jsonl", '{"question": 7, "positive": "b", "negative": "c"}', r"t\.jsonl:1: .*question is 7"),
        ("t.jsonl", '\n{"question"', r"t\.jsonl:2: .*valid JSON"),
        ("t.jsonl", '{"question": "a", "positive": "b", "negative": "c", "teacher": 1}', r"scores are 1\b"),
        (
            "t.jsonl",
            '{"question": "a", "positive": "b", "negative": "c", "teacher": [true, 0]}',
            r"scores are \[True, 0\]",
        ),
        (
            "t.csv",
            "a,b,c",
            r"t\.csv: unknown suffix",
        ),
    ],
)
def test_what_is_refused(name: str, text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        list(read_triples(written(tmp_path / name, text)))


texts = st.text(alphabet="abc äß.\u2028\x0b", min_size=1, max_size=9).map(str.strip).filter(bool)


@settings(max_examples=30)
@given(rows=st.lists(st.tuples(texts, texts, texts), max_size=5))
def test_any_triples_come_back_in_both_forms(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    cells = written(folder / "t.tsv", "".join("\t".join(row) + "\n" for row in rows))
    lines = [json.dumps(dict(zip(("question", "positive", "negative"), row, strict=True))) for row in rows]
    objects = written(folder / "t.jsonl", "\n".join(lines))
    expected = [(number, Triple(*row)) for number, row in enumerate(rows, 1)]
    assert list(read_triples(cells)) == list(read_triples(objects)) == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q.tsv", "q1\tdoes aspirin thin blood\n"),
        ("q.jsonl", '{"id": "q1", "query": "does aspirin thin blood"}\n'),
        ("q.jsonl.gz", '{"_id": "q1", "question": "does aspirin thin blood"}\n'),
        ("q.json", '{"questions": [{"id": "q1", "body": "does aspirin thin blood", "type": "yesno"}]}'),
        ("q.txt", "<top> <num> Number: q1 <title> does aspirin thin blood </top>"),
    ],
)
def test_questions_of_every_kind_of_file(name: str, text: str, tmp_path: Path) -> None:
    path = written(tmp_path / name, text)
    assert list(read_queries(path)) == [("q1", "does aspirin thin blood")]
    assert Texts.of_queries(path).find(["q1", "q2"]) == {"q1": "does aspirin thin blood"}


@pytest.mark.parametrize(
    "line", ['{"query": "x"}', '{"id": "1"}', '{"id": "1", "query": " "}', '{"id": "1", "text": 3}']
)
def test_a_question_without_an_id_or_a_text(line: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"q\.jsonl:2: .*id is .*text"):
        list(read_queries(written(tmp_path / "q.jsonl", f'{{"id": 0, "query": "a gene"}}\n{line}\n')))


def test_the_texts_of_a_corpus_are_found_by_their_ids_and_kept(tmp_path: Path) -> None:
    path = written(
        tmp_path / "docs.jsonl", "".join(json.dumps({"id": str(i), "text": f"t{i}"}) + "\n" for i in range(1200))
    )
    result = Texts.of_corpus([path])
    assert len(result) == 1200
    assert result.find([str(i) for i in range(1300)]) == {str(i): f"t{i}" for i in range(1200)}
    assert result.names([1199, 0, 7]) == ["0", "7", "1199"]
    assert result.names(range(1200)) == [str(i) for i in range(1200)]
    assert Texts.of_corpus([path]).identity == result.identity
    written(path, '{"id": "1", "title": "a gene", "text": "x"}\n')
    assert Texts.of_corpus([path]).find(["1", "2"]) == {"1": "a gene\nx"}


def test_a_corpus_on_standard_input_is_refused() -> None:
    """Nothing would tell it from the last one, whose texts are kept."""
    with pytest.raises(InputError, match="standard input"):
        Texts.of_corpus(["-"])


def test_an_id_that_is_there_twice(tmp_path: Path) -> None:
    path = written(tmp_path / "docs.jsonl", '{"id": "7", "text": "a"}\n{"id": "7", "text": "b"}\n')
    for _ in range(2):  # nothing half-written is taken for the whole
        with pytest.raises(InputError, match="duplicate id '7'"):
            Texts.of_corpus([path])
