"""Language-model rerankers: they read a prompt with query and document, and give the logits of two tokens.

Causal models (Qwen3-Reranker, mxbai-rerank-v2, bge-reranker-v2-gemma) answer after the prompt's last token, their
conversions to sequence classification have a score layer there, and monoT5 answers with its decoder's first token
(Nogueira et al. 2020). Prompts are padded on the left. If a prompt is too long, the document is truncated, never the
template's words after it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cached_property
from inspect import signature
from itertools import takewhile
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from mpir.core.cancellation import raise_if_cancelled
from mpir.core.checksum import fingerprint
from mpir.core.text.legible import legible
from mpir.core.text.types import Pair
from mpir.errors import ArtefactError, InputError, format_names, format_value
from mpir.models.checkpoint_checks import check_finite
from mpir.models.device import choose_budget, choose_devices, choose_dtype
from mpir.models.identity import check_unchanged, files_state, identity_of
from mpir.models.padding_check import is_changed_by_padding
from mpir.models.pretrained import checkpoint_errors, load_pretrained
from mpir.models.prompt_template import CHAT, known_templates, make_template
from mpir.models.tokenise import batches
from mpir.types import F32, I64
from mpir.validation import whole_number

log = logging.getLogger(__name__)
EXPECTED = "a reranker that is a language model"
DEFAULT_LENGTH = 1024
HEADS = {
    "CausalLM": "AutoModelForCausalLM",
    "ConditionalGeneration": "AutoModelForSeq2SeqLM",
    "SequenceClassification": "AutoModelForSequenceClassification",
}
"""Suffixes of architecture names, and transformers' classes that load them."""


