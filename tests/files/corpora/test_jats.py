import gzip
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpir.core.text.split import split
from mpir.errors import InputError
from mpir.files.corpora import read_corpus
from mpir.files.corpora.jats import read_papers
from tests.files.corpora.records import unnamed

PAPER = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE article PUBLIC "-//NLM//DTD JATS (Z39.96) Journal Archiving DTD v1.1 20151215//EN" "JATS-archivearticle1.dtd">
<article xmlns:xlink="http://www.w3.org/1999/xlink">
  <front>
    <journal-meta><journal-title>Letters on Salt</journal-title></journal-meta>
    <article-meta>
      <article-id pub-id-type="doi">10.1/salt</article-id>
      <article-id pub-id-type="pmc">1234</article-id>
      <article-id pub-id-type="pmid">7</article-id>
      <title-group><article-title>Salt
         in <italic>sweat</italic><xref ref-type="fn">*</xref></article-title></title-group>
      <contrib-group><contrib><name><surname>Doe</surname></name></contrib></contrib-group>
      <abstract abstract-type="summary"><p>For everybody.</p></abstract>
      <abstract>
        <sec><title>Background:</title><p>Sweat is salty.</p></sec>
        <sec><title>Results</title><p>It was.</p><p>Twice.</p></sec>
      </abstract>
      <kwd-group><kwd>salt</kwd></kwd-group>
    </article-meta>
  </front>
  <body>
    <sec><title>Introduction</title>
      <p>CFTR is a channel [<xref ref-type="bibr" rid="r1">1</xref>]; p &lt; 10<sup>−3</sup>.
        <fig id="f1"><label>Fig 1</label><caption><title>The channel.</title><p>Closed, <bold>open</bold>.</p></caption>
          <graphic xlink:href="f1"/></fig>It opens.</p>
      <p>It carries:<list><list-item><p>chloride</p></list-item><list-item><label>2</label><p>water</p></list-item>
        </list></p>
      <sec><title>Methods in detail</title><p>We measured
        <inline-formula><alternatives><tex-math>\\usepackage{x}</tex-math></alternatives></inline-formula>it.</p></sec>
    </sec>
    <table-wrap><label>Table 1</label><caption><p>Salt by age.</p></caption><table><tr><td>12</td></tr></table>
      <table-wrap-foot><p>n = 3</p></table-wrap-foot></table-wrap>
  </body>
  <back><ack><p>We thank Jane.</p></ack>
    <ref-list><ref><mixed-citation>Salt and its discontents</mixed-citation></ref></ref-list></back>
  <sub-article><front-stub/><body><p>A reviewer said no.</p></body></sub-article>
