"""Train bi-encoders on the annotator's labels.

An entry is a sentence of a report and a finding that it affirms ("edema") or denies ("no edema"), by lexicon and NegEx.
Training is as in the paper (Shi, Syeda-Mahmood & Baldwin 2022): triplets, cosine distance, margin 0.5, the negative
found by the trainer (mpir/lab/train/sampling.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.common.baselines import Start
from experiments.radiology.reports import HALVES, read_openi
from mpir.lab.annotate import Lexicon, NegEx
from mpir.lab.annotate.pairs import lexicon_pairs, report_sentences
from mpir.lab.train.examples import Example
from mpir.lab.train.losses import loss_named
from mpir.lab.train.mixture import Task
from mpir.lab.train.sampling import Sampling
from mpir.lab.train.settings import TrainingSettings

FEWEST = 5


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
    print(f"{len({item.question for item in examples})} queries, {len(examples)} entries", flush=True)
    return train(
        examples, sampling, folder, TrainingSettings(checkpoint=Start(checkpoint).encoder.checkpoint, **settings)
    )


def read_entries(path: Path, lexicon: Path, names: Sequence[str] = HALVES) -> list[Example]:
    """Yield a positive pair for each query with five or more, and each unique sentence that states it.

    Raises:
        InputError: as `read_openi`.
    """
    halves = read_openi(path)
    reports = [report for name in names for report in halves[name].reports]
    answers = lexicon_pairs(report_sentences(reports), Lexicon.load(lexicon), NegEx.load(), fewest=FEWEST)
    return [
        Example(group=query, question=query, sentence=text, label=1.0)
        for query, texts in answers.items()
        for text in texts
    ]


def train(examples: Sequence[Example], sampling: Sampling, folder: Path, settings: TrainingSettings) -> Path:
    """Train a bi-encoder, and return the folder of its last checkpoint."""
    from mpir.lab.train.trainer import FineTuner

    first, last = examples[0], examples[-1]
    dev = [
        first,
        Example(group=first.group, question=first.question, sentence=last.sentence, label=0.0),
    ]  # a run wants some
    groups = [[example] for example in examples]
    task = Task(
        name="polarity", losses=(loss_named("triplet(margin=0.5)"),), train=((groups, 1.0),), dev=dev, sampling=sampling
    )
    tuner = FineTuner(settings, [task], folder)
    best = tuner.run()
    print(f"{len(tuner.batches)} steps, {tuner.sampler.skipped} pairs without a negative", flush=True)
    return best
