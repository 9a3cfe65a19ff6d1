"""Perspectives that read a cross-encoder's outputs, known before torch is imported or a model loaded.

What a checkpoint's scores depend on can be read from its files, so a run whose scores are all in the cache needs
neither: a second is saved for importing each of torch and transformers, and the loading.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from mpir.errors import InputError
from mpir.files import read_json, sha256
from mpir.perspectives.base import Loading, Perspective, register
from mpir.perspectives.cache import Pair
from mpir.perspectives.scale import SCALES, to_scale

if TYPE_CHECKING:
    from mpir.perspectives.cross_encoder import CrossEncoder

Floats = npt.NDArray[np.float32]
FORMATS = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
PLAIN_TYPES = {"bert", "distilbert", "electra"}
"""Types of models that read as many tokens as their configuration has positions."""
GPU_NODES = ("nvidia*", "nvhost*", "nvmap", "kfd", "dxg")
"""Files in /dev, one of which is there wherever Linux has a GPU that torch can use."""


class Encoder(Protocol):
    """What perspectives ask of a cross-encoder."""

    checkpoint: str

    @property
    def outputs_count(self) -> int:
        """How many raw outputs (K) it gives for a pair."""

    @property
    def identity(self) -> dict[str, Any]:
        """What the outputs depend on."""

    def column(self, output: int, against: int | None = None) -> int:
        """The column of `outputs` with a raw output, or with the difference of two."""

    def outputs(self, pairs: Sequence[Pair], *, progress: bool = False) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """Outputs (N, …) of N pairs, and which (N,) were windowed."""

    def vectors(self, texts: Sequence[str], *, progress: bool = False) -> tuple[Floats, npt.NDArray[np.int64]]:
        """Unit vectors (R, W) of N texts or their windows, and the text (R,) of each."""


class LazyEncoder:
    """A `CrossEncoder` that is made when it is needed; until then, its files say what it is.

    Where they don't say all (a hub name, a GPU, another type of model), or where an option may be wrong, it is made at
    once. The weights are loaded when the first pair is scored in any case.
    """

    def __init__(self, checkpoint: str, *, device: str, precision: str, **options: Any) -> None:
        """See `CrossEncoder`. Raises what it raises."""
        self.checkpoint = checkpoint
        if on_cpu(device):
            device, precision = "cpu", cpu_precision(precision)
        self._options = {**options, "device": device, "precision": precision}
        self._known = self._read() if device == "cpu" else None
        if self._known is None:
            _ = self.made

    @cached_property
    def made(self) -> CrossEncoder:
        """The encoder itself."""
        from mpir.perspectives.cross_encoder import CrossEncoder

        return CrossEncoder(self.checkpoint, **self._options)

    def _read(self) -> tuple[int, dict[str, Any]] | None:
        """The number of outputs, and the identity; None where the files don't say."""
        folder, options = Path(self.checkpoint), self._options
        try:
            config, tokenizer = read_json(folder / "config.json"), read_json(folder / "tokenizer_config.json")
            longest = min(int(config["max_position_embeddings"]), int(tokenizer["model_max_length"]))
            outputs, precision = len(config["id2label"]), FORMATS[options["precision"]]
        except (InputError, KeyError, TypeError, ValueError):
            return None
        plain = config.get("model_type") in PLAIN_TYPES and options.get("tokens_per_batch") is None
        if not plain or not (folder / "model.safetensors").is_file() or not (folder / "tokenizer.json").is_file():
            return None
        length = min(options.get("length") or longest, longest)
        return outputs, identity_of(self.checkpoint, options.get("revision"), length, precision)

    @property
    def outputs_count(self) -> int:
        """How many raw outputs (K) the checkpoint gives for a pair."""
        return self.made.outputs_count if self._known is None else self._known[0]

    @property
    def identity(self) -> dict[str, Any]:
        """What the outputs depend on: the weights, the length and the precision."""
        return self.made.identity if self._known is None else self._known[1]

    def column(self, output: int, against: int | None = None) -> int:
        """The column of `outputs` with a raw output or, from now on, with the difference of two."""
        return output if against is None else self.made.column(output, against)

    def outputs(self, pairs: Sequence[Pair], *, progress: bool = False) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """See `CrossEncoder.outputs`."""
        return self.made.outputs(pairs, progress=progress)

    def vectors(self, texts: Sequence[str], *, progress: bool = False) -> tuple[Floats, npt.NDArray[np.int64]]:
        """See `CrossEncoder.vectors`."""
        return self.made.vectors(texts, progress=progress)


