"""Reading checkpoints by transformers: their code only where the user says so, and every failure as one sentence.

A checkpoint may name Python code of its own (``auto_map`` in its JSON files). transformers would ask on standard input
whether to run that code, so any "y" that is piped in would be consent. mpir runs it only with `trust_remote_code`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mpir.errors import ArtefactError, MpirError, format_value, shortened
from mpir.models.cancellation import CancellationError
from mpir.models.checkpoint_checks import check_sizes, check_tensors

ADAPTER = "adapter_config.json"
_loading = threading.RLock()
"""Settings of transformers are global, so one thread at a time changes them."""


def load_pretrained(
    auto_class: Any,
    checkpoint: str | Path,
    expected: str = "an encoder checkpoint",
    *,
    trust_remote_code: bool = False,
    **options: Any,
) -> Any:
    """Return what one of transformers' Auto classes reads from a folder or, by name, from a hub.

    Args:
        auto_class: such as ``AutoTokenizer``.
        checkpoint: the folder or hub name.
        expected: what the checkpoint should be, for the message of an error.
        trust_remote_code: whether Python code that comes with the checkpoint may run; only by the user's word.
        options: further arguments of ``from_pretrained``.

    Raises:
        ArtefactError: it cannot be loaded, or needs Python code of its own, or is an adapter.
    """
    check_no_adapter(checkpoint)
    with checkpoint_errors(checkpoint, expected), _quiet_transformers(), _unasked():
        reads_tokenizer = "Tokenizer" in auto_class.__name__
        if not reads_tokenizer or (Path(checkpoint) / "config.json").is_file():
            config = _read_config(checkpoint, options.get("revision"))
            if not reads_tokenizer and "Config" not in auto_class.__name__:
                check_tensors(checkpoint, config)
        return auto_class.from_pretrained(str(checkpoint), trust_remote_code=trust_remote_code, **options)


@contextmanager
def checkpoint_errors(checkpoint: str | Path, expected: str = "an encoder checkpoint") -> Iterator[None]:
    """Turn whatever a library raises while it reads a checkpoint into an ArtefactError with folder and remedy.

    Libraries for checkpoints document no errors: a damaged file raises whatever the parsing runs into.
    """
    try:
        yield
    except (MpirError, CancellationError):
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":  # of Rust, as in tokenizers
            raise
        raise ArtefactError(_describe(error, checkpoint, expected)) from error


def check_no_adapter(checkpoint: str | Path) -> None:
    """Raise ArtefactError for a folder with an adapter, which names the model that it belongs to and its parts."""
    if (Path(checkpoint) / ADAPTER).is_file():
        raise ArtefactError(
            f"{checkpoint}: contains an adapter ({ADAPTER}), which mpir does not load; merge it into its model "
            "(merge_and_unload in peft) and give that folder."
        )


def _read_config(checkpoint: str | Path, revision: str | None) -> dict[str, Any]:
    """Return a configuration as it is written. Raises ArtefactError for absurd sizes and compiled code of a hub."""
    from transformers import PreTrainedConfig

    values: dict[str, Any] = PreTrainedConfig.get_config_dict(str(checkpoint), revision=revision)[0]
    check_sizes(values, checkpoint)
    for key, value in _items(values):
        if key.endswith("_implementation") and "/" in str(value):
            raise ArtefactError(
                f"{checkpoint}: config.json names code of a hub ({key} is {format_value(value)}), which mpir never "
                "runs; remove that line."
            )
    return values


def _items(values: Any) -> Iterator[tuple[str, Any]]:
    """All keys of nested JSON, with their values."""
    if isinstance(values, dict):
        for key, value in values.items():
            yield str(key), value
            yield from _items(value)
    elif isinstance(values, list):
        for value in values:
            yield from _items(value)


def _describe(error: BaseException, checkpoint: str | Path, expected: str) -> str:
    if "trust_remote_code" in str(error):
        return (
            f"{checkpoint}: needs Python code of its own, which mpir never runs unasked; give a checkpoint of a type "
            "that transformers has, such as BERT, or --trust-remote-code (trust_remote_code=True) if you have read "
            "that code."
        )
    named = isinstance(error, OSError | ValueError | ImportError) and str(error)
    reason = shortened(str(error) if named else f"{type(error).__name__}: {error}", 200)
    return (
        f"{checkpoint}: cannot be loaded as {expected} ({reason}); give the folder of one, or a hub name "
        "where the hub can be reached."
    )


@contextmanager
def _unasked() -> Iterator[None]:
    """Let transformers refuse code where it would ask: some models load others, for which it asks by itself."""
    from transformers import dynamic_module_utils

    with _loading:
        timeout = getattr(dynamic_module_utils, "TIME_OUT_REMOTE_CODE", 15)
        dynamic_module_utils.TIME_OUT_REMOTE_CODE = 0
        try:
            yield
        finally:
            dynamic_module_utils.TIME_OUT_REMOTE_CODE = timeout


@contextmanager
def _quiet_transformers() -> Iterator[None]:
    """Hide the progress bar and the report of transformers' loaders; missing weights matter only to their reader."""
    from transformers.utils import logging

    with _loading:
        has_bar, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
        logging.disable_progress_bar()
        logging.set_verbosity_error()
        try:
            yield
        finally:
            logging.set_verbosity(level)
            if has_bar:
                logging.enable_progress_bar()
