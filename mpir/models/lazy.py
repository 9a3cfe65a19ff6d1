"""An encoder that is known before torch is imported or its model loaded.

What a checkpoint's scores depend on can be read from its files, so a run whose scores are all in the cache needs
neither: a second is saved for importing each of torch and transformers, and the loading.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from mpir.errors import InputError
from mpir.io.read import read_json
from mpir.models.identity import identity_of
from mpir.models.model_files import MODULES
from mpir.models.options import FORMATS, batch_size, device_names, is_truncating, precision_name
from mpir.models.pooling import MEAN, Pooling
from mpir.text.types import Pair
from mpir.types import F32, I64, Bool
from mpir.validation import optional_whole_number

if TYPE_CHECKING:
    from torch import Tensor

    from mpir.models.encoder import Encoder
    from mpir.models.interaction import Interaction
    from mpir.models.late import LateInteraction, TokenName

PLAIN_TYPES = {"bert", "distilbert", "electra", "mpir-tk"}
"""Types of models that read as many tokens as their configuration has positions."""
UNNAMED = range(2)
"""What transformers takes for the outputs of a model that names none, as one that makes vectors."""
GPU_NODES = ("nvidia*", "nvhost*", "nvmap", "kfd", "dxg")
"""Files in /dev, one of which is there wherever Linux has a GPU that torch can use."""


class EncoderLike(Protocol):
    """What perspectives ask of a cross-encoder."""

    checkpoint: str

    def close(self) -> None:
        """End the processes of several devices."""

    @property
    def outputs_count(self) -> int:
        """How many raw outputs (K) it gives for a pair."""

    @property
    def identity(self) -> dict[str, Any]:
        """What the outputs depend on."""

    def column(self, output: int, against: int | None = None) -> int:
        """The column of `outputs` with a raw output, or with the difference of two."""

    def outputs(self, pairs: Sequence[Pair], *, progress: bool = False) -> tuple[F32, Bool]:
        """Outputs (N, …) of N pairs, and which (N,) were read in passages."""

    def vectors(self, texts: Sequence[str], *, pooling: Pooling = MEAN, progress: bool = False) -> tuple[F32, I64]:
        """Vectors (R, W) of N texts or their passages, and the text (R,) of each."""

    def token_vectors(
        self, texts: Sequence[str], late: LateInteraction, *, question: bool, progress: bool = False
    ) -> tuple[list[Tensor], I64]:
        """Token vectors (T, W) of each of R passages of N texts, and the text (R,) of each."""

    def token_names(self, text: str, late: LateInteraction, *, question: bool) -> list[list[TokenName]]:
        """What the vectors belong to, for each passage of a text."""

    @property
    def interaction(self) -> Interaction:
        """How the token vectors of two texts are compared."""


class LazyEncoder:
    """An `Encoder` that is made when it is needed; until then, its files say what it is.

    Where they don't say all (a hub name, a GPU, another type of model), or where an option may be wrong, it is made at
    once. The weights are loaded when the first pair is scored in any case.
    """

    def __init__(self, checkpoint: str, *, device: str, precision: str, **options: Any) -> None:
        """See `Encoder`. Raises what it raises."""
        self.checkpoint = checkpoint
        device, precision = device_names(device), precision_name(precision)
        for name in ("tokens_per_batch", "max_length"):
            options[name] = optional_whole_number(name, options.get(name))
        is_truncating(options.setdefault("over_length", "passages"))
        if on_cpu(device):
            device, precision = "cpu", cpu_precision(precision)
        self._options = {**options, "device": device, "precision": precision}
        self._known = self._read() if device == "cpu" else None
        if self._known is None:
            _ = self.encoder

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder itself."""
        from mpir.models.encoder import Encoder

        return Encoder(self.checkpoint, **self._options)

    def _read(self) -> tuple[int, dict[str, Any]] | None:
        """The number of outputs, and the identity; None where the files don't say."""
        folder, options = Path(self.checkpoint), self._options
        try:
            config, tokenizer = read_json(folder / "config.json"), read_json(folder / "tokenizer_config.json")
            longest = min(int(config["max_position_embeddings"]), int(tokenizer["model_max_length"]))
            outputs, precision = len(config.get("id2label", UNNAMED)), FORMATS[options["precision"]]
            plain = config.get("model_type") in PLAIN_TYPES
        except (InputError, KeyError, OverflowError, TypeError, ValueError):
            return None
        if (
            (folder / MODULES).is_file()
            or not plain
            or not (folder / "model.safetensors").is_file()
            or not (folder / "tokenizer.json").is_file()
        ):
            return None
        max_length = min(options.get("max_length") or longest, longest)
        if options.get("tokens_per_batch") is not None:
            batch_size(options["tokens_per_batch"], max_length)
        identity = identity_of(self.checkpoint, options.get("revision"), max_length, precision)
        return outputs, identity | ({"over_length": "truncate"} if options.get("over_length") == "truncate" else {})

    def close(self) -> None:
        """See `Encoder.close`."""
        if "encoder" in vars(self):
            self.encoder.close()

    @property
    def outputs_count(self) -> int:
        """How many raw outputs (K) the checkpoint gives for a pair."""
        return self.encoder.outputs_count if self._known is None else self._known[0]

    @property
    def identity(self) -> dict[str, Any]:
        """What the outputs depend on: the weights, the length and the precision."""
        return self.encoder.identity if self._known is None else self._known[1]

    def column(self, output: int, against: int | None = None) -> int:
        """The column of `outputs` with a raw output or, from now on, with the difference of two."""
        return output if against is None else self.encoder.column(output, against)

    def outputs(self, pairs: Sequence[Pair], *, progress: bool = False) -> tuple[F32, Bool]:
        """See `Encoder.outputs`."""
        return self.encoder.outputs(pairs, progress=progress)

    def vectors(self, texts: Sequence[str], *, pooling: Pooling = MEAN, progress: bool = False) -> tuple[F32, I64]:
        """See `Encoder.vectors`."""
        return self.encoder.vectors(texts, pooling=pooling, progress=progress)

    def token_vectors(
        self, texts: Sequence[str], late: LateInteraction, *, question: bool, progress: bool = False
    ) -> tuple[list[Tensor], I64]:
        """See `Encoder.token_vectors`."""
        return self.encoder.token_vectors(texts, late, question=question, progress=progress)

    def token_names(self, text: str, late: LateInteraction, *, question: bool) -> list[list[TokenName]]:
        """See `Encoder.token_names`."""
        return self.encoder.token_names(text, late, question=question)

    @property
    def interaction(self) -> Interaction:
        """See `Encoder.interaction`."""
        return self.encoder.interaction


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