class CrossEncoderPerspective(Perspective):
    """One output of a cross-encoder, on a scale that mpir fixes. Several may share one encoder, which runs once."""

    def __init__(
        self,
        name: str,
        encoder: Encoder,
        *,
        output: int = 0,
        against: int | None = None,
        scale: str = "probability",
        linear: bool = False,
    ) -> None:
        """Read output number `output`; for two-class heads, `against` is the other class (a softmax of the two).

        Raises:
            InputError: an unknown scale, or an output that the checkpoint does not have.
        """
        if scale not in SCALES:
            raise InputError(f"perspective {name!r}: unknown scale {scale!r}; choose from {', '.join(SCALES)}.")
        for number in (output, *([] if against is None else [against])):
            if not 0 <= number < encoder.outputs_count:
                raise InputError(
                    f"perspective {name!r}: output {number} does not exist; {encoder.checkpoint} has "
                    f"{encoder.outputs_count} (numbered from 0)."
                )
        self.name, self.encoder = name, encoder
        self.output, self.against, self.scale, self.linear = output, against, scale, linear
        self._column = encoder.column(output, against)

    def score(self, question: str, sentences: Sequence[str]) -> npt.NDArray[np.float64]:
        """Score each sentence for the question: (N,) on this perspective's scale."""
        values, _ = self.encoder.outputs([(question, sentence) for sentence in sentences])
        return self.read(values)

    def read(self, outputs: Floats) -> npt.NDArray[np.float64]:
        """This perspective's scores (N,) from what the encoder's `outputs` gave since the perspective was made."""
        return to_scale(outputs[:, self._column], self.scale, linear=self.linear)

    @property
    def identity(self) -> Mapping[str, Any]:
        """The encoder's identity, and how its outputs are read."""
        reading = {"output": self.output, "against": self.against, "scale": self.scale, "linear": self.linear}
        return {"name": self.name, **self.encoder.identity, **reading}


@register("cross-encoder")
def load_cross_encoder(name: str, options: Mapping[str, Any], loading: Loading) -> Perspective:
    """Build the perspective of a bundle entry: ``checkpoint`` is a folder inside the bundle or a hub name."""
    encoder, reading = shared_encoder(options, loading)
    return CrossEncoderPerspective(name, encoder, **reading)


def shared_encoder(options: Mapping[str, Any], loading: Loading) -> tuple[LazyEncoder, dict[str, Any]]:
    """The encoder of a bundle's entry, one for all entries with the same checkpoint, and the entry's other keys."""
    reading = dict(options)
    inside = loading.folder / str(reading.pop("checkpoint"))
    checkpoint = inside if inside.exists() else Path(options["checkpoint"])
    key = (str(checkpoint), revision := reading.pop("revision", None), length := reading.pop("length", None))
    if key not in loading.shared:
        loading.shared[key] = LazyEncoder(
            str(checkpoint),
            revision=revision,
            length=length,
            device=loading.device,
            precision=loading.precision,
            tokens_per_batch=loading.tokens_per_batch,
        )
    return loading.shared[key], reading


def identity_of(checkpoint: str, revision: str | None, length: int, precision: str) -> dict[str, Any]:
    """What the outputs of a checkpoint depend on; `precision` is the name of torch's number format."""
    weights = {path.name: sha256(path) for path in sorted(Path(checkpoint).glob("*.safetensors"))}
    name = weights or {"name": checkpoint, "revision": str(revision)}
    return {"checkpoint": name, "length": length, "precision": precision}


def on_cpu(device: str) -> bool:
    """Whether this device is the CPU for certain, without asking torch."""
    devices = Path("/dev")
    known = device == "auto" and devices.is_dir()
    return device == "cpu" or (known and not any(any(devices.glob(name)) for name in GPU_NODES))


def cpu_precision(precision: str) -> str:
    """The precision that "auto" means on this CPU, if Linux says what it computes with; else as it is."""
    processor = Path("/proc/cpuinfo")
    if precision != "auto" or not processor.is_file():
        return precision
    flags = processor.read_text(encoding="utf-8", errors="replace").partition("flags")[2].partition("\n")[0].split()
    return "bf16" if "avx512_bf16" in flags else "fp32"
