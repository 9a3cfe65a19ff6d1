"""A note names ids of the record and of other papers; only the record's own are read."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir.core.text.types import Document
from mpir.files.corpora import read_corpus
from mpir.files.corpora.deduplicate import without_copies
from mpir.files.corpora.notes import ids_in_note, trials_in_note

OWN = [
    ("PMID: 30111222 PMCID: PMC77", {"pmid": "30111222", "pmcid": "PMC77"}),
    ("PUBMED 30111222,EMBASE 77", {"pmid": "30111222"}),
    ("Accession Number: 104832767. Language: English. NLM UID: 9109904. PMID: NLM30111222.", {"pmid": "30111222"}),
    ("Cited By (since 1996):23\nSource: Scopus\nPubMed ID: 30111222", {"pmid": "30111222"}),
    ("PubMed PMID: 30111222; PubMed Central PMCID: PMC77.", {"pmid": "30111222", "pmcid": "PMC77"}),
    ("J Salt. 2015 Mar 5;3(1):1-9. doi: 10.1000/x.1. Epub 2015 Feb 1.", {"doi": "10.1000/x.1"}),
    ("10.1000/x.1", {"doi": "10.1000/x.1"}),
    ("WOS:000600000000001", {"wos": "000600000000001"}),
    ("Number of Cited References: 34. PMID: 30111222", {"pmid": "30111222"}),
    ("Accession: PMID 30111222", {"pmid": "30111222"}),
    ("Language: English\nAccession Number: WOS:000600000000001", {"wos": "000600000000001"}),
    ("Source: Scopus. Record ID: PMC77", {"pmcid": "PMC77"}),
    ("Accession: 30111222", {}),
    ("Comment on: Accession: PMID 30111222", {}),
    ("2015 4. 30111222", {}),
    ("PMID: 30111222 and PMID: 30111223", {}),
    ("mpir: rank 1 of 2, probability 0.6, for: salt Best sentence: It is. PMID: 30111222", {}),
]
RELATIONS = [
    *("Comment on: Doe J. Salt. J Salt 2014;1:1.", "Erratum in: J Salt 2017;3:9.", "Erratum for: J Salt 2017;3:9."),
    *("See also", "Cites", "Republished from: J Salt.", "Corrected and republished in: J Salt.", "Retraction of:"),
    *("Corrigendum to Doe 2014.", "Update of: J Salt.", "Reply to Doe.", "Main paper:", "Reported also in J Salt."),
    *("Secondary analysis of Doe 2014.", "Same trial as Doe 2014.", "Preprint of", "Summary for patients in: J Salt."),
    *("Kommentar zu Doe.", "Voir aussi Doe.", "Véase Doe.", "Comentário sobre Doe.", "Translated from: J Salt."),
    *(
        "Protocol published in J Salt.",
        "Cited in: Doe J.",
        "Companion paper:",
        "Based on Doe 2014.",
        "References: Doe.",
    ),
]
IDS = [("PMID: 29999999", "pmid"), ("doi: 10.1000/other.9", "doi"), ("PMC5000001", "pmcid")]


@pytest.mark.parametrize(("note", "ids"), OWN)
def test_a_note_gives_the_ids_that_it_states(note: str, ids: dict[str, str]) -> None:
    assert ids_in_note(note) == ids


@given(st.sampled_from(RELATIONS), st.sampled_from(IDS), st.sampled_from(["", "Language: English. ", "J Salt 5 (2). "]))
def test_the_id_of_another_paper_is_not_the_records_own(relation: str, other: tuple[str, str], before: str) -> None:
    assert ids_in_note(f"{before}{relation} {other[0]}") == {}


@given(st.sampled_from(RELATIONS), st.sampled_from(IDS))
def test_an_id_before_a_relation_stays_the_records_own(relation: str, other: tuple[str, str]) -> None:
    assert ids_in_note(f"PMID: 30111222. {relation} {other[0]}") == {"pmid": "30111222"}


@pytest.mark.parametrize("tag", ["N1", "C3"])
def test_a_comment_and_its_paper_stay_two(tmp_path: Path, tag: str) -> None:
    note = f"{tag}  - Comment on: Doe J. Salt in sweat.\n2014;1:1. PMID: 29999999"
    (tmp_path / "a.nbib").write_text("PMID- 29999999\nTI  - Salt in sweat.\nAB  - It is salty.\nDP  - 2014\n")
    (tmp_path / "b.ris").write_text(f"TY  - JOUR\nTI  - Salt: a comment\nAB  - We doubt it.\n{note}\nER  - \n")
    documents = without_copies(read_corpus([tmp_path]))
    assert [document.metadata.get("pmid") for document in documents] == ["29999999", None]


def test_the_lines_of_a_note_are_told_apart(tmp_path: Path) -> None:
    text = "TY  - JOUR\nTI  - Salt\nAB  - It is.\nN1  - Source: Scopus\nPubMed ID: 30111222\nER  - \n"
    (tmp_path / "a.ris").write_text(text)
    (tmp_path / "b.bib").write_text("@article{a, title={Salt}, note={Publisher: Press\n PMID: 30111223}}")
    (tmp_path / "c.json").write_text(
        json.dumps(
            [{"id": "x", "title": "Salt", "url": "https://pmc.ncbi.nlm.nih.gov/articles/PMC7/", "note": "See PMC8"}]
        )
    )
    ids = [document.metadata.get("pmid") or document.metadata.get("pmcid") for document in read_corpus([tmp_path])]
    assert ids == ["30111222", "30111223", "PMC7"]


def test_a_trial_in_a_note_is_a_trial_that_the_paper_reports(tmp_path: Path) -> None:
    assert trials_in_note("Trial NCT01111222; see also NCT01111223") == ["NCT01111222"]
    (tmp_path / "a.ris").write_text("TY  - JOUR\nTI  - Salt\nN1  - ClinicalTrials.gov: NCT01111222\nER  - \n")
    (document,) = read_corpus([tmp_path])
    assert (document.metadata["trials"], document.metadata.get("nct")) == (["NCT01111222"], None)
    papers = [Document(name, name, name, metadata={"nct": "NCT01111222"}) for name in "ab"]
    assert without_copies(papers) == papers
    records = [Document("NCT01111222", name, name, metadata={"nct": "NCT01111222"}) for name in "ab"]
    assert without_copies(records) == records[:1]
