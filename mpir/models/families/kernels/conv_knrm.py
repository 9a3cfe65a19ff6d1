"""Conv-KNRM: convolutions over word vectors give n-grams, and kernels measure how well n-grams of any lengths match.

Dai, Xiong, Callan & Liu, "Convolutional Neural Networks for Soft-Matching N-Grams in Ad-hoc Search" (2018), a baseline
of "Establishing Strong Baselines for TripClick Health Retrieval" (2022). Kernels, files and training are those of TK.
"""

from __future__ import annotations

from itertools import product
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize, pad
from transformers import AutoConfig, AutoModelForSequenceClassification
from transformers.modeling_outputs import BaseModelOutput

from mpir.models.families.kernels.tk import Kernels, KernelsConfig, KernelsModel


class ConvKNRMConfig(KernelsConfig):
    """The sizes of a Conv-KNRM model; the defaults are the published ones."""

    model_type = "mpir-conv-knrm"

    def __init__(
        self,
        *,
        word_size: int = 300,
        grams: int = 3,
        filters: int = 128,
        exact_sigma: float = 0.001,
        **options: Any,
    ) -> None:
        self.word_size, self.grams, self.filters, self.exact_sigma = word_size, grams, filters, exact_sigma
        super().__init__(**options)

    @property
    def hidden_size(self) -> int:
        """The width of a state: no tensor has it, so the file does not name it."""
        return self.grams * self.filters


class GramKernels(nn.Module):
    """Kernels of their own for each pair of lengths, such as a query's words and a document's pairs of words."""

    def __init__(self, config: ConvKNRMConfig) -> None:
        super().__init__()
        self.grams = config.grams
        self.pairs = nn.ModuleList(Kernels(config.sigma, config.exact_sigma) for _ in range(config.grams**2))

    def forward(self, tokens: Tensor, documents: Tensor, lengths: Tensor) -> Tensor:
        """The score of each token (N, W) in each document: (D, N). See `Interaction`."""
        of_query, of_documents = (
            [normalize(grams.float(), dim=1) for grams in vectors.chunk(self.grams, dim=1)]
            for vectors in (tokens, documents)
        )
        pairs = zip(self.pairs, product(of_query, of_documents), strict=True)
        return torch.stack([kernels(*vectors, lengths) for kernels, vectors in pairs]).sum(dim=0)


class _Base(KernelsModel):
    config_class = ConvKNRMConfig


class ConvKNRMEncoder(_Base):
    """The n-grams that begin at each word, of 1 to `grams` words, side by side: relu(convolution), each of length 1."""

    def __init__(self, config: ConvKNRMConfig) -> None:
        super().__init__(config)
        self.words = nn.Embedding(config.vocab_size, config.word_size, padding_idx=config.pad_token_id)
        sizes = range(1, config.grams + 1)
        self.convolutions = nn.ModuleList(nn.Conv1d(config.word_size, config.filters, size) for size in sizes)
        self.post_init()

    def forward(self, input_ids: Tensor, attention_mask: Tensor, **_: Any) -> BaseModelOutput:
        """States (N, T, grams · filters) of words (N, T); a text is followed by zeros, however it is batched."""
        words = (self.words(input_ids) * attention_mask[..., None]).transpose(1, 2)
        grams = [torch.relu(layer(pad(words, (0, after)))) for after, layer in enumerate(self.convolutions)]
        states = torch.cat([normalize(gram.transpose(1, 2), dim=2) for gram in grams], dim=2)
        return BaseModelOutput(last_hidden_state=states)


class ConvKNRMModel(_Base):
    """The encoder, and the kernels that compare two separately encoded texts."""

    faster: ClassVar = {"interaction.": 10.0}
    """As TK's."""

    def __init__(self, config: ConvKNRMConfig) -> None:
        super().__init__(config)
        self.encoder, self.interaction = ConvKNRMEncoder(config), GramKernels(config)
        self.post_init()


AutoConfig.register(ConvKNRMConfig.model_type, ConvKNRMConfig)
AutoModelForSequenceClassification.register(ConvKNRMConfig, ConvKNRMModel)