class LanguageModel:
    """A language model that judges pairs; it is loaded when the first pair is scored."""

    def __init__(
        self,
        checkpoint: str,
        *,
        template: str = CHAT,
        instruction: str | None = None,
        tokens: tuple[str | int | None, str | int | None] | None = None,
        max_length: int | None = None,
        device: str = "auto",
        precision: str = "auto",
        tokens_per_batch: int | None = None,
        trust_remote_code: bool = False,
    ) -> None:
        """Open a checkpoint in a folder.

        `template` is "chat" or the name of a known one, `instruction` is the text for its slot, and `tokens` are the
        tokens for relevant and not relevant (None for none), by default the template's.

        Raises:
            ArtefactError: it cannot be loaded, or its chat template lacks a slot.
            InputError: an invalid option, or a token that the tokenizer lacks.
        """
        from transformers import AutoConfig, AutoTokenizer

        self.checkpoint, self.trust = checkpoint, {"trust_remote_code": trust_remote_code}
        self._state = files_state(checkpoint)
        self.devices = choose_devices(device)
        self.dtype = choose_dtype(precision, self.devices)
        self.config = load_pretrained(AutoConfig, checkpoint, EXPECTED, **self.trust)
        self.tokenizer = load_pretrained(AutoTokenizer, checkpoint, EXPECTED, **self.trust)
        self.head = _head(self.config, checkpoint)
        self.template = make_template(template, self.tokenizer, instruction, checkpoint)
        self.max_length = whole_number(f"{checkpoint}: max_length", max_length or DEFAULT_LENGTH, minimum=8)
        self.tokens_per_batch = choose_budget(tokens_per_batch, self.devices, self.max_length)
        self._is_single = False
        self._adds_tokens = self.head == "ConditionalGeneration"
        self._suffix = self._end_of_prompts()
        self.token_ids = self._token_ids(template, tokens)

    @cached_property
    def model(self) -> Any:
        """The model on the first device. Raises ArtefactError where weights are missing or not finite."""
        import transformers

        auto_class = getattr(transformers, HEADS[self.head])
        options: dict[str, Any] = {"dtype": torch.float32, "output_loading_info": True, **self.trust}
        model, report = load_pretrained(auto_class, self.checkpoint, EXPECTED, **options)
        if missing := sorted(report["missing_keys"]):
            raise ArtefactError(f"{self.checkpoint}: lacks the weights {format_names(missing, 3)}. Restore the files.")
        check_finite(model, self.checkpoint)
        check_unchanged(self.checkpoint, self._state)
        short, long = (self._read("a", text)[0] for text in ("a", "a b c d e f g h"))
        self._is_single = is_changed_by_padding(lambda rows: self._outputs(model.eval(), rows)[:, None], short, long)
        return model.eval().to(device=self.devices[0], dtype=self.dtype)

    def scores(self, pairs: Sequence[Pair], *, progress: bool = False) -> F32:
        """Scores (N,) of (query, document) pairs: differences of two logits, or one logit.

        Raises:
            ArtefactError: the model cannot be loaded.
            CancellationError: they are no longer awaited.
        """
        read = [self._read(query, text) for query, text in pairs]
        sequences = [ids for ids, _ in read]
        if cut := sum(is_cut for _, is_cut in read):
            log.warning("%s: %d of %d documents are cut to %d tokens", self.checkpoint, cut, len(read), self.max_length)
        lengths: I64 = np.array([len(ids) for ids in sequences], np.int64)
        values = np.zeros(len(pairs), np.float32)
        with checkpoint_errors(self.checkpoint, EXPECTED), tqdm(total=len(pairs), disable=not progress) as bar:
            for rows in batches(lengths, self.tokens_per_batch):
                raise_if_cancelled()
                values[rows] = self._forward([sequences[row] for row in rows])
                bar.update(len(rows))
        return values

    def _ids(self, prompt: str) -> list[int]:
        ids: list[int] = self.tokenizer(prompt, add_special_tokens=self._adds_tokens)["input_ids"]
        return ids

    def _read(self, query: str, document: str) -> tuple[list[int], bool]:
        """The tokens of a prompt, and whether its document was truncated to keep it within `max_length`."""
        ids = self._ids(self.template.render(legible(query), legible(document)))
        if len(ids) <= self.max_length:
            return ids, False
        return [*ids[: self.max_length - len(self._suffix)], *self._suffix], True

    def _end_of_prompts(self) -> list[int]:
        """The tokens at the end of every prompt, independent of query and document."""
        ends = [self._ids(self.template.render(text, text))[::-1] for text in ("a b", "0 c", "? d")]
        common = takewhile(lambda tokens: len(set(tokens)) == 1, zip(*ends, strict=False))
        suffix = [tokens[0] for tokens in common][::-1]
        if len(suffix) >= self.max_length // 2:
            raise InputError(
                f"{self.checkpoint}: max_length is {self.max_length} (expected more than {2 * len(suffix)}, as the end "
                "of the template alone takes half of that)."
            )
        return suffix

    def _token_ids(
        self, template: str, tokens: tuple[str | int | None, str | int | None] | None
    ) -> tuple[int, int | None] | None:
        if self.head == "SequenceClassification":
            return None
        if tokens is None:
            entry: Mapping[str, Any] = known_templates().get(template, {"true_token": "yes", "false_token": "no"})
            tokens = entry["true_token"], entry["false_token"]
        true_id, false_id = (None if token is None else self._token_id(token) for token in tokens)
        if true_id is None:
            raise InputError(f"{self.checkpoint}: true_token is missing (expected a token of its tokenizer).")
        return true_id, false_id

    def _token_id(self, token: str | int) -> int:
        number = token if isinstance(token, int) else self.tokenizer.convert_tokens_to_ids(token)
        if number is None or number == self.tokenizer.unk_token_id or not 0 <= number < self.config.vocab_size:
            raise InputError(
                f"{self.checkpoint}: the tokenizer has no token {format_value(token)}. Name its own, such as "
                "true_token=Yes and false_token=No."
            )
        return int(number)

    @torch.inference_mode()
    def _forward(self, sequences: Sequence[Sequence[int]]) -> F32:
        """Scores (n,) of a batch."""
        model = self.model  # in this order, because loading it sets whether it reads one sequence at a time
        batches_read = [[row] for row in sequences] if self._is_single else [sequences]
        scores: F32 = torch.cat([self._outputs(model, rows) for rows in batches_read]).float().cpu().numpy()
        return scores

    def _outputs(self, model: Any, sequences: Sequence[Sequence[int]]) -> torch.Tensor:
        """Scores (n,) by a model. Without a padding token any token serves, because none attends to it."""
        width = max(map(len, sequences))
        pad = self.tokenizer.pad_token_id or 0
        ids = torch.tensor([[pad] * (width - len(row)) + list(row) for row in sequences], device=model.device)
        counts = torch.tensor([len(row) for row in sequences], device=model.device)
        mask = (torch.arange(width, device=model.device) >= width - counts[:, None]).long()
        inputs = {"input_ids": ids, "attention_mask": mask}
        if self.head == "ConditionalGeneration":
            start = torch.full((len(ids), 1), int(self.config.decoder_start_token_id), device=ids.device)
            return self._contrast(model(**inputs, decoder_input_ids=start).logits[:, 0])
        if "position_ids" in signature(model.base_model.forward).parameters:
            inputs["position_ids"] = (mask.cumsum(1) - 1).clamp(min=0)
        if self.head == "CausalLM":
            return self._contrast(model(**inputs, logits_to_keep=1).logits[:, -1])
        outputs = model.score(model.base_model(**inputs).last_hidden_state[:, -1])
        contrast: torch.Tensor = outputs[:, 0] if outputs.shape[1] == 1 else outputs[:, 1] - outputs[:, 0]
        return contrast

    def _contrast(self, logits: torch.Tensor) -> torch.Tensor:
        assert self.token_ids is not None
        true_id, false_id = self.token_ids
        return logits[:, true_id] if false_id is None else logits[:, true_id] - logits[:, false_id]

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that the scores depend on: weights, template, tokens, length and precision."""
        precision = str(self.dtype).removeprefix("torch.")
        prompt = fingerprint([self.template.render("query", "document"), list(self.token_ids or ())])
        identity = identity_of(self.checkpoint, None, self.max_length, precision)
        check_unchanged(self.checkpoint, self._state)
        return {**identity, "prompt": prompt}


def _head(config: Any, checkpoint: str) -> str:
    architecture = str((getattr(config, "architectures", None) or [""])[0])
    head = next((head for head in HEADS if architecture.endswith(head)), None)
    if head is None:
        raise ArtefactError(f"{checkpoint}: has the architecture {format_value(architecture)} (expected {EXPECTED}).")
    return head
