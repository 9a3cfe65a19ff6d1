"""The weights of the two sums: immutable, comparable values with their provenance. Files: files/weights.py."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from itertools import accumulate
from types import MappingProxyType
from typing import Any, Literal, get_args

from mpir.core.checksum import fingerprint, verify_checksum
from mpir.core.columns import Layout
from mpir.core.cutoffs import Cutoffs
from mpir.errors import InputError, format_names, format_value
from mpir.validation import check_choice, real_number

Normalise = Literal["none", "minmax", "zscore"]
FIRST_STAGE = "bm25"
"""The column that is S_CONTEXT by default, if the weights have it."""
UNTUNED = "untuned"
"""The key of `made_by` that marks untuned weights."""
DEVIATIONS = "deviations"
"""The key of `made_by` for the standard deviation of each column inside the questions that weights were tuned on."""
RECURSIVE = ("document", "fixpoint")
"""The contexts that are computed from S_DOC, whatever columns there are; any other is the name of a document column."""
RANKS = 3
"""The default number of a document's best sentences in S_DOC, as in the paper."""
RESERVED = {"context", "fixpoint"}
"""Names that a column cannot have. One may be called "document", and is then never the context."""


@dataclass(frozen=True)
class Weights:
    """α of the sentence sum, β and w of the document sum (Rawal & Baral 2020, equations 1 and 2, for any columns).

        S_SENT = Σ_k alpha[k]·s_k + alpha_context·S_CONTEXT
        S_DOC  = Σ_k beta[k]·d_k + beta_sentences·Σ_i w[i]·S_SENT(i)

    Ordering columns are part of S_SENT, but not of the S_SENT(i) in S_DOC, which are a document's evidence. `context`
    names S_CONTEXT: a document column of `beta` (the paper's text: ``bm25``, which is the default if `beta` has it);
    ``document`` for S_DOC computed without context; ``fixpoint`` for S_DOC itself, the recursion solved exactly.
    `normalise` is ``minmax`` to map every column of each query to 0-1, which makes weights comparable; ``zscore`` to
    bring every document column of each query to mean 0 and deviation 1 (sentence columns have declared scales and stay
    unchanged); or ``none`` for raw scores, with which BM25 values above 10 outweigh a probability.

    `cutoffs` set how many documents and snippets to submit (core/cutoffs.py); None means ten each. `made_by` records
    how the values were made and is ignored in comparisons. Weights are immutable and hashable.

    Raises:
        InputError: a value is not a finite number, a choice is unknown, a column has a reserved name or is on both
            levels, or the fixed point does not exist (alpha_context·beta_sentences·Σw must be below 1).
    """

    alpha: Mapping[str, float]
    _: KW_ONLY
    alpha_context: float = 1.0
    beta: Mapping[str, float] = field(default_factory=lambda: {"bm25": 1.0})
    beta_sentences: float = 1.0
    w: tuple[float, ...] = (1.0,) * RANKS
    context: str = ""
    normalise: Normalise = "minmax"
    cutoffs: Cutoffs | None = None
    made_by: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        types = (
            ("alpha", Mapping),
            ("beta", Mapping),
            ("w", Iterable),
            ("cutoffs", Cutoffs | Mapping | None),
            ("made_by", Mapping),
        )
        for name, expected in types:
            if not isinstance(getattr(self, name), expected):
                form = "a list of numbers" if name == "w" else "an object"
                raise InputError(f"weights: {name} is {format_value(getattr(self, name))}; expected {form}.")
        for name in ("alpha", "beta", "made_by"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        object.__setattr__(self, "w", tuple(self.w))
        if isinstance(self.cutoffs, Mapping):
            object.__setattr__(self, "cutoffs", Cutoffs.from_dict(self.cutoffs))
        if self.context == "":
            object.__setattr__(self, "context", FIRST_STAGE if FIRST_STAGE in self.beta else "document")
        if not isinstance(value := self.made_by.get("perspectives", {}), Mapping):
            raise InputError(f"weights: made_by has perspectives {format_value(value)}; expected an object.")
        self._check_names()
        self._check_numbers()
        if self.context == "fixpoint" and self.feedback >= 1:
            raise InputError(
                f"weights: alpha_context·beta_sentences·Σw is {self.feedback:.4g}, but the fixed point exists only "
                "below 1; lower a factor, or choose another context."
            )

    def __hash__(self) -> int:
        halves = (self.alpha, self.beta)
        scalars = (self.alpha_context, self.beta_sentences, self.w, self.context, self.normalise, self.cutoffs)
        return hash((*(frozenset(half.items()) for half in halves), *scalars))

    def __reduce__(self) -> tuple[Any, ...]:
        return _weights, (self.to_dict(),)  # a read-only view of a dictionary cannot be pickled

    def _check_names(self) -> None:
        if not self.alpha or not self.w:
            raise InputError("weights: alpha needs at least one perspective and w at least one number.")
        for invalid in (name for name in (*self.alpha, *self.beta) if not isinstance(name, str)):
            raise InputError(f"weights: the name of a column is {format_value(invalid)}; expected a string.")
        for name in (RESERVED | set(self.beta)) & set(self.alpha) or RESERVED & set(self.beta):
            raise InputError(f"weights: name {format_value(name)} is reserved for another column; rename the column.")
        check_choice("weights: context", self.context, (*self.beta, *RECURSIVE))
        check_choice("weights: normalise", self.normalise, get_args(Normalise))

    def _check_numbers(self) -> None:
        values = {"alpha_context": self.alpha_context, "beta_sentences": self.beta_sentences}
        for half in ("alpha", "beta"):
            values |= {f"{half}[{name}]": value for name, value in getattr(self, half).items()}
        values |= {f"w[{i}]": value for i, value in enumerate(self.w)}
        for name, value in values.items():
            real_number(f"weights: {name}", value, "a finite number")

    @property
    def feedback(self) -> float:
        """The factor by which a document's score feeds back into itself through the ``fixpoint`` context."""
        return max(self.alpha_context * self.beta_sentences * total for total in accumulate(self.w))

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that identify the values a blended score depends on: nonzero weights and options.

        The cut-offs are left out: calibration is for the scores of documents.
        """
        unused = ("made_by", "cutoffs")
        values = {name: value for name, value in self.to_dict().items() if name not in unused}
        used = {
            half: {name: float(weight) for name, weight in values[half].items() if weight} for half in ("alpha", "beta")
        }
        return fingerprint({**values, **used, "w": list(map(float, self.w))})

    def within_query(self) -> Weights:
        """Return weights of z-scores that stand for these weights of raw columns, by the columns' usual deviations.

        Weights that are not of raw columns, or whose deviations are unknown, are returned unchanged.
        """
        deviations = self.made_by.get(DEVIATIONS)
        if self.normalise != "none" or not deviations:
            return self
        beta = {name: weight * deviations.get(name, 1.0) for name, weight in self.beta.items()}
        alpha_context = self.alpha_context * deviations.get(self.context, 1.0)
        return replace(self, beta=beta, alpha_context=alpha_context, normalise="zscore")

    @property
    def is_untuned(self) -> bool:
        """Whether these are default weights, because none were tuned."""
        return bool(self.made_by.get(UNTUNED))

    @classmethod
    def untuned(cls, sentences: Iterable[str], documents: Iterable[str] = (FIRST_STAGE,)) -> Weights:
        """Return default weights for columns that nothing was tuned on.

        Each column is mapped to 0-1 within a query. S_DOC is the sum of the document columns plus the mean of the
        sentence columns of the best sentence.
        """
        alpha, beta = tuple(sentences), tuple(documents)
        return cls(
            dict.fromkeys(alpha, 1 / max(1, len(alpha))),
            alpha_context=0.0,
            beta=dict.fromkeys(beta, 1.0),
            beta_sentences=1.0,
            w=(1.0,) + (0.0,) * (RANKS - 1),
            normalise="minmax",
            made_by={UNTUNED: True},
        )

    @classmethod
    def equal(
        cls, sentences: Iterable[str], documents: Iterable[str] = (FIRST_STAGE,), *, context: str = ""
    ) -> Weights:
        """Return equal weights of columns mapped to 0-1, adding up to 1 in each sum."""
        alpha, beta = tuple(sentences), tuple(documents)
        alpha_share, beta_share = 1 / (len(alpha) + 1), 1 / (len(beta) + 1)
        return cls(
            dict.fromkeys(alpha, alpha_share),
            alpha_context=alpha_share,
            beta=dict.fromkeys(beta, beta_share),
            beta_sentences=beta_share,
            w=(1 / RANKS,) * RANKS,
            context=context,
            normalise="minmax",
            made_by={UNTUNED: True},
        )

    def check_sentences(self, layout: Layout, source: str = "weights") -> None:
        """Raise InputError unless exactly the layout's sentence columns have weights."""
        expected, weighted = set(layout.sentences), set(self.alpha)
        if expected < weighted:
            name = sorted(weighted - expected)[0]
            raise InputError(
                f"{source}: {format_value(name)} has the weight {self.alpha[name]:.4g}, but the scores have no such "
                "column; score with a bundle that has it, or use the weights that belong to this one."
            )
        if expected != weighted:
            raise InputError(
                f"{source}: the weights are for the perspectives {format_names(sorted(weighted))}, but the scores are "
                f"from {format_names(sorted(expected))}; use the weights that belong to the bundle."
            )

    def check_columns(self, layout: Layout) -> None:
        """Raise InputError unless exactly the layout's sentence columns have weights, and no missing document column.

        Document columns that the weights don't name weigh 0: a first stage may return more scores than a blend uses.
        """
        self.check_sentences(layout)
        used = {name for name, value in self.beta.items() if value} | {self.context} - set(RECURSIVE)
        if missing := sorted(used - set(layout.documents)):
            raise InputError(
                f"weights: the weights need the document column {format_value(missing[0])}, but the documents have "
                f"{format_names(layout.documents) or 'none'}; use the weights that belong to the bundle and "
                "first stage."
            )

    def align_to(self, layout: Layout, source: str = "weights") -> Weights:
        """Return the weights for a layout: without missing columns of weight 0, with 0 for unnamed ordering columns.

        Raises:
            InputError: the sentence columns differ, or a column with a nonzero weight is missing.
        """
        alpha = {name: value for name, value in self.alpha.items() if value or name in layout.sentences}
        alpha |= dict.fromkeys(layout.ordering - set(alpha), 0.0)
        weights = replace(self, alpha={name: alpha[name] for name in sorted(alpha, key=layout.sentence_position)})
        weights.check_sentences(layout, source)
        return weights

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able dictionary; `from_dict` restores the weights. Cut-offs that are None are left out."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        if self.cutoffs is None:
            del values["cutoffs"]
        else:
            values["cutoffs"] = self.cutoffs.to_dict()
        return {name: dict(value) if isinstance(value, Mapping) else value for name, value in values.items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], source: str = "weights") -> Weights:
        """Return the weights that `to_dict` wrote, with or without a checksum.

        Raises:
            ArtefactError: the values do not match their checksum.
            InputError: a key is unknown or missing, or a value is invalid; `source` begins the message.
        """
        if not isinstance(values, Mapping):
            raise InputError(f"{source}: got {format_value(values)}; expected an object such as to_dict returns.")
        values = verify_checksum(values, source)
        unknown = set(values) - {item.name for item in fields(cls)}
        if unknown or not isinstance(values.get("alpha"), Mapping):
            fault = (
                f"unknown key {format_value(min(map(str, unknown)))}"
                if unknown
                else "no alpha of the form {name: number}"
            )
            known = ", ".join(item.name for item in fields(cls))
            raise InputError(f"{source}: {fault}; a weights file has the keys {known}.")
        try:
            return cls(**values)
        except (InputError, TypeError) as error:
            raise InputError(f"{source}: {str(error).removeprefix('weights: ')}") from error


def _weights(values: Mapping[str, Any]) -> Weights:
    return Weights(**values)


PUBLISHED = {
    "rawal-baral-2020": Weights(
        alpha={"relevance": 0.6123, "sts": 0.2664, "sia": 0.0785},
        alpha_context=0.9879,
        beta={"bm25": 0.0002},
        beta_sentences=0.8523,
        w=(0.9938, 0.0338, 0.0271),
        context="fixpoint",
        normalise="none",
        made_by={"source": "Rawal & Baral, Multi-Perspective Semantic Information Retrieval (2020), Table 5"},
    )
}
