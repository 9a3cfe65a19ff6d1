"""Field types of request bodies: as lenient as other servers, with a one-sentence error for an invalid value.

Pydantic's lax mode accepts "true", "2" and 2.0, as the servers do for which clients were written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, NoReturn, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    InstanceOf,
    ValidationError,
    WrapValidator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from mpir.app.serve.settings import ApiError
from mpir.errors import format_value


class Body(BaseModel):
    """A JSON object of a request. Unknown fields are ignored, and null counts as missing."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, values: Any) -> Any:
        """Leave nulls out; a required field becomes null instead, so that its own error says what is expected."""
        if not isinstance(values, Mapping):
            return values
        required = {cls.name_of(key): None for key, field in cls.model_fields.items() if field.is_required()}
        return required | {name: value for name, value in values.items() if value is not None}

    @classmethod
    def name_of(cls, field: str) -> str:
        """The field's name in requests."""
        return cls.model_fields[field].alias or field


BodyT = TypeVar("BodyT", bound=Body)


def validated(model: type[BodyT], values: Mapping[str, Any]) -> BodyT:
    """Validate the body of a request. Raises ApiError (400) with the first mistake in one sentence."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        mistake = error.errors(include_url=False)[0]
    name = ".".join(map(str, mistake["loc"]))
    raise ApiError(400, f"{name} is {format_value(mistake['input'])}; expected {mistake['msg']}.")


def expected(form: str) -> WrapValidator:
    """The expected form of a field in words, in place of the messages of its own validation."""

    def validate(value: Any, inner: Callable[[Any], Any]) -> Any:
        try:
            return inner(value)
        except ValidationError:
            _mistake(form)

    return WrapValidator(validate)


def an_object_as(example: str) -> BeforeValidator:
    """An object whose fields report their own errors; the example is for a value that is not an object."""
    form = f"an object such as {example}"
    return BeforeValidator(lambda value: value if isinstance(value, Mapping) else _mistake(form))


def _mistake(form: str) -> NoReturn:
    raise PydanticCustomError("form", "{form}", {"form": form})


def _no_boolean(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("a boolean is not a number")
    return value


def _filled(value: str) -> str:
    if not value.strip():
        raise ValueError("the text is blank")
    return value


Text = Annotated[InstanceOf[str], expected("a string")]
"""Any string; pydantic's own type refuses unpaired surrogates, which a text may have."""
Query = Annotated[InstanceOf[str], AfterValidator(_filled), expected("a string that is not empty")]
Flag = Annotated[bool, expected("true or false")]
Count = Annotated[int, Field(ge=1), BeforeValidator(_no_boolean), expected("a whole number of at least 1")]
CountOrZero = Annotated[int, Field(ge=0), BeforeValidator(_no_boolean), expected("a whole number of at least 0")]
Share = Annotated[float, Field(ge=0, le=1), BeforeValidator(_no_boolean), expected("a number from 0 to 1")]
