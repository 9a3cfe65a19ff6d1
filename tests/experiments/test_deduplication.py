"""Copies and look-alikes of records: counted as found, missed or joined with another paper."""

from experiments.deduplication import COPIES, LOOK_ALIKES, copy_of, joins, same_papers, shown
from mpir.core.text.types import Document

LONG = "Forty skaters were weighed before and after an hour on the lake, and each of them had lost a little water: "


def paper(number: int, title: str) -> Document:
    fields = {
        "pmid": f"{number}",
        "doi": f"10.1/{number}",
        "year": 2001,
        "authors": [f"Doe{number}, Jo"],
        "pages": "1-9",
    }
    return Document(str(number), title, f"{LONG} {title.lower()} {number}", metadata=fields)


PAPERS = [paper(number, f"A trial of {drink} in forty skaters") for number, drink in enumerate(("salt", "tea", "milk"))]


def test_copies_are_counted_as_found_missed_or_joined_with_another() -> None:
    copies = [copy_of(document, COPIES["the same fields"]) for document in PAPERS]
    assert joins(PAPERS, copies) == (3, 3, 0)
    assert joins(PAPERS, [copies[1], copies[0]]) == (2, 0, 2)
    assert joins(PAPERS, [copy_of(document, COPIES["title alone"]) for document in PAPERS]) == (3, 0, 0)


def test_copies_have_no_id_of_pubmed_and_look_alikes_are_other_papers() -> None:
    for change in COPIES.values():
        assert "pmid" not in copy_of(PAPERS[0], change).metadata
    others = [
        Document(f"x{number}", f"Rain in {place}", f"It rained for {number} days.")
        for number, place in enumerate("abc")
    ]
    for alter in LOOK_ALIKES.values():
        assert joins(PAPERS, list(map(alter, PAPERS, others))) == (3, 0, 0)


def test_texts_without_ids_are_joined_by_their_words() -> None:
    assert list(same_papers([*PAPERS, PAPERS[1]])) == [(PAPERS[1], PAPERS[1])]


def test_a_share_has_wilsons_interval() -> None:
    assert shown(10, 10) == "1.0000 (0.7225 to 1.0000)"
