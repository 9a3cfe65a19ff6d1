"""A record's id is the same in any file, order and format, and two records never share one."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mpir.core.text.types import Document
from mpir.files.corpora import read_corpus
from mpir.files.corpora.content import content_id, family_name, fingerprint_of, fits, shared_id
from mpir.files.corpora.deduplicate import without_copies


class Record(NamedTuple):
    """What databases export of a paper without PMID and DOI. `key` counts the records of a list."""

    title: str
    abstract: str
    year: int
    family: str
    volume: int
    page: int
    key: str = ""


def ris(record: Record) -> str:
    lines = [
        *(("TY", "JOUR"), ("TI", record.title), ("AB", record.abstract), ("PY", record.year), ("ID", record.key)),
        *(("AU", f"{record.family}, Jane"), ("VL", record.volume), ("SP", record.page), ("EP", record.page + 5)),
    ]
    return "".join(f"{tag}  - {value}\n" for tag, value in lines if value != "") + "ER  - \n"


def table(records: list[Record]) -> str:
    stream = io.StringIO()
    head = ["Record ID", "Volume", "Authors", "Pages", "Title", "Year", "Abstract"]
    rows = [
        [
            record.key,
            record.volume,
            f"{record.family} J",
            f"{record.page}-9",
            record.title,
            record.year,
            record.abstract,
        ]
        for record in records
    ]
    csv.writer(stream).writerows([head, *rows])
    return stream.getvalue()


def items(records: list[Record]) -> str:
    return json.dumps(
        [
            {"key": record.key, "title": record.title, "abstract": record.abstract, "year": record.year}
            | {
                "authors": [f"Jane {record.family}"],
                "volume": str(record.volume),
                "pages": f"{record.page}--{record.page}",
            }
            for record in records
        ]
    )


def endnote(record: Record) -> str:
    number = f"<rec-number>{record.key}</rec-number>" if record.key else ""
    title, abstract = (f"<style>{escape(text)}</style>" for text in (record.title, record.abstract))
    return (
        f"<record>{number}<titles><title>{title}</title></titles><abstract>{abstract}</abstract>"
        f"<contributors><authors><author>{record.family}, J.</author></authors></contributors>"
        f"<dates><year>{record.year}</year></dates><volume>{record.volume}</volume><pages>{record.page}</pages></record>"
    )


WRITERS: dict[str, Callable[[list[Record]], str]] = {
    ".ris": lambda records: "\n".join(map(ris, records)),
    ".csv": table,
    ".json": items,
    ".xml": lambda records: f"<xml><records>{''.join(map(endnote, records))}</records></xml>",
}
_phrases = st.lists(st.text("abcdeéß", min_size=2, max_size=6), min_size=1, max_size=4).map(" ".join)
records = st.builds(
    Record,
    title=st.sampled_from(["Reply", "Salt & sweat", "β-cells"]) | _phrases,
    abstract=st.just("") | _phrases | _phrases.map(lambda text: f"{'The salt in sweat was measured. ' * 4}{text}"),
    year=st.integers(2000, 2003),
    family=st.sampled_from(["Doe", "García", "Roe"]),
    volume=st.integers(1, 3),
    page=st.integers(1, 3),
    key=st.just(""),
)
_keyed = st.lists(records, min_size=1, max_size=5, unique_by=lambda record: (record.title, record.abstract)).map(
    lambda papers: [paper._replace(key=str(1 + number % 2)) for number, paper in enumerate(papers)]
)
_settings = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None)


def written(folder: Path, files: list[list[Record]], suffixes: list[str]) -> list[Path]:
    paths = []
    for number, (papers, suffix) in enumerate(zip(files, suffixes, strict=True)):
        paths.append(folder / f"{number}{suffix}")
        paths[-1].write_text(WRITERS[suffix](papers), encoding="utf-8")
    return paths


def ids_by_title(paths: list[Path]) -> list[tuple[str, str, str]]:
    return sorted((document.id, document.title, document.abstract) for document in without_copies(read_corpus(paths)))


@_settings
@given(papers=st.lists(records, min_size=1, max_size=6), data=st.data())
def test_an_id_is_the_same_in_any_file_order_and_format(
    tmp_path_factory: pytest.TempPathFactory, papers: list[Record], data: st.DataObject
) -> None:
    expected = ids_by_title(written(tmp_path_factory.mktemp("whole"), [papers], [".ris"]))
    assert len({identity for identity, *_ in expected}) == len(expected)
    order = data.draw(st.permutations(papers))
    cut = data.draw(st.integers(1, len(order)))
    files = [part for part in (order[:cut], order[cut:]) if part]
    suffixes = [data.draw(st.sampled_from(sorted(WRITERS))) for _ in files]
    assert ids_by_title(written(tmp_path_factory.mktemp("split"), files, suffixes)) == expected


@_settings
@given(papers=_keyed, data=st.data())
def test_two_records_of_equal_keys_keep_their_own_ids(
    tmp_path_factory: pytest.TempPathFactory, papers: list[Record], data: st.DataObject
) -> None:
    """Each of the lists counts its records from 1, as reference managers do."""
    expected = ids_by_title(
        written(tmp_path_factory.mktemp("given"), [[paper] for paper in papers], [".ris"] * len(papers))
    )
    assert len({identity for identity, *_ in expected}) == len(expected)
    order = data.draw(st.permutations(papers))
    suffixes = [data.draw(st.sampled_from([".csv", ".ris", ".xml"])) for _ in order]
    assert ids_by_title(written(tmp_path_factory.mktemp("other"), [[paper] for paper in order], suffixes)) == expected


def test_a_new_record_in_front_changes_no_id(tmp_path: Path) -> None:
    known = [Record(title, f"{title} rises.", 2001, "Doe", 1, 1) for title in ("Salt", "Sweat", "CFTR")]
    before = ids_by_title(written(tmp_path, [known], [".csv"]))
    after = ids_by_title(written(tmp_path, [[known[0]._replace(title="Water"), *known]], [".csv"]))
    assert set(before) < set(after)


def test_records_of_equal_words_are_told_apart_by_where_they_appeared(tmp_path: Path) -> None:
    reply = Record("Reply", "", 2001, "Doe", 1, 1)
    others = [reply._replace(year=2002), reply._replace(family="Roe"), reply._replace(page=7), reply._replace(volume=2)]
    ids = {identity for identity, *_ in ids_by_title(written(tmp_path, [[reply, *others]], [".ris"]))}
    assert len(ids) == 5
    same = ids_by_title(written(tmp_path, [[reply, reply]], [".ris"]))
    assert len({identity for identity, *_ in same}) == len(same)


def test_the_widest_known_id_of_copies_stays_in_any_order() -> None:
    texts = {"title": "Salt in the sweat of rowers on the river", "abstract": "It is high. " * 10}
    pubmed = Document("7", **texts, metadata={"pmid": "7"})
    (listed,) = without_copies([Document("10.1/x", **texts, metadata={"doi": "10.1/x"})])
    assert [without_copies(copies)[0].id for copies in ([pubmed, listed], [listed, pubmed])] == ["7", "7"]


def test_a_fingerprint_stands_an_edit_of_one_field_and_no_other_record() -> None:
    paper = Document("1", "Salt in the sweat of rowers on the river", "It is high.")
    fingerprint = fingerprint_of(paper)
    assert fits(fingerprint, fingerprint_of(replace(paper, title=f"RETRACTED: {paper.title}")))
    assert fits(fingerprint, fingerprint_of(replace(paper, abstract="It is <b>very</b> high.")))
    assert not fits(fingerprint, fingerprint_of(replace(paper, title="Other", abstract="It is low.")))
    replies = [Document("1", "Reply", metadata={"year": year, "authors": ["Doe, J."]}) for year in (2001, 2002)]
    assert not fits(*map(fingerprint_of, replies))
    assert not fits(fingerprint, "-")


def test_a_hash_behind_a_key_can_be_taken_away(tmp_path: Path) -> None:
    papers = [Record(title, "", 2001, "Doe", 1, 1, "7") for title in ("Salt", "Sweat")]
    documents = without_copies(read_corpus(written(tmp_path, [[paper] for paper in papers], [".ris", ".csv"])))
    assert [shared_id(document) for document in documents] == ["7", "7"]
    assert documents[0].id != documents[1].id


@pytest.mark.parametrize(
    "author", ["García Márquez, Gabriel", "Gabriel García Márquez", "Garcia Marquez G", "Marquez G.-J."]
)
def test_a_family_name_in_any_form(author: str) -> None:
    assert family_name(author) == "marquez"


_FULL = ("Journal of Salt", "Journal of Sweat", "Annals of Sweat", "New England Journal of Rowing", "La Revista de Sal")
_SHORT = ("J Salt", "J. Sweat", "Ann Sweat", "N Engl J Row", "Rev. Sal (Internet)")


@given(st.sampled_from(range(len(_FULL))), st.sampled_from(range(len(_FULL))), st.integers(1, 9), st.text(max_size=30))
def test_equal_notices_of_two_journals_have_ids_of_their_own(first: int, second: int, page: int, abstract: str) -> None:
    fields = {"year": 2016, "volume": "12", "pages": f"{page}-{page + 1}"}
    notices = [
        Document("", "Acknowledgement to reviewers", abstract, metadata={**fields, "journal": journal})
        for journal in (_FULL[first], _SHORT[second])
    ]
    ids = list(map(content_id, notices))
    assert (ids[0] == ids[1]) is (first == second)


@given(st.sampled_from(_FULL), st.sampled_from(_FULL), st.text("abcdefgh ", min_size=150))
def test_an_abstract_and_a_title_decide_an_id_in_any_journal(first: str, second: str, abstract: str) -> None:
    abstract = f"{abstract} {'salt ' * 30}"
    papers = [Document("", "Salt in sweat", abstract, metadata={"journal": name}) for name in (first, second)]
    assert content_id(papers[0]) == content_id(papers[1])
