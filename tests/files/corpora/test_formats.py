"""A file is read by its content, whatever its name; what no reader knows is named for what it is."""

import gzip
import io
import json
import tarfile
import zipfile
from pathlib import Path

import openpyxl
import pytest

from mpir.core.text.types import Document
from mpir.errors import InputError
from mpir.files.corpora import read_corpus
from mpir.files.corpora.content import shared_id
from mpir.files.corpora.formats import format_of
from tests.files.corpora.records import unnamed

BODY = "Cystic fibrosis is caused by mutations of CFTR."
EXPECTED = [Document("7", "CFTR in adults", BODY)]
PUBMED = (
    "<PubmedArticle><MedlineCitation><PMID>7</PMID><Article><ArticleTitle>CFTR in adults</ArticleTitle><Abstract>"
    f"<AbstractText>{BODY}</AbstractText></Abstract></Article></MedlineCitation></PubmedArticle>"
)
ENDNOTE = (
    '<?xml version="1.0"?><xml><records><record><database name="x.enl">x</database><rec-number>1</rec-number><titles>'
    '<title><style face="normal">CFTR in </style><style face="italic">adults</style></title></titles><accession-num>'
    f"<style>7</style></accession-num><abstract><style>{BODY}</style></abstract><remote-database-provider>NLM"
    "</remote-database-provider></record></records></xml>"
)
WEB_OF_SCIENCE = f"""FN Clarivate Analytics Web of Science
VR 1.0
PT J
AU Doe, J
   Roe, R
TI CFTR in
   adults
ID CYSTIC-FIBROSIS; GENE
AB {BODY}
DI 10.1000/1
PM 7
UT WOS:000200000000001
ER

EF
"""
CLINICAL_TRIAL = {
    "protocolSection": {
        "identificationModule": {"nctId": "NCT00000007", "briefTitle": "CFTR in adults"},
        "descriptionModule": {"briefSummary": BODY, "detailedDescription": "Ten visits."},
    },
    "hasResults": False,
}
TEXTS = {
    "ris": f"TY  - JOUR\nAN  - 7\nTI  - CFTR in adults\nAB  - {BODY}\nER  - \n",
    "nbib": f"\nPMID- 7\nOWN - NLM\nTI  - CFTR in\n      adults\nAB  - {BODY}\n",
    "wos": WEB_OF_SCIENCE,
    "enw": f"%0 Journal Article\n%A Doe, J\n%T CFTR in adults\n%X {BODY}\n%M 7\n\n",
    "csv": f"Id,Title,Abstract\n7,CFTR in adults,{BODY}\n",
    "tsv": f"PMID\tTitle\tAbstract\n7\tCFTR in adults\t{BODY}\n",
    "bars": f"Exported on Jan 1\n\nPMID|Title|Abstract\n7|CFTR in adults|{BODY}\n",
    "wos table": f'\ufeffPT\tAU\tTI\tID\tAB\tDI\tUT\tPM\nJ\t"Roe\tCFTR in adults\tGENE\t{BODY}\t\tWOS:1\t7\n',
    "jsonl": json.dumps({"id": "7", "title": "CFTR in adults", "text": BODY}) + "\n",
    "array": json.dumps([{"_id": "7", "title": "CFTR in adults", "text": [BODY]}], indent=1),
    "articles": json.dumps({"articles": [{"pmid": 7, "title": "CFTR in adults", "abstractText": BODY}]}),
    "objects": json.dumps({"id": 7, "title": "CFTR in adults", "authors": [{"name": "Roe"}], "body": BODY}, indent=1),
    "hits": json.dumps(
        {"hits": {"total": 1, "hits": [{"_id": "7", "_source": {"title": "CFTR in adults", "body": BODY}}]}}
    ),
    "europe pmc": json.dumps(
        {"resultList": {"result": [{"pmid": "7", "title": "CFTR in adults", "abstractText": BODY}]}}
    ),
    "pubmed": f"<?xml version='1.0'?>\n<PubmedArticleSet>{PUBMED}</PubmedArticleSet>",
    "one article": PUBMED,
    "endnote": ENDNOTE,
    "bibtex": f"% a list\n@article{{roe,\n title = {{{{CFTR}} in adults}},\n pmid = 7,\n abstract = {{{BODY}}}\n}}\n",
}


