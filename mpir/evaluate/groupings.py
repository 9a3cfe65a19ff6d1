"""Groups of queries for breakdowns: by type of question, number of relevant documents, or length of the query."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from mpir.errors import InputError

RELEVANT = (1, 2, 6, 11, 51)
"""The lowest numbers of relevant documents in each group."""
LENGTH = (1, 4, 8, 13, 21)
"""The lowest numbers of words in each group."""
GROUPINGS = ("type", "relevant", "length")


def group_queries(
    groupings: Sequence[str],
    queries: Sequence[str],
    *,
    relevant: Mapping[str, int],
    texts: Mapping[str, str] | None = None,
    types: Mapping[str, str] | None = None,
) -> dict[str, list[str]]:
    """The group of each query by each grouping.

    Args:
        groupings: names among GROUPINGS.
        queries: query ids.
        relevant: query id → number of relevant documents.
        texts: query id → query, for "length".
        types: query id → type of question, for "type".

    Raises:
        InputError: a grouping that needs texts or types where there are none, or texts of other queries.
    """
    makers: dict[str, Callable[[str], str]] = {"relevant": lambda query: range_of(relevant.get(query, 0), RELEVANT)}
    if texts:
        makers["length"] = lambda query: range_of(len(texts[query].split()), LENGTH) if query in texts else "unknown"
    if types:
        makers["type"] = lambda query: types.get(query, "") or "unknown"
    for name in groupings:
        if name not in makers:
            needed = "the queries' texts" if name == "length" else "BioASQ questions with a type"
            raise InputError(f"grouping by {name} needs {needed}; give the queries, or leave it out.")
    if texts and "length" in groupings and not any(query in texts for query in queries):
        raise InputError(
            f"grouping by length: none of the {len(queries)} queries is among the {len(texts)} texts; give those of "
            "the same queries."
        )
    return {name: [makers[name](query) for query in queries] for name in groupings}


def range_of(number: int, lowest: Sequence[int]) -> str:
    """The range with a number, such as "2–5" or "11+", given each range's lowest number."""
    if number < lowest[0]:
        return str(number)
    begin = max(first for first in lowest if first <= number)
    following = next((first for first in lowest if first > begin), None)
    if following is None:
        return f"{begin}+"
    return str(begin) if following == begin + 1 else f"{begin}–{following - 1}"
