"""What a perspective is, and how a name in a bundle becomes one."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, TypeVar, get_args

import numpy as np

from mpir.errors import InputError, format_names, format_value, shortened
from mpir.io.hash import fingerprint
from mpir.perspectives.column import Column, Level, Role
from mpir.text.types import Pair
from mpir.types import F32, F64, I64, Bool, Float

if TYPE_CHECKING:
    from mpir.perspectives.cache import ScoreCache

ENTRY_POINTS = "mpir.perspectives"
ScoredBy = Literal["shared", "score_with_cache", "score_pairs", "score"]
"""The methods by which a class may give its scores, the fastest first."""


class SharedModel(Protocol):
    """A model that several perspectives read: it sees a pair once, and each of them reads what it put out."""

    def outputs(self, pairs: Sequence[Pair], *, progress: bool = False) -> tuple[F32, Bool]:
        """F32 (N, …) of N pairs, and which (N,) were too long and read in passages."""


class Derived(Protocol):
    """A sentence column that is computed from another column's scores, once those are known."""

    @property
    def name(self) -> str:
        """The column's name."""

    @property
    def rests_on(self) -> str:
        """The name of the sentence column that it needs."""

    @property
    def column(self) -> Column:
        """The column and its role in the blend."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """A JSON-able description of everything it depends on beside the scores that it rests on."""

    def derive(self, texts: Sequence[str], document_of: I64, first: F64, scores: F64) -> F64:
        """The column (N,) from N sentences, their documents, the first stage's scores (D,), and the other column."""


class Perspective:
    """One view of how a text serves a question: a column of scores.

    A subclass sets `name` and answers `score_pairs`, or only `score`, which takes one question at a time.

    `identity` says what the scores depend on (checkpoint hash, settings): two perspectives with the same fingerprint
    must give the same scores. `level` says what it reads: every sentence, or every document as a whole. `role` is
    ``ordering`` for one that orders sentences and is no evidence for their documents. `signed` is True for one whose 0
    means "no statement" and whose sign speaks for or against: the blend never rescales its column. `reads_best_only` is
    True for one of documents that is slow, and so may be asked for the best of them only (rank/document_pass.py).
    `default_weight` is the weight of its column where weights do not name it.
    """

    name: str
    level: Level = "sentence"
    role: Role = "evidence"
    signed: bool = False
    default_weight: float | None = None
    pairs_per_save: int = 4096
    """Pairs that are scored before a cache keeps their scores: a few seconds' work, a minute's on a slow machine."""
    reads_best_only: bool = False
    scored_by: ClassVar[ScoredBy] = "score_pairs"
    """The fastest of the methods that a class defines, else its base class's. It is set where the class is defined."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Note which method a class answers by: what its base class does faster must not bypass its own."""
        super().__init_subclass__(**options)
        if defined := [method for method in get_args(ScoredBy) if method in vars(cls)]:
            cls.scored_by = defined[0]

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Make an instance. Raises TypeError for a class that answers neither method."""
        if cls.score is Perspective.score and cls.score_pairs is Perspective.score_pairs:
            raise TypeError(f"{cls.__name__} defines neither score_pairs nor score; define one of them.")
        return super().__new__(cls)

    @property
    def column(self) -> Column:
        """The column that the scores fill, and its role in the blend."""
        return Column(self.name, self.level, self.role, self.signed)

    def score(self, question: str, sentences: Sequence[str]) -> Float:
        """Score each text for the question, higher is better: shape (len(sentences),), finite; here through pairs."""
        return self.score_pairs([(question, sentence) for sentence in sentences])[0]

    def score_pairs(self, pairs: Sequence[Pair], *, progress: bool = False) -> tuple[F64, Bool]:
        """Scores (N,) of (question, text) pairs, and which (N,) a model read in passages.

        This is how scoring asks. A class that defines only `score` is asked question by question.

        Raises:
            InputError: `score` gave another number of scores than there were texts.
        """
        return score_by_question(self, pairs)

    def score_with_cache(
        self, pairs: Sequence[Pair], cache: ScoreCache | None, *, progress: bool = False
    ) -> tuple[F64, Bool]:
        """`score_pairs`, for a perspective that keeps something about single texts in the cache, such as vectors."""
        return self.score_pairs(pairs, progress=progress)

    def explain(self, question: str, text: str) -> list[str]:
        """What the text's score rests on, in words, one thing at a time; nothing by default."""
        return []

    @property
    def shared(self) -> SharedModel | None:
        """The model whose outputs `read` turns into scores, where there is one that several perspectives may share."""
        return None

    def close(self) -> None:
        """Let go of processes that were started for it; used again, it starts them anew. Nothing by default."""

    def read(self, outputs: F32) -> F64:
        """Scores (N,) from what the `shared` model put out for N pairs."""
        raise NotImplementedError(f"{type(self).__name__} shares no model")

    @property
    def identity(self) -> Mapping[str, Any]:
        """A JSON-able description of everything the scores depend on."""
        return {"name": self.name, "class": f"{type(self).__module__}.{type(self).__qualname__}"}

    @property
    def has_identity(self) -> bool:
        """Whether the class says itself what its scores depend on; only such scores are kept between runs."""
        return type(self).identity is not Perspective.identity

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that identify these scores. Raises InputError for an identity that is no JSON."""
        return self._fingerprint(dict(self.identity))

    @property
    def model_fingerprint(self) -> str:
        """The same for the model's weights alone: what weights of the blend belong to, on any machine.

        Its number format differs between machines, and its configuration and tokenizer are kept whole by the bundle.
        """
        portable = {key: value for key, value in self.identity.items() if key not in ("precision", "settings")}
        return self._fingerprint(portable)

    def _fingerprint(self, identity: Mapping[str, Any]) -> str:
        try:
            return fingerprint(identity)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"perspective {format_value(self.name)} has the identity {format_value(identity)}; expected what "
                f"JSON can hold ({shortened(str(error))})."
            ) from error


def score_by_question(perspective: Perspective, pairs: Sequence[Pair]) -> tuple[F64, Bool]:
    """The scores (N,) that `score` gives for pairs, question by question; it reads nothing in passages (N,).

    Raises:
        InputError: it gave another number of scores than there were texts, or no numbers.
    """
    values = np.zeros(len(pairs))
    for question, members in by_question(pairs):
        texts = [pairs[row][1] for row in members]
        scores = as_numbers(perspective.name, perspective.score(question, texts))
        check_shape(perspective.name, scores, len(members))
        values[members] = scores
    return values, np.zeros(len(pairs), bool)


def by_question(pairs: Sequence[Pair]) -> Iterator[tuple[str, I64]]:
    """Each question of (question, text) pairs, and the rows of its pairs, ascending."""
    rows: dict[str, list[int]] = {}
    for row, (question, _) in enumerate(pairs):
        rows.setdefault(question, []).append(row)
    return ((question, np.array(query_rows, np.int64)) for question, query_rows in rows.items())


def as_numbers(name: str, values: Any) -> F64:
    """What a perspective gave as an array. Raises InputError where that holds something else than numbers."""
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError, RuntimeError) as error:  # the last is torch's, for a tensor with a gradient
        raise InputError(
            f"perspective {format_value(name)} gave {format_value(values)}; expected an array of one number for each "
            f"text ({shortened(str(error))})."
        ) from error


def check_shape(name: str, values: F64, count: int) -> None:
    """Raise InputError unless a perspective gave one score for each of so many texts."""
    if values.shape != (count,):
        raise InputError(
            f"perspective {format_value(name)} gave scores of shape {values.shape} for {count} sentences; expected "
            "one score for each sentence."
        )


@dataclass(slots=True, kw_only=True)
class Loading:
    """What a perspective may need while it is built: its bundle's folder, where and how precisely to compute."""

    folder: Path
    device: str = "auto"
    precision: str = "auto"
    tokens_per_batch: int | None = None
    shared: dict[Any, Any] = field(default_factory=dict)
    """Whatever the perspectives of one bundle have in common, such as an encoder loaded once."""
    trust_code: bool = False
    """Whether a bundle may name code outside registered names and entry points."""


