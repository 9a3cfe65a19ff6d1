"""``--llm``: the chat model of the options, and the cost of its answers."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mpir.errors import InputError, format_value

if TYPE_CHECKING:
    from mpir.models.chat_endpoint import ChatEndpoint
    from mpir.models.perspectives import Perspective
    from mpir.models.perspectives.llm import LlmPerspective

LLM_SETTINGS = ("answers", "concurrency", "timeout", "price", "body")
"""Settings of `llm` that are arguments of `open_llm`."""


def check_llm_options(arguments: argparse.Namespace) -> None:
    """Raise InputError for an address without a host."""
    address = getattr(arguments, "llm", None)
    if address is not None and not address.partition("#")[0]:
        raise InputError(f"--llm: invalid address {format_value(address)} (expected URL or URL#MODEL).")


def load_llm_option(arguments: argparse.Namespace) -> LlmPerspective | None:
    """Return the chat model of the options, after a trial request; None without one.

    Raises:
        InputError: an invalid option.
        EndpointError: it cannot be used.
    """
    check_llm_options(arguments)
    if getattr(arguments, "llm", None) is None:
        return None
    from mpir.models.perspectives.llm import open_llm

    url, _, model = arguments.llm.partition("#")
    options: dict[str, Any] = {name: getattr(arguments, f"llm_{name}") for name in LLM_SETTINGS}
    options |= {"model": model, "instruction": arguments.instruction}
    perspective = open_llm(url, **{name: value for name, value in options.items() if value is not None})
    perspective.check()
    return perspective


def open_endpoint(arguments: argparse.Namespace) -> ChatEndpoint:
    """The endpoint of --llm. Raises EndpointError if it has several models and none is named."""
    from mpir.models.chat_endpoint import ChatEndpoint
    from mpir.models.perspectives.llm import choose_model

    url, _, model = arguments.llm.partition("#")
    limits = {} if arguments.llm_timeout is None else {"timeout": arguments.llm_timeout}
    return choose_model(ChatEndpoint(url=url, model=model, body=arguments.llm_body or {}, **limits))


def report_usage(perspectives: Iterable[Perspective]) -> None:
    """Print the count and cost of each chat model's answers to standard error."""
    if "mpir.models.perspectives.llm" not in sys.modules:  # none was loaded
        return
    from mpir.models.perspectives.llm import LlmPerspective

    for perspective in perspectives:
        if isinstance(perspective, LlmPerspective):
            print(f"mpir: {perspective.endpoint.model}: {perspective.usage}", file=sys.stderr, flush=True)
