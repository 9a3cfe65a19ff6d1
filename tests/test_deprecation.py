"""Deprecated names warn, still work, and go in the version that they name."""

import ast
from pathlib import Path

import pytest
from packaging.version import Version

import mpir
from mpir.core.results import RankedDocument
from mpir.deprecation import warn_deprecated

CALLS = [
    (path.name, {word.arg: ast.literal_eval(word.value) for word in node.keywords})
    for path in Path(mpir.__file__).parent.rglob("*.py")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == warn_deprecated.__name__
]
"""Every call of the helper, with its versions."""


def test_a_deprecated_property_warns_at_its_caller_and_works() -> None:
    lists = {"best": (), "sentences": (), "ranks": {}, "shares": {}}
    document = RankedDocument(id="a", index=0, title="", score=1.0, scores={"bm25": 2.5}, **lists)
    with pytest.warns(DeprecationWarning, match=r"RankedDocument\.bm25 .* 0\.4\.0") as caught:
        assert document.bm25 == 2.5
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize(("file", "versions"), CALLS)
def test_no_name_outlives_the_version_that_removes_it(file: str, versions: dict[str, str]) -> None:
    assert Version(versions["since"]) <= Version(mpir.__version__) < Version(versions["until"]), file
