"""What names a paper in every database: its PMID and its DOI, which readers note beside the id that they choose."""

from __future__ import annotations

import re
from collections.abc import Iterable

_PMID = re.compile(r"\d{1,8}")
_DOI = re.compile(r"10\.\d{4,9}/\S*[^\s.,;]")


def names_of(pmid: str = "", dois: Iterable[str] = ()) -> dict[str, str]:
    """The metadata "pmid" and "doi" of a document, as far as they are there.

    The DOI is the first in these texts ("https://doi.org/10.1000/182", "10.1000/182 [doi]"), in lower case.
    """
    names = {"pmid": pmid if _PMID.fullmatch(pmid) else "", "doi": next(filter(None, map(_doi, dois)), "")}
    return {id_type: name for id_type, name in names.items() if name}


def _doi(text: str) -> str:
    match = _DOI.search(text)
    return match[0].lower() if match else ""
