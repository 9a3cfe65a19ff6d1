"""Detect binary files: accept workbooks and PDF, and raise an error that names any other format."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Literal

from mpir.errors import InputError, format_names

Container = Literal["workbook", "pdf"]
_COMPRESSED = {
    b"7z\xbc\xaf\x27\x1c": "a 7-Zip archive",
    b"Rar!\x1a\x07": "a RAR archive",
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ\0": "compressed with xz",
    b"\x28\xb5\x2f\xfd": "compressed with Zstandard",
    b"\x1f\x9d": "compressed with compress",
}
_DATA = {b"PAR1": "a Parquet file", b"SQLite format 3\0": "an SQLite database", b"ARROW1": "an Arrow file"}
_COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""First bytes of Microsoft Office files from before 2007, and of newer ones with a password."""
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_PDF = b"%PDF-"
_TAR, _TAR_OFFSET = b"ustar", 257
_COMPOUND_LOOKED_AT = 2**22


def container_of(path: str | Path, beginning: bytes) -> Container | None:
    """Return the kind of a binary file, judged by its first kilobytes; None for a text file.

    Raises:
        InputError: no reader supports this kind of file; the message names it.
    """
    if _PDF in beginning[:1024]:
        return "pdf"
    if beginning.startswith(_ZIP):
        return _of_zip(path)
    if beginning.startswith(_COMPOUND):
        raise _compound_error(path)
    if beginning.startswith(b"{\\rtf"):
        raise InputError(f"{path}: is an RTF document; save it as plain text, or export the references again.")
    for start, name in (_COMPRESSED | _DATA).items():
        if beginning.startswith(start):
            remedy = "unpack it" if start in _COMPRESSED else "write its rows as CSV or JSON lines"
            raise InputError(f"{path}: is {name}; {remedy}, and give the resulting files.")
    if beginning[_TAR_OFFSET:].startswith(_TAR):
        raise InputError(f"{path}: is a tar archive; unpack it, and give the files in it.")
    return None


def _of_zip(path: str | Path) -> Container:
    """Recognise a workbook, which is a ZIP archive. Raises InputError for other or damaged archives."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError) as error:
        raise InputError(f"{path}: is a damaged ZIP archive or workbook ({error}); download it again.") from error
    if "xl/workbook.xml" in names:
        return "workbook"
    if "word/document.xml" in names:
        raise InputError(f"{path}: is a Word document (.docx); save references as RIS, a table as .xlsx or CSV.")
    if "xl/workbook.bin" in names:
        raise InputError(f"{path}: is a binary Excel workbook (.xlsb); save it as .xlsx or CSV.")
    if "content.xml" in names:
        raise InputError(f"{path}: is an OpenDocument file (.ods or .odt); save it as .xlsx or CSV.")
    raise InputError(f"{path}: is a ZIP archive ({format_names(names, 3)}); unpack it, and give the files in it.")


def _compound_error(path: str | Path) -> InputError:
    with open(path, "rb") as stream:
        content = stream.read(_COMPOUND_LOOKED_AT)
    if _wide("EncryptedPackage") in content:
        return InputError(f"{path}: is a password-protected workbook or document; save a copy without a password.")
    if _wide("WordDocument") in content:
        return InputError(f"{path}: is an old Word document (.doc); save references as RIS, a table as .xlsx or CSV.")
    if _wide("Workbook") in content or _wide("Book") in content:
        return InputError(f"{path}: is an old Excel workbook (.xls); save it as .xlsx or CSV.")
    return InputError(f"{path}: is a Microsoft Office file in an old format; save it as .xlsx or CSV.")


def _wide(name: str) -> bytes:
    return name.encode("utf-16-le")
