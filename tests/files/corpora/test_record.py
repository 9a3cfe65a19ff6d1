"""Every record whole: its fields, its ids and its text, as databases write them."""

import copy
import json
import pickle
from collections.abc import Mapping
from pathlib import Path

import pytest

from mpir.core.text.latex import plain_formula, plain_latex
from mpir.core.text.legible import legible
from mpir.core.text.types import Document
from mpir.files.corpora import read_collection, read_corpus
from mpir.files.corpora.content import shared_id
from mpir.files.corpora.deduplicate import without_copies
from mpir.files.corpora.identifiers import doi_of
from mpir.files.corpora.placeholders import says_nothing, without_remarks
from mpir.files.corpora.record import bibliography_of
from mpir.files.corpora.record_metadata import RecordMetadata, ids_of
from tests.threads import from_threads

LONG = "Forty skaters were weighed before and after an hour on the lake, and each of them had lost a little water."


def read(folder: Path, name: str, text: str) -> list[Document]:
    (folder / name).write_text(text, encoding="utf-8")
    return list(read_corpus([folder / name]))


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"{\textalpha}-actin {\textgreater} 3 and {\textless}7", "α-actin > 3 and <7"),
        (r"$\gamma$-ray of 10\textsuperscript{7}, $10^{-3}$, $x \le 2$", "γ-ray of 10⁷, 10⁻³, x ≤ 2"),
        (r"CO\textsubscript{2}, H$_2$O, \textmu{}g", "CO2, H2O, μg"),
        ("US$5 and US$6 or $7 and $8", "US$5 and US$6 or $7 and $8"),
        (r"\foo{bar} stays", r"\foo{bar} stays"),
        (r"10$^{-8}$ M of $^{18}$F and Ca$^{2+}$ at 37$^{\circ}$C", "10⁻⁸ M of 18F and Ca2+ at 37°C"),
        (r"p$<$0.05, $\geq$5, $\times$10$^{9}$/L, $R^2$, V$_{\mathrm{max}}$", "p<0.05, ≥5, ×10⁹/L, R2, Vmax"),
        (r"\SI{5}{\milli\gram}, \num{12}, \frac{1}{2}, \frac12, \ensuremath{10^{6}}", "5 mg, 12, 1/2, 1/2, 10⁶"),
        (
            r"\href{http://x.y}{Here}, \url{x.y}, {\it E. coli}, \textcolor{red}{see} \cite{a}",
            r"Here, x.y, E. coli, see \cite{a}",
        ),
        (r"cost $5 or $6 with $\beta$ and US$7", "cost $5 or $6 with β and US$7"),
        (r"one\\two, \textbf{\foo x}, \\alpha", r"one two, \foo x, α"),
        (r"\href{x}, \author, \frac{1}", r"\href{x}, \author, \frac{1}"),
    ],
)
def test_latex_keeps_its_meaning(latex: str, text: str) -> None:
    assert " ".join(plain_latex(latex).split()) == text


def test_unknown_commands_are_collected_and_formulas_have_no_document() -> None:
    unknown = set[str]()
    plain_latex(r"\foo{bar} \alpha", unknown)
    assert unknown == {"\\foo"}
    assert plain_formula(r"\documentclass{minimal}\usepackage{x}\begin{document}$$7\,mg$$\end{document}") == "7 mg"


@pytest.mark.parametrize(
    ("text", "read_text"),
    [
        ("&lt;b&gt;B. subtilis&lt;/b&gt;", "B. subtilis"),
        ("a &amp;amp;gt; b", "a > b"),
        ("<jats:styled-content>gene</jats:styled-content>", "gene"),
        ("10<sup>&minus;8</sup> and 10<SUP>6</SUP>", "10^-8 and 10^6"),
        ("&lt;tex-math&gt;$\\alpha \\le 10^{-5}$&lt;/tex-math&gt;<disp-formula>x=1</disp-formula>", "α ≤ 10^-5x=1"),
        ("10<sup>8</sup> and 10⁻⁴ and CO<sub>2</sub>", "10^8 and 10^-4 and CO2"),
    ],
)
def test_tags_and_exponents_are_read(text: str, read_text: str) -> None:
    assert legible(text) == read_text


