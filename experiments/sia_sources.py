"""Judge each source of SIA data by what an SIA perspective trained on it does on dev.

    python experiments/sia_sources.py --data DATA --vectors runs/vectors --checkpoint ENCODER \\
        --output runs/sia-sources
    python experiments/sia_sources.py … --writer GPT2 --written 3000

Generates SIA data from QASC and from BioASQ `train`, and from the `dev` questions to judge by; trains, with each seed,
one small perspective on as many rows of each source; and prints for each source (1) Spearman's correlation with labels
of every source that are held out, and with those of people (annotated.py), and (2) what the perspective adds to
relevance and STS when the sentences of golden documents are ranked: MAP as in sentence_ranking.py, the blend's weights
chosen on one half of the dev questions and measured on the other. A figure is the mean over the seeds, with the least
and the most; p is that of the questions' mean gains. A seed decides which rows a model sees, in which order, and its
new output's first weights; the data are generated once. With --writer, a causal language model is trained on QASC's
training rows and writes for sentences of BioASQ `train`'s snippets: one more source. Finished parts are kept: the same
command goes on, also with more seeds.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, astuple, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from annotated import read_annotated
from scipy.stats import spearmanr
from seeds import check_seeds, spread
from sentence_ranking import average_precision, golden_questions, known_documents, relevant
from tabulate import tabulate

from mpir.cli import guarded
from mpir.cli.number_options import not_negative, positive
from mpir.errors import InputError
from mpir.evaluate import randomisation_test
from mpir.io.hash import fingerprint
from mpir.io.read import read_json, read_json_lines
from mpir.io.write import atomic_write, write_json
from mpir.models.encoder import Encoder
from mpir.perspectives import Perspective, open_bundle, score_pairs
from mpir.perspectives.cross_encoder import CrossEncoderPerspective
from mpir.rank.reranker import Reranker
from mpir.sia.pipeline import Generation
from mpir.sia.rows import one_line
from mpir.sia.settings import GenerationSettings
from mpir.train.examples import Example
from mpir.train.losses import LOSSES
from mpir.train.mixture import Task
from mpir.train.settings import TrainingSettings as Training
from mpir.train.trainer import FineTuner
from mpir.types import F64

Score = Callable[[Sequence[tuple[str, str]]], F64]
Judged = tuple[Path, Score]
"""Where a perspective's figures are kept, and its scores of pairs."""
FAMILIES = {
    "qasc": ("combined", "partial", "similar", "swap-combined", "swap-partial"),
    "graded": ("golden", "fragment", "cut", "beside", "wrong"),
    "coverage": ("coverage",),
}
SOURCES = {
    "paper": FAMILIES["qasc"],
    "paper without swaps": ("combined", "partial", "similar"),
    "graded": FAMILIES["graded"],
    "coverage": FAMILIES["coverage"],
    "all": FAMILIES["qasc"] + FAMILIES["graded"] + FAMILIES["coverage"],
}
WRITTEN = ("generated-combined", "generated-partial", "generated-similar")
WRITTEN_STEPS = ("combined", "partial", "similar", "generated")
WEIGHTS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
"""What the blend's weights of STS and SIA are chosen from; relevance has 1."""
DEV_ROWS = 300


