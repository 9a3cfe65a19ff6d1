"""TripClick's test queries in three groups by frequency, their judgements, and a table of systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tabulate import tabulate

from mpir.core.text.types import Question
from mpir.errors import InputError, shortened
from mpir.evaluate import evaluate_run
from mpir.files.corpora.topics import read_topics
from mpir.files.corpora.trec import read_qrels
from mpir.files.corpora.tripclick import GROUPS

MEASURES = {"nDCG@10": "nDCG@10", "RR@10": "MRR@10", "Judged@10": "J@10"}
"""Names for ir_measures, and for people. Gains are the grades; a document of grade 1 or more is relevant."""
SUMMARY = {"nDCG@10": "nDCG@10", "RR@10": "MRR@10", "AP@10": "AP@10", "Judged@10": "J@10"}
"""The metric for a single figure of all groups."""
Run = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Group:
    """Queries of similar frequency (head, torso, tail), with their judgements."""

    name: str
    queries: Sequence[Question]
    qrels: Mapping[str, Mapping[str, int]]


def read_group(folder: str | Path, name: str, split: str) -> Group:
    """Read a group of a split (train, val, test) from the unpacked folder ``benchmark``.

    Head is judged by DCTR, where there is such a file, and the others by raw clicks, as in the collection's paper.

    Raises:
        InputError: a file is missing or invalid, or has judgements of other queries.
    """
    root = Path(folder)
    topics = _first(root, name, [f"topics/topics.{name}.{split}.{form}" for form in ("txt", "tsv")])
    judged = [
        f"qrels/qrels.{judgement}.{name}.{split}.txt" for judgement in (("dctr", "raw") if name == "head" else ("raw",))
    ]
    queries, qrels = read_topics(topics), read_qrels(path := _first(root, name, judged))
    known = {query.id for query in queries}
    judged_queries = {query: grades for query, grades in qrels.items() if query in known}
    if not judged_queries:
        raise InputError(
            f"{path}: judges none of the {len(queries)} queries of {topics.name}; give those of one split."
        )
    return Group(name, queries, judged_queries)


def read_groups(folder: str | Path, split: str) -> list[Group]:
    """All three groups of a split.

    Raises:
        InputError: as `read_group`, or a query of one group is another one in another group.
    """
    groups = [read_group(folder, name, split) for name in GROUPS]
    texts: dict[str, str] = {}
    for query in (query for group in groups for query in group.queries):
        if texts.setdefault(query.id, query.body) != query.body:
            raise InputError(f"{folder}: query {shortened(query.id)} has two texts in the groups of {split}; keep one.")
    return groups


def table(groups: Sequence[Group], systems: Mapping[str, Sequence[Run]]) -> str:
    """A row for each system, of which there is one run for each group, with the group's measures."""
    rows = []
    for name, runs in systems.items():
        figures = (
            list(evaluate_run(group.qrels, run, list(MEASURES)).values())
            for group, run in zip(groups, runs, strict=True)
        )
        rows.append([name, *(f"{value:.3f}" for group_figures in figures for value in group_figures)])
    header = ["", *(f"{group.name} {measure}" for group in groups for measure in MEASURES.values())]
    return tabulate(rows, header, tablefmt="github", disable_numparse=True)


def means(groups: Sequence[Group], runs: Sequence[Run]) -> dict[str, float]:
    """The measures of SUMMARY for a system with one run for each group: the mean of the groups, which count alike."""
    group_means = [evaluate_run(group.qrels, run, list(SUMMARY)) for group, run in zip(groups, runs, strict=True)]
    return {measure: sum(measures[measure] for measures in group_means) / len(group_means) for measure in SUMMARY}


def _first(root: Path, group: str, names: Sequence[str]) -> Path:
    """Return the first existing file."""
    for name in names:
        for path in (root / name, root / f"{name}.gz"):
            if path.is_file():
                return path
    expected = ", ".join(Path(names[0]).name.replace(group, name_of_group) for name_of_group in GROUPS)
    raise InputError(
        f"{root / names[0]}: there is no such file{f', nor {names[1]}' if names[1:] else ''}; expected one for each "
        f"group: {expected}."
    )
