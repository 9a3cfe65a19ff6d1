"""Dates and publication types: in both services' syntax, and refused where they cannot be."""

import pytest

from mpir.errors import InputError
from mpir.search.pubmed.limits import limited_for_europepmc, limited_for_pubmed, read_limits


def test_limits_in_both_syntaxes() -> None:
    limits = read_limits("2015", "2024-02", ["letter"])
    assert limited_for_pubmed("asthma", limits) == (
        '(asthma) AND ("Letter"[Publication Type]) AND '
        '("2015/01/01"[Date - Publication] : "2024/02/29"[Date - Publication])'
    )
    assert limited_for_europepmc("asthma", limits, preprints=False) == (
        '(asthma) AND (SRC:MED) AND (PUB_TYPE:"Letter") AND (FIRST_PDATE:[2015-01-01 TO 2024-02-29])'
    )


def test_europe_pmc_is_asked_for_narrower_types_by_name() -> None:
    limits = read_limits(types=["review", "guideline"])
    assert limited_for_europepmc("asthma", limits, preprints=False).endswith(
        'AND (PUB_TYPE:"Review" OR PUB_TYPE:"Scoping Review" OR PUB_TYPE:"Systematic Review" OR PUB_TYPE:"Guideline" '
        'OR PUB_TYPE:"Practice Guideline")'
    )


def test_a_query_without_limits_goes_as_it_is() -> None:
    assert limited_for_pubmed("asthma[mh] NOT child", read_limits()) == "asthma[mh] NOT child"


@pytest.mark.parametrize("date", ["2015-13", "2015-02-30", "15", "", "soon", "0000", "2015-1-1-1", "９９９９"])
def test_dates_that_cannot_be(date: str) -> None:
    with pytest.raises(InputError, match=f"first date: .*'{date}'"):
        read_limits(date)


def test_an_end_before_its_start() -> None:
    with pytest.raises(InputError, match=r"\b2020 .*\b2019-12"):
        read_limits("2020", "2019-12")


@pytest.mark.parametrize(
    ("name", "nearest"), [("clinical tril", "Clinical Trial"), ("rct", '"'), ("meta", "Meta-Analysis")]
)
def test_an_unknown_type_names_the_nearest(name: str, nearest: str) -> None:
    with pytest.raises(InputError, match=f"type '{name}'; .*{nearest}"):
        read_limits(types=[name])
