import gzip
import io
import json
import sys
from pathlib import Path

import pytest

from mpir.core.text.types import Document
from mpir.errors import InputError
from mpir.files.corpora.jsonl import read_jsonl

LINES = """{"pmid": "1", "title": "T", "abstract": "A", "source": "ignored"}

{"id": 2, "title": null, "text": "Ünicode"}
{"_id": "d3", "contents": "C"}\r
{"docid": "d4", "title": "only a title"}
"""
DOCUMENTS = [
    Document("1", "T", "A"),
    Document("2", "", "Ünicode"),
    Document("d3", "", "C"),
    Document("d4", "only a title"),
]


def test_reads_every_key_plain_and_compressed(tmp_path: Path) -> None:
    plain, packed = tmp_path / "c.jsonl", tmp_path / "c.jsonl.gz"
    plain.write_text(LINES, encoding="utf-8")
    packed.write_bytes(gzip.compress(LINES.encode()))
    assert list(read_jsonl(plain)) == list(read_jsonl(packed)) == DOCUMENTS


@pytest.mark.parametrize("key", ["text", "contents", "content", "page_content", "body"])
@pytest.mark.parametrize("blank", ["", " \n", None])
def test_the_first_key_that_says_something_counts(tmp_path: Path, key: str, blank: str | None) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text(json.dumps({"pmid": blank, "id": "1", "abstract": blank, key: "Here it is."}) + "\n")
    assert list(read_jsonl(path)) == [Document("1", abstract="Here it is.")]


def test_a_message_shows_no_more_than_the_beginning_of_a_value(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    for record in ({"id": ["x" * 5000]}, {"id": "1", "text": [["y" * 5000]]}, {"id": "1", "z" * 5000: 1}):
        path.write_text(json.dumps(record) + "\n")
        with pytest.raises(InputError) as caught:
            list(read_jsonl(path))
        assert len(str(caught.value).removeprefix(str(path))) < 250


def test_reads_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LINES.encode())))
    assert list(read_jsonl("-")) == DOCUMENTS


def test_reads_one_line_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text('{"id": "1"}\nnot json\n')
    assert next(read_jsonl(path)).id == "1"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"title": "T"}', ":2: .*no id"),
        (b'{"id": " "}', ":2: .*id ' '"),
        (b'{"id": true}', ":2: .*id True"),
        (b'{"id": 1.5}', r":2: .*id 1\.5"),
        (b'{"id": "1", "title": 3}', ":2: title is 3"),
        (b'{"id": "1", "abstract": "", "text": ["a", 2]}', r":2: text is \['a', 2\]"),
        (b'{"id": "1", "words": "a"}', ":2: .*no text, .*words"),
        (b'{"id": "1", "text": "ab\\ud800"}', ":2: .*half a character"),
        (b'["1"]', ":2: .*JSON object"),
        (b'{"id": ', ":2: not valid JSON"),
        (b'{"id": "\xff"}', ":2: byte 0xff"),
    ],
)
def test_names_the_line_of_what_is_wrong(tmp_path: Path, line: bytes, message: str) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(b'{"id": "0"}\n' + line + b"\n")
    with pytest.raises(InputError, match=message) as caught:
        list(read_jsonl(path))
    assert str(caught.value).startswith(str(path))


def test_truncated_gzip(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl.gz"
    path.write_bytes(gzip.compress(LINES.encode() * 100)[:-20])
    with pytest.raises(InputError, match=r"c\.jsonl\.gz: .*gzip data"):
        list(read_jsonl(path))
