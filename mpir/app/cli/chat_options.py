"""``--llm``: the chat model of the options, and the cost of its answers."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mpir.app.cli.option import option, setting
from mpir.app.cli.value_options import json_object, price
from mpir.errors import InputError, format_value

if TYPE_CHECKING:
    from mpir.models.chat.chat_endpoint import ChatEndpoint
    from mpir.models.perspectives import Perspective
    from mpir.models.perspectives.llm import LlmPerspective


@dataclass(frozen=True, kw_only=True)
class ChatArguments:
    """A chat model, and its settings; None leaves each to `open_llm`."""

    llm: str | None = option(
        "--llm",
        help="a chat model with an OpenAI-compatible interface, for a column of its grades, such as "
        "http://localhost:11434/v1#qwen3:4b (key: $MPIR_LLM_KEY)",
        metavar="URL#MODEL",
        group="models",
    )
    llm_answers: str | None = setting(
        "llm.answers", help="yes-no (log-probabilities), grade (a digit from 0 to 4) or auto", needs="--llm"
    )
    llm_concurrency: int | None = setting(
        "llm.concurrency", help="requests at the same time (default: 8)", type=int, metavar="N", needs="--llm"
    )
    llm_timeout: float | None = setting(
        "llm.timeout", help="time limit for an answer (default: 60)", type=float, metavar="SECONDS", needs="--llm"
    )
    llm_price: tuple[float, float] | None = setting(
        "llm.price",
        help="dollars per million tokens of prompts and of answers, to show the cost",
        type=price,
        metavar="IN,OUT",
        needs="--llm",
    )
    llm_body: Mapping[str, Any] | None = setting(
        "llm.body",
        help='further fields of each request, such as {"reasoning_effort": "none"}; null removes a field',
        type=json_object,
        metavar="JSON",
        needs="--llm",
    )

    def check_llm(self) -> None:
        """Raise InputError for an address without a host."""
        if self.llm is not None and not self.llm.partition("#")[0]:
            raise InputError(f"--llm: invalid address {format_value(self.llm)} (expected URL or URL#MODEL).")

    def llm_settings(self) -> dict[str, Any]:
        """The settings that are given, as `open_llm` names them."""
        settings = {
            "answers": self.llm_answers,
            "concurrency": self.llm_concurrency,
            "timeout": self.llm_timeout,
            "price": self.llm_price,
            "body": self.llm_body,
        }
        return {name: value for name, value in settings.items() if value is not None}


def load_llm_option(arguments: ChatArguments, instruction: str | None) -> LlmPerspective | None:
    """Return the chat model of the options, after a trial request; None without one.

    Raises:
        InputError: an invalid option.
        EndpointError: it cannot be used.
    """
    arguments.check_llm()
    if arguments.llm is None:
        return None
    from mpir.models.perspectives.llm import open_llm

    url, _, model = arguments.llm.partition("#")
    task: dict[str, Any] = {} if instruction is None else {"instruction": instruction}
    perspective = open_llm(url, model=model, **arguments.llm_settings(), **task)
    perspective.check()
    return perspective


def open_endpoint(arguments: ChatArguments) -> ChatEndpoint:
    """The endpoint of --llm. Raises EndpointError if it has several models and none is named."""
    from mpir.models.chat.chat_endpoint import ChatEndpoint
    from mpir.models.perspectives.llm import choose_model

    url, _, model = str(arguments.llm).partition("#")
    limits: dict[str, Any] = {} if arguments.llm_timeout is None else {"timeout": arguments.llm_timeout}
    return choose_model(ChatEndpoint(url=url, model=model, body=arguments.llm_body or {}, **limits))


def report_usage(perspectives: Iterable[Perspective]) -> None:
    """Print the count and cost of each chat model's answers to standard error."""
    if "mpir.models.perspectives.llm" not in sys.modules:  # none was loaded
        return
    from mpir.models.perspectives.llm import LlmPerspective

    for perspective in perspectives:
        if isinstance(perspective, LlmPerspective):
            print(f"mpir: {perspective.endpoint.model}: {perspective.usage}", file=sys.stderr, flush=True)