def test_xml_readers_write_one_text_for_exponents_and_choose_one_encoding_of_a_formula(tmp_path: Path) -> None:
    body = "Of 10<sup>4</sup> and 10<sup>-2</sup> g"
    pubmed = (
        "<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>7</PMID><Article><Abstract><AbstractText>"
        f"{body}</AbstractText></Abstract></Article></MedlineCitation><PubmedData><ArticleIdList>"
        "<ArticleId IdType='doi'>10.1000/q</ArticleId></ArticleIdList></PubmedData></PubmedArticle></PubmedArticleSet>"
    )
    formula = "<inline-formula><alternatives><tex-math>$$k=2$$</tex-math><math><mi>k</mi><mo>=</mo><mn>2</mn></math>"
    dates = "<pub-date pub-type='pmc-release'><year>2020</year></pub-date><pub-date pub-type='epub'><year>2013</year>"
    jats = (
        f"<article><front><article-meta>{dates}</pub-date><abstract abstract-type='web-summary'><p>No.</p></abstract>"
        f"<abstract><p>{body}, {formula}</alternatives></inline-formula>.</p></abstract>"
        "</article-meta></front></article>"
    )
    (first,), (second,) = read(tmp_path, "a.xml", pubmed), read(tmp_path, "b.nxml", jats)
    assert (first.abstract, first.metadata["doi"]) == ("Of 10⁴ and 10⁻² g", "10.1000/q")
    assert (second.abstract, second.metadata["year"]) == ("Of 10⁴ and 10⁻² g, k=2.", 2013)


@pytest.mark.parametrize("text", ["[In Process Citation].", "Publisher: Abstract available from the publisher."])
def test_remarks_for_a_missing_text_are_none(text: str) -> None:
    assert says_nothing(text)


@pytest.mark.parametrize(
    "text",
    [
        f"{LONG}(ABSTRACT TRUNCATED AT 400 WORDS)",
        f"{LONG} Copyright © 2011 Some House Ltd. All rights reserved.",
        f"© 2017 Some House B.V. {LONG}",
    ],
)
def test_remarks_at_the_ends_are_no_text(text: str) -> None:
    assert without_remarks(text) == LONG


def test_registries_tell_papers_apart_and_join_them() -> None:
    def paper(identity: str, **names: str) -> Document:
        return Document(identity, "A trial of lemonade in skaters", LONG, metadata=names)

    apart = [paper("a", wos="WOS1"), paper("b", wos="WOS2")]
    assert without_copies(apart) == apart
    assert (
        len(without_copies([paper("a", pmcid="PMC7"), Document("b", "Other words", "", metadata={"pmcid": "PMC7"})]))
        == 1
    )
    same_doi = [
        Document(name, "Posters", text, metadata={"doi": "10.1/s"})
        for name, text in (("a", LONG), ("b", "Ice is cold."))
    ]
    assert len(without_copies(same_doi)) == 2


@pytest.mark.parametrize(
    ("first", "second"),
    [("IFN-γ in Müller cells", "IFN-gamma in Muller cells"), (r"IFN-$\gamma$ at 10<sup>3</sup>", "IFN-γ at 10(3)")],
)
def test_greek_accents_and_exponents_make_no_other_paper(first: str, second: str) -> None:
    documents = [Document(name, text, text, metadata={"doi": "10.1/a"}) for name, text in (("a", first), ("b", second))]
    assert without_copies(documents) == documents[:1]


def test_accession_numbers_are_pmids_of_pubmed_only(tmp_path: Path) -> None:
    entry = "TY  - JOUR\nAN  - 20222333\nDB  - {}\nTI  - Of {}\nAB  - {} is here.\nER  - \n"
    medline, other = (entry.format(name, name, name) for name in ("Ovid MEDLINE(R) ALL", "APA PsycInfo"))
    (tmp_path / "a.ris").write_text(medline)
    (tmp_path / "b.ris").write_text(other)
    documents = without_copies(read_corpus([tmp_path]))
    assert [shared_id(document) for document in documents] == ["20222333", "20222333"]
    assert documents[0].id == "20222333" != documents[1].id
    assert documents[0].metadata["pmid"] == "20222333"


