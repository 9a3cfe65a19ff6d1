"""Open checkpoints: configuration and tokenizer at once, weights when needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from mpir.models.bert.checkpoint import open_bert
from mpir.models.checkpoint_files.checkpoint_checks import check_finite, check_no_layer_unread
from mpir.models.checkpoint_files.model_files import MODULES, check_no_adapter, read_model_files
from mpir.models.loading.pretrained import load_pretrained
from mpir.models.recognition.recognise import families, family_of, register_types
from mpir.models.vectors.embedding import Pooling

ENCODERS = {"t5": "T5EncoderModel", "mt5": "MT5EncoderModel", "umt5": "UMT5EncoderModel"}
"""Encoders of types with a decoder, which an embedding model does not have."""
EXPECTED = "a sequence-classification checkpoint"


class Checkpoint(Protocol):
    """A loadable model, and the information available before loading."""

    config: Any
    tokenizer: Any

    def load(self) -> tuple[Any, list[str]] | None:
        """The model in single precision, and the names of missing weights, which are random; None if not loadable."""


def open_checkpoint(checkpoint: str, revision: str | None, *, trust_remote_code: bool = False) -> Checkpoint:
    """Open a checkpoint in a folder or on a hub, with transformers unless mpir can read it without.

    Raises:
        ArtefactError: it cannot be loaded.
    """
    check_no_adapter(checkpoint)
    if bert := open_bert(checkpoint):
        return bert
    opened = (family.open_checkpoint(checkpoint) for family in families())
    source: Checkpoint | None = next((source for source in opened if source is not None), None)
    return source or TransformersCheckpoint(checkpoint, revision, trust_remote_code=trust_remote_code)


def load_model(source: Checkpoint, checkpoint: str, revision: str | None) -> tuple[Any, list[str]]:
    """Load an opened checkpoint's model and the names of missing weights; unusual files are left to transformers.

    Raises:
        ArtefactError: it cannot be loaded.
    """
    model, missing = source.load() or TransformersCheckpoint(checkpoint, revision).load()
    check_finite(model, checkpoint)
    return model, missing


def _model_class(config: Any) -> Any:
    """transformers' class for a configuration: the classifier, or for embedding models the encoder of a T5."""
    import transformers

    is_classifier = str((config.architectures or [""])[0]).endswith("ForSequenceClassification")
    name = None if is_classifier else ENCODERS.get(config.model_type)
    return getattr(transformers, name or "AutoModelForSequenceClassification")


class TransformersCheckpoint:
    """Any sequence-classification checkpoint, read with transformers, whose import takes seconds."""

    def __init__(self, checkpoint: str, revision: str | None, *, trust_remote_code: bool = False) -> None:
        """Read configuration and tokenizer. Raises ArtefactError if that fails."""
        from transformers import AutoConfig, AutoTokenizer

        register_types()
        self.checkpoint, self.revision, self.trust_remote_code = checkpoint, revision, trust_remote_code
        self.config = self._load(AutoConfig)
        self.tokenizer = self._load(AutoTokenizer)

    def load(self) -> tuple[Any, list[str]]:
        """See `Checkpoint.load`. Raises ArtefactError where it cannot be loaded."""
        import torch

        options = {"dtype": torch.float32, "output_loading_info": True}
        model, report = self._load(_model_class(self.config), **options)
        check_no_layer_unread(report["unexpected_keys"], self.checkpoint)
        return model.eval(), sorted(report["missing_keys"])

    def _load(self, auto_class: Any, **options: Any) -> Any:
        options |= {"revision": self.revision, "trust_remote_code": self.trust_remote_code}
        return load_pretrained(auto_class, self.checkpoint, EXPECTED, **options)


def read_score_layers(checkpoint: str) -> Pooling | None:
    """Return how the last states of a checkpoint become scores, or None where a classifier makes them.

    Raises:
        ArtefactError: modules that mpir does not support.
    """
    folder = Path(checkpoint)
    if not (folder / MODULES).is_file():
        return None
    files = read_model_files(folder)
    family = family_of(files)
    return None if family is None else family.score_layers(files)
