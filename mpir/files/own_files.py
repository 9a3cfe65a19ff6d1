"""Recognise files that mpir wrote by their first bytes, so that its outputs replace no others."""

from __future__ import annotations

import re

HEAD = 2**16
"""Number of bytes at the beginning of a file by which its writer is recognised."""
_RANKING = re.compile(
    rb'\{"id": [^\n]*"query": [^\n]*"documents": \[(\{"id": [^\n]*"index": \d+, |\], "weights": \{)', re.DOTALL
)
_ROW = re.compile(rb'\{"id": [^\n]*"question": [^\n]*"sentence": [^\n]*"label": [\d.]+, "kind": "[\w-]+"\}\n')
_FIELDS = (rb'"id": [^\n]*', rb'"body": [^\n]*', rb'"type": [^\n]*', rb'"documents": \[')
_SUBMISSION = re.compile(rb'\{\n  "questions": \[\n    \{\n      ' + rb"\n      ".join(_FIELDS))


def is_run(head: bytes) -> bool:
    """Whether a file is a TREC run with mpir's tag."""
    columns = head.partition(b"\n")[0].split()
    return len(columns) == 6 and columns[1] == b"Q0" and columns[5] == b"mpir"


def are_rankings(head: bytes) -> bool:
    """Whether a file has rankings: a TREC run with mpir's tag, or lines of JSON with scored documents."""
    return is_run(head) or _RANKING.match(head) is not None


def is_submission(head: bytes) -> bool:
    """Whether a file has the fields of a submission in the order of `write_submission`."""
    return _SUBMISSION.match(head) is not None


def are_training_rows(head: bytes) -> bool:
    """Whether a file has the rows of `mpir data negatives`."""
    return _ROW.match(head) is not None


def are_figures(head: bytes) -> bool:
    """Whether a file may be the figures of a script: JSON, but neither documents nor questions."""
    start = b"".join(head[:100].split())
    return start.startswith((b"{", b"[")) and not re.match(rb'\[?\{"(id|pmid|_id|questions":\[)', start)


def is_benchmark_table(head: bytes) -> bool:
    """Whether a file has the tables of `mpir benchmark`."""
    return re.match(rb"### [^\n]*\n\n\d+ queries, candidates by ", head) is not None


def is_picture(head: bytes) -> bool:
    """Whether a file is a picture by matplotlib, which names itself in it."""
    return b"atplotlib" in head


def is_never_ours(head: bytes) -> bool:
    """Return False, for formats that users and other programs write, too, without a sign of their writer."""
    del head
    return False
