"""A causal language model that learns to write a query, or a partial fact, for a sentence."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from tqdm import tqdm
from transformers import AutoModelForCausalLM, AutoTokenizer, get_linear_schedule_with_warmup

from mpir.core.checksum import fingerprint
from mpir.errors import ArtefactError, OutputError, format_names
from mpir.files.checksum import (
    read_json_with_checksum,
    verify_bytes,
    write_bytes_with_checksum,
    write_json_with_checksum,
)
from mpir.files.files import check_files, list_files
from mpir.files.folder_format import CHECKPOINT, FolderFormat
from mpir.files.write import atomic_folder
from mpir.lab.sia.settings import Decoding, Training
from mpir.lab.sia.workspace import batched
from mpir.models.devices.device import choose_device, choose_dtype
from mpir.models.loading.pretrained import checkpoint_errors, load_pretrained

TextPair = tuple[str, str]
Examples = Callable[[], Iterable[TextPair]]
CUES = {"query": "\nQuestion:", "partial": "\nRelated fact:"}
IGNORED = -100
SHUFFLED = 2048
EXPECTED = "a causal language model"
MADE_BY, STATE = "made_by.json", "state.pt"
WRITER = FolderFormat(marker=MADE_BY, names=(MADE_BY, *CHECKPOINT.names))


@dataclass(frozen=True, slots=True)
class Written:
    """A generated text and its loss: the mean negative log-likelihood per token, in nats."""

    text: str
    loss: float


class Writer:
    """A causal checkpoint with the cue that prompts it for one kind of text."""

    def __init__(
        self,
        checkpoint: str | Path,
        target: str,
        *,
        max_length: int = 192,
        device: str = "auto",
        precision: str = "fp32",
    ) -> None:
        """Load a checkpoint from a folder or a hub; `precision` is the weights' format, by name or "auto".

        Raises:
            ArtefactError: it cannot be loaded, is damaged, or has no end token.
            InputError: no such device or precision.
        """
        where = choose_device(device)
        dtype = choose_dtype(precision, [where])
        self.tokenizer = load_pretrained(AutoTokenizer, checkpoint, EXPECTED, padding_side="left")
        options: dict[str, Any] = {"dtype": dtype, "output_loading_info": True}
        self.model, report = load_pretrained(AutoModelForCausalLM, checkpoint, EXPECTED, **options)
        if missing := sorted(report["missing_keys"]):
            raise ArtefactError(
                f"{checkpoint}: lacks the weights {format_names(missing, 3)}, which would be random; restore the "
                "checkpoint."
            )
        if self.tokenizer.eos_token_id is None:
            raise ArtefactError(f"{checkpoint}: its tokenizer has no end-of-text token; choose another checkpoint.")
        self.tokenizer.pad_token = self.tokenizer.pad_token or self.tokenizer.eos_token
        self.checkpoint, self.cue, self.max_length = str(checkpoint), CUES[target], max_length
        self.model.to(where)
        with checkpoint_errors(checkpoint, EXPECTED):
            _compute_logits_in_fp32(self.model)
            self._try_out()

    def _try_out(self) -> None:
        """Write one token for each of two texts, so that damage shows before hours of work; may raise any exception."""
        for written in self.write(["text"] * 2, Decoding(most_tokens=1), seed=0):
            if not math.isfinite(written.loss):
                raise ValueError(f"the loss of a text is {written.loss}")

    def loss(self, pairs: Sequence[TextPair]) -> torch.Tensor:
        """Mean negative log-likelihood of each pair's target tokens, the end included: (N,)."""
        encoded = [self._encode(source, target) for source, target in pairs]
        longest = max(len(ids) for ids, _ in encoded)
        ids = torch.full((len(pairs), longest), self.tokenizer.pad_token_id)
        labels, mask = torch.full_like(ids, IGNORED), torch.zeros_like(ids)
        for row, (tokens, start) in enumerate(encoded):
            ids[row, : len(tokens)] = torch.tensor(tokens)
            labels[row, start : len(tokens)] = ids[row, start : len(tokens)]
            mask[row, : len(tokens)] = 1
        device = self.model.device
        logits = self.model(input_ids=ids.to(device), attention_mask=mask.to(device)).logits[:, :-1]
        targets = labels[:, 1:].to(device)
        losses = torch.nn.functional.cross_entropy(
            logits.transpose(1, 2), targets, ignore_index=IGNORED, reduction="none"
        )
        return losses.sum(dim=1) / (targets != IGNORED).sum(dim=1)

    def _encode(self, source: str, target: str) -> tuple[list[int], int]:
        """The tokens of source, cue, target and end, and the target's start; a long source is truncated."""
        target_ids = [*self._token_ids(f" {target}"), self.tokenizer.eos_token_id]
        target_ids = target_ids[: self.max_length // 2]
        prompt = self._prompt(source, self.max_length - len(target_ids))
        return prompt + target_ids, len(prompt)

    def _prompt(self, source: str, room: int) -> list[int]:
        cue = self._token_ids(self.cue)
        return [*self._token_ids(source)[: room - len(cue)], *cue]

    def _token_ids(self, text: str) -> list[int]:
        """Token ids of a text. Raises ArtefactError where the tokenizer is damaged or from another model."""
        with checkpoint_errors(self.checkpoint, EXPECTED):
            token_ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False)
            count = len(self.model.get_input_embeddings().weight)
        if max(token_ids, default=0) >= count:
            raise ArtefactError(
                f"{self.checkpoint}: its tokenizer gives the token id {max(token_ids)}, but the model has {count} "
                "embeddings; restore tokenizer.json, or give another checkpoint."
            )
        return token_ids

    @torch.inference_mode()
    def write(self, sources: Sequence[str], decoding: Decoding, seed: int) -> list[Written]:
        """Write one text for each source; the same seed and sources give the same texts."""
        prompts = [self._prompt(source, self.max_length) for source in sources]
        encoded = self.tokenizer.pad({"input_ids": prompts}, return_tensors="pt").to(self.model.device)
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            generated = self.model.eval().generate(
                **encoded,
                do_sample=True,
                top_p=decoding.top_p,
                top_k=0,
                temperature=decoding.temperature,
                max_new_tokens=decoding.most_tokens,
                pad_token_id=self.tokenizer.pad_token_id,
            )
        tails = self.tokenizer.batch_decode(generated[:, encoded["input_ids"].shape[1] :], skip_special_tokens=True)
        texts = [" ".join(tail.split()) for tail in tails]
        losses = self.loss(list(zip(sources, texts, strict=True))).tolist()
        return [Written(text, value) for text, value in zip(texts, losses, strict=True)]