def test_a_repeated_identifier_begins_a_record(tmp_path: Path) -> None:
    text = "UI  - 20222333\nTI  - Ice\nAB  - Cold.\nUI  - 20222444\nTI  - Fire\nAB  - Hot.\n"
    assert [(item.id, item.title) for item in read(tmp_path, "a.txt", text)] == [
        ("20222333", "Ice"),
        ("20222444", "Fire"),
    ]


@pytest.mark.parametrize(
    "text", ["https://dx.doi.org/10.1000%2FAb.1", "(doi: 10.1000/ab.1)", "10.1000/AB.1 [doi]", "DOI 10.1000/ab.1."]
)
def test_a_doi_in_any_spelling(text: str) -> None:
    assert doi_of(text) == "10.1000/ab.1"


def test_json_of_services_has_its_ids_abstract_and_fields(tmp_path: Path) -> None:
    work = {
        "id": "https://openalex.org/W77",
        "title": "Ice",
        "ids": {"pmid": "https://pubmed.ncbi.nlm.nih.gov/20222333"},
        "abstract_inverted_index": {"is": [1], "Ice": [0], "cold.": [2]},
        "publication_year": 2012,
        "authorships": [{"author": {"display_name": "Jane Roe"}}],
    }
    (document,) = read(tmp_path, "a.json", json.dumps({"results": [work]}))
    assert document.abstract == "Ice is cold."
    names = {name: document.metadata[name] for name in ("pmid", "openalex", "year", "authors")}
    assert names == {"pmid": "20222333", "openalex": "W77", "year": 2012, "authors": ["Jane Roe"]}


@pytest.mark.parametrize(
    "value",
    [
        {"things": [{"title": "Ice", "abstract": "Cold."}]},
        {"7": {"CONTEXTS": ["Cold."], "title": "Ice"}},
        [{"ref": "x", "title": "Ice", "abstract": "Cold.", "doi": float("nan"), "authors": []}],
    ],
)
def test_json_without_known_names_of_lists_and_ids(tmp_path: Path, value: object) -> None:
    (document,) = read(tmp_path, "a.json", json.dumps(value))
    assert (document.title, document.abstract) == ("Ice", "Cold.")


def test_an_index_takes_versions_of_a_paper_once(tmp_path: Path) -> None:
    rows = "c1111111,Ice,Cold.,10.1000/i\nc1111111,Ice and more,Cold,10.1000/i\nc2222222,Fire,Hot.,\n"
    (tmp_path / "metadata.csv").write_text(f"cord_uid,title,abstract,doi\n{rows}")
    assert [document.id for document in read_collection([tmp_path])] == ["c1111111", "c2222222"]


def test_metadata_is_a_dictionary_that_reads_its_fields_when_asked() -> None:
    reads = []

    def read(texts: Mapping[str, str]) -> dict[str, str]:
        reads.append(texts)
        return {"journal": texts["jt"]}

    metadata = RecordMetadata({"pmid": "7"}, {"jt": "Sweat"}, read)
    assert ids_of(metadata) == {"pmid": "7"}
    assert not reads
    required = {"pmid": "7", "journal": "Sweat"}
    assert metadata == required == {**metadata}
    assert (len(metadata), metadata["journal"], metadata.get("year"), repr(metadata)) == (
        2,
        "Sweat",
        None,
        repr(required),
    )
    for copied in (pickle.loads(pickle.dumps(metadata)), copy.deepcopy(metadata)):
        assert type(copied) is dict
        assert copied == required
    assert len(reads) == 1


