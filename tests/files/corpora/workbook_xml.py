"""Workbooks written as XML, for contents that no program saves."""

import zipfile
from pathlib import Path

MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
STUDY = "".join(
    f'<row r="{row}"><c r="A{row}" t="inlineStr"><is><t>{text}</t></is></c></row>'
    for row, text in ((1, "title"), (2, "Aspirin"))
)


def sheet_xml(rows: str = "", dimension: str = "A1:A2") -> str:
    """A sheet with one study, and more rows."""
    return f'<worksheet {MAIN}><dimension ref="{dimension}"/><sheetData>{STUDY}{rows}</sheetData></worksheet>'


def write_book(
    path: Path, sheet: str, *, strings: str = "", sheets: int = 1, files: int | None = None, padding: bytes = b""
) -> Path:
    """Write a workbook of `sheets` equal sheets in so many `files`, with a table of strings and unused bytes."""
    files = sheets if files is None else files
    numbers = [(sheet_number, (sheet_number - 1) % files + 1) for sheet_number in range(1, sheets + 1)]
    listed = "".join(f'<sheet name="s{n}" sheetId="{n}" r:id="r{file}"/>' for n, file in numbers)
    links = "".join(
        f'<Relationship Id="r{n}" Type="{OFFICE}/worksheet" Target="worksheets/sheet{n}.xml"/>'
        for n in range(1, files + 1)
    )
    contents = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
        f'<Override PartName="/xl/workbook.xml" ContentType="{TYPE}.sheet.main+xml"/>'
        f'<Override PartName="/xl/sharedStrings.xml" ContentType="{TYPE}.sharedStrings+xml"/></Types>',
        "xl/workbook.xml": f'<workbook {MAIN} xmlns:r="{OFFICE}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">{links}</Relationships>',
        "xl/sharedStrings.xml": f"<sst {MAIN}>{strings}</sst>",
        **{f"xl/worksheets/sheet{n}.xml": sheet for n in range(1, files + 1)},
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
        archive.writestr("docProps/padding", padding)
    return path
