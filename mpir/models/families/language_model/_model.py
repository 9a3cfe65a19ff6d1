"""Language-model rerankers: they read a prompt with query and document, and give the logits of two tokens.

Causal models (Qwen3-Reranker, mxbai-rerank-v2, bge-reranker-v2-gemma) answer after the prompt's last token, their
conversions to sequence classification have a score layer there, and monoT5 answers with its decoder's first token
(Nogueira et al. 2020). Prompts are padded on the left. If a prompt is too long, the document is cut, never the
template's words (prompt_tokens.py).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cached_property
from inspect import signature
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from mpir.core.cancellation import raise_if_cancelled
from mpir.core.checksum import fingerprint
from mpir.core.text.legible import legible
from mpir.core.text.types import Pair
from mpir.errors import ArtefactError, InputError, format_names, format_value
from mpir.models.checkpoint_files.checkpoint_checks import check_finite
from mpir.models.checkpoint_files.identity import check_unchanged, files_state, identity_of
from mpir.models.checkpoint_files.label_names import label_names, relevant_label
from mpir.models.devices.device import choose_budget, choose_devices, choose_dtype
from mpir.models.devices.padding_check import is_changed_by_padding
from mpir.models.families.language_model._prompt_tokens import PromptTokenizer, PromptTokens
from mpir.models.families.language_model._template import CHAT, known_templates, make_template
from mpir.models.loading.pretrained import checkpoint_errors, load_pretrained
from mpir.models.tokens.tokenise import SHORTEST, batches
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
        self.prompts = self._prompts()
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
        short, long = (self.prompts.read("a", text).ids for text in ("a", "a b c d e f g h"))
        self._is_single = is_changed_by_padding(lambda rows: self._outputs(model.eval(), rows)[:, None], short, long)
        return model.eval().to(device=self.devices[0], dtype=self.dtype)

    def scores(self, pairs: Sequence[Pair], *, progress: bool = False) -> F32:
        """Scores (N,) of (query, document) pairs: differences of two logits, or one logit.

        Raises:
            ArtefactError: the model cannot be loaded.
            CancellationError: they are no longer awaited.
        """
        read = [self.prompts.read(legible(query), legible(text)) for query, text in pairs]
        sequences = [tokens.ids for tokens in read]
        self._report_cuts(read)
        lengths: I64 = np.array([len(ids) for ids in sequences], np.int64)
        values = np.zeros(len(pairs), np.float32)
        with checkpoint_errors(self.checkpoint, EXPECTED), tqdm(total=len(pairs), disable=not progress) as bar:
            for rows in batches(lengths, self.tokens_per_batch):
                raise_if_cancelled()
                values[rows] = self._forward([sequences[row] for row in rows])
                bar.update(len(rows))
        return values

    def _report_cuts(self, prompts: Sequence[PromptTokens]) -> None:
        """Log how many documents and queries are cut."""
        documents = sum(prompt.cuts_document for prompt in prompts)
        queries = sum(prompt.cuts_query for prompt in prompts)
        for name, count in (("documents", documents), ("queries", queries)):
            if count:
                message = "%s: %d of %d %s are cut, for prompts of at most %d tokens"
                log.warning(message, self.checkpoint, count, len(prompts), name, self.max_length)

    def _prompts(self) -> PromptTokenizer:
        """The tokenizer of prompts. Raises InputError if the template leaves no room for texts."""
        adds_tokens = self.head == "ConditionalGeneration"
        prompts = PromptTokenizer(self.tokenizer, self.template, self.max_length, adds_tokens=adds_tokens)
        if self.max_length < (least := prompts.template_length + SHORTEST):
            raise InputError(
                f"{self.checkpoint}: max_length is {self.max_length} (expected at least {least}, because the template "
                f"alone takes {least - SHORTEST} tokens)."
            )
        return prompts

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
        if outputs.shape[1] == 1:
            return outputs[:, 0]  # type: ignore[no-any-return]
        relevant = relevant_label(label_names({"id2label": self.config.id2label}))
        contrast: torch.Tensor = outputs[:, 1] - outputs[:, 0]
        return -contrast if relevant == 0 else contrast

    def _contrast(self, logits: torch.Tensor) -> torch.Tensor:
        assert self.token_ids is not None
        true_id, false_id = self.token_ids
        return logits[:, true_id] if false_id is None else logits[:, true_id] - logits[:, false_id]

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that the scores depend on: weights, template, tokens, length and precision."""
        precision = str(self.dtype).removeprefix("torch.")
        reading = [self.template.pieces, sorted(self.template.stripped), self.prompts.keeps_end]
        prompt = fingerprint([*reading, list(self.token_ids or ())])
        identity = identity_of(self.checkpoint, None, self.max_length, precision)
        check_unchanged(self.checkpoint, self._state)
        return {**identity, "prompt": prompt}


def _head(config: Any, checkpoint: str) -> str:
    architecture = str((getattr(config, "architectures", None) or [""])[0])
    head = next((head for head in HEADS if architecture.endswith(head)), None)
    if head is None:
        raise ArtefactError(f"{checkpoint}: has the architecture {format_value(architecture)} (expected {EXPECTED}).")
    return head