@pytest.mark.parametrize("content", TEXTS)
@pytest.mark.parametrize("suffix", [".txt", ".csv", ".ris", ".xml", ".dat", ".txt.gz"])
def test_content_decides_under_any_name(tmp_path: Path, content: str, suffix: str) -> None:
    encoded = TEXTS[content].encode()
    path = tmp_path / f"library{suffix}"
    path.write_bytes(gzip.compress(encoded) if suffix.endswith(".gz") else encoded)
    assert list(read_corpus([path])) == EXPECTED


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
@pytest.mark.parametrize("content", ["ris", "nbib", "wos", "csv", "tsv", "jsonl", "array", "bibtex"])
def test_texts_of_windows_are_read(tmp_path: Path, content: str, encoding: str) -> None:
    (tmp_path / "a.txt").write_bytes(TEXTS[content].replace("\n", "\r\n").encode(encoding))
    assert list(read_corpus([tmp_path / "a.txt"])) == EXPECTED


@pytest.mark.parametrize(
    ("title", "encoding"),
    [("Sjögren’s syndrome – naïve", "cp1252"), ("囊性纤维化的基因突变研究", "gb18030"), ("Ученые нашли ген", "cp1251")],
)
def test_older_encodings_are_told_and_reported(
    title: str, encoding: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a.ris").write_bytes(f"TY  - JOUR\nTI  - {title}\nAN  - x7\nER  - \n".encode(encoding))
    assert [document.title for document in read_corpus([tmp_path])] == [title]
    assert f"a.ris:2: is not UTF-8; read as {encoding}," in caplog.text


def test_two_encodings_in_a_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("id,title\n1,Sjögren\n".encode() + "2,Sjögren\n".encode("cp1252"))
    with pytest.raises(InputError, match=r"a\.csv:3: byte 0xf6"):
        list(read_corpus([tmp_path / "a.csv"]))
    for title in ("Sjögren", "囊性", "Ученые", "a – b"):
        (tmp_path / "c.csv").write_bytes("id,title\n1,Sjögren\n".encode("cp1252") + f"2,{title}\n".encode())
        with pytest.raises(InputError, match=r"c\.csv:3: .*UTF-8, .*2 is cp1252"):
            list(read_corpus([tmp_path / "c.csv"]))
    (tmp_path / "e.csv").write_bytes("id,title\n1,囊性\n".encode().replace(b"1,", b"1\x80,") + "2,囊性\n".encode())
    with pytest.raises(InputError, match=r"e\.csv:2: byte 0x80"):
        list(read_corpus([tmp_path / "e.csv"]))
    (tmp_path / "f.csv").write_bytes(b"id,title\n1," + "–".encode() + "été\n2,Sjögren\n".encode("cp1252"))
    assert [document.title for document in read_corpus([tmp_path / "f.csv"])] == ["â€“été", "Sjögren"]
    (tmp_path / "d.csv").write_bytes("id,title\n1,Sjögren\n2,CAFÉ’S MENÜ–\n".encode("cp1252"))
    assert [document.title for document in read_corpus([tmp_path / "d.csv"])] == ["Sjögren", "CAFÉ’S MENÜ–"]
    (tmp_path / "b.csv").write_bytes("id,title\n1,Salt\n".encode("utf-16")[:-1])
    with pytest.raises(InputError, match=r"b\.csv: .*UTF-16"):
        list(read_corpus([tmp_path / "b.csv"]))


@pytest.mark.parametrize("content", TEXTS)
def test_old_line_ends_hide_no_format(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.txt").write_bytes(TEXTS[content].replace("\n", "\r").encode())
    assert list(read_corpus([tmp_path / "a.txt"])) == EXPECTED


@pytest.mark.parametrize("suffix", ["bib", "txt"])
def test_a_sign_of_another_format_inside_a_text_decides_nothing(tmp_path: Path, suffix: str) -> None:
    for stray in ("TY  - JOUR", "PT J\nAU Roe", "%0 Book\n%T Salt"):
        (tmp_path / f"a.{suffix}").write_text(TEXTS["bibtex"].replace(BODY, f"{BODY}\n{stray}"))
        assert [document.title for document in read_corpus([tmp_path])] == ["CFTR in adults"]


def test_what_is_no_corpus_in_a_folder_is_passed_over(tmp_path: Path) -> None:
    others = {
        "questions.json": json.dumps({"questions": [{"id": "1", "body": "Which gene?", "documents": []}]}),
        "weights.json": json.dumps({"alpha": 0.5, "beta": {"bm25": 1}}),
        "queries.tsv": "1\twhich gene is mutated\n2\tsalt\n",
        "qrels.tsv": "query-id\tcorpus-id\tscore\n1\t7\t1\n",
        "notes.txt": "A title. An abstract.\n",
        "README.md": TEXTS["csv"],
        "page.txt": "<!DOCTYPE html><html></html>",
        "archive.zip": "PK",
    }
    for name, text in (others | {"corpus.txt": TEXTS["ris"]}).items():
        (tmp_path / name).write_text(text)
    assert list(read_corpus([tmp_path])) == EXPECTED


def test_clinical_trials(tmp_path: Path) -> None:
    expected = [Document("NCT00000007", "CFTR in adults", f"{BODY}\n\nTen visits.")]
    for studies in ([CLINICAL_TRIAL], {"studies": [CLINICAL_TRIAL], "nextPageToken": "x"}, CLINICAL_TRIAL):
        (tmp_path / "ctg-studies.json").write_text(json.dumps(studies))
        assert list(read_corpus([tmp_path])) == expected
    (tmp_path / "ctg-studies.json").unlink()
    header = "NCT Number,Study Title,Study URL,Study Status,Brief Summary,Conditions"
    (tmp_path / "ctg-studies.csv").write_text(f"{header}\nNCT00000007,CFTR in adults,https://x,DONE,{BODY},CF\n")
    assert list(read_corpus([tmp_path])) == [Document("NCT00000007", "CFTR in adults", BODY)]


def test_ids_of_csl_json_count_in_their_own_list_only(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        entry = {
            "id": "roe2020",
            "type": "article-journal",
            "title": name,
            "abstract": BODY,
            "author": [{"family": "Roe"}],
        }
        (tmp_path / name).write_text(json.dumps([{**entry, "DOI": "10.1000/A"}]))
    documents = list(read_corpus([tmp_path]))
    assert [shared_id(document) for document in documents] == ["roe2020", "roe2020"]
    assert documents[0].id != documents[1].id
    facts = {"doi": "10.1000/a", "reference_type": "JOUR", "authors": ["Roe"]}
    assert [document.metadata for document in documents] == [facts, facts]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[{"id": "1", "title": "a"},\n {"id": "2", "title" "b"}]',
            r"a\.json:2: .*column 22 \(Expecting ':'",
        ),
        ('[{"id": "1", "title": "a"},\n {"id": "2", "title": "b"', r"a\.json:2: .*column"),
        ('[{"id": "1", "title": "a"},\n]', r"a\.json:2: .*column 1 .*comma"),
        ('[{"id": "1", "title": "a"} {"id": "2"}]', r"a\.json:1: .*column 28 .*','"),
        ('[{"id": "1", "title": "a"},\n "b"]', r"a\.json:2: .*object .*'b'"),
        ('[{"id": "1", "title": "\\ud800"}]', "half a character"),
    ],
)
def test_an_array_that_is_wrong_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(InputError, match=message):
        list(read_corpus([tmp_path / "a.json"]))


