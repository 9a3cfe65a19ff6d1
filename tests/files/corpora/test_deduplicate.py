import re
from dataclasses import replace
from pathlib import Path

from mpir.core.text.types import Document
from mpir.files.corpora.corpus import read_corpus
from mpir.files.corpora.deduplicate import without_copies

LONG = "We measured the salt in the sweat of ten children and found it high in nine of them, and low in one child."


def test_each_paper_counts_once() -> None:
    pubmed = Document("7", "Salt in sweat.", "It is high.", metadata={"pmid": "7"})
    scopus = Document("2-s2.0-1", "SALT IN SWEAT", "It  is high")
    titled, longer = Document("10.1/1", "A Trial", ""), Document("10.1/1", "A trial", "It worked.")
    assert without_copies([pubmed, titled, scopus, longer]) == [pubmed, longer]


def test_a_publishers_last_line_makes_no_other_paper() -> None:
    plain = Document("7", "Salt", LONG, metadata={"pmid": "7"})
    signed = Document("10.1/1", "Salt", f"{LONG} Copyright (c) 2019 Somebody.")
    assert without_copies([plain, signed]) == [plain]  # the notice adds no words
    assert without_copies([signed, plain]) == [replace(signed, id="7")]
    update = Document("8", "Salt", LONG.replace("one child", "none of them"))
    assert without_copies([plain, update]) == [plain, update]


def test_what_may_be_another_paper_stays() -> None:
    documents = [
        Document("1", "Reply", ""),
        Document("2", "Reply", ""),  # no abstract tells them apart
        Document("3", "", "One."),
        Document("3", "", "Two."),
        Document("4", "Salt", "One."),
        Document("5", "Salt", "One. And two."),  # too short to be sure
    ]
    assert without_copies(documents) == documents


def test_a_pmid_or_a_doi_tells_one_paper_in_whatever_words() -> None:
    pubmed = Document("7", "IL-1beta in sweat.", "IL-1beta is high.", metadata={"pmid": "7", "doi": "10.1/a"})
    scopus = replace(pubmed, title="IL-1β in sweat", abstract="(c) 2019. IL-1β is high in sweat.")
    embase = Document("10.1/A", "IL-1beta in sweat", "", metadata={"doi": "10.1/a"})
    (retained,) = without_copies([embase, pubmed, scopus])
    assert retained == scopus
    assert retained.metadata == {"pmid": "7", "doi": "10.1/a"}  # which the first copy does not know
    (retained,) = without_copies([pubmed, embase])
    assert retained.metadata == {"pmid": "7", "doi": "10.1/a"}


def test_what_the_first_copy_says_of_a_paper_stays() -> None:
    first = Document("7", "Salt", "", metadata={"pmid": "7", "doi": "10.1/a"})
    copy = Document("x", "Salt", LONG, metadata={"pmid": "7", "doi": "10.1/b", "year": "2020"})
    (result,) = without_copies([first, copy])
    assert result == replace(copy, id="7")
    assert result.metadata == {"pmid": "7", "doi": "10.1/a", "year": "2020"}


def test_what_a_publisher_writes_before_an_abstract_makes_no_other_paper() -> None:
    plain, signed = Document("7", "Salt", LONG), Document("2-s2.0-1", "Salt", f"(c) 2019 Somebody. {LONG}")
    assert [paper.abstract for paper in without_copies([plain, signed])] == [LONG]


def test_papers_of_a_supplement_share_its_doi_and_are_told_apart() -> None:
    names = {"doi": "10.1/s"}
    papers = [Document("10.1/S", title, "It worked.", metadata=names) for title in ("Salt", "Sweat", "Salt")]
    papers[1] = replace(papers[1], abstract="It failed.")
    ids = {paper.title: paper.id for paper in without_copies(papers)}
    assert all(re.fullmatch(r"10\.1/S:[0-9a-f]{8}", identity) for identity in ids.values())
    assert len(set(ids.values())) == 2
    assert ids == {paper.title: paper.id for paper in without_copies(papers[::-1])}


def test_every_reader_says_what_names_a_paper_everywhere(tmp_path: Path) -> None:
    texts = {
        "a.nbib": "PMID- 7\nTI  - Salt\nLID - S1 [pii]\nAID - 10.1000/AB(1) [doi]\n",
        "b.ris": "TY  - JOUR\nTI  - Salt\nDO  - https://doi.org/10.1000/ab(1).\nER  -\n",
        "c.csv": "Title,DOI,PubMed ID\nSalt,10.1000/AB(1),7\n",
        "d.csv": '"TITLE","Salt"\n"ABSTRACT","High."\n"MEDLINE PMID","7","http://x/7"\n"DOI","10.1000/ab(1)"\n',
        "e.xml": "<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>7</PMID><Article><ArticleTitle>Salt"
        "</ArticleTitle><ELocationID EIdType='doi'>10.1000/ab(1)</ELocationID></Article></MedlineCitation>"
        "</PubmedArticle></PubmedArticleSet>",
        "f.nxml": "<article><front><article-meta><article-id pub-id-type='doi'>10.1000/ab(1)</article-id><article-id "
        "pub-id-type='pmid'>7</article-id></article-meta></front></article>",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    pmid, doi = {"pmid": "7"}, {"doi": "10.1000/ab(1)"}
    result = {name: next(read_corpus([tmp_path / name])).metadata for name in texts}
    assert result == dict.fromkeys(texts, pmid | doi) | {"b.ris": doi | {"reference_type": "JOUR"}}
