"""What NOT excludes in a search."""

import pytest

from mpir.core.text.query import read_query

CHILD, ADULT, BOTH = "Asthma of a child.", "Asthma of adults.", "Asthma of children and adults."
EXCLUDED = {
    "asthma[ti] NOT child*[ti]": [CHILD, BOTH],
    "asthma[ti] NOT (child*[ti] NOT adults[ti])": [CHILD],
    "asthma.ti. not (child$.ti. and adult.ti.)": [BOTH],
    "1. asthma.ti.\n2. child$.ti.\n3. adults.ti.\n4. 2 not 3\n5. 1 not 4": [CHILD],
    "#1 asthma[ti]\n#2 child OR adult\n#3 #1 NOT #2": [CHILD, ADULT, BOTH],
    '(asthma AND wheeze*) NOT ("children and adults")': [BOTH],
    "asthma[ti] NOT english[la]": [],
    "asthma[ti] NOT (Smith[au] OR 2010:2015[dp]) AND adult[ti]": [],
    "asthma[ti] NOT (child*[ti] AND english[la])": [CHILD, BOTH],
    "TS=(asthma NOT (adult* NOT child*))": [ADULT],
    "Is asthma NOT seen in children?": [],
    "asthma NOT child": [CHILD],
    "asthma AND NOT adults": [ADULT, BOTH],
}


@pytest.mark.parametrize(("query", "texts"), EXCLUDED.items())
def test_texts_that_not_excludes(query: str, texts: list[str]) -> None:
    assert [text for text in (CHILD, ADULT, BOTH) if read_query(query).excludes(text)] == texts


def test_nested_brackets_are_no_recursion() -> None:
    query = "asthma[ti] " + "NOT (x AND (" * 5000 + "child"
    assert read_query(query).excludes("x child") in (True, False)


def test_a_line_that_is_only_excluded_is_not_read() -> None:
    assert read_query("1 gout.ti.\n2 exp Animals/ not Humans/\n3 1 not 2").terms == ("gout",)
    assert read_query("1 gout.ti.\n2 rats.ti.\n3 1 or 2\n4 3 not 2").terms == ("gout", "rats")
