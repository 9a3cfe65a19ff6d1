"""The metadata of records: ids at hand, and bibliographic fields that are read when somebody asks for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any


class RecordMetadata(Mapping[str, Any]):
    """The metadata of a document that a reader made; read-only, and equal to the dictionary of the same items.

    Indexing needs the ids of a million records, and a ranking the other fields of a hundred. Copies and pickles are
    plain dictionaries.
    """

    __slots__ = ("_items", "_read", "_texts", "ids")

    def __init__(
        self, ids: Mapping[str, str], texts: Mapping[str, Any], read: Callable[[Mapping[str, Any]], dict[str, Any]]
    ) -> None:
        """Hold the ids by registry; `read` returns the bibliographic fields of the record's texts."""
        self.ids, self._texts, self._read = ids, texts, read
        self._items: dict[str, Any] | None = None

    def _all(self) -> dict[str, Any]:
        texts, items = self._texts, self._items  # in this order, since another thread may read them, too
        if items is None:
            self._items = items = {**self.ids, **self._read(texts)}
            self._texts = self.ids  # frees the record's texts
        return items

    def __getitem__(self, name: str) -> Any:
        items = self._items  # the common case
        return (self._all() if items is None else items)[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Return a field, as a mapping does, in less time than by an error for each missing one."""
        return self._all().get(name, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return repr(self._all())

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[dict[str, Any]]]:
        return dict, (self._all(),)


def ids_of(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the ids in a document's metadata, perhaps with other fields, without reading those of a record."""
    return metadata.ids if isinstance(metadata, RecordMetadata) else metadata
