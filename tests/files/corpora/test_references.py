import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir.core.text.types import Document
from mpir.errors import InputError, RepeatedIdError
from mpir.files.corpora import naming_places, read_corpus
from mpir.files.corpora.placeholders import says_nothing
from mpir.files.corpora.references import read_references
from tests.files.corpora.records import unnamed

PUBMED = """
PMID- 101
OWN - NLM
STAT- MEDLINE
TI  - Ivacaftor opens the chloride channel of
      cystic fibrosis.
PG  - 1-9
AB  - BACKGROUND: The channel is closed. RESULTS: It opened in
      9 of 10 - and stayed open.
FAU - Doe, Jane
AID - 10.1000/1 [doi]

PMID- 102
TI  - [A title in brackets].
TT  - Ein Titel.

PMID- 103
BTI - A book
OAB - Another's abstract.
"""
RIS = """Provider: Somebody
Database: Some
TY  - JOUR
AU  - Doe, J.
T1  - Salt in sweat
N2  - It is high.

CONCLUSION: It tells.
AN  - 2001
DO  - 10.1000/2
ER  -\x20

TY  - CHAP
TI  - By its DOI
TI  - Not this
AB  - One.
AB  - Two.
AN  -
DO  - 10.1000/3
ER  -
a line between
TY  - JOUR
TI  - Without any number
"""


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def test_pubmeds_own_format(tmp_path: Path) -> None:
    assert list(read_references(write(tmp_path / "a.nbib", PUBMED))) == [
        Document(
            "101",
            "Ivacaftor opens the chloride channel of cystic fibrosis.",
            "BACKGROUND: The channel is closed. RESULTS: It opened in 9 of 10 - and stayed open.",
        ),
        Document("102", "[A title in brackets].", ""),
        Document("103", "A book", "Another's abstract."),
    ]


def test_a_title_that_is_not_available_is_none(tmp_path: Path) -> None:
    saved = "PMID- 1\nTI  - [Not Available].\nTT  - Ein Titel.\n\nPMID- 2\nTI  - [Not Available].\n"
    assert [document.title for document in read_references(write(tmp_path / "a.nbib", saved))] == ["Ein Titel.", ""]


def test_an_abstract_that_is_not_available_is_none(tmp_path: Path) -> None:
    saved = "TY  - JOUR\nTI  - One\nAB  - [No abstract available]\nN2  - Two.\nID  - 1\nER  -\n"
    assert list(read_references(write(tmp_path / "a.ris", saved))) == [Document("1", "One", "Two.")]


def test_ris(tmp_path: Path) -> None:
    assert list(read_references(write(tmp_path / "a.ris", RIS))) == [
        Document("2001", "Salt in sweat", "It is high. CONCLUSION: It tells."),
        Document("10.1000/3", "By its DOI", "One. Two."),
        unnamed("Without any number"),
    ]


def test_html_in_ris_is_read_as_its_text(tmp_path: Path) -> None:
    text = (
        "TY  - JOUR\nTI  - Effects of <i>E. coli</i> on CO<sub>2</sub> &amp; pH\n"
        "AB  - <p>Aim: x &lt; 3 and a<b and c>d.</p><p>&#946;-blockers <b>helped</b>.</p>\nER  - \n"
    )
    (tmp_path / "a.ris").write_text(text)
    (document,) = read_references(tmp_path / "a.ris")
    assert document.title == "Effects of E. coli on CO2 & pH"
    assert " ".join(document.abstract.split()) == "Aim: x < 3 and a<b and c>d. β-blockers helped."


@pytest.mark.parametrize("line", ["AIM - To learn it.", "CD34- cells rose.", "IL6 - a cytokine", "OBJ -"])
def test_a_line_of_an_abstract_in_ris_may_look_like_pubmeds_tags(tmp_path: Path, line: str) -> None:
    text = f"TY  - JOUR\nTI  - A\nAB  - It is rare.\n{line}\nThe answer.\nER  - \n"
    (document,) = read_references(write(tmp_path / "a.ris", text))
    assert document.abstract == f"It is rare. {line} The answer."


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_byte_order_marks_and_line_ends_say_nothing(tmp_path: Path, end: str) -> None:
    second = write(tmp_path / "a.nbib", "\ufeff" + PUBMED.lstrip().replace("\n", end))
    plain = write(tmp_path / "b.nbib", PUBMED)
    assert list(read_references(second)) == list(read_references(plain))


