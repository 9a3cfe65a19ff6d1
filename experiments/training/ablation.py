"""How much does each part of the training contribute? Short training runs of equal length, each without one part.

    python -m experiments.training.ablation --checkpoint FOLDER --mixture experiments/mixtures/default.json \\
        --data runs/data --output runs/ablation --share 0.2

The runs are: the whole mixture; the mixture without each perspective, each file, and each kind of row with negatives
for a ranking loss; and the first perspective with other losses. All runs have the same number of batches (`--share` of
the whole mixture's), so the remaining parts are seen more often. For the last checkpoint on dev, the script prints the
perspectives' own metrics (MAP of relevance, Pearson of STS, Spearman of SIA), MAP of a blend on the first perspective's
dev rows, its difference from the whole mixture, and the p-value of a paired randomisation test. The blend's weights are
chosen on one half of the questions and measured on the other. The blend is also shown without each column of the run
with the whole mixture. With several --seeds, results are means over the runs, the blend's with minimum and maximum, and
the test is on the questions' means: it covers the variance of questions but not of training, which the minimum and
maximum show. Finished runs are kept: repeat the command to resume, also with more seeds.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from tabulate import tabulate

from experiments.common.provenance import content_of
from experiments.common.seeds import check_seeds, spread
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path, not_negative, text_path
from mpir.core.checksum import fingerprint
from mpir.errors import InputError
from mpir.evaluate import randomisation_test
from mpir.files.checksum import sha256
from mpir.files.corpora import corpus_fingerprint
from mpir.files.output_checks import Output, are_figures, check_outputs
from mpir.files.read import read_json
from mpir.files.write import write_json
from mpir.lab.train.mixture_schema import paths, read_declared
from mpir.lab.train.settings import TrainingSettings
from mpir.types import F64
from mpir.validation import real_number

if TYPE_CHECKING:
    from mpir.lab.train.examples import Example
    from mpir.lab.train.trainer import FineTuner

GROUPS = ("perspectives", "files", "kinds", "losses")
LOSSES = (("bce",), ("listwise",), ("pairwise",), ("lambda",), ("bce", "pairwise"), ("bce", "lambda"))
WEIGHTS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8)
"""Candidate weights of the other perspectives in the blend; the first has 1."""
EVERYTHING = "everything"
FILES = ("file", "triples", "questions", "qrels")
"""Keys of files in a mixture, besides those of a corpus."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A run: the part that is left out, and the first perspective's losses if they differ from the mixture's."""

    name: str
    without: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()


