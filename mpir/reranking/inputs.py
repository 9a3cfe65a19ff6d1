"""Read a caller's documents: strings, dictionaries, Documents, or other libraries' objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mpir.core.results import RankedDocument
from mpir.core.text import TITLE, Document
from mpir.errors import InputError, RepeatedIdError, error_context, format_value
from mpir.files.corpora.field_keys import field_name, telling_key
from mpir.files.corpora.fields import BODIES, COLLECTION_IDS, KNOWN, TITLES
from mpir.files.corpora.json_records import unwrapped
from mpir.files.corpora.jsonl import check_has_text, record_text
from mpir.validation import id_text, is_finite, is_missing

DocumentLike = Document | str | Mapping[str, Any] | Any
OBJECT_IDS = ("id", "id_", "node_id")
OBJECT_TEXTS = ("page_content", "content", "text")
OBJECT_METADATA = ("metadata", "meta")


def as_documents(
    docs: Iterable[DocumentLike],
    *,
    doc_ids: Sequence[Any] | None = None,
    metadata: Sequence[Mapping[str, Any]] | None = None,
) -> list[Document]:
    """Read documents of any accepted type; a document without an id gets its position in the list as id.

    A string becomes the abstract of a document. A dictionary has the keys of JSON-lines corpora: pmid or id, title,
    abstract or text, or their synonyms in mpir/files/corpora/fields.py. It may have first-stage scores (`score`, or
    several by name in `scores`); all other keys, such as a second body, are kept as metadata. None, NaN and pandas' NA
    count as missing. Rows of tables (pandas' Series, named tuples) are read as dictionaries, and hits of OpenSearch,
    Elasticsearch and Milvus as the record inside them, with the fields around it as metadata. Documents of LangChain,
    LlamaIndex and Haystack, and ranked documents of mpir, are read by their attributes; their scores are ignored,
    because their scales differ. A single string, dictionary or Document is read as a list of one. `doc_ids` and
    `metadata` have one entry for each document, and take precedence over the documents' own values.

    Raises:
        InputError: the input is not a list, or contains a value of another type; a dictionary has no text, or a value
            of the wrong type; only some documents have scores; an id is a list or not unique; or `doc_ids` or
            `metadata` has another length.
    """
    inputs = [_row(doc) for doc in _listed(docs)]
    documents = [_document(doc, number) for number, doc in enumerate(inputs)]
    documents = _with_ids(documents, inputs, _even(doc_ids, "doc_ids", len(documents)))
    if metadata is not None:
        extras = _even(metadata, "metadata", len(documents)) or ()
        documents = [
            replace(document, metadata={**document.metadata, **extra})
            for document, extra in zip(documents, extras, strict=True)
        ]
    _check_even_scores(documents)
    return documents


def documents_of_each(docs: Iterable[Iterable[DocumentLike]]) -> Iterator[list[Document]]:
    """Yield `as_documents` of each query's list. Raises InputError with the index of the query, from 0."""
    for number, query_docs in enumerate(docs):
        with error_context(f"query {number}"):
            documents = as_documents(query_docs)
        yield documents


def _row(doc: Any) -> Any:
    """Convert a named tuple or a pandas Series to a dictionary; return any other value unchanged.

    Of a search engine's hit, whose record is inside, the dictionary has the record's fields and those around it.
    """
    if isinstance(doc, tuple) and hasattr(doc, "_asdict"):
        doc = doc._asdict()
    elif hasattr(doc, "keys") and getattr(doc, "ndim", 0) == 1:
        doc = {key: doc[key] for key in doc.keys()}  # noqa: SIM118  (a Series iterates over its values)
    return unwrapped(doc) if isinstance(doc, Mapping) else doc


def _listed(docs: Any) -> list[Any]:
    """Return the entries of a list; a single document, or an object with keys, is one."""
    if isinstance(docs, str | Mapping | Document) or (hasattr(docs, "keys") and not hasattr(docs, "ndim")):
        return [docs]  # the keys of an engine's answer would be ranked as texts
    if not isinstance(docs, Iterable) or getattr(docs, "ndim", 1) != 1:
        raise InputError(
            f"docs is {_type_text(docs)}; expected a list of documents; for a data frame use frame.to_dict('records')."
        )
    return list(docs)


def _even(values: Sequence[Any] | None, name: str, count: int) -> list[Any] | None:
    if values is None:
        return None
    entries = [values] if isinstance(values, str | Mapping) or not isinstance(values, Iterable) else list(values)
    if len(entries) != count:
        raise InputError(f"{name} has {len(entries)} entries for {count} documents; give one for each document.")
    if name == "metadata" and (odd := [value for value in entries if not isinstance(value, Mapping)]):
        raise InputError(f"an entry of metadata is {format_value(odd[0])}; expected a dictionary for each document.")
    return entries


def _with_ids(documents: list[Document], inputs: list[Any], doc_ids: list[Any] | None) -> list[Document]:
    """Return the documents with the given ids, or with their positions. Raises InputError for a repeated id."""
    keys = [_given_id(doc) for doc in inputs] if doc_ids is None else doc_ids
    number_of: dict[str, int] = {}
    for number, key in enumerate(keys):
        text = id_text(f"docs[{number}]: the id", _integral(key))
        if not is_missing(key) and number_of.setdefault(text, number) != number:
            raise RepeatedIdError(
                text,
                f"docs[{number}] and docs[{number_of[text]}] both have the id {format_value(key)}; give every document "
                "a unique id, or leave all ids out.",
            )
    return [
        replace(document, id=_free(number, number_of), key=None)
        if is_missing(key)
        else replace(document, id=str(_integral(key)).strip(), key=key)
        for number, (document, key) in enumerate(zip(documents, keys, strict=True))
    ]


def _integral(key: Any) -> Any:
    """Return an id; undo pandas' conversion of whole numbers to floats, which happens if other ids are missing."""
    return int(key) if isinstance(key, float) and key.is_integer() else key


def _free(number: int, number_of: Mapping[str, int]) -> str:
    """Return the position of a document as its id, with "#" prepended until the id is unique."""
    name = str(number)
    while name in number_of:
        name = f"#{name}"
    return name


def _given_id(doc: Any) -> Any:
    if isinstance(doc, Document):
        return doc.id if doc.key is None else doc.key
    if isinstance(doc, str):
        return None
    if isinstance(doc, Mapping):
        key = telling_key(_present(doc), COLLECTION_IDS)
        identifier = None if key is None else doc[key]
    else:
        identifier = _first(getattr(doc, "node", doc), OBJECT_IDS)
    return None if isinstance(identifier, str) and not identifier.strip() else identifier


def _document(doc: DocumentLike, number: int) -> Document:
    """Read and check a document without its id."""
    location = f"docs[{number}]"
    if (key := _given_id(doc)) is not None:
        location += f" (id {format_value(key)})"
    if isinstance(doc, str):
        doc = Document("", abstract=doc)
    elif isinstance(doc, Mapping):
        doc = _from_mapping(doc, location)
    elif isinstance(doc, RankedDocument):  # whose metadata are attributes, too
        doc = Document("", doc.title, doc.text, metadata=doc.metadata)
    elif not isinstance(doc, Document):
        doc = _from_object(doc, location)
    for name, text in doc.sections.items():
        if not isinstance(text, str):
            raise InputError(f"{location}: the {name} is {format_value(text)}; expected a string.")
    _check_scores(doc, location)
    return doc


def _from_mapping(doc: Mapping[str, Any], location: str) -> Document:
    present = _present(doc)
    keys = [telling_key(present, names) for names in (COLLECTION_IDS, TITLES, BODIES)]
    check_has_text(present if any(field_name(str(key)) not in COLLECTION_IDS for key in present) else doc, location)
    read = {*keys, "scores" if "scores" in present else "score"}
    extra = {key: value for key, value in doc.items() if key not in read and not (key not in present and _is_read(key))}
    title, body = (record_text(present, key, location) for key in keys[1:])
    return Document("", title, body, score=present.get("score"), scores=present.get("scores", {}), metadata=extra)


def _is_read(key: Any) -> bool:
    """Whether a key of a dictionary is a field of documents."""
    return field_name(str(key)) in KNOWN or key in ("score", "scores")


def _from_object(doc: Any, location: str) -> Document:
    """Read another library's document: LangChain's page_content, Haystack's content, LlamaIndex's node and its text."""
    node = getattr(doc, "node", doc)
    text = _first(node, OBJECT_TEXTS)
    if not isinstance(text, str):
        raise InputError(
            f"{location} is {_type_text(doc)}; expected a string, a dictionary, a Document, or an object with a text "
            f"attribute ({', '.join(OBJECT_TEXTS)})."
        )
    metadata = _first(node, OBJECT_METADATA)
    extra = dict(metadata) if isinstance(metadata, Mapping) else {}
    titles = (extra.get(TITLE), getattr(node, TITLE, None))
    return Document("", next((title for title in titles if isinstance(title, str)), ""), text, metadata=extra)


def _type_text(value: Any) -> str:
    return "missing" if value is None else f"of type {type(value).__name__}"


def _first(doc: Any, names: Sequence[str]) -> Any:
    return next((value for name in names if not is_missing(value := getattr(doc, name, None))), None)


def _present(doc: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in doc.items() if not is_missing(value)}


def _check_scores(document: Document, location: str) -> None:
    if not isinstance(document.scores, Mapping):
        raise InputError(f"{location}: scores is {format_value(document.scores)}; expected numbers by name.")
    if odd := [name for name in document.scores if not isinstance(name, str)]:
        raise InputError(f"{location}: the name of a score is {format_value(odd[0])}; expected a string.")
    for name, score in {"": document.score, **document.scores}.items():
        if (name or score is not None) and not is_finite(score):
            raise InputError(
                f"{location} has the score {name and f'{format_value(name)} '}{format_value(score)}; expected a finite "
                "number, or no score."
            )


def _check_even_scores(documents: Sequence[Document]) -> None:
    for number, document in enumerate(documents):
        if odd := sorted(set(document.scores) ^ set(documents[0].scores)):
            lacks = number if odd[0] not in document.scores else 0
            raise InputError(
                f"docs[{lacks}] (id {format_value(documents[lacks].id)}) has no score {format_value(odd[0])}, but "
                "others have one; give every document the same scores."
            )
    scored = [document.score is not None for document in documents]
    if any(scored) and not all(scored):
        number = scored.index(False)
        raise InputError(
            f"docs[{number}] (id {format_value(documents[number].id)}) has no first-stage score, but others have one; "
            "give all documents scores, or none: then mpir computes BM25."
        )
