"""Keep the fields of a source that mpir does not read, such as a screening tool's decisions, keys and labels.

They stand in a document's metadata under SOURCE_FIELDS, by the names that the source gives them, and every writer
returns them. A key or a note is among them although mpir reads it, because the source's program needs it as it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mpir.files.corpora.field_keys import field_name
from mpir.files.corpora.fields import BODIES, LISTED, READ, REMARKS, TITLES

SOURCE_FIELDS = "source_fields"
"""The key of a document's metadata with these fields: a text, or several in a list, by name."""
Fields = dict[str, str | list[str]]
_KEYS = frozenset(("id", "_id", "docid", "documentid", "uid", "recordid", "key", "itemid", "recnumber"))
"""Names of ids that only the source's program knows."""
_KEPT = frozenset((*_KEYS, *REMARKS, "tags")) - {"pui", "c3"}
_OF_RANKING = frozenset(
    (
        "rank",
        "document",
        "probability",
        "section",
        "answer probability",
        "query id",
        "query",
        "type of study",
        "retracted",
        "sentence says",
        "best sentence says",
    )
)
"""Columns of mpir's own tables that belong to a ranking; the scores stand between the two below."""
_FIRST_SCORE, _AFTER_SCORES = "blended score", ("best sentence", "sentence")
_TAG = re.compile(r"[A-Z][A-Z0-9]")
_RANK_NOTE = "mpir: rank "
_DECISION = re.compile(r"mpir (included|maybe|excluded)")
"""The keyword with a decision in references that mpir wrote, which reference managers keep as a tag."""
_NOTES = ("N1", "GN")
_KEYWORDS = ("KW", "OT")


def kept_columns(header: Sequence[str], *, is_ranking: bool = False) -> list[tuple[str, int]]:
    """Return the names and positions of a table's columns to keep; `is_ranking` is whether mpir wrote the table."""
    names = [" ".join(cell.lower().split()) for cell in header]
    ranked = _ranking_columns(names) if is_ranking else frozenset()
    fields = list(map(field_name, names))
    second = _second_texts(fields)
    return [
        (cell.strip(), position)
        for position, (cell, name) in enumerate(zip(header, fields, strict=True))
        if names[position]
        and position not in ranked
        and (_is_kept(name) or name in second or _is_second(name, fields[:position]))
    ]


def _is_second(name: str, before: Sequence[str]) -> bool:
    """Whether a column before this one is read in its place."""
    return name in before and name not in LISTED


def _second_texts(fields: Sequence[str]) -> frozenset[str]:
    """Return the names of titles and bodies in place of which others are read, such as a summary beside an abstract."""
    present = [[name for name in names if name in fields] for names in (TITLES, BODIES)]
    return frozenset(name for names in present for name in names[1:])


def _is_kept(name: str) -> bool:
    return name not in READ or name in _KEPT


def _ranking_columns(names: Sequence[str]) -> frozenset[int]:
    end = next((position for position, name in enumerate(names) if name in _AFTER_SCORES), 0)
    begin = names.index(_FIRST_SCORE) if _FIRST_SCORE in names[:end] else end
    return frozenset((*range(begin, end + bool(end)), *(n for n, name in enumerate(names) if name in _OF_RANKING)))


def fields_of_row(cells: Sequence[str], columns: Iterable[tuple[str, int]]) -> Fields:
    """Return the cells of a row in these columns that are not blank."""
    fields = Fields()
    for name, position in columns:
        if position < len(cells) and (text := cells[position].strip()):
            fields[name] = text if name not in fields else [*texts_of(fields[name]), text]
    return fields


def kept_fields(values: Mapping[str, Any]) -> Fields:
    """Return those of a record's fields that are kept."""
    return {name: text for name, text in values.items() if _is_kept(field_name(name)) and text}


def fields_of_tags(tags: Mapping[str, Sequence[str]], names: Mapping[str, str]) -> Fields:
    """Return the tags of a reference that `names` does not have, and its notes and decisions; of RIS or PubMed's form.

    Notes with a rank that mpir wrote are left out.
    """
    is_ris = "TY" in tags
    fields = Fields()
    for tag, texts in tags.items():
        is_kept = _is_kept(names.get(tag, "")) or tag == "ID" if is_ris else tag in _NOTES
        known = [text for text in texts if text and not (tag in _NOTES and text.startswith(_RANK_NOTE))]
        if tag in _KEYWORDS and (decisions := [match[1] for text in known if (match := _DECISION.fullmatch(text))]):
            fields["decision"] = decisions[-1]
        if known and is_kept:
            fields[tag] = known[0] if len(known) == 1 else known
    return fields


def own_notes(text: str) -> str:
    """Return the lines of notes but for those with a rank that mpir wrote, which reference managers keep."""
    return "\n".join(line for line in text.splitlines() if line.strip() and not line.startswith(_RANK_NOTE))


def texts_of(value: object) -> list[str]:
    """Return the texts of a field."""
    return [value] if isinstance(value, str) else list(map(str, value)) if isinstance(value, list | tuple) else []


def source_fields(metadata: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the fields of a document's source, each as a list of texts."""
    fields = metadata.get(SOURCE_FIELDS)
    return {str(name): texts_of(value) for name, value in fields.items()} if isinstance(fields, Mapping) else {}


def united(first: Mapping[str, Any], second: Mapping[str, Any]) -> Fields:
    """Return the fields of two records of one paper; where they differ, both texts, the first record's first."""
    fields = source_fields(first)
    for name, texts in source_fields(second).items():
        fields[name] = list(dict.fromkeys((*fields.get(name, ()), *texts)))
    return {name: texts[0] if len(texts) == 1 else texts for name, texts in fields.items()}


def as_columns(metadata: Mapping[str, Any], used: Iterable[str] = ()) -> dict[str, str]:
    """Return the fields as cells of a table; a name that the table uses already has "(source)" behind it."""
    taken = {name.lower() for name in used}
    return {
        f"{name} (source)" if name.lower() in taken else name: " | ".join(texts)
        for name, texts in source_fields(metadata).items()
    }


def as_tags(metadata: Mapping[str, Any], note: str = "N1", keyword: str = "KW") -> Iterator[tuple[str, str]]:
    """Yield the fields as tags of a reference: a tag of RIS as it is, other fields as notes with their names."""
    for name, texts in source_fields(metadata).items():
        for text in texts:
            if name == "decision" and _DECISION.fullmatch(f"mpir {text}"):
                yield keyword, f"mpir {text}"
            elif field_name(name) in REMARKS or name in _NOTES:
                yield note, text
            elif note == "N1" and _TAG.fullmatch(name):
                yield name, text
            else:
                yield note, f"{name}: {text}"