def test_a_long_array_is_streamed_over_the_ends_of_its_blocks(tmp_path: Path) -> None:
    records = [{"id": str(number), "title": f"ä{number}", "abstract": BODY * (number % 90)} for number in range(200)]
    (tmp_path / "a.json").write_text(json.dumps({"total": 200, "items": records}, indent=1, ensure_ascii=False))
    documents = list(read_corpus([tmp_path]))
    assert [(document.id, document.abstract) for document in documents] == [
        (record["id"], record["abstract"]) for record in records
    ]


def test_bibtex_is_read_without_its_braces_and_commands(tmp_path: Path) -> None:
    (tmp_path / "a.bib").write_text(
        "@string{j = {Salt}}\n@comment{x}\n"
        "@article{a, title = {The {CFTR} gene in {\\'E}cole, 10\\% of $\\beta$}, journal = j}\n"
        '@misc(a, title = "Twice", doi = {https://doi.org/10.1000/B})\n'
        "@inbook{c, Title = {C}, Abstract = {{One\n  two}}}\n"
    )
    documents = list(read_corpus([tmp_path]))
    assert [(item.id, item.title, item.abstract) for item in documents] == [
        ("a", "The CFTR gene in École, 10% of β", ""),
        ("10.1000/B", "Twice", ""),
        ("c", "C", "One two"),
    ]
    (tmp_path / "a.bib").write_text("@article{a, title = {A}}\n\n@article{b, title = {B\n\n@article{c, title = {C}}\n")
    with pytest.raises(InputError, match=r"a\.bib:3: .*BibTeX entry"):
        list(read_corpus([tmp_path]))


