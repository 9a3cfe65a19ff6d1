"""Results of a search engine, which are believed only once they are checked: a server is somebody else's program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeGuard

from mpir.core.text.types import Document
from mpir.errors import EndpointError, format_names, format_value
from mpir.files.corpora.json_values import texts_of
from mpir.validation import is_finite

_PARTS = ("skipped", "partial", "failed")
"""Counts of clusters that took no full part in a search."""


class Hit(NamedTuple):
    """A record of a result: the document's id, its score (None where none was asked for) and its stored fields."""

    id: str
    score: float | None
    source: Any

    def document(self, name: str, fields: Sequence[str], address: str) -> Document:
        """Return the document, with its score under a name.

        Raises:
            EndpointError: it has no text in the fields, which would be ranked as an empty one.
        """
        title, abstract = (_text(_field(self.source, field)) for field in fields)
        if not (title or abstract).strip():
            raise EndpointError(
                f"{address}: the document {format_value(self.id)} has no text in the fields {format_names(fields)}. "
                "Name the fields of the texts (fields=), or store them."
            )
        scores = {} if self.score is None else {name: self.score}
        return Document(self.id, title, abstract, score=self.score, scores=scores)


def read_hits(records: Any, limit: int, address: str, *, scored: bool = True) -> list[Hit]:
    """Check an engine's records, in the form of OpenSearch's and Elasticsearch's hits.

    Args:
        records: with ``_id``, ``_score`` and ``_source``.
        limit: the number that was asked for.
        address: begins the messages.
        scored: whether they have scores, and are in their order.

    Raises:
        EndpointError: more records than the limit, an id that is none or repeated, or a score that is no finite number
            or out of order.
    """
    if not isinstance(records, Sequence) or isinstance(records, str | bytes):
        raise _unexpected(address, format_value(records), "a list of hits")
    if len(records) > limit:
        raise _unexpected(address, f"{len(records):,} documents", f"at most {limit:,}")
    hits = [_hit(record, address, scored=scored) for record in records]
    for hit in _repeated(hits):
        raise _unexpected(address, f"the document {hit.id} twice", "each document once")
    for before, after in pairwise(hit.score for hit in hits if hit.score is not None):
        if before < after:
            raise _unexpected(
                address, f"the score {after:g} after {before:g}", "the highest first, as by cosine or BM25"
            )
    return hits


def check_complete(answer: Mapping[str, Any], hits: int, size: int, address: str) -> None:
    """Raise EndpointError for an answer of OpenSearch or Elasticsearch that says that it has only a part."""
    if answer.get("timed_out") not in (None, False):
        raise EndpointError(f"{address}: the search took too long, so its results are incomplete.")
    shards, clusters = _counts(answer, "_shards", address), _counts(answer, "_clusters", address)
    failed = shards.get("failed", 0) or shards.get("total", 0) - shards.get("successful", shards.get("total", 0))
    if failed:
        raise EndpointError(
            f"{address}: {failed} of {shards.get('total', 'several')} shards failed, so the results are incomplete. "
            "Look at the engine's log, and search again."
        )
    if any(clusters.get(name) for name in _PARTS) or answer.get("terminated_early"):
        raise EndpointError(f"{address}: a cluster or shard ended early, so the results are incomplete. Search again.")
    inner = answer.get("hits")
    total = inner.get("total") if isinstance(inner, Mapping) else None
    total = total.get("value") if isinstance(total, Mapping) else total
    expected = min(size, total) if is_count(total) else 0
    if hits < expected:
        raise _unexpected(address, f"{hits:,} documents", f"{expected:,} of the {total:,} that match")


def is_count(value: Any) -> TypeGuard[int]:
    """Whether a value is a whole number of at least 0, and no boolean."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _counts(answer: Mapping[str, Any], name: str, address: str) -> dict[str, int]:
    """Return the counts under a name; {} without any."""
    counts = answer.get(name) or {}
    if not isinstance(counts, Mapping):
        raise _unexpected(address, f"{name} {format_value(counts)}", "counts")
    numbers = {key: counts[key] for key in ("total", "successful", *_PARTS) if counts.get(key) is not None}
    for key, value in numbers.items():
        if not is_count(value):
            raise _unexpected(address, f"{name}.{key} {format_value(value)}", "a number")
    return numbers


def _hit(record: Any, address: str, *, scored: bool) -> Hit:
    if not isinstance(record, Mapping):
        raise _unexpected(address, format_value(record), "a hit with _id, _score and _source")
    identifier, score = record.get("_id"), record.get("_score")
    if isinstance(identifier, bool) or not isinstance(identifier, str | int) or not str(identifier).strip():
        raise _unexpected(address, f"a document with the id {format_value(identifier)}", "a text")
    if scored and not is_finite(score):
        raise _unexpected(
            address, f"the score {format_value(score)} of the document {format_value(identifier)}", "a finite number"
        )
    return Hit(str(identifier), float(score) if scored else None, record.get("_source"))  # type: ignore[arg-type]


def _repeated(hits: Sequence[Hit]) -> Iterator[Hit]:
    ids = set()
    for hit in hits:
        if hit.id in ids:
            yield hit
        ids.add(hit.id)


def _field(source: Any, name: str) -> Any:
    """Return the value of a field; a name such as text.title may lead into an object."""
    while isinstance(source, Mapping):
        if name in source:
            return source[name]
        first, _, name = name.partition(".")
        source = source.get(first)
    return None


def _text(value: Any) -> str:
    """Return a field's text; a list of texts, which is ordinary, is joined."""
    return value if isinstance(value, str) else " ".join(filter(None, texts_of(value)))


def _unexpected(address: str, received: str, expected: str) -> EndpointError:
    return EndpointError(
        f"{address}: the engine returned {received} (expected {expected}). Check that it is the right engine, and its "
        "version."
    )
