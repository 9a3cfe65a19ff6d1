"""Which records are one paper, and which only look alike: trials, errata, comments, congress abstracts, notices."""

from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir.core.text.types import Document
from mpir.files.corpora.citation import Citation, same_journal
from mpir.files.corpora.deduplicate import without_copies
from mpir.files.corpora.identifiers import ListId
from mpir.files.corpora.same_paper import surnames

TITLE = "Salt in the sweat of rowing men after long training"
ABSTRACT = "We measured the salt in the sweat of forty rowing men before and after long training, and it fell by half."
OTHER = "Lemonade was poured over ice in eleven cafés, and guests judged its taste by marks between one and ten points."
FIELDS: dict[str, Any] = {
    **{"year": 2015, "journal": "Journal of Salt", "volume": "5", "pages": "12-19", "authors": ["Doe, Jane"]},
}


def paper(name: str = "a", title: str = TITLE, abstract: str = ABSTRACT, **fields: Any) -> Document:
    """A record with these fields beside the usual ones; None takes one away."""
    metadata = {key: value for key, value in {**FIELDS, **fields}.items() if value is not None}
    return Document(ListId(name), title, abstract, metadata=metadata)


def joined(*documents: Document) -> bool:
    """Whether the records are one paper, in any order."""
    sizes = {len(without_copies(order)) for order in permutations(documents)}
    assert len(sizes) == 1
    return sizes == {1}


