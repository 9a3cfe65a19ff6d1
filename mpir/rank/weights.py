"""The weights of the two sums, as a value: frozen, printable, comparable, saved with what made them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from itertools import accumulate
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args

from mpir.errors import InputError, format_names, format_value
from mpir.io.checksum import verify_checksum, write_json_with_checksum
from mpir.io.hash import fingerprint
from mpir.io.read import found_file, read_json
from mpir.rank.columns import Layout
from mpir.rank.cutoffs import Cutoffs
from mpir.validation import check_choice, real_number

Normalise = Literal["none", "minmax", "zscore"]
RENAMED = {"single": "sentence_list_beta"}
"""Keys that weights of 0.1 had under another name."""
FIRST_STAGE = "bm25"
"""The column that is S_CONTEXT by default, where the weights have it."""
UNTUNED = "untuned"
"""The key of `made_by` that marks weights which no tuning found."""
RECURSIVE = ("document", "fixpoint")
"""The contexts that are S_DOC; any other is the name of a document column."""
RANKS = 3
"""How many of a document's best sentences count in S_DOC by default, as in the paper."""
RESERVED = {"context", *RECURSIVE}
"""Names that no column may have."""


@dataclass(frozen=True)
class Weights:
    """α of the sentence sum, β and w of the document sum (Rawal & Baral 2020, equations 1 and 2, for any columns).

        S_SENT = Σ_k alpha[k]·s_k + alpha_context·S_CONTEXT
        S_DOC  = Σ_k beta[k]·d_k + beta_sentences·Σ_i w[i]·S_SENT(i)

    Ordering columns are part of S_SENT, and not of the S_SENT(i) of S_DOC, which are a document's evidence. `context`
    names S_CONTEXT: a document column of `beta` (the paper's text: ``bm25``, which is the default where `beta` has it);
    ``document`` for S_DOC computed without context; ``fixpoint`` for S_DOC itself, the recursion solved exactly.
    `normalise` is ``minmax`` to map every column of each query to 0-1 first, so that weights compare like with like;
    ``zscore`` to bring every document column of each query to mean 0 and deviation 1 (sentence columns have declared
    scales and stay unchanged); or ``none`` for raw scores, where BM25 in tens outweighs a probability.

    `sentence_list_beta` is for candidate lists of single sentences (at least three in four): β of the document columns
    that it names, the others as in `beta`. Such a list has no context, and ordering columns count as evidence. None:
    such lists are blended like any other.

    `cutoffs` say how many documents and snippets a submission takes by these scores (rank/cutoffs.py); None: ten each.

    `made_by` records how the values were made and takes no part in equality. Weights are immutable and hashable.

    Raises:
        InputError: a value that is not a finite number, an unknown choice, a column of a reserved name or on both
            levels, or weights for which the fixed point does not exist (alpha_context·beta_sentences·Σw must stay
            below 1).
    """

    alpha: Mapping[str, float]
    _: KW_ONLY
    alpha_context: float = 1.0
    beta: Mapping[str, float] = field(default_factory=lambda: {"bm25": 1.0})
    beta_sentences: float = 1.0
    w: tuple[float, ...] = (1.0,) * RANKS
    context: str = ""
    normalise: Normalise = "minmax"
    sentence_list_beta: Mapping[str, float] | None = None
    cutoffs: Cutoffs | None = None
    made_by: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        types = (
            ("alpha", Mapping),
            ("beta", Mapping),
            ("w", Iterable),
            ("sentence_list_beta", Mapping | None),
            ("cutoffs", Cutoffs | Mapping | None),
            ("made_by", Mapping),
        )
        for name, expected in types:
            if not isinstance(getattr(self, name), expected):
                form = "a list of numbers" if name == "w" else "an object"
                raise InputError(f"weights: {name} is {format_value(getattr(self, name))}; expected {form}.")
        for name in ("alpha", "beta", "sentence_list_beta", "made_by"):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, MappingProxyType(dict(value)))
        object.__setattr__(self, "w", tuple(self.w))
        if isinstance(self.cutoffs, Mapping):
            object.__setattr__(self, "cutoffs", Cutoffs.from_dict(self.cutoffs))
        if self.context == "":
            object.__setattr__(self, "context", FIRST_STAGE if FIRST_STAGE in self.beta else "document")
        for name in ("perspectives", "derived"):
            if not isinstance(value := self.made_by.get(name, {}), Mapping):
                raise InputError(f"weights: made_by has {name} {format_value(value)}; expected an object.")
        self._check_names()
        self._check_numbers()
        if self.context == "fixpoint" and self.feedback >= 1:
            raise InputError(
                f"weights: alpha_context·beta_sentences·Σw is {self.feedback:.4g}, but the fixed point exists only "
                "below 1; lower one of them, or choose another context."
            )

    def __hash__(self) -> int:
        halves = (self.alpha, self.beta, self.sentence_list_beta or {})
        scalars = (self.alpha_context, self.beta_sentences, self.w, self.context, self.normalise, self.cutoffs)
        return hash((*(frozenset(half.items()) for half in halves), *scalars))

    def __reduce__(self) -> tuple[Any, ...]:
        return _weights, (self.to_dict(),)  # a read-only view of a dictionary cannot be pickled

    def _check_names(self) -> None:
        if not self.alpha or not self.w:
            raise InputError("weights: alpha needs at least one perspective and w at least one number.")
        for invalid in (
            name for name in (*self.alpha, *self.beta, *(self.sentence_list_beta or ())) if not isinstance(name, str)
        ):
            raise InputError(f"weights: a column is called {format_value(invalid)}; expected a string.")
        for unknown in sorted(set(self.sentence_list_beta or ()) - set(self.beta)):
            raise InputError(
                f"weights: sentence_list_beta names {format_value(unknown)}, which is no column of beta; name one of "
                "those."
            )
        for name in (RESERVED | set(self.beta)) & set(self.alpha) or RESERVED & set(self.beta):
            raise InputError(f"weights: name {format_value(name)} is reserved for another column; rename the column.")
        check_choice("weights: context", self.context, (*self.beta, *RECURSIVE))
        check_choice("weights: normalise", self.normalise, get_args(Normalise))

    def _check_numbers(self) -> None:
        values = {"alpha_context": self.alpha_context, "beta_sentences": self.beta_sentences}
        for half in ("alpha", "beta", "sentence_list_beta"):
            values |= {f"{half}[{name}]": value for name, value in (getattr(self, half) or {}).items()}
        values |= {f"w[{i}]": value for i, value in enumerate(self.w)}
        for name, value in values.items():
            real_number(f"weights: {name}", value, "a finite number")

    @property
    def feedback(self) -> float:
        """The greatest factor with which a document's score returns to itself in the ``fixpoint`` reading."""
        return max(self.alpha_context * self.beta_sentences * total for total in accumulate(self.w))

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that identify what a blended score depends on: weights other than 0, and choices.

        The weights of sentence lists are left out, since a score is calibrated for documents, and so are cut-offs.
        """
        unused = ("made_by", "sentence_list_beta", "cutoffs")
        values = {name: value for name, value in self.to_dict().items() if name not in unused}
        used = {
            half: {name: float(weight) for name, weight in values[half].items() if weight} for half in ("alpha", "beta")
        }
        return fingerprint({**values, **used, "w": list(map(float, self.w))})

    def of_sentence_list(self) -> Weights:
        """Return the weights of sentence lists: those of an ordinary blend without context."""
        beta = {**self.beta, **(self.sentence_list_beta or {})}
        return replace(self, beta=beta, alpha_context=0.0, sentence_list_beta=None)

    @property
    def is_untuned(self) -> bool:
        """Whether mpir made them up, because nothing was tuned."""
        return bool(self.made_by.get(UNTUNED))

    @classmethod
    def untuned(cls, sentences: Iterable[str], documents: Iterable[str] = (FIRST_STAGE,)) -> Weights:
        """Return the weights of a ranking for which nothing is tuned, on comparable scales.

        Each column is mapped to 0-1 within a query. S_DOC is the sum of the document columns and of the best sentence's
        mean over the sentence columns.
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
        """Raise InputError unless exactly these sentence columns are weighted."""
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
        """Raise InputError unless exactly these sentence columns are weighted, and no document column that lacks.

        Document columns that the weights don't name weigh 0: a first stage may give more scores than a blend takes.
        """
        self.check_sentences(layout)
        used = {name for name, value in self.beta.items() if value} | {self.context} - set(RECURSIVE)
        if missing := sorted(used - set(layout.documents)):
            raise InputError(
                f"weights: the weights take the document column {format_value(missing[0])}, but the documents have "
                f"{format_names(layout.documents) or 'none'}; use the weights that belong to the bundle and "
                "first stage."
            )

    def align_to(self, layout: Layout, source: str = "weights") -> Weights:
        """Return the weights for a layout: a column of weight 0 may be missing, an unnamed ordering column weighs 0.

        Raises:
            InputError: the sentence columns differ, or lack one that has a weight.
        """
        alpha = {name: value for name, value in self.alpha.items() if value or name in layout.sentences}
        alpha |= dict.fromkeys(layout.ordering - set(alpha), 0.0)
        weights = replace(self, alpha={name: alpha[name] for name in sorted(alpha, key=layout.sentence_position)})
        weights.check_sentences(layout, source)
        return weights

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able dictionary; `from_dict` gives the same weights back. Cut-offs that are None are left out."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        if self.cutoffs is None:
            del values["cutoffs"]
        else:
            values["cutoffs"] = self.cutoffs.to_dict()
        return {name: dict(value) if isinstance(value, Mapping) else value for name, value in values.items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], source: str = "weights") -> Weights:
        """Weights from what `to_dict` gave, or from the content of a file that `save` wrote.

        Raises:
            ArtefactError: the values do not match the checksum among them.
            InputError: an unknown or missing key or an invalid value; the message begins with `source`.
        """
        if not isinstance(values, Mapping):
            raise InputError(f"{source}: they are {format_value(values)}; expected an object such as to_dict gives.")
        values = verify_checksum(values, source)
        values = {RENAMED.get(name, name): value for name, value in values.items()}
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

    def save(self, path: str | Path) -> None:
        """Write a JSON file with a checksum, atomically."""
        write_json_with_checksum(path, self.to_dict())

    @classmethod
    def load(cls, which: str | Path) -> Weights:
        """Weights by the name of a published set (such as ``rawal-baral-2020``) or from a JSON file."""
        if str(which) in PUBLISHED:
            return PUBLISHED[str(which)]
        if not isinstance(which, str | Path) or found_file(which) is None:
            raise InputError(
                f"weights {format_value(str(which))}: no such file; give a JSON file or one of {', '.join(PUBLISHED)}."
            )
        return cls.from_dict(read_json(which), str(which))


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
