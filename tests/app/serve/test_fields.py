"""A body's mistakes are named at any depth: in an object, in a list of objects, and in fields that may be left out."""

from typing import Annotated, Any

import pytest
from pydantic import Field

from mpir.app.serve.fields import Body, Count, an_object_as, expected, validated
from mpir.app.serve.settings import ApiError


class Span(Body):
    end: Count
    start: Count = Field(alias="begin")


class Nested(Body):
    span: Annotated[Span, an_object_as('{"begin": 1, "end": 2}')]
    spans: Annotated[list[Span], expected("a list")] | None = None


NUMBER = "expected a whole number of at least 1."
SPAN = {"begin": 1, "end": 2}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, 'span is missing; expected an object such as {"begin": 1, "end": 2}.'),
        ({"span": None}, 'span is missing; expected an object such as {"begin": 1, "end": 2}.'),
        ({"span": {"begin": 1}}, f"span.end is missing; {NUMBER}"),
        ({"span": {"end": 2, "begin": None}}, f"span.begin is missing; {NUMBER}"),
        ({"span": {"end": 0, "begin": 1}}, f"span.end is 0; {NUMBER}"),
        ({"span": SPAN, "spans": [{}]}, "spans is [{}]; expected a list."),
    ],
)
def test_the_mistake_is_named_with_its_place(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ApiError) as caught:
        validated(Nested, values)
    assert (caught.value.status, caught.value.message) == (400, message)


def test_a_body_without_mistakes_is_read() -> None:
    body = validated(Nested, {"span": SPAN, "spans": [SPAN], "other": 1})
    assert (body.span.start, body.span.end, len(body.spans or [])) == (1, 2, 1)
