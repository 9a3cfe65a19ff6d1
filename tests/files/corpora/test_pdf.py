"""Papers as PDF files, of which tiny ones are made here: a font, a page's text, and the table of objects."""

import sys
from pathlib import Path

import pytest

from mpir.errors import InputError
from mpir.extras import MissingExtraError
from mpir.files.corpora import read_corpus
from mpir.files.corpora.pdf import read_pdf
from tests.faults.report import count


def make_pdf(path: Path, pages: list[list[str]]) -> Path:
    """A PDF with these lines on its pages."""
    kids = " ".join(f"{4 + 2 * i} 0 R" for i in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for i, lines in enumerate(pages):
        shown = " ".join(f"({line}) Tj T*" for line in lines)
        text = f"BT /F1 11 Tf 14 TL 50 750 Td {shown} ET"
        resources = "/Resources << /Font << /F1 3 0 R >> >>"
        objects.append(f"<< /Type /Page /Parent 2 0 R {resources} /Contents {5 + 2 * i} 0 R /MediaBox [0 0 612 792] >>")
        objects.append(f"<< /Length {len(text)} >>\nstream\n{text}\nendstream")
    sections, positions = ["%PDF-1.4\n"], []
    for number, item in enumerate(objects, 1):
        positions.append(sum(map(len, sections)))
        sections.append(f"{number} 0 obj\n{item}\nendobj\n")
    begin = sum(map(len, sections))
    table = "".join(f"{position:010} 00000 n \n" for position in positions)
    sections.append(f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}")
    sections.append(f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{begin}\n%%EOF\n")
    path.write_bytes("".join(sections).encode("latin-1"))
    return path


def test_a_paper_without_running_heads_and_references(tmp_path: Path) -> None:
    pages = [
        [
            "Letters on Salt 1",
            "Salt in sweat",
            "References to salt are old.",
            "It is caused by muta-",
            "1",
        ],
        ["Letters on Salt 2", "tions of CFTR.", "It is a channel.", "Carriers are healthy.", "2"],
        ["Letters on Salt 3", "Ivacaftor opens it.", "6. References", "Doe J. Salt. 1999.", "Doe J. Sweat. 2001.", "3"],
    ]
    (paper,) = read_corpus([make_pdf(tmp_path / "salt.pdf", pages)])
    assert (paper.id, paper.title) == ("salt.pdf", "")
    assert paper.abstract.split("\n") == [
        *("Salt in sweat", "References to salt are old.", "It is caused by muta-"),
        *("tions of CFTR.", "It is a channel.", "Carriers are healthy.", "Ivacaftor opens it."),
    ]


def test_what_two_pages_say_is_no_running_head(tmp_path: Path) -> None:
    (paper,) = read_pdf(make_pdf(tmp_path / "a.pdf", [["Yes.", "References", "One."], ["Yes."]]))
    assert paper.abstract == "Yes.\nReferences\nOne.\nYes."  # a heading in the first half is one of something else


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"not a PDF at all", r"a\.pdf: .*valid PDF"),
        (b"%PDF-1.4\n%%EOF\n", r"a\.pdf: .*valid PDF"),
        (b"", r"a\.pdf: .*valid PDF"),
    ],
)
def test_what_is_no_pdf_is_one_sentence(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.pdf").write_bytes(content)
    with pytest.raises(InputError, match=message):
        list(read_pdf(tmp_path / "a.pdf"))


def test_pages_without_text(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.pdf: .*no text"):
        list(read_pdf(make_pdf(tmp_path / "a.pdf", [[], []])))


def lock(path: Path, password: str) -> Path:
    """A PDF with words in it, which nobody may print, and which the password opens."""
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(PdfReader(make_pdf(path.with_suffix(".open.pdf"), [["Words."]])))
    writer.encrypt(password, owner_password="owner", algorithm="AES-256")
    writer.write(path)
    return path


def test_a_paper_that_may_be_read_and_not_printed(tmp_path: Path) -> None:
    (paper,) = read_pdf(lock(tmp_path / "a.pdf", ""))
    assert paper.abstract == "Words."


def test_a_locked_file(tmp_path: Path) -> None:
    lock(tmp_path / "a.pdf", "secret")
    with pytest.raises(InputError, match=r"a\.pdf: .*password"):
        list(read_pdf(tmp_path / "a.pdf"))


def test_without_pypdf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(MissingExtraError, match=r"package pypdf.*'mpir\[pdf\]'"):
        list(read_pdf(make_pdf(tmp_path / "a.pdf", [["Words."]])))


def make_shared(path: Path, pages: int, content: bytes) -> Path:
    """Write pages that show one compressed stream."""
    from pypdf import PdfWriter
    from pypdf.generic import DictionaryObject, NameObject, StreamObject

    writer, stream = PdfWriter(), StreamObject()
    stream.set_data(content)
    reference = writer._add_object(stream.flate_encode())
    names = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    font = writer._add_object(DictionaryObject({NameObject(key): NameObject(name) for key, name in names.items()}))
    fonts = DictionaryObject({NameObject("/F1"): font})
    for _ in range(pages):
        page = writer.add_blank_page(100, 100)
        page[NameObject("/Contents")] = reference
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    writer.write(path)
    return path


@pytest.mark.parametrize(
    "content", [b"BT /F1 9 Tf (Aspirin) Tj ET\n" * 1_000, b" " * 1_000_000 + b"BT /F1 9 Tf (Aspirin) Tj ET"]
)
def test_pages_that_show_one_stream_are_bounded(tmp_path: Path, content: bytes) -> None:
    count("PDF without bound")
    path = make_shared(tmp_path / "a.pdf", 30, content)
    with pytest.raises(InputError, match=r"a\.pdf: .*\b200 times .*MPIR_MAX_EXPANSION"):
        list(read_pdf(path))
