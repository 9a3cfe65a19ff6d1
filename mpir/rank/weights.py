"""The weights of the two sums, as a value: frozen, printable, comparable, saved with what made them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal, get_args

from mpir.errors import InputError
from mpir.io.read import read_json
from mpir.io.write import write_json

Context = Literal["bm25", "document", "fixpoint"]
Normalise = Literal["none", "minmax"]
RESERVED = {"context", "bm25"}
"""Columns that every sum has beside those of perspectives."""
AGREEMENT = "agreement"
"""A column beside those of perspectives (rank/agreement.py) that has a part in S_SENT, and none in S_DOC."""


@dataclass(frozen=True)
class Weights:
    """α of the sentence sum, β and w of the document sum (Rawal & Baral 2020, equations 1 and 2).

        S_SENT = Σ_p alpha[p]·S_p + alpha_context·S_CONTEXT
        S_DOC  = beta_bm25·S_BM25 + beta_sentences·Σ_i w[i]·S_SENT(i)

    Beyond the paper, alpha may weigh "agreement", which says what other documents think of a sentence: S_SENT has it,
    and the S_SENT(i) of S_DOC, a document's own evidence, do not.

    `context` says what S_CONTEXT is: ``bm25`` the document's S_BM25; ``document`` S_DOC computed without context;
    ``fixpoint`` S_DOC itself, the recursion solved exactly. `normalise` is ``none``, or ``minmax`` to map every
    column of each question to 0-1 first. `made_by` records what produced the values and takes no part in equality.

    Raises:
        InputError: a value that is not a finite number, an unknown choice, a perspective with another column's name, or
            weights for which the fixed point does not exist (alpha_context·beta_sentences·Σw must stay below 1).
    """

    alpha: Mapping[str, float]
    alpha_context: float = 1.0
    beta_bm25: float = 1.0
    beta_sentences: float = 1.0
    w: tuple[float, ...] = (1.0, 1.0, 1.0)
    context: Context = "bm25"
    normalise: Normalise = "none"
    made_by: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name, kind in (("alpha", Mapping), ("w", Iterable), ("made_by", Mapping)):
            if not isinstance(getattr(self, name), kind):
                form = "a list of numbers" if name == "w" else "an object"
                raise InputError(f"weights: {name} is {getattr(self, name)!r:.60}; expected {form}.")
        object.__setattr__(self, "alpha", dict(self.alpha))
        object.__setattr__(self, "w", tuple(self.w))
        self._check_numbers()
        for name, choices in (("context", get_args(Context)), ("normalise", get_args(Normalise))):
            if getattr(self, name) not in choices:
                raise InputError(f"weights: {name} is {getattr(self, name)!r}; choose from {', '.join(choices)}.")
        if self.context == "fixpoint" and self.feedback >= 1:
            raise InputError(
                f"weights: alpha_context·beta_sentences·Σw is {self.feedback:.4g}, but the fixed point exists only "
                "below 1; lower one of them or choose the context bm25 or document."
            )

    def _check_numbers(self) -> None:
        if not self.alpha or not self.w:
            raise InputError("weights: alpha needs at least one perspective and w at least one number.")
        for name in RESERVED & set(self.alpha):
            raise InputError(f"weights: a perspective is called {name!r}, which means another column; rename it.")
        single = {name: getattr(self, name) for name in ("alpha_context", "beta_bm25", "beta_sentences")}
        ranks = {f"w[{i}]": value for i, value in enumerate(self.w)}
        for name, value in {**{f"alpha[{k}]": v for k, v in self.alpha.items()}, **single, **ranks}.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                raise InputError(f"weights: {name} is {value!r}; expected a finite number.")

    @property
    def feedback(self) -> float:
        """The greatest factor with which a document's score returns to itself in the ``fixpoint`` reading."""
        return max(self.alpha_context * self.beta_sentences * total for total in accumulate(self.w))

    @classmethod
    def equal(cls, perspectives: Iterable[str], *, ranks: int = 3, context: Context = "bm25") -> Weights:
        """Where tuning starts: every weight of a sum the same, the weights of each sum adding up to 1."""
        names = list(perspectives)
        share = 1 / (len(names) + 1)
        return cls(dict.fromkeys(names, share), share, 0.5, 0.5, (1 / ranks,) * ranks, context)

    def check_perspectives(self, names: Iterable[str], source: str = "weights") -> None:
        """Raise InputError unless exactly these perspectives are weighted."""
        expected, found = set(names), set(self.alpha)
        if expected != found:
            raise InputError(
                f"{source}: the weights are for the perspectives {', '.join(sorted(found))}, but the scores are from "
                f"{', '.join(sorted(expected))}; use the weights that belong to the bundle."
            )

    def over(self, names: Iterable[str], source: str = "weights") -> Weights:
        """These weights for such columns: agreement may be weighed 0 in one and missing in the other.

        Raises:
            InputError: the columns are of other perspectives, or lack agreement though it has a weight.
        """
        names, alpha = tuple(names), dict(self.alpha)
        if AGREEMENT in names:
            alpha.setdefault(AGREEMENT, 0.0)
        elif weight := alpha.pop(AGREEMENT, 0.0):
            raise InputError(
                f"{source}: {AGREEMENT!r} has the weight {weight:.4g}, but the scores have no such column; score with "
                "a bundle that declares it, or name the perspective it rests on (Reranker's agreement)."
            )
        weights = replace(self, alpha=alpha)
        weights.check_perspectives(names, source)
        return weights

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able dictionary; `from_dict` gives the same weights back."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], source: str = "weights") -> Weights:
        """Weights from what `to_dict` gave. Raises InputError naming `source` and the unknown or missing key."""
        unknown = set(values) - {item.name for item in fields(cls)}
        if unknown or not isinstance(values.get("alpha"), Mapping):
            fault = f"unknown key {sorted(unknown)[0]!r}" if unknown else "no alpha of the form {perspective: number}"
            known = ", ".join(item.name for item in fields(cls))
            raise InputError(f"{source}: {fault}; a weights file has the keys {known}.")
        try:
            return cls(**values)
        except (InputError, TypeError) as error:
            raise InputError(f"{source}: {error}") from error

    def save(self, path: str | Path) -> None:
        """Write a JSON file, atomically."""
        write_json(path, self.to_dict())

    @classmethod
    def load(cls, which: str | Path) -> Weights:
        """Weights by the name of a published set (such as ``rawal-baral-2020``) or from a JSON file."""
        if str(which) in PUBLISHED:
            return PUBLISHED[str(which)]
        if not Path(which).is_file():
            raise InputError(
                f"weights {str(which)!r}: no such file; give a JSON file or one of {', '.join(PUBLISHED)}."
            )
        return cls.from_dict(read_json(which), str(which))


PUBLISHED = {
    "rawal-baral-2020": Weights(
        alpha={"relevance": 0.6123, "sts": 0.2664, "sia": 0.0785},
        alpha_context=0.9879,
        beta_bm25=0.0002,
        beta_sentences=0.8523,
        w=(0.9938, 0.0338, 0.0271),
        context="fixpoint",
        made_by={"source": "Rawal & Baral, Multi-Perspective Semantic Information Retrieval (2020), Table 5"},
    )
}