def main() -> int:
    """Generate, train, judge, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with bioasq/, pubmed/, qasc/, scitail/ …")
    parser.add_argument("--vectors", required=True, help="word vectors, for the swaps")
    parser.add_argument("--checkpoint", required=True, help="encoder to train from: a folder or hub name")
    parser.add_argument("--bundle", default="default", help="relevance and STS (%(default)s)")
    parser.add_argument("--output", type=Path, required=True, help="folder for data, models and figures")
    parser.add_argument("--rows", type=positive, default=3000, help="training rows of each source (%(default)s)")
    parser.add_argument("--epochs", type=positive, default=6, help="passes over them (%(default)s)")
    parser.add_argument("--questions", type=positive, metavar="N", help="only the first N BioASQ questions")
    parser.add_argument("--writer", metavar="CHECKPOINT", help="causal checkpoint: also judge what it writes")
    parser.add_argument(
        "--written", type=positive, default=3000, metavar="N", help="sentences that it writes for (%(default)s)"
    )
    parser.add_argument("--seeds", type=not_negative, nargs="+", default=[1, 2, 3], metavar="N", help="default: 1 2 3")
    arguments = parser.parse_args()
    return guarded("sia_sources", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """The whole judgement."""
    check_seeds(arguments.seeds)
    train, dev = data(arguments)
    yardstick = Yardstick(arguments)
    figures = {
        name: summary([judged(kept, score, dev, yardstick) for kept, score in perspectives])
        for name, perspectives in [*references(arguments), *trained(arguments, train, dev)]
    }
    print(f"{yardstick.questions} questions; relevance + STS without SIA: MAP {yardstick.base.mean():.4f}\n")
    lines = [[name, *map(spread, found.values())] for name, found in figures.items()]
    print(tabulate(lines, ["source", *next(iter(figures.values()))], tablefmt="github", disable_numparse=True))
    write_json(arguments.output / "figures.json", figures)
    return 0


def judged(kept: Path, score: Score, dev: dict[str, list[Example]], yardstick: Yardstick) -> dict[str, Any]:
    """A perspective's figures, and each question's gain, from the file where they are kept for the same rows."""
    judges = fingerprint({"dev": {name: list(map(astuple, rows)) for name, rows in dev.items()}, **yardstick.identity})
    if not kept.exists() or read_json(kept).get("judges") != judges:
        alone, blended = yardstick.measure(score)
        gains = blended - yardstick.base
        figures = {f"ρ {family}": correlation(score, rows) for family, rows in dev.items()}
        figures |= {"MAP alone": alone.mean(), "MAP with": blended.mean(), "gain": gains.mean()}
        write_json(kept, {"judges": judges, "figures": figures, "gains": gains.tolist()})
    found: dict[str, Any] = read_json(kept)
    return found


def summary(found: list[dict[str, Any]]) -> dict[str, list[float]]:
    """A source's figures by name, one for each of its perspectives; and one p-value, of the questions' mean gains."""
    gains = np.mean([one["gains"] for one in found], axis=0)
    figures = {name: [one["figures"][name] for one in found] for name in found[0]["figures"]}
    return {**figures, "p": [randomisation_test(gains, np.zeros_like(gains))]}


def data(arguments: argparse.Namespace) -> tuple[dict[str, list[Example]], dict[str, list[Example]]]:
    """Training rows by method, and dev rows by family: QASC questions held out, and BioASQ's dev questions."""
    people = read_annotated(arguments.data, "dev")
    folder, shared = arguments.data, {"bundle": arguments.bundle}
    golden = {n: tuple(map(str, sorted((folder / "bioasq").glob(f"{n}B*_golden.json")))) for n in (5, 6, 7, 11)}
    limited = {**shared, "limit": arguments.questions}
    limited["corpus"] = (str(folder / "pubmed/abstracts.jsonl"),)
    settings = {
        "qasc": GenerationSettings(qasc=str(folder / "qasc/dev.jsonl"), vectors=arguments.vectors, **shared),
        "bioasq": GenerationSettings(
            bioasq=(str(folder / "bioasq/training.json"),), exclude=sum(golden.values(), ()), **limited
        ),
        "dev": GenerationSettings(bioasq=golden[5], **limited),
    }
    files = {name: generated(one, arguments.output / name) for name, one in settings.items()}
    training, judging = [files["qasc"][0], *files["bioasq"]], [files["qasc"][1], *files["dev"]]
    chooser = random.Random(0)
    by_method, held = rows_by_method(training), rows_by_method(judging)
    dev = {family: [row for method in methods for row in held.get(method, [])] for family, methods in FAMILIES.items()}
    dev = {name: chooser.sample(rows, min(DEV_ROWS, len(rows))) for name, rows in dev.items()}
    if arguments.writer:
        rows = training_part(folder / "qasc/dev.jsonl", files["qasc"][1], arguments.output / "qasc.train.jsonl")
        written = replace(settings["bioasq"], steps=WRITTEN_STEPS, qasc=str(rows), writer=arguments.writer, limit=None)
        written = replace(written, sources=written.bioasq, sentences=arguments.written)
        found = rows_by_method(generated(written, arguments.output / "written"))
        by_method |= {method: found.get(method, []) for method in WRITTEN}  # the others are QASC's once more
    return by_method, dev | people


def generated(settings: GenerationSettings, folder: Path) -> list[Path]:
    """The files of training and dev rows of a generation; of its steps those are made anew whose settings changed."""
    Generation(settings, folder, resume=True, progress=sys.stderr.isatty()).run()
    return [folder / f"{split}.jsonl" for split in ("train", "dev")]


def training_part(qasc: Path, held: Path, target: Path) -> Path:
    """QASC's rows without the questions that are held out to judge by, so that no writer learns from those."""
    queries = {row["query"] for _, row in read_json_lines(held)}
    with atomic_write(target) as stream:
        for _, item in read_json_lines(qasc):
            if one_line(item["question"]["stem"]) not in queries:
                stream.write(json.dumps(item) + "\n")
    return target


def rows_by_method(paths: Iterable[Path]) -> dict[str, list[Example]]:
    """The rows of some files."""
    found: dict[str, list[Example]] = {}
    for path in paths:
        for _, r in read_json_lines(path):
            row = Example(r["query"], r["query"], r["sentence"], float(r["sia_score"]))
            found.setdefault(r["method"], []).append(row)
    return found


def references(arguments: argparse.Namespace) -> Iterator[tuple[str, list[Judged]]]:
    """The bundle's own perspectives, to compare with."""
    for perspective in open_bundle(arguments.bundle).perspectives():
        if perspective.name != "sts":
            kept = arguments.output / f"{perspective.name}-{perspective.fingerprint}.json"
            yield f"bundle: {perspective.name}", [(kept, scorer(perspective))]


