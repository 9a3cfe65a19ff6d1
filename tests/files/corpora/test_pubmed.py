import gzip
import os
import tracemalloc
from pathlib import Path

import pytest

from mpir.core.text.types import Document
from mpir.errors import InputError
from mpir.files.corpora import read_corpus
from mpir.files.corpora.pubmed import read_pubmed


def citation(pmid: str, title: str = "T", abstract: str = "", version: str = "1") -> str:
    return (
        f'<MedlineCitation Status="MEDLINE"><PMID Version="{version}">{pmid}</PMID>'
        f"<Article><ArticleTitle>{title}</ArticleTitle>{abstract}</Article>"
        f"<CommentsCorrectionsList><CommentsCorrections><PMID>999</PMID></CommentsCorrections></CommentsCorrectionsList>"
        f"</MedlineCitation>"
    )


def deletion(*pmids: str, version: str = "1") -> str:
    return "<DeleteCitation>" + "".join(f'<PMID Version="{version}">{p}</PMID>' for p in pmids) + "</DeleteCitation>"


def old(*items: str) -> str:
    head = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE MedlineCitationSet PUBLIC "-//NLM//DTD" "https://x/y.dtd">\n'
    )
    return head + "<MedlineCitationSet>\n" + "\n".join(items) + "\n</MedlineCitationSet>\n"


def new(*items: str) -> str:
    wrapped = (i if i.startswith("<Delete") else f"<PubmedArticle>{i}<PubmedData/></PubmedArticle>" for i in items)
    return old(*wrapped).replace("MedlineCitationSet", "PubmedArticleSet")


