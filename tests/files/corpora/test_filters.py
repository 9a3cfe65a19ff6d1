"""Filters by year and publication type."""

import pytest

from mpir.core.text import Document
from mpir.errors import InputError
from mpir.files.corpora.filters import RecordFilter, format_counts

DOCUMENTS = [
    Document("a", "A", metadata={"year": 2015, "types": ["Review", "Journal Article"]}),
    Document("b", "B", metadata={"year": 2020, "types": ["Randomized Controlled Trial"]}),
    Document("c", "C", metadata={"types": ["review"]}),
    Document("d", "D", metadata={"year": 2020}),
]


@pytest.mark.parametrize(
    ("record_filter", "ids", "counts"),
    [
        (RecordFilter(), "abcd", ""),
        (RecordFilter(first_year=2016), "bd", "1 of other years, 1 without a year"),
        (RecordFilter(last_year=2015), "a", "2 of other years, 1 without a year"),
        (RecordFilter(first_year=2015, last_year=2020), "abd", "1 without a year"),
        (RecordFilter(types=("review",)), "ac", "1 of other types, 1 without a type"),
        (RecordFilter(types=("REVIEW", "randomized controlled trial")), "abc", "1 without a type"),
        (RecordFilter(types=("clinical trial",)), "b", "2 of other types, 1 without a type"),
        (RecordFilter(types=("Clinical Study", "Review")), "abc", "1 without a type"),
        (RecordFilter(last_year=2016, types=("review",)), "a", "2 of other years, 1 without a year"),
    ],
)
def test_documents_of_the_years_and_types_pass(record_filter: RecordFilter, ids: str, counts: str) -> None:
    passing, left_out = record_filter.apply(DOCUMENTS)
    assert "".join(document.id for document in passing) == ids
    assert format_counts(left_out) == counts


def test_a_narrower_type_is_not_its_broader_one() -> None:
    trials = [Document(name, name, metadata={"types": [name]}) for name in ("Clinical Trial", "Equivalence Trial")]
    passing, _ = RecordFilter(types=("randomized controlled trial",)).apply(trials)
    assert passing == trials[1:]


def test_years_and_types_may_be_texts() -> None:
    document = Document("a", "A", metadata={"year": "2015-03", "types": "Review; Letter"})
    assert RecordFilter(first_year=2015, last_year=2015, types=("letter",)).apply([document]) == ([document], {})


@pytest.mark.parametrize(
    ("record_filter", "message"),
    [
        ({"types": ("Reviewer",)}, "type 'Reviewer' .*review"),
        ({"first_year": 2021}, r"\b3 of other .*\b1 without"),
        ({"first_year": 2021, "last_year": 2020}, "2021 .*2020"),
    ],
)
def test_a_filter_that_leaves_nothing_says_why(record_filter: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        RecordFilter(**record_filter).apply(DOCUMENTS)


@pytest.mark.parametrize(
    ("known", "wanted"),
    [
        *(
            ("Randomised Controlled Trial", "clinical trial"),
            ("review-article", "review"),
            ("Case Report", "case reports"),
        ),
        *(("MetaAnalysis", "meta-analysis"), ("Scoping Review", "Review"), ("research-article", "Journal Article")),
    ],
)
def test_types_are_compared_as_databases_spell_them(known: str, wanted: str) -> None:
    documents = [
        Document("1", "Salt", "", metadata={"types": [known]}),
        Document("2", "", "", metadata={"types": ["News"]}),
    ]
    passing, counts = RecordFilter(types=(wanted,)).apply(documents)
    assert ([document.id for document in passing], counts) == (["1"], {"of other types": 1})