def test_threads_that_share_a_record_read_the_same_metadata() -> None:
    values = {"journal": "Sweat", "year": "2001", "authors": "Doe, J.; Roe, R."}
    for _ in range(20):
        metadata = bibliography_of(values, "7")
        results = list(from_threads(lambda _, shared=metadata: dict(shared), range(8)))  # type: ignore[misc]
        assert all(result == dict(bibliography_of(values, "7")) for result in results)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.csv", "Title,Extra\nSalt,PMID: 30111222 PMCID: PMC77\n", {"pmid": "30111222", "pmcid": "PMC77"}),
        ("a.bib", "@article{a, title={Salt}, note={PMID: 30111222}, month=mar, date={2018-03-04}, year=2018}",
         {"pmid": "30111222", "date": "2018-03-04"}),
        ("a.ris", "TY  - JOUR\nTI  - Salt\nAN  - PUBMED 30111222\nID  - CN-01234567\nM3  - doi:10.1000/x\nER  -\n",
         {"pmid": "30111222", "cochrane": "CN-01234567", "doi": "10.1000/x", "types": None}),
        ("b.ris", "TY  - JOUR\nTI  - Salt\nC3  - PUBMED 30111222,EMBASE 77\nU2  - x\nER  -\n", {"pmid": "30111222"}),
        ("c.ris", "TY  - JOUR\nTI  - Salt\nN1  - see PMID: 1 and PMID: 2\nER  -\n", {"pmid": None}),
        ("a.ciw", "FN Clarivate\nPT J\nTI Salt\nPD MAR 1\nPY 2018\nSN 1234-567x\nER\n",
         {"year": 2018, "date": "2018-03-01", "issn": "1234-567X"}),
        ("a.enw", "%0 Journal Article\n%T Salt\n%D 2018\n%8 March\n", {"date": "2018-03"}),
        ("b.csv", "Title,Publication Date,ISSN\nSalt,Mar2018,12345678\n", {"date": "2018-03", "issn": "1234-5678"}),
        ("a.nbib", "PMID- 7\nTI  - Salt\nIS  - 1234-5678 (Print)\nMH  - *Sweat/*blood\n",
         {"issn": "1234-5678", "keywords": ["Sweat/blood"]}),
        ("a.json", '[{"title": "Salt", "id": "W7", "ids": {"pmcid": "https://www.ncbi.nlm.nih.gov/pmc/articles/77"}}]',
         {"pmcid": "PMC77"}),
        ("b.json", '[{"title": "A", "id": "a", "publicationTypes": ["ClinicalTrial"]}]', {"types": ["Clinical Trial"]}),
    ],
)  # fmt: skip
def test_fields_and_ids_are_read_wherever_programs_write_them(
    tmp_path: Path, name: str, text: str, expected: Mapping[str, object]
) -> None:
    if name.endswith(".bib"):
        pytest.importorskip("bibtexparser")
    (document,) = read(tmp_path, name, text)
    assert {key: document.metadata.get(key) for key in expected} == expected
    assert name != "a.ris" or document.id == "30111222"


def test_exponents_of_mathml_in_rows_stay_exponents(tmp_path: Path) -> None:
    formula = "<msup><mn>10</mn><mrow><mo>-</mo><mn>8</mn></mrow></msup><mo> </mo><msqrt><mn>2</mn></msqrt>"
    body = f"<article><front><article-meta><abstract><p><math>{formula}</math></p></abstract></article-meta></front>"
    (document,) = read(tmp_path, "a.nxml", f"{body}</article>")
    assert document.abstract == "10⁻⁸ √2"


@pytest.mark.parametrize(
    "remark",
    [
        *(
            " (ABSTRACT TRUNCATED AT 400 WORDS).",
            " [PsycINFO Database Record (c) 2018 APA, all rights reserved].",
            "(c) 2018",
        ),
        *(" [ABSTRACT FROM AUTHOR] Copyright of A is the property of B and may not be copied.", " ©AlphaMed Press."),
        *(
            " Published by Elsevier Ltd. All rights reserved.",
            " This article is protected by copyright. All rights reserved.",
        ),
    ],
)
def test_remarks_at_the_end_are_no_text(remark: str) -> None:
    assert without_remarks(f"Sweat was salty.{remark}") == "Sweat was salty."


def test_a_notice_at_the_start_ends_before_the_text() -> None:
    assert without_remarks("© 2018 Elsevier B.V.We tasted it. It was salty.") == "We tasted it. It was salty."
    assert (
        without_remarks("Data were published by others and (c) 5 mg.") == "Data were published by others and (c) 5 mg."
    )
