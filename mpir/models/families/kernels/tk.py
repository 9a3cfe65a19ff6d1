"""TK: a transformer of two small layers over word vectors, with kernels that measure how well words match.

Hofstätter, Zlabinger & Hanbury, "Interpretable & Time-Budget-Constrained Contextualization for Re-Ranking" (2020), as
trained in "Establishing Strong Baselines for TripClick Health Retrieval" (2022). It is an ordinary transformers model,
so all code that loads, trains and reads such models works for it.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForSequenceClassification, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

MUS = (1.0, 0.9, 0.7, 0.5, 0.3, 0.1, -0.1, -0.3, -0.5, -0.7, -0.9)
"""The kernels' centres: similarities of two words."""
MIN_KERNEL_SUM = 1e-10
"""The lower bound of a kernel's count inside the logarithm."""
WEIGHT = 0.014
"""The bound of the kernels' initial weights."""


class KernelsConfig(PreTrainedConfig):  # type: ignore[misc]
    """What models with kernels have in common; the defaults are the published ones."""

    def __init__(
        self, *, vocab_size: int = 2, max_position_embeddings: int = 512, sigma: float = 0.1, **options: Any
    ) -> None:
        self.vocab_size, self.max_position_embeddings, self.sigma = vocab_size, max_position_embeddings, sigma
        super().__init__(**{"pad_token_id": 0, "num_labels": 1, **options})


class TKConfig(KernelsConfig):
    """The sizes of a TK model; the defaults are the published ones, for word vectors of 300 dimensions."""

    model_type = "mpir-tk"

    def __init__(
        self,
        *,
        hidden_size: int = 300,
        num_hidden_layers: int = 2,
        num_attention_heads: int = 10,
        intermediate_size: int = 300,
        **options: Any,
    ) -> None:
        self.hidden_size, self.num_hidden_layers = hidden_size, num_hidden_layers
        self.num_attention_heads, self.intermediate_size = num_attention_heads, intermediate_size
        super().__init__(**options)


class Kernels(nn.Module):
    """Compares a query's word vectors with those of documents; all have length 1, so products are cosines.

    K_i^k = Σ_j exp(−(q_i·d_j − μ_k)² / 2σ²)        s = Σ_i s_i        s_i = Σ_k w_k ln max(a_k·K_i^k, 1e-10)

    `exact` is the σ of the first kernel, which counts equal words if it is small; by default that of the others.
    """

    def __init__(self, sigma: float, exact: float | None = None) -> None:
        super().__init__()
        self.sigmas = (sigma if exact is None else exact, *(sigma for _ in MUS[1:]))
        self.scale, self.weight = nn.Parameter(torch.ones(len(MUS))), nn.Parameter(torch.zeros(len(MUS)))

    def forward(self, tokens: Tensor, documents: Tensor, lengths: Tensor) -> Tensor:
        """The score of each token (N, W) in each document: s_i (D, N). See `Interaction`."""
        cosines = documents.float() @ tokens.float().T
        near = (
            torch.exp((cosines - mu).square() / (-2 * sigma**2)) for mu, sigma in zip(MUS, self.sigmas, strict=True)
        )
        counts = torch.stack(
            [torch.segment_reduce(kernel_values, "sum", lengths=lengths, axis=0) for kernel_values in near], dim=2
        )
        return torch.log((self.scale * counts).clamp(min=MIN_KERNEL_SUM)) @ self.weight


class KernelsModel(PreTrainedModel):  # type: ignore[misc]
    """How a model with kernels is initialised and named."""

    base_model_prefix = "encoder"

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, Kernels):
            module.scale.fill_(1.0)
            module.weight.uniform_(-WEIGHT, WEIGHT)
        else:
            super()._init_weights(module)


class _Base(KernelsModel):
    config_class = TKConfig

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, TKEncoder):
            module.mix.fill_(0.5)
        else:
            super()._init_weights(module)


class TKEncoder(_Base):
    """Word vectors, each mixed with its contextualised form: α·t + (1 − α)·Transformer(t + position)."""

    def __init__(self, config: TKConfig) -> None:
        super().__init__(config)
        width = config.hidden_size
        self.words = nn.Embedding(config.vocab_size, width, padding_idx=config.pad_token_id)
        self.mix = nn.Parameter(torch.tensor(0.5))
        layer = nn.TransformerEncoderLayer(
            width, config.num_attention_heads, config.intermediate_size, dropout=0.0, batch_first=True
        )
        self.layers = nn.TransformerEncoder(layer, config.num_hidden_layers, enable_nested_tensor=False)
        self.post_init()

    def forward(self, input_ids: Tensor, attention_mask: Tensor, **_: Any) -> BaseModelOutput:
        """States (N, T, W) of words (N, T)."""
        words = self.words(input_ids)
        around = self.layers(words + positions(*words.shape[1:], like=words), src_key_padding_mask=attention_mask == 0)
        return BaseModelOutput(last_hidden_state=self.mix * words + (1 - self.mix) * around)


class TKModel(_Base):
    """The encoder, and the kernels that compare two separately encoded texts."""

    faster: ClassVar = {"interaction.": 10.0}
    """Prefixes of parameter names, with the factor on their learning rate (published: 1e-4)."""

    def __init__(self, config: TKConfig) -> None:
        super().__init__(config)
        self.encoder, self.interaction = TKEncoder(config), Kernels(config.sigma)
        self.post_init()


def positions(count: int, width: int, *, like: Tensor) -> Tensor:
    """Sinusoidal position vectors (T, W) (Vaswani et al. 2017, the sines first)."""
    half = (width + 1) // 2
    rates = torch.exp(-math.log(10_000.0) * torch.arange(half, device=like.device) / max(1, half - 1))
    angles = torch.arange(count, device=like.device)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1)[:, :width].to(like.dtype)


AutoConfig.register(TKConfig.model_type, TKConfig)
AutoModelForSequenceClassification.register(TKConfig, TKModel)
