"""Part D of experiments/radiology.py: a bi-encoder trained on the annotator's labels, asked about people's polarity.

An entry is a sentence of a report and a finding that it affirms ("edema") or denies ("no edema"), by lexicon and NegEx.
Training is as in the paper (Shi, Syeda-Mahmood & Baldwin 2022): triplets, cosine distance, margin 0.5, the negative
found by the trainer (mpir/train/sampling.py). Measured is how much nearer a sentence of clinical notes is to the query
of the polarity that people gave it, "C" or "no C", than to the opposite one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from free_baselines import Start
from radiology_data import HALVES, read_judged, read_openi
from tabulate import tabulate

from mpir.annotate import Lexicon, Mention, NegEx, annotate
from mpir.evaluate import bootstrap_interval
from mpir.models.encoder import Encoder
from mpir.text.normalise import normalise
from mpir.text.split import sentences
from mpir.train.data import Task
from mpir.train.losses import loss_named
from mpir.train.rows import Example
from mpir.train.sampling import Sampling
from mpir.train.settings import TrainingSettings

Floats = npt.NDArray[np.float64]
LEAST = 5
TABLE: dict[str, Any] = {"tablefmt": "github", "disable_numparse": True}


def run(
    data: Path, lexicon: Path, folder: Path, sampling: Sampling, settings: dict[str, Any], *, checkpoint: Path | None
) -> int:
    """Train on all entries, and print the separation of the start encoder and of the trained one."""
    best = trained(data, lexicon, folder, sampling, settings, checkpoint=checkpoint)
    rows = []
    for system, encoder in (("start encoder", Start(checkpoint).encoder), (f"trained, {sampling}", Encoder(best))):
        gaps, negated = gaps_of(encoder, data / "negex/rsAnnotations-1-120-random.txt")
        for kind, values in (("affirmed", gaps[~negated]), ("negated", gaps[negated])):
            low, high = bootstrap_interval(values)
            spread, share = f"{values.mean():.3f} ± {values.std():.3f}", f"{(values > 0).mean():.3f}"
            rows.append((system, kind, len(values), spread, f"{low:.3f}-{high:.3f}", share))
    print(tabulate(rows, ("", "people say", "rows", "separation", "mean, 95 %", "above 0"), **TABLE))
    return 0


def trained(
    data: Path,
    lexicon: Path,
    folder: Path,
    sampling: Sampling,
    settings: dict[str, Any],
    *,
    checkpoint: Path | None,
    names: Sequence[str] = HALVES,
) -> Path:
    """Train on the entries of some halves of OpenI's reports; the folder of the checkpoint."""
    examples = read_entries(data / "openi/indiana_reports.csv", lexicon, names)
    print(f"{len({one.question for one in examples})} queries, {len(examples)} entries", flush=True)
    return train(examples, sampling, folder, TrainingSettings(Start(checkpoint).encoder.checkpoint, **settings))


def read_entries(path: Path, lexicon: Path, names: Sequence[str] = HALVES) -> list[Example]:
    """A positive pair for every query and every unique sentence of some halves that says so; queries of five or more.

    Raises:
        InputError: as `read_openi`.
    """
    halves = read_openi(path)
    reports = [report for name in names for report in halves[name].reports]
    texts = list(dict.fromkeys(one.text.lower() for report in reports for one in sentences(report, style="report")))
    found: dict[str, dict[str, None]] = {}
    mentions = annotate(texts, Lexicon.load(lexicon), negation=NegEx.load())
    for text, several in zip(texts, mentions, strict=True):
        for query in filter(None, map(_query, several)):
            found.setdefault(query, {})[text] = None
    kept = {query: found[query] for query in sorted(found) if len(found[query]) >= LEAST}
    return [Example(query, query, text, 1.0) for query, answers in kept.items() for text in answers]


def _query(mention: Mention) -> str | None:
    return {"affirmed": mention.concept, "negated": f"no {mention.concept}"}.get(mention.status)


def train(examples: Sequence[Example], sampling: Sampling, folder: Path, settings: TrainingSettings) -> Path:
    """Train a bi-encoder; the folder of its checkpoint. Nothing is chosen: the last weights are kept."""
    from mpir.train.loop import FineTuner

    first, last = examples[0], examples[-1]
    dev = [first, Example(first.group, first.question, last.sentence, 0.0)]  # a run wants some
    groups = [[example] for example in examples]
    task = Task("polarity", (loss_named("triplet(margin=0.5)"),), ((groups, 1.0),), dev, sampling=sampling)
    tuner = FineTuner(settings, [task], folder)
    best = tuner.run()
    print(f"{len(tuner.batches)} steps, {tuner.skipped} pairs without a negative", flush=True)
    return best


def gaps_of(encoder: Encoder, path: Path) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Cosine with the query of the labelled polarity less that with the opposite one (N,), and which are negated.

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
    return np.where(negated, no - yes, yes - no).astype(np.float64), negated
