"""Listwise rerankers: language models that read a query with a list of documents and order it.

RankZephyr answers with the numbers of the passages, best first (Pradeep et al., 2023). jina-reranker-v3 compares the
states of marker tokens behind each passage and behind the query (Wang et al., 2025).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from mpir.core.text.legible import legible
from mpir.errors import ArtefactError, InputError, format_names, format_value
from mpir.models.checkpoint_files.checkpoint_checks import check_finite
from mpir.models.devices.device import choose_devices, choose_dtype
from mpir.models.families.listwise._prompt import listwise_templates, order_list
from mpir.models.loading.pretrained import checkpoint_errors, load_pretrained
from mpir.models.tokens.tokenise import truncation_side
from mpir.models.vectors.vector_head import read_tensor
from mpir.validation import check_choice, whole_number

log = logging.getLogger(__name__)
EXPECTED = "a listwise reranker"
DEFAULT_LENGTH, SHORTEST = 4096, 8
"""The most tokens of a prompt by default, and the fewest tokens of a passage."""


class ListwiseModel:
    """A listwise reranker; it is loaded when the first list is ordered."""

    def __init__(
        self,
        checkpoint: str,
        *,
        template: str,
        max_length: int | None = None,
        device: str = "auto",
        precision: str = "auto",
        trust_remote_code: bool = False,
    ) -> None:
        """Open a checkpoint in a folder, with the name of a listwise template.

        Raises:
            ArtefactError: it cannot be loaded.
            InputError: an invalid option.
        """
        from transformers import AutoTokenizer

        check_choice(f"{checkpoint}: template", template, tuple(listwise_templates()))
        self.checkpoint, self.template, self._trust = checkpoint, listwise_templates()[template], trust_remote_code
        self.device = choose_devices(device)[0]
        self.dtype = choose_dtype(precision, [self.device])
        self.max_length = whole_number(f"{checkpoint}: max_length", max_length or DEFAULT_LENGTH, minimum=64)
        self.tokenizer = load_pretrained(AutoTokenizer, checkpoint, EXPECTED, trust_remote_code=trust_remote_code)
        self._marker_ids = [self._marker_id(marker) for marker in self.template.markers or ()]

    def _marker_id(self, marker: str) -> int:
        number = self.tokenizer.convert_tokens_to_ids(marker)
        if number in (None, self.tokenizer.unk_token_id):
            raise ArtefactError(f"{self.checkpoint}: its tokenizer has no token {format_value(marker)}. Restore it.")
        return int(number)

    @cached_property
    def model(self) -> Any:
        """The model. Raises ArtefactError where weights are missing or not finite."""
        import transformers

        auto_class = transformers.AutoModel if self._marker_ids else transformers.AutoModelForCausalLM
        options: dict[str, Any] = {"dtype": torch.float32, "output_loading_info": True}
        options["trust_remote_code"] = self._trust
        model, report = load_pretrained(auto_class, self.checkpoint, EXPECTED, **options)
        if missing := sorted(report["missing_keys"]):
            raise ArtefactError(f"{self.checkpoint}: lacks the weights {format_names(missing, 3)}. Restore the files.")
        check_finite(model, self.checkpoint)
        return model.eval().to(device=self.device, dtype=self.dtype)

    @cached_property
    def _projector(self) -> tuple[Tensor, Tensor]:
        first, second = (read_tensor(Path(self.checkpoint), f"projector.{layer}.weight") for layer in (0, 2))
        return first.float().to(self.device), second.float().to(self.device)

    def order(self, query: str, texts: Sequence[str]) -> list[int]:
        """Return the order (N,) of any number of texts, best first. Raises ArtefactError as `model`."""
        with checkpoint_errors(self.checkpoint, EXPECTED):
            return order_list([legible(text) for text in texts], partial(self.order_window, legible(query)))

    @torch.inference_mode()
    def order_window(self, query: str, texts: Sequence[str]) -> list[int]:
        """Return the order (n,) of as many texts as are read at once."""
        ids = self._ids(self.template.render(query, self._shortened(query, texts)))
        if not self._marker_ids:
            return self.template.parse(self._generated(ids, len(texts)), len(texts))
        return torch.argsort(self._similarities(ids), descending=True, stable=True).tolist()

    def _ids(self, prompt: str) -> Tensor:
        return torch.tensor([self.tokenizer(prompt)["input_ids"]], device=self.device)

    def _shortened(self, query: str, texts: Sequence[str]) -> list[str]:
        """The texts, the long ones cut so that the prompt keeps within `max_length`."""
        frame = self._ids(self.template.render(query, [""] * len(texts))).shape[1]
        most = (self.max_length - frame - self._answer_length(len(texts))) // len(texts)
        if most < SHORTEST:
            raise InputError(
                f"{self.checkpoint}: max_length is {self.max_length} tokens, too few for the query and {len(texts)} "
                "passages; give a greater one."
            )
        token_ids = [self.tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
        if count := sum(len(ids) > most for ids in token_ids):
            log.warning("%s: %d of %d documents are cut to %d tokens", self.checkpoint, count, len(texts), most)
        cut = slice(-most, None) if truncation_side(self.tokenizer) == "left" else slice(most)
        return [
            self.tokenizer.decode(ids[cut]) if len(ids) > most else text
            for ids, text in zip(token_ids, texts, strict=True)
        ]

    def _answer_length(self, count: int) -> int:
        """The number of tokens of an answer that names all passages."""
        if self._marker_ids:
            return 0
        numbers = (str(number) for number in range(self.template.first, self.template.first + count))
        return len(self.tokenizer(" > ".join(f"[{number}]" for number in numbers))["input_ids"])

    def _generated(self, ids: Tensor, count: int) -> str:
        limit = {"max_new_tokens": self._answer_length(count), "do_sample": False}
        padding = self.tokenizer.pad_token_id if self.tokenizer.pad_token_id is not None else 0
        output = self.model.generate(ids, attention_mask=torch.ones_like(ids), pad_token_id=padding, **limit)
        answer: str = self.tokenizer.decode(output[0, ids.shape[1] :], skip_special_tokens=True)
        return answer

    def _similarities(self, ids: Tensor) -> Tensor:
        """The cosines (n,) of the passages' vectors and the query's."""
        first, second = self._projector
        states = self.model(ids).last_hidden_state[0].float()
        passages, query = (states[ids[0] == marker] for marker in self._marker_ids)
        vectors = [
            functional.linear(functional.relu(functional.linear(side, first)), second) for side in (passages, query)
        ]
        return functional.cosine_similarity(vectors[0], vectors[1])