def write(folder: Path, *contents: str) -> list[Path]:
    paths = [folder / f"f{number}.xml" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_text(content, encoding="utf-8")
    return paths


def read(folder: Path, *contents: str) -> list[Document]:
    return list(read_pubmed(write(folder, *contents)))


def titles(folder: Path, *contents: str) -> dict[str, str]:
    documents = read(folder, *contents)
    assert len({document.id for document in documents}) == len(documents)
    return {document.id: document.title for document in documents}


@pytest.mark.parametrize("wrap", [old, new])
def test_both_generations_plain_and_compressed(tmp_path: Path, wrap: object) -> None:
    content = wrap(citation("1", "One", "<Abstract><AbstractText>Aé.</AbstractText></Abstract>"), citation("2", "Two"))  # type: ignore[operator]
    expected = [Document("1", "One", "Aé."), Document("2", "Two", "")]
    assert read(tmp_path, content) == expected
    packed = tmp_path / "p.xml.gz"
    packed.write_bytes(gzip.compress(content.encode()))
    assert list(read_pubmed([packed])) == expected


def test_structured_abstract_inline_tags_and_white_space(tmp_path: Path) -> None:
    abstract = """<Abstract>
        <AbstractText Label="UNLABELLED">First.</AbstractText>
        <AbstractText Label="AIMS &amp; SCOPE" NlmCategory="OBJECTIVE">CO<sub>2</sub> in <i>E. <b>coli</b></i>;
            5\u2009mg.</AbstractText>
        <AbstractText Label="RESULTS"/>
        <AbstractText>Last.</AbstractText><CopyrightInformation>Not this</CopyrightInformation></Abstract>
        """
    (document,) = read(tmp_path, new(citation("1", "The <i>lac</i> operon", abstract)))
    assert document.title == "The lac operon"
    assert document.abstract == "First. AIMS & SCOPE: CO2 in E. coli; 5\u2009mg. Last."


def test_vernacular_title_stands_in_for_a_missing_one(tmp_path: Path) -> None:
    vernacular = "<VernacularTitle>I vaccini</VernacularTitle>"
    contents = new(citation("1", "[Vaccines].", vernacular), citation("2", "", vernacular))
    assert titles(tmp_path, contents) == {"1": "[Vaccines].", "2": "I vaccini"}


@pytest.mark.parametrize("title", ["[Not Available].", "[Not available]"])
def test_a_title_that_is_not_available_is_none(tmp_path: Path, title: str) -> None:
    """NLM writes so where it has no translation of the title."""
    vernacular = "<VernacularTitle>I vaccini</VernacularTitle>"
    assert titles(tmp_path, new(citation("1", title, vernacular), citation("2", title))) == {"1": "I vaccini", "2": ""}


def test_another_abstract_stands_in_for_a_missing_one(tmp_path: Path) -> None:
    alternatives = "".join(
        f"<OtherAbstract Language='{language}'><AbstractText Label='AIM'>{text}</AbstractText></OtherAbstract>"
        for language, text in (("fre", ""), ("spa", "Vacunas."), ("ger", "Impfung."))
    )
    without, placeholder, own_value = (
        citation("1", "T", f"<Abstract><AbstractText>{text}</AbstractText></Abstract>" if text else "")
        for text in ("", "No abstract available.", "A.")
    )
    for record, expected in ((without, "AIM: Vacunas."), (placeholder, "AIM: Vacunas."), (own_value, "A.")):
        (document,) = read(tmp_path, new(record.replace("</MedlineCitation>", alternatives + "</MedlineCitation>")))
        assert document.abstract == expected


def test_a_whole_book_has_its_own_title(tmp_path: Path) -> None:
    book = "<PubmedBookArticle><BookDocument><PMID>5</PMID><Book><BookTitle>Gene<i>s</i></BookTitle></Book>"
    book += "</BookDocument></PubmedBookArticle>"
    assert read(tmp_path, f"<PubmedArticleSet>{book}</PubmedArticleSet>") == [Document("5", "Genes", "")]


def test_a_book_chapter_is_a_document(tmp_path: Path) -> None:
    book = "<PubmedBookArticle><BookDocument><PMID Version='1'>5</PMID><ArticleTitle>Chapter</ArticleTitle>"
    book += "<Abstract><AbstractText>B.</AbstractText></Abstract></BookDocument></PubmedBookArticle>"
    assert read(tmp_path, f"<PubmedArticleSet>{book}</PubmedArticleSet>") == [Document("5", "Chapter", "B.")]


def test_the_latest_record_counts(tmp_path: Path) -> None:
    first = new(citation("1", "old"), citation("2", "kept"), citation("3", "v1"), citation("3", "v2", version="2"))
    second = new(citation("1", "new"), citation("4", "first"), citation("4", "last"))
    assert titles(tmp_path, first, second) == {"1": "new", "2": "kept", "3": "v2", "4": "last"}


def test_names_of_nlm_say_what_is_older_in_whatever_order_folders_come(tmp_path: Path) -> None:
    for folder, name, title in (("updatefiles", "n1300", "new"), ("baseline", "n0001", "old")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"pubmed26{name}.xml").write_text(new(citation("1", title)))
    (tmp_path / "mine.xml").write_text(new(citation("1", "mine")))
    folders = [tmp_path / "updatefiles", tmp_path / "baseline"]
    assert [document.title for document in read_corpus(folders)] == ["new"]
    mine = tmp_path / "mine.xml"  # stays where it is given, and they where they are, in their own order
    assert [document.title for document in read_corpus([mine, *folders])] == ["new"]
    assert [document.title for document in read_corpus([*folders, mine])] == ["mine"]


def test_the_highest_version_counts_inside_a_file(tmp_path: Path) -> None:
    assert titles(tmp_path, new(citation("3", "v10", version="10"), citation("3", "v9", version="9"))) == {"3": "v10"}


def test_deleted_records_are_gone(tmp_path: Path) -> None:
    first = old(citation("1"), citation("2"), citation("3"), citation("5"), deletion("5"))
    second = old(citation("3", "again"), citation("4"), deletion("1", "4", "12345"))
    third = old(citation("1", "back"))
    assert titles(tmp_path, first, second) == {"2": "T", "3": "again"}
    assert titles(tmp_path, first, second, third) == {"1": "back", "2": "T", "3": "again"}


def test_deleting_one_version_leaves_the_other(tmp_path: Path) -> None:
    both = new(citation("1", "v1"), citation("1", "v2", version="2"))
    assert titles(tmp_path, both, new(deletion("1"))) == {"1": "v2"}
    assert titles(tmp_path, both, new(deletion("1", version="2"))) == {"1": "v1"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (new(citation("1")).replace("</Article>", "</Artikel>"), "line 4, column 1.. .mismatched tag"),
        (new(citation("1"))[:150], r"malformed XML .*line 4\b"),
        ("", "line 1, column 1 .no element"),
        (new(citation("1", "&unknown;")), "line 4, column .*undefined"),
        ("<html><body/></html>", "<html>; .*PubmedArticleSet"),
        ('<?xml version="1.0" encoding="x"?><PubmedArticleSet/>', r"decoded .*encoding: x\b"),
        ('<?xml version="1.0" encoding="GB2312"?><PubmedArticleSet/>', "decoded .*multi-byte"),
        (new(citation("x7")), ":4: .*PMID 'x7'"),
        ('<n:PubmedArticleSet xmlns:n="x">\n<n:BookDocument/></n:PubmedArticleSet>', ":2: .*PMID ''"),
        (new(citation("9" * 5000)), "PMID '999"),
        (new(citation("")), "PMID ''"),
        (new(citation("7", version="one")), "version 'one'"),
        (new(citation("7").replace("PMID", "Pmid")), ":4: .*PMID ''"),
        (new(citation("1"), citation("2"), citation("")), ":6: .*PMID ''"),
        (new(citation("1"), deletion("x")), ":5: .*PMID 'x'"),
    ],
)
def test_names_the_place_of_what_is_wrong(tmp_path: Path, content: str, message: str) -> None:
    (path,) = write(tmp_path, content)
    with pytest.raises(InputError, match=message) as caught:
        list(read_pubmed([path]))
    assert str(caught.value).startswith(str(path))


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "f.xml"
    path.write_bytes(new(citation("1", "caf\xe9")).encode("latin-1"))
    with pytest.raises(InputError, match=r"line 4, column .*invalid"):
        list(read_pubmed([path]))


