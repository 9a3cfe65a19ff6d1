"""Perspectives that read question and sentence, or a whole document, together: one output of a classifier."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mpir.errors import ArtefactError, InputError, format_names, format_value
from mpir.models.checkpoint_files.hub import find_model
from mpir.models.documents.document_encoder import DocumentEncoder
from mpir.models.encoder import Encoder
from mpir.models.perspectives.base import SCALES, DocumentModel, Perspective, to_scale
from mpir.models.perspectives.registration import Loading, register
from mpir.models.vectors.embedding import Prompts
from mpir.types import F32, F64
from mpir.validation import check_choice, optional_whole_number, whole_number


class _ClassifierOutput(Perspective):
    """One output of a classifier, on a fixed scale. Several perspectives may share one encoder, which runs once."""

    def __init__(
        self,
        name: str,
        encoder: Encoder | DocumentEncoder,
        *,
        output: int | str = 0,
        against: int | None = None,
        scale: str = "probability",
        linear: bool = False,
    ) -> None:
        """Read an output by number or name; for two-class heads, `against` is the other class (a softmax of the two).

        Raises:
            InputError: an unknown scale, an output that the checkpoint does not have, or a value of the wrong type.
        """
        check_choice(f"perspective {format_value(name)}: scale", scale, SCALES)
        if not isinstance(linear, bool | None):
            raise InputError(
                f"perspective {format_value(name)}: linear is {format_value(linear)}; expected true or false."
            )
        if isinstance(output, str):
            output = _output_number(name, output, encoder)
        whole_number(f"perspective {format_value(name)}: output", output, minimum=0)
        optional_whole_number(f"perspective {format_value(name)}: against", against, minimum=0)
        for number in (output, *([] if against is None else [against])):
            if number >= encoder.outputs_count:
                raise InputError(
                    f"perspective {format_value(name)}: output {number} does not exist; {encoder.checkpoint} has "
                    f"{encoder.outputs_count} (numbered from 0)."
                )
        self.name, self.encoder = name, encoder
        self.output, self.against, self.scale, self.linear = output, against, scale, linear

    def close(self) -> None:
        """End the processes of the encoder's devices."""
        self.encoder.close()

    @property
    def identity(self) -> Mapping[str, Any]:
        """The encoder's identity, and the output and scale."""
        reading = {"output": self.output, "against": self.against, "scale": self.scale, "linear": self.linear}
        return {"name": self.name, **self.encoder.identity, **reading}


def _output_number(name: str, output: str, encoder: Encoder | DocumentEncoder) -> int:
    labels = encoder.info.labels
    if output not in labels:
        raise InputError(
            f"perspective {format_value(name)}: output {format_value(output)} does not exist; {encoder.checkpoint} has "
            f"{format_names(labels) or 'outputs without names'}. Give the name or number of one of its outputs."
        )
    return labels.index(output)


class CrossEncoderPerspective(_ClassifierOutput):
    """One output of a cross-encoder that reads pairs; a long text has its best passage's."""

    encoder: Encoder

    def __init__(self, name: str, encoder: Encoder, **reading: Any) -> None:
        """Read an output; `against` is a difference of which each passage has its own. Raises InputError as above."""
        super().__init__(name, encoder, **reading)
        self._column = encoder.column(self.output, self.against)

    @property
    def shared(self) -> Encoder:
        """The encoder."""
        return self.encoder

    def read(self, outputs: F32) -> F64:
        """Return this perspective's scores (N,) from the encoder's outputs of N pairs."""
        return to_scale(outputs[:, self._column], self.scale, linear=self.linear)


@register("cross-encoder")
def load_cross_encoder(name: str, options: Mapping[str, Any], loading: Loading) -> Perspective:
    """Build the perspective of a bundle entry: ``checkpoint`` is a folder inside the bundle or a hub name."""
    encoder, reading = shared_encoder(options, loading)
    return CrossEncoderPerspective(name, encoder, **reading)


def shared_encoder(options: Mapping[str, Any], loading: Loading) -> tuple[Encoder, dict[str, Any]]:
    """Return the encoder of a bundle entry, shared by all entries with the same checkpoint, and the entry's other keys.

    Raises:
        ArtefactError: the checkpoint is a path ("../other-bundle/model") that does not exist.
    """
    reading = {key: value for key, value in options.items() if key not in ("checkpoint", "revision")}
    checkpoint = checkpoint_folder(options, loading)
    max_length = reading.pop("max_length", None)
    trust_remote_code = bool(reading.pop("trust_remote_code", False)) and loading.trust_code
    over_length = reading.pop("over_length", "passages")
    prompts = Prompts(reading.pop("query_prompt", ""), lowercase=reading.pop("lowercase", False))
    key = (str(checkpoint), max_length, over_length, prompts)
    if key not in loading.shared:
        loading.shared[key] = Encoder(
            str(checkpoint),
            max_length=max_length,
            device=loading.device,
            precision=loading.precision,
            tokens_per_batch=loading.tokens_per_batch,
            trust_remote_code=trust_remote_code,
            over_length=over_length,
            pair_prompts=prompts,
        )
    return loading.shared[key], reading


def checkpoint_folder(options: Mapping[str, Any], loading: Loading) -> Path:
    """Return the folder of an entry's checkpoint: inside the bundle, or else a hub's model by its name.

    Raises:
        ArtefactError: the checkpoint is a path ("../other-bundle/model") that does not exist.
    """
    name = str(options["checkpoint"])
    inside = loading.folder / name
    if inside.exists():
        return inside
    if name.startswith((".", "/")):
        raise ArtefactError(
            f"{loading.folder}: the checkpoint {name} does not exist; copy it there, with the bundle that it belongs "
            "to, or name another in bundle.json."
        )
    return loading.find_model(name, options.get("revision"))


def model_folder(options: Mapping[str, Any], loading: Loading) -> tuple[str, dict[str, Any]]:
    """Return the folder of an entry's model, also for one in a hub's cache, and the entry's other keys."""
    reading = {key: value for key, value in options.items() if key not in ("checkpoint", "revision")}
    reading["trust_remote_code"] = bool(reading.get("trust_remote_code", False)) and loading.trust_code
    return str(find_model(str(checkpoint_folder(options, loading))).folder), reading


class DocumentCrossEncoderPerspective(_ClassifierOutput):
    """One output of a document encoder: a sentence's, or with the level ``document`` a document's."""

    encoder: DocumentEncoder

    @property
    def documents_model(self) -> DocumentModel:
        """The document encoder."""
        return self.encoder

    def read(self, outputs: F32) -> F64:
        """Return this perspective's scores (R,) from outputs (R, K) of documents or sentences."""
        against = 0.0 if self.against is None else outputs[:, self.against]
        return to_scale(outputs[:, self.output] - against, self.scale, linear=self.linear)

    @property
    def identity(self) -> Mapping[str, Any]:
        """The encoder's identity, the output, the scale and the level."""
        return {**super().identity, "level": self.level}


@register("document-cross-encoder")
def load_document_cross_encoder(name: str, options: Mapping[str, Any], loading: Loading) -> Perspective:
    """Build the perspective of a bundle entry: ``checkpoint`` is a folder inside the bundle or a hub name."""
    encoder, reading = shared_encoder(options, loading)
    layers = {name: reading.pop(name, None) for name in ("depth", "first_exit")}
    key = ("documents", id(encoder), *layers.values())
    model = loading.shared.setdefault(key, DocumentEncoder(encoder, **layers))
    return DocumentCrossEncoderPerspective(name, model, **reading)
