"""Two people's reviews are merged in any order, and what each of them decided stays."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from mpir.app.cli import main
from mpir.app.explain.library import Library, open_library
from mpir.app.explain.merge_reviews import merge_reviews
from mpir.app.explain.review import Review

PAPERS = {
    title: f"{title} was measured in the sweat of a hundred rowers on the river, and it was high in most. " * 2
    for title in ("Salt", "Iron", "Water", "Sugar")
}
"""Abstracts by title; a record without one has another id."""


def content(review: Review) -> list[Any]:
    """All that a review holds, without the times at which its records were stored."""
    records = [
        (record.document, sorted(record.document.metadata.items()), record.is_local, sorted(record.names))
        for record in review.records()
    ]
    return [
        records,
        sorted(review.decision_rows(), key=json.dumps),
        sorted(review.question_rows()),
        review.setting("key"),
    ]


def library_of(folder: Path, name: str, records: Sequence[tuple[str, str]], reviewer: str) -> Library:
    """The library of a person who exported these records: titles, and the keys of a reference manager, or ""."""
    lines = [f"TY  - JOUR\nTI  - {title}\nAB  - {PAPERS[title]}\nID  - {key}\nER  - \n" for title, key in records]
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.ris").write_text("\n".join(lines))
    return open_library([str(folder / f"{name}.ris")], reviewer)


exports = st.lists(
    st.tuples(st.sampled_from(sorted(PAPERS)), st.sampled_from(["", "1", "2"])),
    min_size=1, max_size=4, unique_by=lambda record: record[0],
)  # fmt: skip
decisions = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from([None, 0, 1, 2, 3]), st.integers(0, 3), st.sampled_from(["", "a"])),
    max_size=4,
)
people = st.tuples(exports, decisions, st.sampled_from(["ada", "grace"]))


@settings(
    max_examples=12,
    phases=[Phase.explicit, Phase.generate],
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    database=None,
)
@given(cases=st.lists(people, min_size=3, max_size=3))
def test_merging_is_associative_commutative_and_idempotent(
    tmp_path_factory: pytest.TempPathFactory, cases: list[tuple[Any, Any, str]]
) -> None:
    folder, numbers = tmp_path_factory.mktemp("reviews"), itertools.count()

    def merge(*reviews: Review) -> Review:
        return merge_reviews(reviews, folder / f"merged{next(numbers)}.mpir")

    reviews = []
    for number, (records, choices, reviewer) in enumerate(cases):
        library = library_of(folder / str(number), "a", records, reviewer)
        ids = [document.id for document in library.documents]
        library.add(
            {"query": "q", "id": ids[i % len(ids)], "grade": grade, "note": note, "time": time}
            for i, grade, time, note in choices
        )
        library.review.add_question("q", "default", ids)
        reviews.append(library.review)
    first, second, third = reviews
    merged = merge(first, second, third)
    for other in (
        merge(third, first, second), merge(merge(first, second), third), merge(first, merge(third, second)),
        merge(merged, first), merge(merged, merged),
    ):  # fmt: skip
        assert content(other) == content(merged)
    rows = {(row[1:5]) for review in reviews for row in review.decision_rows()}
    assert {row[1:5] for row in merged.decision_rows()} == rows  # none is lost


def test_what_two_people_decide_stays_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ada = library_of(tmp_path / "1", "ada", [("Salt", "7"), ("Iron", "8")], "ada")
    grace = library_of(tmp_path / "2", "grace", [("Water", "7"), ("Salt", "9")], "grace")
    for library, grade, time in ((ada, 2, 5), (grace, 0, 9)):
        (salt,) = (document.id for document in library.documents if document.title == "Salt")
        library.add([{"query": "q", "id": salt, "grade": grade, "note": "", "time": time}])
    paths = [str(library.review.path) for library in (ada, grace)]
    output = str(tmp_path / "both.mpir")
    assert main(["merge", *paths, "--output", output]) == 0
    assert capsys.readouterr().out == f"{output}: 3 records of 2 reviews; decisions: ada 1, grace 1.\n"
    both = open_library([output], "ada")
    titles = {document.id: document.title for document in both.documents}
    assert sorted(titles.values()) == ["Iron", "Salt", "Water"]
    assert [(titles[item["id"]], item["grade"]) for item in both.decisions()] == [("Salt", 2)]
    assert [(titles[item["id"]], item["grade"], item["reviewer"]) for item in both.other_decisions()] == [
        ("Salt", 0, "grace")
    ]
    assert main(["merge", *paths, "--output", output]) == 2  # it exists
    assert main(["merge", *paths, "--output", paths[0], "--overwrite"]) == 2  # it is read
    assert main(["merge", paths[0], str(tmp_path / "none.mpir"), "--output", str(tmp_path / "x.mpir")]) == 2
    assert main(["merge", *paths, "--output", str(tmp_path / "both.csv")]) == 2
    assert "got 'both.csv', expected NAME.mpir" in capsys.readouterr().err
    assert not (tmp_path / "both.csv").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2", "both.mpir"]
