"""``--llm``: the chat model of the options, and the cost of its answers."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from mpir.app.cli.typed_arguments import arguments_of
from mpir.errors import InputError, format_value

if TYPE_CHECKING:
    from mpir.models.chat.chat_endpoint import ChatEndpoint
    from mpir.models.perspectives import Perspective
    from mpir.models.perspectives.llm import LlmPerspective


@dataclass(frozen=True, kw_only=True)
class ChatOptions:
    """The address and model of --llm, and its settings; None leaves each to `open_llm`."""

    llm: str | None = None
    instruction: str | None = None
    llm_answers: str | None = None
    llm_concurrency: int | None = None
    llm_timeout: float | None = None
    llm_price: tuple[float, float] | None = None
    llm_body: Mapping[str, Any] | None = None

    def check(self) -> None:
        """Raise InputError for an address without a host."""
        if self.llm is not None and not self.llm.partition("#")[0]:
            raise InputError(f"--llm: invalid address {format_value(self.llm)} (expected URL or URL#MODEL).")

    def settings(self) -> dict[str, Any]:
        """The settings that are given, as `open_llm` names them."""
        names = [field.name for field in fields(self) if field.name.startswith("llm_")]
        values = {name.removeprefix("llm_"): getattr(self, name) for name in names}
        return {name: value for name, value in values.items() if value is not None}


def check_llm_options(arguments: argparse.Namespace) -> None:
    """Raise InputError for an address without a host."""
    arguments_of(ChatOptions, arguments).check()


def load_llm_option(arguments: argparse.Namespace) -> LlmPerspective | None:
    """Return the chat model of the options, after a trial request; None without one.

    Raises:
        InputError: an invalid option.
        EndpointError: it cannot be used.
    """
    options = arguments_of(ChatOptions, arguments)
    options.check()
    if options.llm is None:
        return None
    from mpir.models.perspectives.llm import open_llm

    url, _, model = options.llm.partition("#")
    task: dict[str, Any] = {} if options.instruction is None else {"instruction": options.instruction}
    perspective = open_llm(url, model=model, **options.settings(), **task)
    perspective.check()
    return perspective


def open_endpoint(arguments: argparse.Namespace) -> ChatEndpoint:
    """The endpoint of --llm. Raises EndpointError if it has several models and none is named."""
    from mpir.models.chat.chat_endpoint import ChatEndpoint
    from mpir.models.perspectives.llm import choose_model

    options = arguments_of(ChatOptions, arguments)
    url, _, model = str(options.llm).partition("#")
    limits: dict[str, Any] = {} if options.llm_timeout is None else {"timeout": options.llm_timeout}
    return choose_model(ChatEndpoint(url=url, model=model, body=options.llm_body or {}, **limits))


def report_usage(perspectives: Iterable[Perspective]) -> None:
    """Print the count and cost of each chat model's answers to standard error."""
    if "mpir.models.perspectives.llm" not in sys.modules:  # none was loaded
        return
    from mpir.models.perspectives.llm import LlmPerspective

    for perspective in perspectives:
        if isinstance(perspective, LlmPerspective):
            print(f"mpir: {perspective.endpoint.model}: {perspective.usage}", file=sys.stderr, flush=True)
