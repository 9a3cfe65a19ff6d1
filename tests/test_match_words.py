"""The `match=` of a test names a place and a value, and no sentence: it has at most three words.

What is quoted is no word, nor is a value that Python has a name for. `messages.json` has the sentences that people meet
most.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent
MOST = 3
VALUES = {"nan", "inf", "missing", "True", "False", "None"}
WORD = re.compile(r"(?<![^\s(*|^])[A-Za-z]{2,}(?=[:;,.)|]*(?:\s|$))")


def cells(name: str, function: ast.AST) -> Iterator[ast.AST]:
    """What `parametrize`, a loop over tuples or an assignment gives to this name."""
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Attribute(attr="parametrize"), args=[names, ast.List(elts=rows), *_]):
                columns = re.findall(r"\w+", str(ast.literal_eval(names)))
            case ast.For(target=target, iter=ast.Tuple(elts=rows) | ast.List(elts=rows)):
                columns = re.findall(r"\w+", ast.unparse(target))
            case ast.Assign(targets=[ast.Name(id=target)], value=value):
                columns, rows = [target], [value]
            case _:
                continue
        if columns == [name]:
            yield from rows
        elif name in columns:
            yield from (getattr(row, "elts", getattr(row, "args", []))[columns.index(name)] for row in rows)


def matched(path: Path) -> Iterator[tuple[int, str]]:
    """The line and the text of each `match=` of a file's functions, and of what their names stand for."""
    for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        values = [node.value for node in ast.walk(function) if isinstance(node, ast.keyword) and node.arg == "match"]
        names = {node.id for value in values for node in ast.walk(value) if isinstance(node, ast.Name)}
        for value in (*values, *(cell for name in names for cell in cells(name, function))):
            texts = [node.value for node in ast.walk(value) if isinstance(node, ast.Constant)]
            yield value.lineno, " ".join(text for text in texts if isinstance(text, str))  # type: ignore[attr-defined]


def words(text: str) -> int:
    """The number of words of a pattern's longest alternative that are no values."""
    alternatives = re.sub(r"'[^']*'", "''", text).split("|")
    return max(sum(word not in VALUES for word in WORD.findall(alternative)) for alternative in alternatives)


def test_words_are_counted() -> None:
    assert words(r"^a\.jsonl:3: title is 'The heart of it' \(expected a text") == 4
    assert words("the score is nan|a text") == 3


def test_other_tests_match_place_and_value() -> None:
    long = {
        f"{path.relative_to(TESTS)}:{line}: {text}"
        for path in TESTS.rglob("*.py")
        for line, text in matched(path)
        if words(text) > MOST
    }
    assert sorted(long) == []
