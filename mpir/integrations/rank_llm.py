"""rank_llm's JSON lines, in and out: {"query": {"text", "qid"}, "candidates": [{"docid", "score", "doc": {…}}]}.

Only the file format is shared: the library is not needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpir.errors import InputError, error_context, format_value
from mpir.files.read import place_of, read_json_lines
from mpir.reranking.inputs import as_documents

if TYPE_CHECKING:
    from mpir.reranking.reranker import Reranker

TEXTS = ("contents", "content", "text", "segment", "passage", "body", "abstract")
"""Keys of a candidate's doc that may hold its text, in the order in which rank_llm looks for it."""


def rerank_requests(path: str | Path, reranker: Reranker, *, top_k: int | None = None) -> Iterator[dict[str, Any]]:
    """Yield a file's requests reranked: each line's candidates, best first, with mpir's scores.

    Raises:
        InputError: a line in another format (file and line are named).
    """
    for number, record in read_json_lines(path):
        location = place_of(path, number)
        query, candidates = _read(record, location)
        with error_context(location):
            documents = as_documents([_document(candidate) for candidate in candidates])
        ranking = reranker.rerank(query, documents, top_k=top_k)
        ranked = [{**candidates[document.index], "score": document.score} for document in ranking.documents]
        yield {**record, "candidates": ranked}


def _read(record: Mapping[str, Any], location: str) -> tuple[str, list[Any]]:
    query, candidates = record.get("query"), record.get("candidates")
    if not isinstance(query, Mapping) or not isinstance(query.get("text"), str) or not isinstance(candidates, list):
        raise InputError(
            f'{location}: expected "query" with a "text" and a list of "candidates", found '
            f"{format_value(sorted(record))}; write "
            "the requests as rank_llm does."
        )
    return query["text"], candidates


def _document(candidate: Any) -> dict[str, Any]:
    doc = candidate.get("doc") if isinstance(candidate, Mapping) else None
    if not isinstance(doc, Mapping) or not isinstance(candidate.get("docid"), str | int):
        raise InputError(f'a candidate is {format_value(candidate)}; expected an object with "docid" and "doc".')
    texts = (doc[name] for name in TEXTS if isinstance(doc.get(name), str))
    text = next((candidate_text for candidate_text in texts if candidate_text.strip()), "")
    title = doc.get("title")
    return {"id": str(candidate["docid"]), "title": title if isinstance(title, str) else "", "text": text}
