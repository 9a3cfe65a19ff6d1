"""TripClick's formats, both packagings alike, streamed, with located errors. The fixtures are written by us."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir.core.text import Document, Question
from mpir.errors import InputError
from mpir.files.corpora import read_corpus
from mpir.files.corpora.formats import format_by_name
from mpir.files.corpora.topics import read_topics
from mpir.files.corpora.tripclick import (
    read_documents,
)

DOCUMENTS = """\
<DOC>
<DOCNO> 17 </DOCNO>
<TITLE>Ginger for nausea</TITLE>
<URL>http://example.org/17</URL>
<TEXT>
Ginger was better than placebo.
Nobody was harmed.
</TEXT>
</DOC>
<DOC> <DOCNO>18</DOCNO> <TITLE></TITLE> <URL></URL> <TEXT>Zinc for colds.</TEXT> </DOC>
"""
TSV = "17\tGinger for nausea <eot> Ginger was better than placebo. Nobody was harmed.\n18\t<eot>Zinc for colds.\n"
TOPICS = """\
<top>
<num> Number: 3
<title> ginger nausea
<desc> Descrption:
<narr> Narrative:
</top>

<top> <num> Number: 4 <title> zinc  for
colds </top>
"""


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("name", ["collection.tsv", "collection.tsv.gz"])
def test_ms_marcos_passages_and_queries(tmp_path: Path, name: str) -> None:
    """Quotation marks and doubled spaces are the text's own; the queries' name has several suffixes."""
    written(tmp_path, name, '0\tThe "heart" pumps blood.\n7\tZinc  for colds.\n')
    (tmp_path / "queries.dev.small.tsv").write_text("1048585\twhat does the heart do\n2\tzinc\n")
    expected = [Document("0", "", 'The "heart" pumps blood.'), Document("7", "", "Zinc  for colds.")]
    assert list(read_corpus([tmp_path])) == expected
    topics = read_topics(tmp_path / "queries.dev.small.tsv")
    assert [(topic.id, topic.body) for topic in topics] == [("1048585", "what does the heart do"), ("2", "zinc")]


@pytest.mark.parametrize("name", ["docs_grp_00.txt", "docs_grp_15.txt.gz"])
def test_documents_in_trecs_form(tmp_path: Path, name: str) -> None:
    result = list(read_documents(written(tmp_path, name, DOCUMENTS)))
    assert result == [
        Document("17", "Ginger for nausea", "Ginger was better than placebo.\nNobody was harmed."),
        Document("18", "", "Zinc for colds."),
    ]


def test_both_packagings_say_the_same(tmp_path: Path) -> None:
    trec = list(read_documents(written(tmp_path, "docs_grp_00.txt", DOCUMENTS)))
    lines = list(read_documents(written(tmp_path, "docs.tsv", TSV)))
    assert [(d.id, d.title, d.abstract.split()) for d in trec] == [(d.id, d.title, d.abstract.split()) for d in lines]
    topics = read_topics(written(tmp_path, "topics.head.val.txt", TOPICS))
    assert topics == [Question("3", "ginger nausea"), Question("4", "zinc for colds")]
    assert read_topics(written(tmp_path, "topics.head.val.tsv", "3\tginger nausea\n4\tzinc for colds\n")) == topics


def test_a_folder_of_them_is_a_corpus(tmp_path: Path) -> None:
    written(tmp_path, "docs_grp_00.txt", DOCUMENTS)
    written(tmp_path, "docs_grp_01.txt", DOCUMENTS.replace("17", "27").replace("18", "28"))
    written(tmp_path, "README.txt", "not a document")
    assert [document.id for document in read_corpus([tmp_path])] == ["17", "18", "27", "28"]
    assert format_by_name(Path("docs_grp.txt.md5")) is None


def test_topics_whose_tags_are_closed(tmp_path: Path) -> None:
    text = "<top>\n<num> Number: 301 </num>\n<title> A < B,\nand C </title>\n<desc> </desc>\n</top>\n"
    assert read_topics(written(tmp_path, "t.txt", text)) == [Question("301", "A < B, and C")]


@pytest.mark.parametrize(
    ("read", "name", "text", "message"),
    [
        (read_documents, "docs_grp_00.txt", "\n<DOC> <TITLE>x</TITLE> </DOC>", r"00\.txt:2: .*no DOCNO"),
        (read_documents, "docs_grp_00.txt", "<DOC> <DOCNO>1</DOCNO>", ":1: .*no closing </DOC>"),
        (read_documents, "docs_grp_00.txt", "<DOC> <DOCNO>1 2</DOCNO> </DOC>", "id is '1 2'"),
        (read_documents, "docs.tsv", "1\ta\nno tab", r"docs\.tsv:2: .*\b2 tab-separated .*\b1\b"),
        (read_topics, "t.txt", "<top> <title> x </top>", r"t\.txt:1: .*no number"),
        (read_topics, "t.txt", "<top> <num> Number: 3 <title> </top>", r"t\.txt:1: .*no text"),
        (read_topics, "t.tsv", "3\ta\n3\tb", r"t\.tsv:2: duplicate .*\b3\b"),
        (read_topics, "t.txt", "", r"t\.txt: no topics"),
    ],
)
def test_what_is_refused(read: Callable[[Path], Any], name: str, text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        list(read(written(tmp_path, name, text)))


def test_half_a_gzip_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "docs_grp_00.txt.gz", DOCUMENTS * 50)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(InputError, match=r"docs_grp_00\.txt\.gz: .*truncated"):
        list(read_documents(path))


words = st.text(alphabet="abc äß.", max_size=12).map(str.strip)


@given(records=st.lists(st.tuples(st.integers(0, 99), words, words), max_size=6, unique_by=lambda one: one[0]))
def test_any_documents_come_back(tmp_path_factory: pytest.TempPathFactory, records: list[tuple[int, str, str]]) -> None:
    text = "".join(
        f"<DOC>\n<DOCNO> {n} </DOCNO>\n<TITLE>{title}</TITLE>\n<TEXT>\n{body}\n</TEXT>\n</DOC>\n"
        for n, title, body in records
    )
    path = written(tmp_path_factory.mktemp("any"), "docs_grp_00.txt", text)
    assert list(read_documents(path)) == [Document(str(n), title, body) for n, title, body in records]
