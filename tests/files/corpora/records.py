"""Records that tests of several readers expect."""

from dataclasses import replace

from mpir.core.text.types import Document
from mpir.files.corpora.content import content_id


def unnamed(title: str, abstract: str = "") -> Document:
    """Return the document of a record without an id of its own."""
    document = Document("", title, abstract)
    return replace(document, id=content_id(document))
