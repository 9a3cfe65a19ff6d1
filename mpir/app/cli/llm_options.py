"""A chat model on the command line: its options, and a report of its cost."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mpir.errors import InputError, format_value

if TYPE_CHECKING:
    from mpir.models.perspectives import Perspective
    from mpir.models.perspectives.llm import LlmPerspective

ARGUMENTS = {
    "llm_model": "model",
    "llm_instruction": "instruction",
    "llm_answers": "answers",
    "llm_concurrency": "concurrency",
    "llm_timeout": "timeout",
    "llm_price": "price",
    "llm_body": "body",
}
"""Options that need --llm, and their names as arguments of `open_llm`."""


def add_llm_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a chat model."""
    group = parser.add_argument_group(
        "chat model", "a document column from an LLM with an OpenAI-compatible interface (key: $MPIR_LLM_KEY)"
    )
    group.add_argument("--llm", metavar="URL", help="its address, such as http://localhost:11434/v1")
    group.add_argument("--llm-model", metavar="NAME", help="its name there (default: the only one)")
    group.add_argument("--llm-instruction", metavar="TEXT", help="a sentence about the task for its system prompt")
    group.add_argument(
        "--llm-answers",
        metavar="FORM",
        help="yes-no (log-probabilities), grade (a digit from 0 to 4) or auto (default: auto)",
    )
    group.add_argument("--llm-concurrency", type=int, metavar="N", help="requests at the same time (default: 8)")
    group.add_argument("--llm-timeout", type=float, metavar="SECONDS", help="time limit for an answer (default: 60)")
    group.add_argument(
        "--llm-price",
        type=_price,
        metavar="IN,OUT",
        help="dollars per million tokens of prompts and of answers, to show the cost",
    )
    group.add_argument(
        "--llm-body",
        type=_json_object,
        metavar="JSON",
        help='further fields of each request, such as \'{"reasoning_effort": "none"}\'; null removes a field',
    )


def check_llm_options(arguments: argparse.Namespace) -> None:
    """Raise InputError for an option that needs --llm, if that is missing."""
    if getattr(arguments, "llm", None) is None:
        for name in ARGUMENTS:
            if getattr(arguments, name, None) is not None:
                raise InputError(f"--{name.replace('_', '-')}: applies only to a chat model. Give one with --llm URL.")


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

    options: dict[str, Any] = {target: getattr(arguments, name) for name, target in ARGUMENTS.items()}
    options["instruction"] = options["instruction"] or getattr(arguments, "instruction", None)
    perspective = open_llm(arguments.llm, **{name: value for name, value in options.items() if value is not None})
    perspective.check()
    return perspective


def report_usage(perspectives: Iterable[Perspective]) -> None:
    """Print the count and cost of each chat model's answers to standard error."""
    if "mpir.models.perspectives.llm" not in sys.modules:  # none was loaded
        return
    from mpir.models.perspectives.llm import LlmPerspective

    for perspective in perspectives:
        if isinstance(perspective, LlmPerspective):
            print(f"mpir: {perspective.endpoint.model}: {perspective.usage}", file=sys.stderr, flush=True)


def _price(text: str) -> tuple[float, float]:
    try:
        first, second = map(float, text.split(","))
        return first, second
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"invalid price {format_value(text)} (expected two numbers, such as 0.15,0.60)"
        ) from None


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"invalid JSON object {format_value(text)}")
    return value
