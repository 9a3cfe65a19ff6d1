"""The stored form of a document in Lucene: a JSON object that preserves title and abstract exactly."""

from __future__ import annotations

import json

from mpir.core.text.characters import without_surrogates
from mpir.core.text.legible import legible
from mpir.core.text.types import Document


def to_record(document: Document) -> str:
    """Return the JSON that Anserini stores, of which it indexes `contents`, in ASCII so that no character is lost.

    `contents` has the legible title and abstract (`mpir.core.text.legible`) and a full stop, each on its own line;
    `given` has the original texts, if they differ. The full stop is not a term, but keeps Anserini from dropping a
    document without text.
    """
    title, abstract = without_surrogates(document.title), without_surrogates(document.abstract)
    contents, raw = f"{legible(title)}\n{legible(abstract)}\n.", f"{title}\n{abstract}\n."
    record = {"id": without_surrogates(document.id), "contents": contents, "title_length": str(len(title))}
    return json.dumps(record if contents == raw else record | {"given": raw})


def from_record(record: str, score: float | None = None) -> Document:
    """Return the document of a stored record, with its score in the search."""
    values = json.loads(record)
    text, length = values.get("given", values["contents"]), int(values["title_length"])
    return Document(values["id"], text[:length], text[length + 1 : -2], score=score)
