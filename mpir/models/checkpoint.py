"""What an encoder is made from: a checkpoint's configuration and tokenizer, and its weights when they are needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from safetensors import SafetensorError

from mpir.errors import ArtefactError
from mpir.models.bert import open_bert


class Checkpoint(Protocol):
    """A model that can be loaded, and what is known of it before."""

    config: Any
    tokenizer: Any

    def load(self) -> tuple[Any, list[str]] | None:
        """The model in single precision, and the names of the weights it lacks, which are random; None for neither."""


def open_checkpoint(checkpoint: str, revision: str | None) -> Checkpoint:
    """A checkpoint in a folder or of a hub: by transformers, unless it is one that mpir reads without it.

    Raises:
        ArtefactError: it cannot be loaded.
    """
    return open_bert(checkpoint) or TransformersCheckpoint(checkpoint, revision)


def load_model(source: Checkpoint, checkpoint: str, revision: str | None) -> tuple[Any, list[str]]:
    """The model of an opened checkpoint and the weights it lacks: by transformers where its files surprise.

    Raises:
        ArtefactError: it cannot be loaded.
    """
    return source.load() or TransformersCheckpoint(checkpoint, revision).load()


class TransformersCheckpoint:
    """Any sequence-classification checkpoint, by transformers, whose import takes seconds."""

    def __init__(self, checkpoint: str, revision: str | None) -> None:
        """Read configuration and tokenizer. Raises ArtefactError where they cannot be."""
        from transformers import AutoConfig, AutoTokenizer

        import mpir.models.tk  # noqa: F401  (so that transformers knows this type, too)

        self.checkpoint, self.revision = checkpoint, revision
        self.config = self._quietly(AutoConfig.from_pretrained)
        self.tokenizer = self._quietly(AutoTokenizer.from_pretrained)

    def load(self) -> tuple[Any, list[str]]:
        """See `Checkpoint.load`. Raises ArtefactError where it cannot be loaded."""
        import torch
        from transformers import AutoModelForSequenceClassification

        options = {"dtype": torch.float32, "output_loading_info": True}
        model, report = self._quietly(AutoModelForSequenceClassification.from_pretrained, **options)
        return model.eval(), sorted(report["missing_keys"])

    def _quietly(self, load: Callable[..., Any], **options: Any) -> Any:
        """What a loader of transformers gives, without the bar and the report that it shows by itself."""
        from transformers.utils import logging

        shown, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
        logging.disable_progress_bar()
        logging.set_verbosity_error()  # what is missing matters only to what reads it, and is said then
        try:
            return load(self.checkpoint, revision=self.revision, **options)
        except (OSError, ValueError, ImportError, RuntimeError, SafetensorError) as error:
            reason = " ".join(str(error).split())[:200]
            raise ArtefactError(
                f"{self.checkpoint}: cannot be loaded as a sequence-classification checkpoint ({reason}); "
                "give the folder of one, or a hub name where the hub can be reached."
            ) from error
        finally:
            logging.set_verbosity(level)
            if shown:
                logging.enable_progress_bar()
