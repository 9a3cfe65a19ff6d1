"""Find out whether a sequence's outputs depend on the other sequences of its batch, as some types' do.

Convolutions and Fourier transforms read padding, and classifiers over decoders without a padding token read their
score from it. Such models read one sequence at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any, TypeVar

import torch
from torch import Tensor

from mpir.models.tokens.tokenise import TokenSequence, read_pair

TOLERANCE = 1e-4
"""The largest difference, as a share of the largest output, that rounding in single precision explains."""
Tokens = TypeVar("Tokens")
Padded = Callable[[Sequence[TokenSequence]], Mapping[str, Tensor]]
"""Makes the inputs of a model from sequences."""


def read_singly(model: Any, tokenizer: Any, padded: Padded) -> set[bool]:
    """Return which outputs padding would change: those of the classifier (True), the states (False), or none."""
    if getattr(model.config, "attention_type", None) == "block_sparse":  # BigBird's blocks depend on the length
        keep_attention_type(model.base_model)
        return {True, False}
    short, long = (read_pair(tokenizer, "a", text) for text in ("a", "a b c d e f g h"))

    def logits(sequences: Sequence[TokenSequence]) -> Tensor:
        outputs: Tensor = model(**padded(sequences)).logits
        return outputs

    def states(sequences: Sequence[TokenSequence]) -> Tensor:
        outputs: Tensor = model.base_model(**padded(sequences)).last_hidden_state
        return outputs

    outputs = {True: logits, False: states}
    return {name for name, read in outputs.items() if is_changed_by_padding(read, short, long)}


@torch.inference_mode()
def is_changed_by_padding(outputs: Callable[[Sequence[Tokens]], Tensor], short: Tokens, long: Tokens) -> bool:
    """Compare the outputs of a short sequence alone with those beside a long one, in single precision.

    A model that cannot read a batch counts as changed, and one that cannot read the short sequence alone does not: its
    error is raised when it is used.
    """
    try:
        alone = outputs([short])[0]
    except Exception:  # checkpoints raise many kinds
        return False
    try:
        together = outputs([short, long])[0][: len(alone)]
    except Exception:  # such as transformers' for classifiers without a padding token
        return True
    scale = max(1.0, float(alone.abs().max()))
    return not bool(torch.allclose(alone, together, rtol=0, atol=TOLERANCE * scale))


def keep_attention_type(model: Any) -> None:
    """Make a BigBird read each text as its configuration says, one at a time.

    transformers' changes its attention at the first short text, and keeps the change.
    """
    forward, lock = model.forward, Lock()

    def forward_as_configured(*inputs: Any, **options: Any) -> Any:
        """Restore the configuration's attention, then call the model's own `forward`."""
        with lock:
            model.set_attention_type(model.config.attention_type)
            return forward(*inputs, **options)

    model.forward = forward_as_configured
