"""Load checkpoints with transformers: run their code only with consent, and report failures in one sentence.

A checkpoint may refer to its own Python code (``auto_map`` in its JSON files). transformers would ask on standard input
whether to run it, so any piped "y" would count as consent. mpir runs it only with `trust_remote_code`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from mpir.core.cancellation import CancellationError
from mpir.errors import ArtefactError, MpirError, format_value, shortened
from mpir.models.checkpoint_files.checkpoint_checks import check_rules, check_sizes, check_tensors, check_tokenizer_file
from mpir.models.checkpoint_files.model_files import check_no_adapter

_loading = threading.RLock()
"""transformers' settings are global, so only one thread at a time may change them."""


def load_pretrained(
    auto_class: Any,
    checkpoint: str | Path,
    expected: str = "an encoder checkpoint",
    *,
    trust_remote_code: bool = False,
    **options: Any,
) -> Any:
    """Load an object with one of transformers' Auto classes from a folder or hub.

    Args:
        auto_class: the class's name, such as ``AutoTokenizer``.
        checkpoint: a folder or hub name.
        expected: a description of the expected checkpoint, for error messages.
        trust_remote_code: whether the checkpoint's own Python code may run; only the user may allow it.
        options: further arguments of ``from_pretrained``.

    Raises:
        ArtefactError: it cannot be loaded, needs its own Python code, or is an adapter.
    """
    check_no_adapter(checkpoint)
    config: Mapping[str, Any] = {}
    with checkpoint_errors(checkpoint, expected), _quiet_transformers(), _unasked():
        reads_tokenizer = "Tokenizer" in auto_class.__name__
        if not reads_tokenizer or (Path(checkpoint) / "config.json").is_file():
            config = _read_config(checkpoint, options.get("revision"))
            if not reads_tokenizer and "Config" not in auto_class.__name__:
                check_tensors(checkpoint, config)
        if reads_tokenizer:
            check_tokenizer_file(checkpoint)
        loaded = auto_class.from_pretrained(str(checkpoint), trust_remote_code=trust_remote_code, **options)
        if backend := getattr(loaded, "backend_tokenizer", None):  # also of a hub's, or converted from another file
            parts = {"normalizer": backend.normalizer, "post_processor": backend.post_processor}
            check_rules({name: part and json.loads(part.__getstate__()) for name, part in parts.items()}, checkpoint)
        if reads_tokenizer and config.get("type_vocab_size") == 1:  # a model with one segment can have learnt no other
            loaded.model_input_names = [name for name in loaded.model_input_names if name != "token_type_ids"]
        return loaded


@contextmanager
def checkpoint_errors(checkpoint: str | Path, expected: str = "an encoder checkpoint") -> Iterator[None]:
    """Turn any exception while reading a checkpoint into an ArtefactError with folder and remedy.

    Checkpoint libraries do not document their errors, and a damaged file can raise many kinds.
    """
    try:
        yield
    except BaseException as error:  # raised again as what it is, or as an ArtefactError
        raise_checkpoint_error(error, checkpoint, expected)


def raise_checkpoint_error(error: BaseException, checkpoint: str | Path, expected: str) -> NoReturn:
    """Raise an ArtefactError in place of a library's error; raise mpir's own errors and interruptions unchanged."""
    is_library_error = isinstance(error, Exception) or type(error).__name__ == "PanicException"  # Rust's
    if not is_library_error or isinstance(error, MpirError | CancellationError):
        raise error
    raise ArtefactError(_describe(error, checkpoint, expected)) from error


def _read_config(checkpoint: str | Path, revision: str | None) -> dict[str, Any]:
    """Return the raw configuration. Raises ArtefactError for impossible sizes and for compiled hub code."""
    from transformers import PreTrainedConfig

    values: dict[str, Any] = PreTrainedConfig.get_config_dict(str(checkpoint), revision=revision)[0]
    check_sizes(values, checkpoint)
    for key, value in _items(values):
        if key.endswith("_implementation") and "/" in str(value):
            raise ArtefactError(
                f"{checkpoint}: config.json refers to code on a hub ({key} is {format_value(value)}), which mpir never "
                "runs; remove that line."
            )
    return values


def _items(values: Any) -> Iterator[tuple[str, Any]]:
    """Yield all keys of nested JSON with their values."""
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
            "that transformers has, such as BERT, or, if you have read that code, allow it (--trust-code, "
            "trust_code=True)."
        )
    named = isinstance(error, OSError | ValueError | ImportError) and str(error)
    reason = shortened(str(error) if named else f"{type(error).__name__}: {error}", 200)
    return (
        f"{checkpoint}: cannot be loaded as {expected} ({reason}); give the folder of one, or a hub name "
        "where the hub can be reached."
    )


@contextmanager
def _unasked() -> Iterator[None]:
    """Make transformers refuse code instead of asking; it also asks for models that other models load."""
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
    """Hide the progress bar and the report of transformers' loaders; mpir checks for missing weights itself."""
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
