"""Render a checkpoint's chat template in a process of bounded time and memory.

A template is a program: its loops can be nested, and its texts multiplied, without end.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from mpir.files.child_process import limit_resources, module_command, module_environment

SECONDS = 5
"""Processor time for rendering; a template takes milliseconds."""
PATIENCE = 120
"""Seconds for the whole process, which imports a library first, on a busy machine."""
LONGEST = 2**20
"""Maximum characters of a rendered text."""
_PACKAGES = ("transformers", "transformers.utils")


class TemplateError(Exception):
    """A template that raised an error, or exceeded a bound."""


def render(
    template: str, conversations: Sequence[Sequence[Mapping[str, Any]]], special_tokens: Mapping[str, str]
) -> list[str]:
    """Return the text of each conversation as the template of a tokenizer renders it. Raises TemplateError."""
    task = {"template": template, "conversations": conversations, "special_tokens": dict(special_tokens)}
    try:
        process = subprocess.run(
            module_command(__name__),
            input=json.dumps(task),
            capture_output=True,
            check=False,
            text=True,
            encoding="utf-8",
            timeout=PATIENCE,
            env=module_environment(),
        )
    except subprocess.TimeoutExpired as error:
        raise TemplateError("it takes too long") from error
    if process.returncode:
        raise TemplateError("it takes too much time or memory")
    answer = json.loads(process.stdout)
    if "error" in answer:
        raise TemplateError(answer["error"])
    texts: list[str] = answer["texts"]
    return texts


def _renderer() -> Callable[..., Any]:
    """Return transformers' function, without importing its packages' own code where it can do without.

    That code lists all models and imports a client for hubs, which takes four times as long and rendering needs not.
    """
    (folder,) = find_spec("transformers").submodule_search_locations  # type: ignore[misc, union-attr]
    for name in _PACKAGES:
        package = ModuleType(name)
        package.__path__ = [str(Path(folder).parent / name.replace(".", "/"))]
        sys.modules[name] = package
    try:
        from transformers.utils.chat_template_utils import render_jinja_template
    except (ImportError, AttributeError):  # of a release whose module needs names of its package
        for name in [name for name in sys.modules if name.partition(".")[0] == "transformers"]:
            del sys.modules[name]
        from transformers.utils.chat_template_utils import render_jinja_template
    return render_jinja_template  # type: ignore[no-any-return]


def main() -> int:
    """Read a task from standard input, and write its texts or its error to standard output, as JSON."""
    render_jinja_template = _renderer()
    task = json.load(sys.stdin)
    limit_resources(SECONDS)
    try:
        texts = render_jinja_template(task["conversations"], chat_template=task["template"], **task["special_tokens"])[
            0
        ]
        is_long = any(len(text) > LONGEST for text in texts)
        answer = {"error": "it renders a text without end"} if is_long else {"texts": texts}
    except Exception as error:  # from Jinja, or raised by the template
        answer = {"error": f"{type(error).__name__}: {str(error)[:1000]}"}
    json.dump(answer, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