Factory = Callable[[str, Mapping[str, Any], Loading], Perspective]
Registered = TypeVar("Registered", bound=Callable[..., Perspective])
_factories: dict[str, Factory] = {}


def register(type_name: str) -> Callable[[Registered], Registered]:
    """Decorate a Perspective class or a factory, so that bundles can name it as their ``kind``.

    A class takes a bundle entry's other keys as arguments; a factory is called as ``factory(name, options, loading)``.
    """

    def keep(registered: Registered) -> Registered:
        _factories[type_name] = _as_factory(registered)
        return registered

    return keep


def build(type_name: str, name: str, options: Mapping[str, Any], loading: Loading) -> Perspective:
    """Build the perspective that a bundle declares.

    `type_name` is a registered name, an entry point of the group ``mpir.perspectives``, or ``module:attribute``, which
    is imported, and so run, only where `loading` trusts code.

    Raises:
        InputError: nothing goes by that name, or code that is not trusted.
    """
    return _find(type_name, trust_code=loading.trust_code)(name, options, loading)


def _find(type_name: str, *, trust_code: bool) -> Factory:
    if type_name in _factories:
        return _factories[type_name]
    for entry in entry_points(group=ENTRY_POINTS, name=type_name):
        return _as_factory(entry.load())
    if ":" in type_name and trust_code:
        return _as_factory(_import(type_name))
    if ":" in type_name:
        raise InputError(
            f"perspective kind {format_value(type_name)} would run code of that module; if you trust the bundle, say "
            "so with trust_code=True (--trust-code)."
        )
    known = format_names(sorted(_factories))
    raise InputError(
        f"perspective kind {format_value(type_name)} is unknown; expected {known}, an installed entry point of "
        f"{ENTRY_POINTS!r}, or module:attribute."
    )


def _import(type_name: str) -> Any:
    module, _, attribute = type_name.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        message = (
            f"perspective kind {format_value(type_name)} cannot be imported ({error}); install it or correct the name."
        )
        raise InputError(message) from error


def _as_factory(registered: Any) -> Factory:
    """A factory as it is, or a Perspective class wrapped as one, with the options as its arguments."""
    if not (isinstance(registered, type) and issubclass(registered, Perspective)):
        factory: Factory = registered
        return factory

    def create(name: str, options: Mapping[str, Any], loading: Loading) -> Perspective:
        perspective: Perspective = registered(**options)
        perspective.name = name
        return perspective

    return create