def _compute_logits_in_fp32(model: Any) -> None:
    """Compute the output layer in fp32: GPT-2's logits are near -100, where bf16 has a resolution of 0.5."""
    head = model.get_output_embeddings()
    if head.weight.dtype != torch.float32:  # a separate copy where the input layer shares the weights
        head.weight = torch.nn.Parameter(head.weight.float())

    def forward(states: torch.Tensor) -> torch.Tensor:
        """Apply the head in single precision."""
        with torch.autocast(states.device.type, enabled=False):
            return torch.nn.functional.linear(states.float(), head.weight, head.bias)

    head.forward = forward


def train_writer(
    target: str,
    examples: Examples,
    settings: Training,
    folder: Path,
    *,
    seed: int,
    device: str = "auto",
    precision: str = "auto",
    progress: bool = False,
) -> Path:
    """Fine-tune a checkpoint on (source, target) pairs; an interrupted training resumes, a finished one is kept.

    `examples` is called once per epoch; pairs are shuffled 2,048 at a time, so memory does not grow. Weights are fp32;
    matrices are multiplied in bf16 if `precision` is bf16, or "auto" and the hardware supports it.

    Raises:
        ArtefactError: the checkpoint cannot be loaded.
        InputError: no such device or precision.
        OutputError: the model cannot be written.
    """
    model_folder = folder / "model"
    half = choose_dtype(precision, [choose_device(device)]) is torch.bfloat16
    made_by = {"kind": target, "seed": seed, "autocast": "bf16" if half else "", **asdict(settings)}
    identity = fingerprint(made_by)
    if model_folder.is_dir() and _made_by(model_folder) == identity:
        return model_folder
    writer = Writer(settings.checkpoint, target, max_length=settings.max_length, device=device)
    steps = settings.epochs * sum(1 for _ in batched(examples(), settings.batch_size))
    optimiser = torch.optim.AdamW(writer.model.parameters(), lr=settings.learning_rate)
    rate = get_linear_schedule_with_warmup(optimiser, steps // 20, steps)
    stateful = {"model": writer.model, "optimiser": optimiser, "rate": rate}
    finished_steps = _restore(folder / STATE, identity, stateful)
    if not finished_steps:
        torch.manual_seed(seed)
    bar = tqdm(_batches(examples, settings, seed), desc=f"training {target}", total=steps, disable=not progress)
    for number, pairs in enumerate(bar, 1):
        if number <= finished_steps:
            continue
        _step(writer, pairs, optimiser, rate, half)
        if number % settings.save_every == 0:
            _save(folder / STATE, identity, number, stateful)
    try:
        with atomic_folder(model_folder, WRITER) as temporary:
            writer.model.save_pretrained(temporary)
            writer.tokenizer.save_pretrained(temporary)
            files = list_files(temporary, filter(Path.is_file, temporary.rglob("*")))
            write_json_with_checksum(temporary / MADE_BY, {"fingerprint": identity, **made_by, "files": files})
    except (OSError, SafetensorError) as error:
        raise OutputError(f"{model_folder}: cannot be written ({error}); check free space.") from error
    (folder / STATE).unlink(missing_ok=True)
    return model_folder


def _made_by(folder: Path) -> str | None:
    """The fingerprint of a finished model's settings; None without one.

    Raises:
        ArtefactError: one of its files has changed.
    """
    remedy = f"remove {folder} to train it again"
    made_by = read_json_with_checksum(folder / MADE_BY, remedy)
    check_files(folder, made_by.get("files", {}), remedy, content=True)
    return made_by.get("fingerprint")


def _batches(examples: Examples, settings: Training, seed: int) -> Iterator[list[TextPair]]:
    generator = random.Random(seed)
    for _ in range(settings.epochs):
        shuffled = (p for chunk in batched(examples(), SHUFFLED) for p in generator.sample(chunk, len(chunk)))
        yield from batched(shuffled, settings.batch_size)


def _step(writer: Writer, pairs: list[TextPair], optimiser: torch.optim.Optimizer, rate: Any, half: bool) -> None:
    writer.model.train()
    optimiser.zero_grad()
    with torch.autocast(writer.model.device.type, torch.bfloat16, enabled=half):
        loss = writer.loss(pairs).mean()
    loss.backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(writer.model.parameters(), 1.0)
    optimiser.step()
    rate.step()


def _save(path: Path, identity: str, step: int, stateful: dict[str, Any]) -> None:
    state = {"identity": identity, "step": step, "random": torch.get_rng_state()}
    with write_bytes_with_checksum(path) as stream:
        torch.save({**state, **{name: holder.state_dict() for name, holder in stateful.items()}}, stream)


def _restore(path: Path, identity: str, stateful: dict[str, Any]) -> int:
    """Restore the training state; return the number of steps already done, 0 for a new run.

    Raises:
        ArtefactError: the state is damaged.
    """
    if path.exists():
        verify_bytes(path, "remove it to start over")
    try:
        state = torch.load(path, weights_only=True, map_location="cpu") if path.exists() else {}
        if state.get("identity") != identity:
            return 0
        for name, holder in stateful.items():
            holder.load_state_dict(state[name])
        torch.set_rng_state(state["random"])
        return int(state["step"])
    except Exception as error:  # torch raises many kinds while unpickling
        raise ArtefactError(f"{path}: is damaged and cannot be resumed from; remove it to start over.") from error
