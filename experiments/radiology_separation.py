"""Part D of experiments/radiology.py: bi-encoders trained on the annotator's labels, asked about people's polarity.

Measured is how much nearer a sentence of clinical notes is to the query of the polarity that people gave it, "C" or
"no C", than to the opposite one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from free_baselines import Start
from radiology_data import TABLE, read_judged
from radiology_training import trained
from tabulate import tabulate

from mpir.evaluate import bootstrap_interval, holm, randomisation_test
from mpir.models.encoder import Encoder
from mpir.text.normalise import normalise
from mpir.train.sampling import Sampling
from mpir.types import F64

JUDGED = "negex/rsAnnotations-1-120-random.txt"
KINDS = ("affirmed", "negated")
HEADS = ("", "people say", "rows", "separation", "mean, 95 %", "above 0", "p")


def run(
    data: Path,
    lexicon: Path,
    folder: Path,
    samplings: Sequence[Sampling],
    settings: dict[str, Any],
    *,
    checkpoint: Path | None,
) -> int:
    """Train on all entries by each sampling, and print the separation of the start encoder and of the trained ones."""
    found = {"start encoder": gaps_of(Start(checkpoint).encoder, data / JUDGED)}
    for sampling in samplings:
        place = folder / f"{sampling.negatives}-{sampling.among}"
        best = trained(data, lexicon, place, sampling, settings, checkpoint=checkpoint)
        found[f"trained, {sampling}"] = gaps_of(Encoder(best), data / JUDGED)
    print(tabulate(list(separations(found)), HEADS, **TABLE))
    return 0


def separations(found: Mapping[str, Gaps]) -> Iterator[tuple[str, ...]]:
    """The rows of the table: every system on what people affirm and on what they deny, with p against the last system.

    p is of a paired randomisation test over sentences, as what one sentence says is not independent, after Holm.
    """
    last = next(reversed(found))
    pairs = [(system, kind) for system in found for kind in KINDS if system != last]
    tests = [randomisation_test(found[last].by_sentence(kind), found[name].by_sentence(kind)) for name, kind in pairs]
    p_values = dict(zip(pairs, holm(tests), strict=True))
    for system, kind in product(found, KINDS):
        values = found[system].of(kind)
        low, high = bootstrap_interval(values)
        spread, share = f"{values.mean():.3f} ± {values.std():.3f}", f"{(values > 0).mean():.3f}"
        p = f"{p_values[system, kind]:.5f}" if system != last else ""
        yield system, kind, str(len(values)), spread, f"{low:.3f}-{high:.3f}", share, p


class Gaps(NamedTuple):
    """How much nearer each row's sentence is to the query of its polarity (N,), which are negated, and its sentence."""

    values: F64
    negated: npt.NDArray[np.bool_]
    sentence_of: npt.NDArray[np.int64]

    def of(self, kind: str) -> F64:
        """The gaps of the rows that people affirm, or deny."""
        return self.values[self.negated == (kind == "negated")]

    def by_sentence(self, kind: str) -> F64:
        """Their sums, sentence by sentence."""
        rows = self.negated == (kind == "negated")
        _, sentence_of = np.unique(self.sentence_of[rows], return_inverse=True)
        return np.bincount(sentence_of, self.values[rows])


def gaps_of(encoder: Encoder, path: Path) -> Gaps:
    """Cosine with the query of the labelled polarity less that with the opposite one.

    Rows whose condition is the whole sentence, or is not in it, are left out.
    """
    rows = [row for row in read_judged(path) if row.span and normalise(row.sentence) != normalise(row.condition)]
    conditions = [" ".join(row.condition.lower().split()) for row in rows]
    parts = zip(conditions, rows, strict=True)
    texts = [text for one, row in parts for text in (one, f"no {one}", row.sentence.lower())]
    vectors, text_of = encoder.vectors(texts)
    first = vectors[np.searchsorted(text_of, np.arange(len(texts)))].reshape(len(rows), 3, -1)
    yes, no = (np.einsum("nw,nw->n", first[:, side], first[:, 2]) for side in (0, 1))
    negated = np.array([row.negated for row in rows])
    _, sentence_of = np.unique([row.sentence.casefold() for row in rows], return_inverse=True)
    return Gaps(np.where(negated, no - yes, yes - no).astype(np.float64), negated, sentence_of)