@pytest.mark.parametrize(
    ("saved", "read"),
    [
        (r"50% of {\alpha} cells & more, p < 0.05", "50% of α cells & more, p < 0.05"),
        ("US$5 of 5% & more", "US$5 of 5% & more"),
        (r"$p<0.05$ in 5\% \& more", "p<0.05 in 5% & more"),
    ],
)
def test_no_character_of_bibtex_ends_a_text(tmp_path: Path, saved: str, read: str) -> None:
    (tmp_path / "a.bib").write_text(f"@article{{a, title = {{{saved}}}}}\n")
    assert [document.title for document in read_corpus([tmp_path])] == [read]


def test_what_may_be_an_entry_of_bibtex_is_not_left_out_in_silence(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a.bib").write_text("a comment\n@article{a, title = {A}}\n\narticle{b,\n  title = {B}\n}\n")
    assert [document.title for document in read_corpus([tmp_path])] == ["A"]
    assert "a.bib:4: text outside entries is ignored" in caplog.text


def workbook(path: Path, **sheets: list[list[object]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_workbooks(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = [["Exported", None], [], ["PMID", "Title", "Abstract"], [7.0, "CFTR in adults", BODY], [None, "Salt", None]]
    path = workbook(
        tmp_path / "list.xlsx", Notes=[["Searched in May"]], Hits=rows, More=[["id", "title"], ["x9", "Sweat"]]
    )
    assert list(read_corpus([path])) == [*EXPECTED, unnamed("Salt"), Document("x9", "Sweat")]
    assert "list.xlsx: skipped sheets" in caplog.text
    with pytest.raises(InputError, match=r"a\.xlsx: .*or abstract .got Notes"):
        list(read_corpus([workbook(tmp_path / "a.xlsx", Notes=[["x", "y"]])]))
    damaged = tmp_path / "b.xlsx"
    damaged.write_bytes(path.read_bytes()[:-400])
    with pytest.raises(InputError, match=r"b\.xlsx: .*damaged ZIP"):
        list(read_corpus([damaged]))


def zipped(*names: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return content.getvalue()


def tarred() -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a.ris"))
    return content.getvalue()


COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.xlsx",
            COMPOUND + "EncryptedPackage".encode("utf-16-le"),
            "password-protected workbook",
        ),
        ("a.xls", COMPOUND + "Workbook".encode("utf-16-le"), r"old Excel .*\(.xls\).*\.xlsx"),
        ("a.xlsx", COMPOUND + "Workbook".encode("utf-16-le"), "old Excel workbook"),
        ("a.doc", COMPOUND + "WordDocument".encode("utf-16-le"), "old Word document"),
        ("a.docx", zipped("[Content_Types].xml", "word/document.xml"), "a Word document"),
        ("a.ods", zipped("mimetype", "content.xml"), "an OpenDocument file"),
        ("a.ris", zipped("x/library.ris", "y.pdf"), r"ZIP archive \(x/library\.ris, y\.pdf\)"),
        ("a.tar", tarred(), "tar archive"),
        ("a.tar.gz", gzip.compress(tarred(), mtime=0), "tar archive"),
        ("a.7z", b"7z\xbc\xaf\x27\x1c" + bytes(20), "7-Zip archive"),
        ("a.csv.xz", b"\xfd7zXZ\0" + bytes(20), "with xz"),
        ("a.parquet", b"PAR1" + bytes(20), "Parquet file"),
        ("a.txt", b"{\\rtf1\\ansi TY  - JOUR}", "an RTF"),
        (
            "a.ris",
            b"<!DOCTYPE html>\n<html><body>TY  - JOUR</body></html>",
            r"web page \(HTML\).*sign-in",
        ),
        ("a.nbib", b'\n<?xml version="1.0"?><!-- x --><html xmlns="x">', "a web page"),
        ("a.csv", b"\xef\xbb\xbf<html>", "a web page"),
        ("a.pdf", b"<html><title>Sign in</title>", "a web page"),
        ("a.bin", b"\x01\0\xff\0\0\0\0ab", "unknown binary file"),
    ],
)
def test_what_no_reader_knows_is_named_for_what_it_is(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=rf"{name}: {message}|{name}: .*{message}"):
        list(read_corpus([tmp_path / name]))


def test_a_pdf_file_is_known_under_another_name(tmp_path: Path) -> None:
    (tmp_path / "paper.txt").write_bytes(b"%PDF-1.4\n%%EOF")
    assert format_of(tmp_path / "paper.txt") == "pdf"


def test_several_xml_documents_in_one_file(tmp_path: Path) -> None:
    declaration, second = '<?xml version="1.0" ?>\n<!DOCTYPE x>\n', PUBMED.replace("<PMID>7<", "<PMID>8<")
    one, two = (f"<PubmedArticleSet>{article}</PubmedArticleSet>" for article in (PUBMED, second))
    path = tmp_path / "a.xml"
    for text in (
        declaration + one + "\n" + declaration + two + "\n",
        one + two,
        PUBMED + second,
        "\ufeff" + declaration + one + "\n\n\ufeff" + declaration + two,
        "<PubmedArticleSet/>\n" + one + " " * 200_000 + "\n" + two,
    ):
        path.write_text(text, encoding="utf-8")
        assert [document.id for document in read_corpus([path])] == ["7", "8"]
    path.write_text(f"{one}\n{declaration}<PubmedArticleSet>\n<a></PubmedArticleSet>")
    with pytest.raises(InputError, match=r"a\.xml: .*line 5, column 6 .*mismatched"):
        list(read_corpus([path]))
    path.write_text(f"{one}\n{declaration}<PubmedArticleSet>\n{PUBMED.replace('>7<', '>x<')}</PubmedArticleSet>")
    with pytest.raises(InputError, match=r"a\.xml:5: .*PMID 'x'"):
        list(read_corpus([path]))
    path.write_text(f"{one}\nand more")
    with pytest.raises(InputError, match=r"a\.xml: .*line 2, column 1 \(junk"):
        list(read_corpus([path]))


def test_a_formula_is_read_without_its_annotation(tmp_path: Path) -> None:
    formula = (
        '<mml:math xmlns:mml="http://www.w3.org/1998/Math/MathML"><mml:semantics><mml:mi>R</mml:mi>'
        '<mml:annotation encoding="application/x-tex">R_{0}</mml:annotation>'
        "<mml:annotation-xml><a>R0</a></mml:annotation-xml></mml:semantics></mml:math> rises"
    )
    text = PUBMED.replace("CFTR in adults", f"Models of {formula}").replace(BODY, f"Here {formula}.")
    (tmp_path / "a.xml").write_text(text)
    assert list(read_corpus([tmp_path])) == [Document("7", "Models of R rises", "Here R rises.")]


def test_a_table_whose_cell_begins_a_reference_stays_a_table(tmp_path: Path) -> None:
    path = tmp_path / "export.tsv"
    path.write_bytes(b"PMID\tTitle\tAbstract\n1110\rTY  - JOUR\n2222\tSalt today\t\n")
    assert format_of(path) == "table"
    assert ("2222", "Salt today") in [(document.id, document.title) for document in read_corpus([path])]