def test_truncated_gzip(tmp_path: Path) -> None:
    path = tmp_path / "f.xml.gz"
    path.write_bytes(gzip.compress(os.urandom(10_000).hex().join(["<PubmedArticleSet><a>", "</a>"]).encode())[:4000])
    with pytest.raises(InputError, match=f"^{path}: .*gzip data"):
        list(read_pubmed([path]))


def test_memory_does_not_grow_with_the_number_of_files(tmp_path: Path) -> None:
    text = f"<Abstract><AbstractText>{'word ' * 400}</AbstractText></Abstract>"
    paths = write(tmp_path, *(new(*(citation(str(300 * f + n), "T", text) for n in range(300))) for f in range(12)))
    tracemalloc.start()
    count = sum(1 for _ in read_pubmed(paths))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 3600
    assert peak < 3 * 300 * 2000  # 12 files hold 7.2 MB of text


def test_real_files() -> None:
    data = Path(os.environ.get("MPIR_DATA", Path(__file__).parents[4] / "shared/data")) / "pubmed/xml"
    if not data.is_dir():
        pytest.skip(f"{data} is absent")
    documents = {document.id: document for document in read_pubmed(sorted(data.iterdir()))}
    assert len(documents) == 605
    assert "26432306" not in documents
    assert documents["29768149"].abstract.startswith("BACKGROUND: In patients with mild asthma, as-needed use")
    assert " METHODS: We conducted a 52-week" in documents["29768149"].abstract


def test_ids_that_nlm_marks_as_wrong_are_not_read(tmp_path: Path) -> None:
    locations = "".join(
        f"<ELocationID EIdType='doi' ValidYN='{valid}'>10.1000/{name}</ELocationID>"
        for valid, name in (("N", "wrong"), ("Y", "right"))
    )
    article = f"<Article><ArticleTitle>Salt</ArticleTitle>{locations}</Article>"
    (tmp_path / "a.xml").write_text(f"<MedlineCitation><PMID>7</PMID>{article}</MedlineCitation>")
    (document,) = read_pubmed([tmp_path / "a.xml"])
    assert document.metadata["doi"] == "10.1000/right"