def main() -> int:
    """Plan, train, measure, print."""
    parser = script_parser(__doc__)
    parser.add_argument("--checkpoint", type=text_path, help="encoder to start from (default: the mixture's)")
    parser.add_argument("--mixture", type=file_path, required=True, help="JSON file that assigns rows to perspectives")
    parser.add_argument("--data", type=file_path, help="folder of the training files (default: the mixture's own)")
    parser.add_argument("--output", type=file_path, required=True, help="folder for the runs")
    parser.add_argument("--share", type=float, default=0.2, help="of the mixture's batches in each run (%(default)s)")
    parser.add_argument("--parts", nargs="+", choices=GROUPS, default=GROUPS, help="what to vary (default: all)")
    parser.add_argument(
        "--seeds",
        type=not_negative,
        nargs="+",
        metavar="N",
        help="of the order, the sampling and the heads (the mixture's)",
    )
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 … (%(default)s)")
    parser.add_argument("--list", action="store_true", help="only list the runs and their lengths")
    arguments = parser.parse_args()
    return guarded("ablation", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """All runs and the table."""
    from mpir.lab.train.mixture import read_mixture
    from mpir.lab.train.schedule import schedule

    check_outputs([Output("--output", arguments.output / "ablation.json", are_figures)])
    settings = TrainingSettings.read(arguments.mixture, {"checkpoint": arguments.checkpoint})
    check_seeds(arguments.seeds or ())
    real_number("--share", arguments.share, "a number above 0 and up to 1", lambda value: 0 < value <= 1)
    first = read_declared(arguments.mixture)[0]
    if isinstance(first["dev"], dict):
        raise InputError(
            f"{arguments.mixture}: the blend is measured on dev rows of the first perspective, {first['name']}, which "
            "has a search instead; name a file of rows, or put another perspective first."
        )
    all_batches = schedule(read_mixture(arguments.mixture, arguments.data), settings.batch_size, settings.seed)
    count = max(1, round(arguments.share * len(all_batches)))
    settings = replace(settings, max_steps=count, evaluate_every=count)
    chosen = list(variants(arguments))
    if arguments.list:
        print(*(value.name for value in chosen), f"{len(chosen)} runs of {count} batches", sep="\n")
        return 0
    seeds = [replace(settings, seed=seed) for seed in arguments.seeds or [settings.seed]]
    data = fingerprint(_data(arguments, settings.checkpoint))
    runs = [{value.name: figures(value, settings, arguments, data) for value in chosen} for settings in seeds]
    figures_of_name = {value.name: [run[value.name] for run in runs] for value in chosen}
    print(tabulate(list(table(figures_of_name)), headers(figures_of_name), floatfmt=".4f", tablefmt="github"))
    write_json(arguments.output / "ablation.json", figures_of_name)
    return 0


def variants(arguments: argparse.Namespace) -> Iterator[Variant]:
    """The runs to compare: two that would train on the same rows are one."""
    from mpir.lab.train.mixture import read_mixture

    declared, earlier = read_json(arguments.mixture)["perspectives"], set()
    for variant in _candidates(arguments, declared):
        if set(variant.without) >= {item["name"] for item in declared}:
            continue
        try:
            tasks = read_mixture(arguments.mixture, arguments.data, without=variant.without)
        except ValueError:  # it was all the data that a perspective had, which is another variant's business
            continue
        key = fingerprint(
            [[[task.name, [_negative_types(groups) for groups, _ in task.train]] for task in tasks], variant.losses]
        )
        if key not in earlier:
            earlier.add(key)
            yield variant


def _negative_types(groups: list[list[Example]]) -> list[Any]:
    """Return the number of rows of each kind, which identifies a file's rows."""
    return [len(groups), sorted(Counter(row.subset for group in groups for row in group).items())]


def _candidates(arguments: argparse.Namespace, declared: Sequence[dict[str, Any]]) -> Iterator[Variant]:
    from mpir.lab.train.examples import read_rows
    from mpir.lab.train.losses import loss_named

    yield Variant(EVERYTHING)
    folder = arguments.data or arguments.mixture.parent
    files = [(item, file["file"]) for item in declared for file in item["train"] if "file" in file]
    if "perspectives" in arguments.parts:
        yield from (Variant(f"without {item['name']}", (item["name"],)) for item in declared)
    if "files" in arguments.parts:
        yield from (Variant(f"without {file}", (file,)) for _, file in files)
    if "kinds" in arguments.parts:
        for item, file in files:
            rows = read_rows(folder / file, np.inf)
            ranking = any(loss_named(text).ranking for text in item["losses"])
            negative_types = {row.subset for row in rows if row.subset and row.label <= 0} if ranking else ()
            yield from (
                Variant(f"without {file}:{negative_type}", (f"{file}:{negative_type}",))
                for negative_type in sorted(negative_types)
            )
    if "losses" in arguments.parts:
        usual = tuple(declared[0]["losses"])
        yield from (Variant(f"{' + '.join(x)}, not {' + '.join(usual)}", losses=x) for x in LOSSES if x != usual)


def figures(variant: Variant, settings: TrainingSettings, arguments: argparse.Namespace, data: str) -> dict[str, Any]:
    """Train one variant with one seed (unless that is done with the same `data`) and measure it on dev."""
    folder = arguments.output / str(settings.seed) / "".join(c if c.isalnum() else "-" for c in variant.name)
    made_by = fingerprint({"variant": asdict(variant), "settings": asdict(settings), "data": data})
    stored = read_json(folder / "figures.json") if (folder / "figures.json").exists() else {}
    if stored and stored.get("made_by") != made_by:
        raise InputError(f"{folder}: was made with other settings or data; remove it, or choose another --output.")
    if stored:
        return stored
    from mpir.lab.train.losses import loss_named
    from mpir.lab.train.mixture import read_mixture
    from mpir.lab.train.plots import read_log
    from mpir.lab.train.trainer import FineTuner

    tasks = read_mixture(arguments.mixture, arguments.data, without=variant.without)
    if variant.losses:
        tasks[0] = replace(tasks[0], losses=tuple(map(loss_named, variant.losses)))
    print(f"{variant.name}: {settings.max_steps} batches, seed {settings.seed}", file=sys.stderr)
    tuner = FineTuner(settings, tasks, folder, device=arguments.device)
    tuner.run(progress=sys.stderr.isatty())
    _, looks = read_log(folder / "log.jsonl")
    judged = read_mixture(arguments.mixture, arguments.data)[0].dev
    scores = shares(tuner, judged)
    names, values = [task.name for task in tasks], {}
    for left_out in ["", *(names if variant.name == EVERYTHING and len(names) > 1 else [])]:
        columns = [i for i, name in enumerate(names) if name != left_out]
        values[left_out] = blended([row.group for row in judged], [row.label for row in judged], scores[:, columns])
    blend = {name: list(differences) for name, differences in values.items()}
    result = {"made_by": made_by, "dev": looks[max(looks)], "blend": blend}
    write_json(folder / "figures.json", result)
    return result


def shares(tuner: FineTuner, rows: list[Example]) -> F64:
    """The perspectives' scores (N, P) for rows, as shares of their scales."""
    outputs = tuner.outputs(rows, range(len(tuner.tasks))).astype(np.float64)
    cosines = [task.is_bi_encoder for task in tuner.tasks]
    shares_of: F64 = np.where(cosines, outputs.clip(0.0, 1.0), 1 / (1 + np.exp(-outputs)))
    return shares_of


def _data(arguments: argparse.Namespace, checkpoint: str) -> dict[str, Any]:
    """The content of the mixture, of every file that it names, and of the checkpoint."""
    folder, hashes = arguments.data or arguments.mixture.parent, {"mixture": sha256(arguments.mixture)}
    for item in read_json(arguments.mixture)["perspectives"]:
        for source in (*item["train"], item["dev"] if isinstance(item["dev"], dict) else {"file": item["dev"]}):
            for name in (source[key] for key in FILES if key in source):
                hashes[name] = sha256(folder / name)
            if "corpus" in source:
                names = paths("corpus", source["corpus"])
                hashes[" ".join(names)] = fingerprint(corpus_fingerprint([folder / name for name in names]))
    return {"files": hashes, "checkpoint": content_of(checkpoint)}


def blended(groups: Sequence[str], labels: Sequence[float], scores: F64) -> F64:
    """Average precision (Q,) of a weighted sum of the columns (N, P), its weights best for the other questions."""
    members: dict[str, list[int]] = {}
    for row, group in enumerate(groups):
        members.setdefault(group, []).append(row)
    is_relevant = np.asarray(labels) > 0
    questions = [np.array(rows) for rows in members.values() if is_relevant[rows].any()]
    tried = np.array(
        [
            [precision((scores @ np.array([1.0, *other_weights]))[rows], is_relevant[rows]) for rows in questions]
            for other_weights in product(WEIGHTS, repeat=scores.shape[1] - 1)
        ]
    )
    first = np.arange(len(questions)) % 2 == 0
    best = [tried[:, half].mean(axis=1).argmax() if half.any() else 0 for half in (~first, first)]
    return np.where(first, tried[best[0]], tried[best[1]])


def precision(scores: F64, is_relevant: npt.NDArray[np.bool_]) -> float:
    """Average precision of a question's rows ranked by score."""
    ranks = np.flatnonzero(is_relevant[np.argsort(-scores, kind="stable")]) + 1
    return float((np.arange(1, len(ranks) + 1) / ranks).mean())


def headers(figures_of: dict[str, Any]) -> list[str]:
    """The columns of the table."""
    return ["", *perspectives(figures_of), "blend MAP", "difference", "p"]


def perspectives(figures_of: dict[str, Any]) -> list[str]:
    """The names of all perspectives."""
    return [name for name in figures_of[EVERYTHING][0]["dev"] if name != "mean"]


def table(figures_of: dict[str, Any]) -> Iterator[list[object]]:
    """A row for each variant, and for each column left out of the blend of everything; all are means over the seeds."""
    base = np.mean([run["blend"][""] for run in figures_of[EVERYTHING]], axis=0)
    for name, runs in figures_of.items():
        means = [mean_of(runs, p) for p in perspectives(figures_of)]
        for left_out in runs[0]["blend"]:
            label = f"{name}, its blend without {left_out}" if left_out else name
            blends = np.array([run["blend"][left_out] for run in runs])
            values = blends.mean(axis=0)
            same = name == EVERYTHING and not left_out
            test = ["", ""] if same else [float((values - base).mean()), randomisation_test(values, base)]
            yield [label, *([""] * len(means) if left_out else means), spread(blends.mean(axis=1).tolist()), *test]


def mean_of(runs: Sequence[dict[str, Any]], perspective: str) -> float | str:
    """A perspective's own figure on dev, or nothing where it was left out."""
    return float(np.mean([run["dev"][perspective] for run in runs])) if perspective in runs[0]["dev"] else ""


if __name__ == "__main__":
    sys.exit(main())
