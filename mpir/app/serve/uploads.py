"""Read files dropped on the explain page, as `mpir rerank` reads documents."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from mpir.app.serve.fields import Body, Text, validated
from mpir.app.serve.settings import ApiError, Limits
from mpir.core.text import Document
from mpir.errors import InputError, shortened

_ODD = re.compile(r"[^\w.-]+")
_LONGEST_NAME = 60


class UploadBody(Body):
    """A file: its name, whose suffix hints at the format, and its content in base64."""

    name: Text
    data: Text


def read_upload(values: Mapping[str, Any], limits: Limits, folder: Path) -> dict[str, Any]:
    """The deduplicated documents of a file, in the form for /explain/ranking.

    The file is written into `folder`, which the caller removes.

    Raises:
        ApiError: 400 for a file that cannot be read, 413 for one with too many documents.
    """
    body = validated(UploadBody, values)
    path = folder / (_ODD.sub("_", body.name)[-_LONGEST_NAME:].lstrip(".") or "file")
    path.write_bytes(_content(body.data))
    documents = _documents(path, limit=limits.documents + 1, characters=limits.body)
    if len(documents) > limits.documents:
        raise ApiError(413, f"{shortened(body.name)}: has more than {limits.documents} documents; use `mpir rerank`.")
    return {
        "documents": [
            {**document.metadata, "id": document.id, "title": document.title, "abstract": document.abstract}
            for document in documents
        ]
    }


def _content(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except ValueError:
        raise ApiError(400, f"data is {shortened(data)!r}; expected a file's content in base64.") from None


def _documents(path: Path, *, limit: int, characters: int) -> list[Document]:
    from mpir.files.corpora.corpus import read_corpus
    from mpir.files.corpora.deduplicate import without_copies

    try:
        return list(without_copies(list(_within(islice(read_corpus([path]), limit), characters))))
    except InputError as error:
        raise ApiError(400, str(error).replace(str(path), path.name)) from None


def _within(documents: Iterable[Document], characters: int) -> Iterator[Document]:
    """Yield documents. Raises ApiError (413) if their texts exceed the limit, as those of a small archive may."""
    for document in documents:
        characters -= len(document.title) + len(document.abstract)
        if characters < 0:
            raise ApiError(413, "the documents exceed a request's limit of text; use `mpir rerank`.")
        yield document