def trained(
    arguments: argparse.Namespace, train: dict[str, list[Example]], dev: dict[str, list[Example]]
) -> Iterator[tuple[str, Iterator[Judged]]]:
    """For each source a perspective for each seed, trained on a random sample of the source's rows."""
    for name, methods in (SOURCES | ({"written": WRITTEN} if arguments.writer else {})).items():
        rows = [row for method in methods for row in train.get(method, [])]
        if not rows:
            raise InputError(f"source {name!r}: no rows were generated; look at the reports in {arguments.output}.")
        folder = arguments.output / f"models-{arguments.epochs}x{arguments.rows}" / name.replace(" ", "-")
        models = partial(model, arguments, rows, dev["graded"][:200], folder)
        yield f"{name} ({min(arguments.rows, len(rows)):,})", map(models, arguments.seeds)


def model(arguments: argparse.Namespace, rows: list[Example], dev: list[Example], parent: Path, seed: int) -> Judged:
    """A perspective trained on some of the rows, unless that very one stands in the seed's folder."""
    folder, never = parent / str(seed), 10**9
    chosen = random.Random(seed).sample(rows, min(arguments.rows, len(rows)))
    settings = Training(arguments.checkpoint, learning_rate=1e-4, seed=seed, evaluate_every=never, save_every=never)
    made_by = {"made_by": fingerprint({"rows": list(map(astuple, chosen)), "settings": asdict(settings)})}
    if not (folder / "done.json").exists() or read_json(folder / "done.json") != made_by:
        shutil.rmtree(folder, ignore_errors=True)
        task = Task("sia", (LOSSES["mse4"],), (([[row] for row in chosen], arguments.epochs),), dev)
        FineTuner(settings, [task], folder).run(progress=sys.stderr.isatty())
        write_json(folder / "done.json", made_by)
    perspective = CrossEncoderPerspective("sia", Encoder(folder / "best"), scale="0-4")
    return folder / "judged.json", scorer(perspective)


def scorer(perspective: Perspective) -> Score:
    """The scores of a perspective for pairs."""
    return lambda pairs: score_pairs([perspective], pairs).values[:, 0]


def correlation(score: Score, rows: list[Example]) -> float:
    """Spearman's rank correlation of scores and labels."""
    values = score([(row.question, row.sentence) for row in rows])
    return float(spearmanr(values, [row.label for row in rows])[0])


class Yardstick:
    """The sentences of dev questions' golden documents, scored by relevance and STS once."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        questions = golden_questions(arguments.data, "dev")[: arguments.questions]
        reranker = Reranker(arguments.bundle)
        scored = reranker.score([q.body for q in questions], known_documents(arguments.data, questions))
        labelled = [(one, relevant(question, one)) for question, one in zip(questions, scored, strict=True)]
        kept = [(one, labels) for one, labels in labelled if labels.any()]
        self.labels = [labels for _, labels in kept]
        self.pairs = [(one.query, sentence.text) for one, _ in kept for sentence in one.sentences]
        self.starts = np.cumsum([0, *(len(labels) for labels in self.labels)])
        self.columns: dict[str, F64] = {
            name: np.concatenate([one.columns.sentence(name) for one, _ in kept])
            for name in kept[0][0].columns.layout.sentences
        }
        self.questions = len(kept)
        self.identity = {"pairs": self.pairs, "columns": {name: x.tolist() for name, x in self.columns.items()}}
        self.base = self._crossed([(sts, 0.0) for sts in WEIGHTS], np.zeros(len(self.pairs)))

    def measure(self, score: Score) -> tuple[F64, F64]:
        """Each question's average precision by a perspective alone, and by relevance, STS and it."""
        sia = score(self.pairs)
        return self._precision(sia), self._crossed(list(product(WEIGHTS, WEIGHTS)), sia)

    def _crossed(self, choices: list[tuple[float, float]], sia: F64) -> F64:
        """Average precision of each question, with the weights that are best for the other half of the questions."""
        tried = np.array([self._precision(self._blend(a, b, sia)) for a, b in choices])
        first = np.arange(self.questions) % 2 == 0
        best = [tried[:, half].mean(axis=1).argmax() for half in (~first, first)]
        crossed: F64 = np.where(first, tried[best[0]], tried[best[1]])
        return crossed

    def _blend(self, sts_weight: float, sia_weight: float, sia: F64) -> F64:
        blended: F64 = self.columns["relevance"] + sts_weight * self.columns["sts"] + sia_weight * sia
        return blended

    def _precision(self, values: F64) -> F64:
        parts = np.split(values, self.starts[1:-1])
        return np.array([average_precision(part, labels) for part, labels in zip(parts, self.labels, strict=True)])


if __name__ == "__main__":
    sys.exit(main())
