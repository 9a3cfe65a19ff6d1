"""Authors come back one by one, whatever separates them, and groups, editors and "et al." are told from persons."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir.core.text.types import Document
from mpir.files.corpora import read_corpus
from mpir.files.corpora.authors import authors_of, plain_author, split_authors, split_listed
from mpir.files.corpora.list_cells import listed, objects_in

SURNAMES = st.sampled_from(["Doe", "Roe", "Müller", "O'Neil", "Smith-Jones", "Özdemir", "Łuczak", "Nan", "Lee"])
GIVEN = st.sampled_from(["Jane", "Richard", "Zoë", "Jean-Luc", "Ana"])
PERSONS = st.lists(st.tuples(SURNAMES, GIVEN), min_size=2, max_size=6, unique=True)
GROUPS = [
    *("Heart and Lung Study Group", "Salt Research Consortium and Partners", "World Health Organization"),
    *("Centers for Disease Control and Prevention", "Department of Health, Education and Welfare"),
    *("National Institute for Health and Care Excellence", "Royal College of Rowers and Skaters"),
]
ET_AL = ["", ", et al.", " et al", ", and others", " [et al.]"]


def _inverted(person: tuple[str, str]) -> str:
    return f"{person[0]}, {person[1][0]}."


def _short(person: tuple[str, str]) -> str:
    return f"{person[0]} {person[1][0]}"


@given(PERSONS, st.sampled_from(ET_AL))
def test_names_with_initials_are_split_at_any_separator(persons: list[tuple[str, str]], end: str) -> None:
    inverted, short = list(map(_inverted, persons)), list(map(_short, persons))
    for separator in ("; ", ";", " | ", " and ", ", "):
        assert [*authors_of(separator.join(inverted) + end)] == inverted
    assert split_authors(f"{', '.join(inverted[:-1])}, and {inverted[-1]}") == inverted
    assert split_authors(f"{', '.join(inverted[:-1])}, & {inverted[-1]}") == inverted
    assert split_authors(", ".join(short) + end) == short


@given(PERSONS)
def test_names_in_natural_order_are_split(persons: list[tuple[str, str]]) -> None:
    names = [f"{given} {surname}" for surname, given in persons]
    assert split_authors("; ".join(names)) == names
    assert split_authors(f"{', '.join(names[:-1])} and {names[-1]}") == names
    if len(names) > 2:
        assert split_authors(", ".join(names)) == names


@given(PERSONS, st.sampled_from(["[{}]", "({})", "c({})", "{{{}}}"]))
def test_lists_in_cells_are_read(persons: list[tuple[str, str]], brackets: str) -> None:
    names = list(map(_inverted, persons))
    for quoted in (map(repr, names), map(json.dumps, names)):
        assert listed(brackets.format(", ".join(quoted))) == names
    assert split_authors(str(names)) == names
    objects = [{"firstName": given, "lastName": surname} for surname, given in persons]
    assert objects_in(json.dumps(objects)) == objects_in(str(objects)) == objects


@pytest.mark.parametrize("group", GROUPS)
def test_a_groups_name_is_whole(group: str) -> None:
    assert split_authors(group) == [group]
    assert split_authors(f"Doe, J.; {group}") == ["Doe, J.", group]
    assert split_listed([group, "Doe, J. R."]) == [group, "Doe, J. R."]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("García López, Ana María", ["García López, Ana María"]),
        ("Ortega y Gasset, J", ["Ortega y Gasset, J"]),
        ("Pérez J y Gómez M", ["Pérez J", "Gómez M"]),
        ("李明，王芳", ["李明", "王芳"]),
        ("Иванов И.И., Петров П.П.", ["Иванов И.И.", "Петров П.П."]),
        ("Doe, Jane, Richard Roe, and Mary Major", ["Doe, Jane", "Richard Roe", "Mary Major"]),
        ("Doe J, Roe RS, van der Major M-P Jr", ["Doe J", "Roe RS", "van der Major M-P Jr"]),
        ("Doe, J., Jr., Roe, R.", ["Doe, J. Jr.", "Roe, R."]),
        ("M&uuml;ller, J.; Roe, R.", ["Müller, J.", "Roe, R."]),
    ],
)
def test_names_of_other_languages_and_with_suffixes(text: str, names: list[str]) -> None:
    assert split_authors(text) == names


@pytest.mark.parametrize(
    ("text", "name"),
    [
        *(("Doe, Jane (57200000001)", "Doe, Jane"), ("Doe, J. (0000-0002-1825-0097)", "Doe, J.")),
        *(("Doe, Jane [https://orcid.org/0000-0002-1825-009X]", "Doe, Jane"), ("Doe, Jane/A-1234-2010", "Doe, Jane")),
        *(("Doe, Jane, Jr.", "Doe, Jane Jr."), ("Doe, III, Jane", "Doe, Jane III"), ("Doe, Jane Jr", "Doe, Jane Jr")),
        *(("et al.", ""), ("others", ""), ("Salt Study Group (SSG)", "Salt Study Group (SSG)")),
    ],
)
def test_one_author_has_one_name(text: str, name: str) -> None:
    assert plain_author(text) == name


AUTHORS = ["Doe, Jane Jr", "Roe, Richard", "Salt Study Group"]
MEDLINE = (
    "<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>7</PMID><Article><ArticleTitle>Salt</ArticleTitle>"
    "<AuthorList><Author><LastName>Doe</LastName><ForeName>Jane</ForeName><Suffix>Jr</Suffix></Author>"
    "<Author ValidYN='N'><LastName>Reo</LastName></Author><Author ValidYN='Y'><LastName>Roe</LastName>"
    "<ForeName>Richard</ForeName></Author><Author><CollectiveName>Salt Study Group</CollectiveName></Author>"
    "</AuthorList><AuthorList Type='editors'><Author><LastName>Itor</LastName></Author></AuthorList></Article>"
    "</MedlineCitation></PubmedArticle></PubmedArticleSet>"
)
JATS = (
    "<article><front><article-meta><title-group><article-title>Salt</article-title></title-group><contrib-group>"
    "<contrib contrib-type='author'><name><surname>Doe</surname><given-names>Jane</given-names><suffix>Jr</suffix>"
    "</name></contrib><contrib><string-name><surname>Roe</surname>, <given-names>Richard</given-names></string-name>"
    "<role>Writing – review &amp; editing</role></contrib><contrib contrib-type='author'><collab>Salt Study Group"
    "<xref>1</xref><contrib-group><contrib contrib-type='author'><name><surname>Member</surname></name></contrib>"
    "</contrib-group></collab></contrib><contrib contrib-type='guest-editor'><name><surname>Itor</surname></name>"
    "</contrib></contrib-group><contrib-group content-type='editors'><contrib><name><surname>Itor</surname></name>"
    "</contrib></contrib-group></article-meta></front></article>"
)
EDITOR = {"firstName": "Ed", "lastName": "Itor"}
FILES = {
    "a.xml": MEDLINE,
    "a.nxml": JATS,
    "a.nbib": "PMID- 7\nTI  - Salt\nFAU - Doe, Jane Jr\nAU  - Doe J Jr\nFAU - Roe, Richard\nFED - Itor, Ed\n"
    "CN  - Salt Study Group\n",
    "a.ris": "TY  - JOUR\nTI  - Salt\nAU  - Doe, Jane, Jr; Roe, Richard\nAU  - Salt Study Group\nAU  - et al.\n"
    "A2  - Itor, Ed\nER  - \n",
    "a.ciw": "FN Clarivate\nPT J\nTI Salt\nAU Doe, Jane Jr\n   Roe, Richard\nBE Itor, E\nCA Salt Study Group\nER\n",
    "a.bib": "@article{a, title={Salt}, author={Doe, Jr, Jane and\n Roe, Richard AND {Salt Study Group} and others},"
    "editor={Itor, Ed}}",
    "a.csv": "Title,Author full names\nSalt,\"Doe, Jane Jr (57200000001); Roe, Richard (7004000002); "
    "Salt Study Group\"\n",
    "b.csv": "title,contributors\nSalt,\"['Doe, Jane Jr', 'Roe, Richard', 'Salt Study Group', 'et al.']\"\n",
    "c.csv": "title,authors\nSalt,\"[{'family': 'Doe', 'given': 'Jane', 'suffix': 'Jr'}, {'name': 'Roe, Richard'}, "
    "{'name': 'Salt Study Group'}, {'name': 'Itor, Ed', 'role': 'editor'}]\"\n",
    "a.json": json.dumps(
        [{"id": "a", "title": "Salt", "author": [
            {"family": "Doe", "given": "Jane", "suffix": "Jr"}, {"family": "Roe", "given": "Richard"},
            {"literal": "Salt Study Group"}], "editor": [EDITOR]}]
    ),
    "b.json": json.dumps(
        [{"id": "a", "title": "Salt", "creators": [
            {"firstName": "Jane", "lastName": "Doe", "suffix": "Jr", "creatorType": "author"},
            {"firstName": "Richard", "lastName": "Roe", "role": "Writing – review & editing"},
            {"name": "Salt Study Group", "creatorType": "author"}, {**EDITOR, "creatorType": "seriesEditor"}]}]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_every_reader_tells_persons_groups_and_editors_apart(tmp_path: Path, name: str) -> None:
    if name.endswith(".bib"):
        pytest.importorskip("bibtexparser")
    (document,) = _read(tmp_path / name, FILES[name])
    assert document.metadata["authors"] == AUTHORS


def test_particles_and_books(tmp_path: Path) -> None:
    person = {"family": "Major", "given": "Mary", "non-dropping-particle": "van der"}
    (document,) = _read(tmp_path / "a.json", json.dumps([{"id": "a", "title": "Salt", "author": [person]}]))
    assert document.metadata["authors"] == ["van der Major, Mary"]
    author = "<AuthorList Type='{}'><Author><LastName>{}</LastName></Author></AuthorList>"
    book = (
        f"<PubmedArticleSet><PubmedBookArticle><BookDocument><PMID>7</PMID><Book><BookTitle>Book of Salt</BookTitle>"
        f"{author.format('editors', 'Itor')}{author.format('authors', 'Whole')}</Book>{{}}"
        "</BookDocument></PubmedBookArticle></PubmedArticleSet>"
    )
    chapter = f"<ArticleTitle>Sweat</ArticleTitle>{author.format('authors', 'Doe')}"
    (document,) = _read(tmp_path / "a.xml", book.format(chapter))
    names = ("authors", "journal", "reference_type")
    assert [document.metadata.get(name) for name in names] == [["Doe"], "Book of Salt", "CHAP"]
    (document,) = _read(tmp_path / "b.xml", book.format(""))
    assert [document.metadata.get(name) for name in names] == [["Whole"], None, "BOOK"]


def test_sodium_is_a_keyword_and_a_surname(tmp_path: Path) -> None:
    lines = "TY  - JOUR\nTI  - Sodium\n{}ER  - \n"
    for keywords, expected in ((("Na", "K"), ["Na", "K"]), (("Na", "NA", "nil", "K"), ["Na", "K"]), (("Na",), None)):
        text = lines.format("".join(f"KW  - {keyword}\n" for keyword in keywords))
        (document,) = _read(tmp_path / "a.ris", text)
        assert document.metadata.get("keywords") == expected


def test_headings_and_abbreviations_are_no_types_and_keywords(tmp_path: Path) -> None:
    subjects = "".join(f"<subject>{name}</subject>" for name in ("Cell Biology", "Systematic Review"))
    groups = (
        "<kwd-group><kwd>sweat</kwd></kwd-group><kwd-group kwd-group-type='abbreviations'><kwd>BP: pressure</kwd>"
        "</kwd-group><kwd-group><title>Abbreviations</title><kwd>HR: rate</kwd></kwd-group>"
    )
    text = (
        "<article article-type='review-article'><front><article-meta><article-categories><subj-group>"
        f"{subjects}</subj-group></article-categories>{groups}</article-meta></front></article>"
    )
    (document,) = _read(tmp_path / "a.nxml", text)
    assert document.metadata["types"] == ["review article", "Systematic Review"]
    assert document.metadata["keywords"] == ["sweat"]


def _read(path: Path, text: str) -> list[Document]:
    path.write_text(text, encoding="utf-8")
    return list(read_corpus([path]))


_PLAIN = st.sampled_from(("Doe, Jane", "Doe J", "van der Major, Mary", "Doe, John Jr"))
_MARKED = st.sampled_from(
    ("Roe, R (57200000001)", "et al.", "Roe, R., Major, M.", "Roe, R; Poe, E", "Doe, Jane, Jr", "y cols.")
)


@given(st.lists(_PLAIN | _MARKED, max_size=5))
def test_a_list_of_authors_is_read_as_each_of_them_alone(names: list[str]) -> None:
    alone = [author for name in names for author in authors_of([name])]
    assert [*authors_of(names)] == alone