</article>
"""
BLOCKS = [
    "BACKGROUND: Sweat is salty.",
    "RESULTS: It was.",
    "Twice.",
    "CFTR is a channel [1]; p < 10⁻³.",
    "The channel.",
    "Closed, open.",
    "It opens.",
    "It carries:",
    "chloride",
    "water",
    "We measured it.",
    "Salt by age.",
]


def article(meta: str = "", body: str = "") -> str:
    return f"<article><front><article-meta>{meta}</article-meta></front><body>{body}</body></article>"


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_paper_is_its_abstract_and_its_paragraphs(tmp_path: Path) -> None:
    (paper,) = read_papers(write(tmp_path / "a.nxml", PAPER))
    assert (paper.id, paper.title) == ("7", "Salt in sweat")
    assert paper.abstract.split("\n\n") == BLOCKS
    sentences = [paper.abstract[begin:end] for begin, end in split(paper.abstract)]
    assert sentences == BLOCKS  # a paragraph ends a sentence, with or without a full stop


@pytest.mark.parametrize(
    ("ids", "wanted"),
    [
        ('<article-id pub-id-type="pmc">12</article-id><article-id pub-id-type="doi">10.1/x</article-id>', "PMC12"),
        ('<article-id pub-id-type="pmcid">PMC12</article-id>', "PMC12"),
        (
            '<article-id pub-id-type="publisher-id">x</article-id><article-id pub-id-type="doi">10.1/x</article-id>',
            "10.1/x",
        ),
        ("", unnamed("", "x").id),
    ],
)
def test_the_best_id_counts(tmp_path: Path, ids: str, wanted: str) -> None:
    (paper,) = read_papers(write(tmp_path / "a.xml", article(ids, "<p>x</p>")))
    assert paper.id == wanted


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('IL-2<xref ref-type="bibr"><sup>4</sup></xref> and 10<sup>5</sup> cells.', "IL-2 and 10⁵ cells."),
        ("The gene p53<sup><xref>12</xref>,…<xref>13</xref></sup> in CD4<sup>+</sup>.", "The gene p53 in CD4+."),
        ("Of 5 m<sup>2</sup>, Ca<sup>2+</sup>; by year 2<sup>nd</sup>.", "Of 5 m2, Ca2+; by year 2nd."),
        ("<i>10</i><sup>5</sup> cells in 10<sup>−3</sup> l.", "10⁵ cells in 10⁻³ l."),
        ("line 1<break/>line 2", "line 1 line 2"),
        (
            '<m:math xmlns:m="http://www.w3.org/1998/Math/MathML"><m:semantics><m:mi>p</m:mi>'
            "<m:annotation>p_{tex}</m:annotation></m:semantics></m:math> fell.",
            "p fell.",
        ),
    ],
)
def test_raised_references_are_no_part_of_a_word_and_powers_are_powers(tmp_path: Path, text: str, read: str) -> None:
    (paper,) = read_papers(write(tmp_path / "a.xml", article(f"<abstract><p>{text}</p></abstract>", f"<p>{text}</p>")))
    assert paper.abstract == f"{read}\n\n{read}"


def test_a_subtitle_and_what_an_abstract_says_before_its_sections(tmp_path: Path) -> None:
    titles = (
        "<title-group><article-title>Salt<break/>in sweat</article-title><subtitle>A trial</subtitle></title-group>"
    )
    abstract = "<abstract><p>First.</p><sec><title>Methods</title><p>We did.</p></sec></abstract>"
    (paper,) = read_papers(write(tmp_path / "a.xml", article(titles + abstract)))
    assert (paper.title, paper.abstract) == ("Salt in sweat: A trial", "First.\n\nMETHODS: We did.")


def test_several_papers_in_one_file_and_an_author_summary_alone(tmp_path: Path) -> None:
    first = article('<abstract abstract-type="toc"><p>Short.</p></abstract>', "<p>One.</p>")
    restricted = "<article><front><article-meta/></front></article>"
    path = write(tmp_path / "a.xml", f"<pmc-articleset>{first}{restricted}</pmc-articleset>")
    assert [(paper.id, paper.abstract) for paper in read_papers(path)] == [
        (unnamed("", "Short.\n\nOne.").id, "Short.\n\nOne."),
        (unnamed("").id, ""),
    ]


MATHS = '<m:math xmlns:m="http://www.w3.org/1998/Math/MathML"><m:mi>p</m:mi><m:annotation>q</m:annotation></m:math>'


@pytest.mark.parametrize("prefix", ["", "j:"])
def test_a_namespace_changes_nothing(tmp_path: Path, prefix: str) -> None:
    name = ":j" if prefix else ""
    inputs = PAPER.replace("It opens.", f"It opens{MATHS}.")
    (plain,) = read_papers(write(tmp_path / "plain.nxml", inputs))
    assert "It opensp." in plain.abstract
    named = re.sub(r"<(/?)(?=[a-z])(?!m:)", rf"<\1{prefix}", inputs)
    declared = named.replace(
        "article xmlns:xlink", f'article xmlns{name}="https://jats.nlm.nih.gov/ns/1.3/" xmlns:xlink'
    )
    assert list(read_corpus([write(tmp_path / "a.nxml", declared)])) == [plain]
    head, body = declared.split("<!DOCTYPE")[0], declared.partition('.dtd">')[2]  # the set has none, but its paper
    path = write(tmp_path / "set.xml", f"{head}<pmc-articleset>{body}</pmc-articleset>")
    assert list(read_corpus([path])) == [plain]


def test_papers_and_pubmed_files_are_told_apart_by_their_root(tmp_path: Path) -> None:
    citation = "<MedlineCitation><PMID>9</PMID><Article><ArticleTitle>A</ArticleTitle></Article></MedlineCitation>"
    write(tmp_path / "a.xml", f"<PubmedArticleSet><PubmedArticle>{citation}</PubmedArticle></PubmedArticleSet>")
    write(tmp_path / "b.xml", PAPER)
    (tmp_path / "c.nxml.gz").write_bytes(gzip.compress(article("", "<p>x</p>").encode()))
    assert [document.id for document in read_corpus([tmp_path])] == ["9", "7", unnamed("", "x").id]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<nothing/>", r"a\.xml: .*<nothing>; .*PubmedArticleSet, .*article,"),
        ("<article><body>", r"a\.xml: .*line 1, column 16\b"),
        ("", r"a\.xml: .*line 1, column 1\b"),
        ("<article>a&nbsp;b</article>", r"column 11 \(undefined entity"),
    ],
)
def test_what_is_no_paper_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(read_corpus([write(tmp_path / "a.xml", text)]))


def test_any_depth_is_read(tmp_path: Path) -> None:
    deep = "<sec>" * 250 + "<p>Down here.</p>" + "</sec>" * 250
    (paper,) = read_papers(write(tmp_path / "a.xml", article("", deep)))
    assert paper.abstract == "Down here."


def test_a_translated_abstract_comes_before_highlights(tmp_path: Path) -> None:
    abstracts = (
        "<abstract abstract-type='highlights'><p>High.</p></abstract>"
        "<trans-abstract xml:lang='de'><p>Salz.</p></trans-abstract>"
        "<trans-abstract xml:lang='en'><p>Salt.</p></trans-abstract>"
    )
    (tmp_path / "a.nxml").write_text(f"<article><front><article-meta>{abstracts}</article-meta></front></article>")
    (document,) = read_papers(tmp_path / "a.nxml")
    assert document.abstract == "Salt."


REFERENCE = '<xref ref-type="bibr" rid="r1"><sup>{}</sup></xref>'
RAISED = '<sup><xref ref-type="bibr" rid="r1">{}</xref></sup>'


@given(
    st.lists(st.sampled_from([REFERENCE, RAISED]), min_size=2, max_size=4),
    st.sampled_from("-–—,;"),
    st.sampled_from(["<sup>{}</sup>", "<sup>{} </sup>", "{}"]),
)
def test_signs_between_raised_references_go_with_them(references: list[str], sign: str, form: str) -> None:
    marks = form.format(sign).join(reference.format(number) for number, reference in enumerate(references))
    body = f"<p>Rats sleep{marks}. Na<sup>+</sup>,K<sup>+</sup> and Cl<sup>–</sup>{REFERENCE.format(5)}.</p>"
    assert read_body(body) == "Rats sleep. Na+,K+ and Cl–."


def test_raised_brackets_go_with_their_reference() -> None:
    assert read_body(f"<p>Rats sleep.<sup>[</sup>{REFERENCE.format(1)}<sup>]</sup> Mice</p>") == "Rats sleep. Mice"
    assert read_body('<p>See <xref ref-type="fig" rid="f">Fig. 1</xref>–<xref rid="g">3</xref>.</p>') == "See Fig. 1–3."


def read_body(body: str) -> str:
    meta = '<front><article-meta><article-id pub-id-type="pmid">1</article-id></article-meta></front>'
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.nxml"
        path.write_text(f"<article>{meta}<body>{body}</body></article>", encoding="utf-8")
        return next(iter(read_papers(path))).abstract