def test_files_are_known_by_their_names_and_belong_to_a_corpus(tmp_path: Path) -> None:
    write(tmp_path / "pubmed-cysticfibr-set.txt", PUBMED)
    write(tmp_path / "abstract-cysticfibr-set.txt", "1. J Sweat. 2001")
    write(tmp_path / "Export.RIS", RIS)
    (tmp_path / "more.ris.gz").write_bytes(gzip.compress(b"TY  - JOUR\nTI  - Packed\nID  - 7\nER  - \n"))
    assert [document.id for document in read_corpus([tmp_path])] == [
        *("2001", "10.1000/3", unnamed("Without any number").id),
        *("7", "101", "102", "103"),
    ]


def test_an_id_that_comes_twice_is_named_with_its_file(tmp_path: Path) -> None:
    path = write(tmp_path / "a.nbib", PUBMED)
    with pytest.raises(RepeatedIdError, match=f"^{path}, document 2: twice"), naming_places([path]):
        raise RepeatedIdError("102", "twice")


@pytest.mark.parametrize("text", ["", "<html>Sign in</html>", "ER  - \nof nothing\n"])
def test_a_file_without_references_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=r"a\.ris: no references"):
        list(read_references(write(tmp_path / "a.ris", text)))


WORDS = st.lists(
    st.text("abcTIER-. ", max_size=12).map(str.strip).filter(lambda line: line and not says_nothing(line)),
    min_size=1,
    max_size=4,
)


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=4))
def test_what_is_wrapped_is_read_whole(
    tmp_path_factory: pytest.TempPathFactory, papers: list[tuple[list[str], list[str]]]
) -> None:
    lines = [
        f"PMID- {number}\nTI  - " + "\n      ".join(title) + "\nAB  - " + "\n      ".join(abstract) + "\n"
        for number, (title, abstract) in enumerate(papers)
    ]
    path = write(tmp_path_factory.mktemp("corpus") / "a.nbib", "\n".join(lines))
    assert [(document.title, document.abstract) for document in read_references(path)] == [
        (" ".join(title), " ".join(abstract)) for title, abstract in papers
    ]


def test_tags_may_come_before_the_type_or_without_one(tmp_path: Path) -> None:
    late = "DB  - WoS\nTI  - One\nAB  - a\nTY  - JOUR\nDO  - 10.1000/1\nER  - \n\nTI  - Two\nTY  - JOUR\nER  - \n"
    without = "C1  - 1\nTI  - Three\nAB  - AIM: c\nAIM - To learn.\nID  - 3\nER  - \nTI  - Four\nID  - 4\nER  - \n"
    assert list(read_references(write(tmp_path / "a.ris", late + without))) == [
        Document("10.1000/1", "One", "a"),
        unnamed("Two"),
        Document("3", "Three", "AIM: c AIM - To learn."),
        Document("4", "Four"),
    ]


def test_references_without_an_end_are_told_apart(tmp_path: Path) -> None:
    typed = "TY  - JOUR\nTI  - One\nTY  - JOUR\nTI  - Two\n"
    assert [item.title for item in read_references(write(tmp_path / "a.ris", typed))] == ["One", "Two"]
    untyped = "C1  - 1\nTI  - One\n\nC1  - 2\nTI  - Two\n"
    assert [item.title for item in read_references(write(tmp_path / "b.ris", untyped))] == ["One", "Two"]
    late = "OWN - NLM\nPMID- 1\nTI  - One\n\nOWN - NLM\nPMID- 2\nTI  - Two\n\nTY  - JOUR\nTI  - Three\nER  - \n"
    documents = list(read_references(write(tmp_path / "c.nbib", late)))
    assert [(item.id, item.title) for item in documents] == [("1", "One"), ("2", "Two"), (unnamed("Three").id, "Three")]
    damaged = "PT - One\nLID - 10.1000/1 [doi]\n\nPMID- 2\nTI  - Two\nLID - 10.1000/2 [doi]\n"
    documents = list(read_references(write(tmp_path / "d.nbib", damaged)))
    assert [item.metadata["doi"] for item in documents] == ["10.1000/1", "10.1000/2"]
    damaged = "PMID- 1\nTI  - One\nAB  - First.\n\nPM+D- 2\nTI  - Two\nAB  - Second.\n"
    documents = list(read_references(write(tmp_path / "e.nbib", damaged)))
    assert [(item.title, item.abstract) for item in documents] == [("One", "First."), ("Two", "Second.")]
