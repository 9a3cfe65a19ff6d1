"""Files that a reader of the page drops on it, read as `mpir rerank --docs` reads them."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mpir.errors import InputError, shortened
from mpir.serve.fields import Body, Text, validated
from mpir.serve.settings import ApiError, Limits
from mpir.text import Document

_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}\Z")


class UploadBody(Body):
    """A file: its name, whose suffix is a hint, and its content in base64."""

    name: Text
    data: Text


def read_upload(values: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    """The documents of a file, each once, as /explain/ranking takes them.

    Raises:
        ApiError: 400 for a file that cannot be read, 413 for one with too many documents.
    """
    body = validated(UploadBody, values)
    documents = _documents(body.name, _content(body.data), limits.documents + 1)
    if len(documents) > limits.documents:
        raise ApiError(
            413, f"{shortened(body.name)}: has more than {limits.documents} documents; use `mpir rerank --docs`."
        )
    return {"documents": [_as_sent(document) for document in documents]}


def _content(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except ValueError:
        raise ApiError(400, f"data is {shortened(data)!r}; expected a file's content in base64.") from None


def _documents(name: str, content: bytes, limit: int) -> list[Document]:
    from mpir.corpora.corpus import read_corpus
    from mpir.corpora.deduplicate import without_copies

    match = _SUFFIX.search(name)
    with TemporaryDirectory(prefix="mpir-upload-") as folder:
        path = Path(folder) / f"upload{match[0] if match else ''}"
        path.write_bytes(content)
        try:
            return list(without_copies(list(islice(read_corpus([path]), limit))))
        except InputError as error:
            raise ApiError(400, str(error).replace(str(path), shortened(name))) from None


def _as_sent(document: Document) -> dict[str, Any]:
    return {**document.metadata, "id": document.id, "title": document.title, "abstract": document.abstract}
