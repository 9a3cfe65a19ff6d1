"""What an encoder is made from: a checkpoint's configuration and tokenizer, and its weights when they are needed."""

from __future__ import annotations

from typing import Any, Protocol

from mpir.models.bert.checkpoint import open_bert
from mpir.models.checkpoint_checks import check_finite, check_no_layer_unread
from mpir.models.pretrained import check_no_adapter, load_pretrained

EXPECTED = "a sequence-classification checkpoint"


class Checkpoint(Protocol):
    """A model that can be loaded, and what is known of it before."""

    config: Any
    tokenizer: Any

    def load(self) -> tuple[Any, list[str]] | None:
        """The model in single precision, and the names of the weights it lacks, which are random; None for neither."""


def open_checkpoint(checkpoint: str, revision: str | None, *, trust_remote_code: bool = False) -> Checkpoint:
    """A checkpoint in a folder or of a hub: by transformers, unless it is one that mpir reads without it.

    Raises:
        ArtefactError: it cannot be loaded.
    """
    check_no_adapter(checkpoint)
    return open_bert(checkpoint) or TransformersCheckpoint(checkpoint, revision, trust_remote_code=trust_remote_code)


def load_model(source: Checkpoint, checkpoint: str, revision: str | None) -> tuple[Any, list[str]]:
    """The model of an opened checkpoint and the weights it lacks: by transformers where its files surprise.

    Raises:
        ArtefactError: it cannot be loaded.
    """
    model, missing = source.load() or TransformersCheckpoint(checkpoint, revision).load()
    check_finite(model, checkpoint)
    return model, missing


class TransformersCheckpoint:
    """Any sequence-classification checkpoint, by transformers, whose import takes seconds."""

    def __init__(self, checkpoint: str, revision: str | None, *, trust_remote_code: bool = False) -> None:
        """Read configuration and tokenizer. Raises ArtefactError where they cannot be."""
        from transformers import AutoConfig, AutoTokenizer

        import mpir.models.tk  # noqa: F401  (so that transformers knows this type, too)

        self.checkpoint, self.revision, self.trust_remote_code = checkpoint, revision, trust_remote_code
        self.config = self._load(AutoConfig)
        self.tokenizer = self._load(AutoTokenizer)

    def load(self) -> tuple[Any, list[str]]:
        """See `Checkpoint.load`. Raises ArtefactError where it cannot be loaded."""
        import torch
        from transformers import AutoModelForSequenceClassification

        options = {"dtype": torch.float32, "output_loading_info": True}
        model, report = self._load(AutoModelForSequenceClassification, **options)
        check_no_layer_unread(report["unexpected_keys"], self.checkpoint)
        return model.eval(), sorted(report["missing_keys"])

    def _load(self, auto_class: Any, **options: Any) -> Any:
        options |= {"revision": self.revision, "trust_remote_code": self.trust_remote_code}
        return load_pretrained(auto_class, self.checkpoint, EXPECTED, **options)