COPIES = {
    "capitals, no abstract": paper(title=TITLE.upper(), abstract=""),
    "an abbreviated journal": paper(abstract="", journal="J Salt", issn="2222-2222"),
    "short pages": paper(abstract="", pages="12-9"),
    "the first page": paper(abstract="", pages="12", authors=None),
    "an article number": paper(abstract="", pages="e1234"),
    "ahead of print": paper(abstract="", year=2014, volume=None, pages=None),
    "another order of names": paper(abstract="", volume=None, authors=["Jane Doe"]),
    "initials": paper(abstract="", volume=None, authors=["Doe J"]),
    "a mark of a retraction": paper(title=f"RETRACTED: {TITLE}", abstract=""),
    "a mark of a retraction behind": paper(title=f"{TITLE} (Retracted article. See vol. 7, 2017)"),
    "a journal in another language": paper(journal="Zhonghua Yan Za Zhi", volume=None),
    "other ids of databases": paper(doi="10.1000/s.1", scopus="2-s2.0-85000000002", pmcid="PMC2"),
    "another PMID": paper(doi="10.1000/s.1", pmid="30111223"),
}
ORIGINAL = paper("o", doi=None)
WITH_IDS = paper("o", doi="10.1000/s.1", scopus="2-s2.0-85000000001", pmcid="PMC1", pmid="30111222")
TRAPS = {
    "an erratum with its abstract": paper(title=f"Erratum to: {TITLE}", year=2016, volume="6", pages="99"),
    "an erratum by its type": paper(types=["Published Erratum"], year=2016, volume="6", pages="99"),
    "an erratum of Web of Science": paper(title=f"{TITLE} (vol 5, pg 12, 2015)", volume="6", pages="99"),
    "a correction behind": paper(title=f"{TITLE}: correction", pages="99"),
    "a retraction's notice": paper(title=f"Retraction notice to {TITLE}", volume="7"),
    "a comment without an abstract": paper(title=f"Comment on: {TITLE}", abstract="", authors=["Roe, R."]),
    "the authors' reply": paper(title=f"{TITLE}: authors' reply", abstract=""),
    "a withdrawn version": paper(title=f"WITHDRAWN: {TITLE}"),
    "a congress abstract": paper(abstract="", journal="Salt Congress Abstracts", volume=None, pages=None),
    "a congress abstract with its text": paper(types=["Conference Abstract"], journal="Salt Congress Abstracts"),
    "another volume": paper(abstract="", volume="6", pages=None),
    "another page": paper(abstract="", pages="112-119", authors=["Roe, R."]),
    "another journal with these pages": paper(abstract="", journal="Annals of Sweat", authors=None),
    "unknown journal, no author": paper(abstract="", journal=None, authors=None),
    "another abstract": paper(abstract=OTHER),
    "three years later": paper(abstract="", year=2018, volume=None, pages=None),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_are_joined(name: str) -> None:
    assert joined(WITH_IDS if COPIES[name].metadata.get("doi") else ORIGINAL, COPIES[name])


@pytest.mark.parametrize("name", TRAPS)
def test_papers_that_look_alike_stay_apart(name: str) -> None:
    assert not joined(ORIGINAL, TRAPS[name])


@pytest.mark.parametrize("name", ["an erratum with its abstract", "the authors' reply", "another abstract"])
def test_even_with_one_doi(name: str) -> None:
    trap = replace(TRAPS[name], metadata={**TRAPS[name].metadata, "doi": "10.1000/s.1"})
    assert not joined(paper("o", doi="10.1000/s.1"), trap)


def test_different_dois_and_titles_are_never_one() -> None:
    first, second = paper("a", doi="10.1000/s.1"), paper("b", title=f"{TITLE}: a study", doi="10.1000/s.2")
    assert not joined(first, second)
    assert joined(first, paper("b", doi="10.1000/s.2"))  # such as a preprint


@pytest.mark.parametrize(
    "title", ["Reply", "Abstracts", "Acknowledgement to reviewers of manuscripts submitted in 2015"]
)
def test_generic_titles_need_a_journal(title: str) -> None:
    fields: dict[str, Any] = {"title": title, "abstract": "", "authors": None, "pages": "1-2"}
    assert not joined(paper("a", **fields), paper("b", **fields | {"journal": "Annals of Sweat"}))
    assert not joined(paper("a", **fields), paper("b", **fields | {"journal": None}))
    assert joined(paper("a", **fields), paper("b", **fields)) is (len(title) > 30)
    fields["authors"] = ["Doe, Jane"]
    assert joined(paper("a", **fields), paper("b", **fields))


def test_two_pmids_are_not_joined_through_a_third_record() -> None:
    first, second = paper("a", abstract="", pmid="7"), paper("b", abstract="", pmid="8")
    for order in permutations([first, second, paper("c", abstract="")]):
        assert len(without_copies(order)) == 2


@given(st.permutations(["pmid", "pmcid", "wos", "scopus", "doi"]), st.sets(st.sampled_from(["pmcid", "wos", "scopus"])))
def test_equal_doi_title_and_abstract_join_in_any_order_of_ids(names: list[str], others: set[str]) -> None:
    ids = {"pmid": "7", "pmcid": "PMC7", "wos": "0006", "scopus": "2-s2.0-85000000001", "doi": "10.1000/s.1"}
    first = paper("a", **{name: ids[name] for name in names})
    second = paper("b", **{name: f"{ids[name]}9" if name in others else ids[name] for name in names if name != "pmid"})
    assert joined(first, second)


def test_a_joined_record_is_one_record_completed_by_the_other() -> None:
    first = paper("a", abstract="", pmid="7", volume=None, pages=None, issn="1111-1111")
    (record,) = without_copies([first, paper("b", pmid="7", keywords=["salt"])])
    assert record.metadata == {**FIELDS, "pmid": "7", "issn": "1111-1111", "keywords": ["salt"]}
    congress = paper("a", abstract="", pmid="7", year=2014, journal="Congress", volume="1", pages="3", issue="2")
    (record,) = without_copies([congress, paper("b", pmid="7", types=["Review"])])
    assert (record.id, record.abstract) == ("a", ABSTRACT)
    assert record.metadata == {**FIELDS, "pmid": "7", "types": ["Review"]}


@pytest.mark.parametrize("is_first", [True, False])
def test_a_joined_record_is_retracted_if_one_copy_is(is_first: bool) -> None:
    copies = [paper("a", pmid="7", types=["Journal Article"]), paper("b", pmid="7", types=["Retracted Publication"])]
    (record,) = without_copies(copies if is_first else copies[::-1])
    assert "Retracted Publication" in record.metadata["types"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("N Engl J Med", "The New England journal of medicine"),
        ("BMJ", "BMJ (Clinical research ed.)"),
        ("BMJ", "British Medical Journal"),
        ("JAMA", "JAMA : the journal of the American Medical Association"),
        ("Lancet", "The Lancet (London, England)"),
        ("Proc Natl Acad Sci U S A", "Proceedings of the National Academy of Sciences of the United States of America"),
        ("Dtsch Med Wochenschr", "Deutsche medizinische Wochenschrift (1946)"),
        ("REVISTA DE SAUDE PUBLICA", "Revista de Saúde Pública"),
    ],
)
def test_names_of_one_journal(first: str, second: str) -> None:
    assert same_journal(first, second)
    assert same_journal(second, first)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        *(
            ("Journal of Salt", "Annals of Sweat"),
            ("Lancet", "Lancet Oncology"),
            ("Circulation", "Circulation Research"),
        ),
        *(("J Salt", "J Salt Res"), ("Salt Congress Abstracts", "Journal of Salt"), ("BMJ", "BMJ Open")),
    ],
)
def test_names_of_two_journals(first: str, second: str) -> None:
    assert not same_journal(first, second)


def test_surnames_share_a_word_in_any_order_and_form() -> None:
    names = ["García López, Ana", "Garcia A", "Ana Garcia", "GARCIA LOPEZ A", "Ana García"]
    assert frozenset.intersection(*map(surnames, names)) == {"garcia"}
    assert surnames("van der Major, Mary") == surnames("Major M Jr") == {"major"}


citations = st.builds(
    Citation,
    year=st.none() | st.integers(2014, 2017),
    issn=st.sampled_from(["", "1", "2"]),
    journals=st.sampled_from([(), ("J Salt",), ("Sweat",)]),
    volume=st.sampled_from(["", "5", "6 Suppl 1"]),
    pages=st.sampled_from(["", "12", "12-19", "12-9", "e7"]),
)


@given(citations, citations)
def test_contradictions_are_mutual_and_unknown_fields_make_none(citation: Citation, other: Citation) -> None:
    assert citation.contradicts(other) == other.contradicts(citation)
    assert not citation.contradicts(citation)
    assert not Citation(year=None, issn="", journals=(), volume="", pages="").contradicts(citation)
