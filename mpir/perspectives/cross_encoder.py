"""The cross-encoder: one transformer reads question and sentence together; each output can be a perspective."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from tqdm import tqdm
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from transformers.utils.logging import disable_progress_bar, enable_progress_bar, is_progress_bar_enabled

from mpir.errors import ArtefactError, InputError
from mpir.files import sha256
from mpir.perspectives.base import Loading, Perspective, register
from mpir.perspectives.scale import SCALES, to_scale

log = logging.getLogger(__name__)

Pair = tuple[str, str]
TOKENS_PER_BATCH = {"cpu": 4096, "cuda": 131_072}
PAIRS_PER_WINDOW = 16_384
"""Pairs tokenised and sorted together, so that memory does not grow with the number of questions."""


class CrossEncoder:
    """A sequence-classification checkpoint that reads (question, sentence) pairs and gives K raw outputs each."""

    def __init__(
        self,
        checkpoint: str | Path,
        *,
        revision: str | None = None,
        length: int | None = None,
        device: str = "auto",
        precision: str = "auto",
    ) -> None:
        """Load a checkpoint from a folder or, where a hub can be reached, by its hub name.

        `length` is the most tokens of a pair (by default what the model was made for); `device` is a torch device or
        "auto"; `precision` is "fp32", "bf16", "fp16" or "auto" (bf16 where the hardware computes with it).

        Raises:
            ArtefactError: the checkpoint cannot be loaded, or has no classification head of its own.
            InputError: no such device or precision.
        """
        self.checkpoint, self.revision = str(checkpoint), revision
        self.device = choose_device(device)
        self.dtype = choose_dtype(precision, self.device)
        self.tokenizer, self.model = self._load()
        longest = getattr(self.model.config, "max_position_embeddings", 512)
        self.length = min(length or longest, longest, self.tokenizer.model_max_length)

    def _load(self) -> tuple[Any, Any]:
        try:
            tokenizer, model, report = self._from_pretrained()
        except (OSError, ValueError, ImportError) as error:
            reason = " ".join(str(error).split())[:200]
            raise ArtefactError(
                f"{self.checkpoint}: cannot be loaded as a sequence-classification checkpoint ({reason}); "
                "give the folder of one, or a hub name where the hub can be reached."
            ) from error
        if report["missing_keys"]:
            raise ArtefactError(
                f"{self.checkpoint}: the weights {sorted(report['missing_keys'])[:3]} are missing and would be random; "
                "give a checkpoint that was trained for sequence classification."
            )
        return tokenizer, model.to(device=self.device, dtype=self.dtype).eval()

    def _from_pretrained(self) -> tuple[Any, Any, dict[str, Any]]:
        """Tokenizer, model, and what the checkpoint lacked; without the bar that transformers shows by itself."""
        shown = is_progress_bar_enabled()
        disable_progress_bar()
        try:
            tokenizer = AutoTokenizer.from_pretrained(self.checkpoint, revision=self.revision)
            model, report = AutoModelForSequenceClassification.from_pretrained(
                self.checkpoint, revision=self.revision, dtype=torch.float32, output_loading_info=True
            )
        finally:
            if shown:
                enable_progress_bar()
        return tokenizer, model, report

    @property
    def outputs_count(self) -> int:
        """How many raw outputs (K) the checkpoint gives for a pair."""
        return int(self.model.config.num_labels)

    @property
    def identity(self) -> dict[str, Any]:
        """What the outputs depend on: the weights, the length and the precision."""
        folder = Path(self.checkpoint)
        weights = {path.name: sha256(path) for path in sorted(folder.glob("*.safetensors"))}
        name = weights or {"name": self.checkpoint, "revision": str(self.revision)}
        return {"checkpoint": name, "length": self.length, "precision": str(self.dtype).removeprefix("torch.")}

    def outputs(
        self, pairs: Sequence[Pair], *, progress: bool = False
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
        """Raw outputs (N, K) of the pairs, in their order, and which pairs (N,) were too long and cut to `length`."""
        values = np.zeros((len(pairs), self.outputs_count), np.float32)
        cut = np.zeros(len(pairs), bool)
        with tqdm(total=len(pairs), desc="scoring", unit="pair", disable=not progress) as bar:
            for start in range(0, len(pairs), PAIRS_PER_WINDOW):
                window = pairs[start : start + PAIRS_PER_WINDOW]
                for rows, batch_values, batch_cut in self._window(window):
                    values[start + rows] = batch_values
                    cut[start + rows] = batch_cut
                    bar.update(len(rows))
        return values, cut

    def _window(self, pairs: Sequence[Pair]) -> Iterator[tuple[npt.NDArray[np.int64], Any, Any]]:
        """Tokenise once, sort by length, and run batches of a bounded number of tokens."""
        encodings = self.tokenizer(
            [question for question, _ in pairs],
            [sentence for _, sentence in pairs],
            truncation="longest_first",
            max_length=self.length,
        ).encodings
        lengths = np.array([len(encoding.ids) for encoding in encodings])
        cut = np.array([bool(encoding.overflowing) for encoding in encodings])
        for rows in batches(lengths, TOKENS_PER_BATCH.get(self.device.type, TOKENS_PER_BATCH["cpu"])):
            yield rows, self._forward([encodings[i] for i in rows]), cut[rows]

    @torch.inference_mode()
    def _forward(self, encodings: Sequence[Any]) -> npt.NDArray[np.float32]:
        names = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
        wanted = {name: names[name] for name in self.tokenizer.model_input_names if name in names}
        longest = max(len(encoding.ids) for encoding in encodings)
        inputs = {}
        for name, attribute in wanted.items():
            fill = self.tokenizer.pad_token_id if name == "input_ids" else 0
            block = np.full((len(encodings), longest), fill, np.int64)
            for row, encoding in enumerate(encodings):
                block[row, : len(encoding.ids)] = getattr(encoding, attribute)
            inputs[name] = torch.from_numpy(block).to(self.device)
        logits: npt.NDArray[np.float32] = self.model(**inputs).logits.float().numpy(force=True)
        return logits


class CrossEncoderPerspective(Perspective):
    """One output of a cross-encoder, on a scale that mpir fixes. Several may share one encoder, which runs once."""

    def __init__(
        self,
        name: str,
        encoder: CrossEncoder,
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

    def score(self, question: str, sentences: Sequence[str]) -> npt.NDArray[np.float64]:
        """Score each sentence for the question: (N,) on this perspective's scale."""
        values, _ = self.encoder.outputs([(question, sentence) for sentence in sentences])
        return self.read(values)

    def read(self, outputs: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
        """This perspective's scores (N,) from the encoder's raw outputs (N, K)."""
        logits = outputs[:, self.output] - (0.0 if self.against is None else outputs[:, self.against])
        return to_scale(logits, self.scale, linear=self.linear)

    @property
    def identity(self) -> Mapping[str, Any]:
        """The encoder's identity, and how its outputs are read."""
        reading = {"output": self.output, "against": self.against, "scale": self.scale, "linear": self.linear}
        return {"name": self.name, **self.encoder.identity, **reading}


@register("cross-encoder")
def load_cross_encoder(name: str, options: Mapping[str, Any], loading: Loading) -> Perspective:
    """Build the perspective of a bundle entry: ``checkpoint`` is a folder inside the bundle or a hub name."""
    reading = dict(options)
    inside = loading.folder / str(reading.pop("checkpoint"))
    checkpoint = inside if inside.exists() else Path(options["checkpoint"])
    key = (str(checkpoint), revision := reading.pop("revision", None), length := reading.pop("length", None))
    if key not in loading.shared:
        loading.shared[key] = CrossEncoder(
            str(checkpoint), revision=revision, length=length, device=loading.device, precision=loading.precision
        )
    return CrossEncoderPerspective(name, loading.shared[key], **reading)


def batches(lengths: npt.NDArray[np.int64], tokens: int) -> Iterator[npt.NDArray[np.int64]]:
    """Row numbers in batches of like length: rows × longest stays within `tokens` (a longer row goes alone).

    The longest come first, so that running out of memory shows at once.
    """
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        size = max(1, tokens // int(lengths[order[start]]))
        yield order[start : start + size]
        start += size


def choose_device(name: str) -> torch.device:
    """The torch device by name; "auto" takes a GPU where there is one. Raises InputError for one that is not there."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"device {name!r} cannot be used ({reason}); choose auto, cpu, or a GPU that is there."
        ) from error
    return device


def choose_dtype(precision: str, device: torch.device) -> torch.dtype:
    """The number format by name; "auto" takes bfloat16 where the hardware computes with it, else float32."""
    known = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
    if precision == "auto":
        return torch.bfloat16 if _computes_bfloat16(device) else torch.float32
    if precision not in known:
        raise InputError(f"precision {precision!r} is unknown; choose auto, {', '.join(known)}.")
    return known[precision]


def _computes_bfloat16(device: torch.device) -> bool:
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return device.type == "cpu" and bool(torch.cpu._is_avx512_bf16_supported())
