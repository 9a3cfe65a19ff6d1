"""The type of study: by NLM's types before words of the title, and the most telling of several."""

import pytest

from mpir.files.corpora.publication_types import is_publication_type
from mpir.files.corpora.study_types import _STUDIES, study_type_of


@pytest.mark.parametrize(
    ("types", "study_type"),
    [
        (["Journal Article", "Randomized Controlled Trial", "Multicenter Study"], "randomized controlled trial"),
        (["Equivalence Trial"], "randomized controlled trial"),
        (["randomised-controlled-trial"], "randomized controlled trial"),
        (["Clinical Trial, Phase II", "Journal Article"], "clinical trial"),
        (["Review", "Meta-Analysis", "Systematic Review"], "meta-analysis"),
        (["Network Meta-Analysis"], "meta-analysis"),
        (["Review", "Systematic Review"], "systematic review"),
        (["Practice Guideline", "Review"], "guideline"),
        (["Clinical Trial Protocol", "Randomized Controlled Trial"], "study protocol"),
        (["Case Reports", "Letter"], "case report"),
        (["Letter", "Comment"], "letter"),
        (["Published Erratum"], "erratum"),
        (["Journal Article", "Research Support, Non-U.S. Gov't"], ""),
        ([], ""),
    ],
)
def test_nlms_types_tell_the_type_of_study(types: list[str], study_type: str) -> None:
    assert study_type_of(types, "Aspirin and preeclampsia") == study_type
    if study_type:
        assert study_type_of(types, "Aspirin in rats: a cohort study") == study_type


@pytest.mark.parametrize(
    ("title", "study_type"),
    [
        ("Aspirin in pregnancy: a randomised, double-blind trial", "randomized controlled trial"),
        ("Aspirin in pregnancy: a non-randomised study", "clinical trial"),
        ("Aspirin in pregnancy: a systematic review and meta-analysis of randomized trials", "meta-analysis"),
        ("Aspirin in pregnancy: a systematic literature review", "systematic review"),
        ("Aspirin in pregnancy: protocol for a randomised controlled trial", "study protocol"),
        ("Aspirin in pregnancy: a phase II trial", "clinical trial"),
        ("Aspirin and cancer: a nationwide cohort study", "cohort study"),
        ("Aspirin and cancer: a case-control study", "case-control study"),
        ("Aspirin use in Finland: a cross-sectional survey", "cross-sectional study"),
        ("Aspirin and cancer: Mendelian randomization", "observational study"),
        ("Aspirin allergy: report of two cases", "case report"),
        ("Aspirin: an overview", "review"),
        ("Aspirin protects the liver in mice", "animal study"),
        ("ESC guidelines on aspirin", "guideline"),
        ("How aspirin works", ""),
        ("Reviewers and caseworkers", ""),
        ("", ""),
    ],
)
def test_words_of_the_title_tell_it_where_no_type_does(title: str, study_type: str) -> None:
    assert study_type_of([], title) == study_type
    assert study_type_of(["Journal Article"], title.upper()) == study_type


@pytest.mark.parametrize(
    "name", ["Journal Article", "Multicenter Study", "Comparative Study", "English Abstract", "News"]
)
def test_other_types_of_nlm_tell_no_type_of_study(name: str) -> None:
    assert is_publication_type(name)
    assert study_type_of([name], "") == ""


def test_every_type_that_tells_one_is_nlms() -> None:
    assert [name for _, types, _ in _STUDIES for name in types if not is_publication_type(name)] == []
