"""What stands in the place of a text that is not there, and what only begins so."""

import pytest

from mpir.files.corpora.placeholders import says_nothing


@pytest.mark.parametrize(
    "text",
    [
        *("", " \n", "[Not Available].", "[not available]", " [No abstract available] ", "Not available."),
        *("NA", "N/A", "n.a.", "#N/A", "<NA>", "NaN", "null", "None", "-", "--", "...", "?", "[]", "&nbsp;", "<p></p>"),
        *("No abstract available.", "No abstract", "no abstract is available for this article", "Abstract unavailable"),
        *(
            "[Abstract not available]",
            "An abstract is not available.",
            "Abstract not provided",
            "No title",
            "[Untitled]",
        ),
        *("<p>No abstract available</p>", "There is no abstract for this article.", "This article has no abstract."),
        *(
            "No abstract was provided.",
            "No summary",
            "Kein Abstract verfügbar",
            "[Résumé non disponible]",
            "Sin resumen",
        ),
    ],
)
def test_no_text(text: str) -> None:
    assert says_nothing(text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "[Not available] to whom?",
            "[Salt in sweat].",
            "Editorial",
            "Preface",
            "Introduction",
            "Not given",
            "No effect.",
        ),
        *("No abstract art was harmed.", "NA channels", "Nano", "No data on titles were available to us.", "β", "7"),
        "No abstract available. " + "But here is what it says, in many more words than any placeholder has. " * 2,
    ],
)
def test_a_text(text: str) -> None:
    assert not says_nothing(text)
