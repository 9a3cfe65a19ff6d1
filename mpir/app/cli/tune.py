"""``mpir tune``: find weights on scored questions, and adopt them if held-out questions support it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from mpir.app.cli import NOT_ADOPTED
from mpir.app.cli.common_options import QuietArguments, ReportArguments
from mpir.app.cli.option import option, positional, setting
from mpir.app.cli.progress import shows_progress
from mpir.app.cli.value_options import not_negative, output_path, text_path, two_numbers
from mpir.core.weights import Normalise
from mpir.errors import InputError
from mpir.files.paths import resolved

if TYPE_CHECKING:
    from mpir.core.weights import Weights
    from mpir.files.output_checks import Named
    from mpir.tune.cross_validation import Adoption, Comparison
    from mpir.tune.objective import Objective
    from mpir.tune.optimiser import Acquisition
    from mpir.tune.search import Plan, SearchResult
    from mpir.tune.space import Space

PICTURES = [f"{name}{form}" for name in ("best-so-far", "weights", "dependence", "shares") for form in (".png", ".svg")]
MEASURES = "document-map, document-f1, snippet-map, snippet-f1, sentence-map or document-sentence-map"
FOR_BOTH = "for weights that rank both, give --measure document-sentence-map"
CUTOFFS = "cutoffs"
"""The method that searches only cut-offs."""
METHODS = {"alternating": ("beta", "alpha"), "joint": ("all",), "random": ("all",)}
OF_WEIGHTS, BY_MODEL = "--method alternating or joint or random", "--method alternating or joint"
"""The methods that search weights, and those of them that choose their trials by a model."""
EPILOG = """\
Weights fit the situation that they were tuned on: --also adds others, such as candidates about other topics. Every
question of every set counts equally.

The questions are split into folds; each fold is measured with weights tuned on the other folds, and compared with the
current weights: those in OUTPUT if it exists (such as a bundle's weights.json), else --against, else equal weights.
Existing weights are overwritten only if the new ones are better at tune.level. Then the weights are tuned on all
questions. The exit status is 0 if OUTPUT has the new weights and 1 if it keeps other ones.

The measures document-map and document-f1 ignore the order of sentences, so snippets may become much worse with them;
for weights that rank both, give --measure document-sentence-map.

With document-f1 and snippet-f1, cut-offs are searched, too: how many documents or snippets to submit, by a share (a
position between a question's lowest score, 0, and its best, 1) and a maximum number. They are written with the weights,
and `mpir bioasq` uses them. --method cutoffs keeps
the weights of --against (or OUTPUT) and searches only cut-offs, which needs fewer questions.

Every trial is logged; after an interrupt, repeat the command to resume.

examples:
  mpir tune scored --output weights.json --measure document-sentence-map --plots plots
  mpir tune scored --output weights.json --measure snippet-f1
  mpir tune scored --output weights.json --measure snippet-f1 --method cutoffs --against mine.json
  mpir tune scored extra-perspective --output weights.json --set tune.context=fixpoint \
      --set bounds.context=0,0.5
"""


@dataclass(frozen=True, kw_only=True)
class TuneArguments(ReportArguments, QuietArguments):
    """The arguments of `mpir tune`."""

    scored: Sequence[str] = positional(
        help="folder from `mpir score`; several are fitted together", type=text_path, nargs="+", metavar="SCORED"
    )
    output: Path = option("--output", help="where the weights go", type=output_path, required=True, metavar="PATH")
    version: int = option(
        "--version",
        help="version of BioASQ's measures; 9 is for BioASQ 9 and later (%(default)s)",
        type=int,
        default=9,
        metavar="N",
        advanced=True,
    )
    also: Sequence[str] = option(
        "--also",
        help="further sets to tune on: other questions, or other candidates",
        type=text_path,
        default=[],
        nargs="+",
        metavar="SCORED",
    )
    measure: str = option(
        "--measure",
        help=f"{MEASURES} (%(default)s)",
        default="document-map",
        metavar="NAME",
    )
    against: str | None = option(
        "--against", help="weights to compare with if OUTPUT does not exist yet", type=text_path, metavar="FILE|NAME"
    )
    method: str = option(
        "--method",
        help="how to search (%(default)s)",
        default="alternating",
        choices=("alternating", "joint", "random", "cutoffs"),
    )
    plots: Path | None = option("--plots", help="write pictures (PNG and SVG)", type=output_path, metavar="DIR")
    seed: int = option(
        "--seed", help="seed of folds and search (%(default)s)", type=not_negative, default=0, metavar="N"
    )
    context: str = setting(
        "tune.context",
        help="S_CONTEXT: a document column, document, or fixpoint",
        default="bm25",
        metavar="COLUMN",
        needs=OF_WEIGHTS,
    )
    normalise: Normalise = setting(
        "tune.normalise", help="scaling of columns", default="none", choices=get_args(Normalise), needs=OF_WEIGHTS
    )
    bounds: Sequence[tuple[str, tuple[float, float]]] = setting(
        "bounds.*",
        help="bounds of the share of a perspective, context, bm25, w1 … in its sum, such as bounds.context=0,0.5",
        type=two_numbers,
        default=(),
        metavar="LOW,HIGH",
    )
    cutoffs: bool = setting("tune.cutoffs", help="search cut-offs with document-f1 or snippet-f1", default=True)
    calls: int = setting(
        "tune.calls", help="evaluations per half and loop", type=int, default=25, metavar="N", needs=OF_WEIGHTS
    )
    loops: int = setting(
        "tune.loops", help="most loops over both halves", type=int, default=3, metavar="N", needs=OF_WEIGHTS
    )
    initial: int = setting(
        "tune.initial", help="calls before the model is used", type=int, default=8, metavar="N", needs=BY_MODEL
    )
    tolerance: float = setting(
        "tune.tolerance",
        help="smallest gain to continue with",
        type=float,
        default=0.0001,
        metavar="X",
        needs=OF_WEIGHTS,
    )
    acquisition: Acquisition = setting(
        "tune.acquisition", help="acquisition function", default="EI", choices=("EI", "PI", "LCB"), needs=BY_MODEL
    )
    folds: int = setting(
        "tune.folds", help="parts of the questions, each held out once", type=int, default=5, metavar="N"
    )
    level: float = setting("tune.level", help="significance level for adoption", type=float, default=0.05, metavar="P")
    log: Path | None = setting(
        "tune.log",
        help="log of trials (default: OUTPUT.trials.jsonl)",
        type=output_path,
        metavar="FILE",
        needs=OF_WEIGHTS,
    )

    @property
    def log_file(self) -> Path:
        """The log of trials."""
        return self.log or log_beside(self.output)


def log_beside(output: Path) -> Path:
    """The default log, next to the weights but never in a bundle, whose files are sealed."""
    inside = (output.parent / "bundle.json").is_file()
    target = resolved(output.parent) if inside else output
    return target.with_name(f"{target.name}.trials.jsonl")


def run(arguments: TuneArguments) -> int:
    """Tune, compare, write or keep the weights, and report. Raises MpirError for a user's mistake."""
    from mpir.files.write import check_folder
    from mpir.models.bundles.bundle import check_sealed

    _check_outputs(arguments)
    if arguments.plots:
        check_folder(arguments.plots)
    check_sealed(arguments.output.parent, but=arguments.output.name)
    objective = _objective(arguments)
    old, name = _in_place(arguments, objective)
    tune = _tune_cutoffs if arguments.method == CUTOFFS else _tune_weights
    adoption = tune(arguments, objective, old, name)
    return NOT_ADOPTED if adoption == "kept" else 0


def _objective(job: TuneArguments) -> Objective:
    """The measure over the scored questions of all sets."""
    from mpir.tune.dataset import Dataset
    from mpir.tune.objective import Objective

    first = reduce(Dataset.join_columns, map(Dataset.load, job.scored))
    scored = Dataset.concat([first, *map(Dataset.load, job.also)])
    return Objective(scored, job.measure, version=job.version)


def _space(job: TuneArguments, objective: Objective) -> Space:
    """The weights and cut-offs to search, without those of columns that the measure does not read."""
    from mpir.tune.measures import OF_DOCUMENTS
    from mpir.tune.space import Space

    columns = objective.scored.columns
    unread = columns.layout.ordering if job.measure in OF_DOCUMENTS else ()
    bounds = dict.fromkeys(unread, (0.0, 0.0)) | dict(job.bounds)
    return Space.of(columns, bounds=bounds, cut=_cut(job), context=job.context, normalise=job.normalise)


def _tune_weights(job: TuneArguments, objective: Objective, old: Weights, name: str) -> Adoption:
    """Search weights, test them on held-out questions, and report; return whether they are written."""
    from mpir.files.journal import Journal
    from mpir.tune.cross_validation import adopt, check_folds, cross_validate, signed
    from mpir.tune.search import search, settings

    space, progress = _space(job, objective), shows_progress(job)
    plan = _plan(job, space.cut)
    header = settings(objective, space, plan, folds=job.folds)
    check_folds(objective, job.folds, job.level, plan.seed)
    with Journal(job.log_file, header) as journal:
        held_out: dict[str, Any] = {"folds": job.folds, "level": job.level}
        evidence = cross_validate(objective, space, plan, old, **held_out, journal=journal, progress=progress)
        result = search(objective, space, plan, journal=journal, label="all questions", progress=progress)
    adoption = adopt(job.output, signed(result, evidence, objective, space, header), evidence)
    if job.plots:
        _draw(job.plots, objective, space, result)
    _report(job, space, result, evidence, name=name, adoption=adoption)
    if adoption == "written":
        _advise(job, objective)
    return adoption


def _advise(job: TuneArguments, objective: Objective) -> None:
    """Name the measure that ranks snippets, too, if the questions have some and the one of the job does not."""
    from mpir.tune.measures import OF_DOCUMENTS

    if job.measure in OF_DOCUMENTS and any(question.snippets for question in objective.scored.questions):
        advice = f"{job.measure} ignores the order of sentences; {FOR_BOTH}."
        print(advice, file=sys.stderr if job.format == "json" else sys.stdout)


def _check_outputs(job: TuneArguments) -> None:
    """Raise OutputError for outputs that would overwrite each other or an input."""
    from mpir.files.output_checks import Output, are_weights, check_outputs, is_journal, is_picture

    read: list[Named] = [("SCORED", path) for path in job.scored]
    read += [("--also", path) for path in job.also]
    read.append(("--against", job.against))
    weights = Output("--output", job.output, are_weights)
    check_outputs([weights], read)  # the name of the log depends on it
    pictures = [Output("--plots", job.plots / name, is_picture) for name in PICTURES] if job.plots else []
    written = [weights, Output("tune.log", job.log_file, is_journal), *pictures]
    check_outputs(written, read)


def _tune_cutoffs(job: TuneArguments, objective: Objective, old: Weights, name: str) -> Adoption:
    """Find and report cut-offs for the current weights; return whether they are written."""
    from mpir.tune.cross_validation import adopt
    from mpir.tune.fit_cutoffs import tune_cutoffs

    levels = _cut(job)
    if not levels or job.plots or job.bounds:
        raise InputError(
            "--method cutoffs needs --measure document-f1 or snippet-f1 of version 9, without --plots and bounds, "
            "and tune.cutoffs; only with these measures can a shorter list be better."
        )
    options: dict[str, Any] = {"folds": job.folds, "level": job.level, "seed": job.seed}
    tuned, evidence = tune_cutoffs(objective, old, levels, **options)
    adoption = adopt(job.output, tuned, evidence)
    cutoffs, value = {level: getattr(tuned.cutoffs, level) for level in levels}, objective(tuned)
    if job.format == "json":
        facts = {**_adopted(adoption), "value": value, "held_out": evidence.to_dict(), "against": name}
        print(json.dumps({**facts, "cutoffs": {level: cutoff.to_dict() for level, cutoff in cutoffs.items()}}))
    else:
        for level, cutoff in cutoffs.items():
            print(f"Cut-off of {level}: {cutoff}.\n\n{job.measure} {value:.4f} on the tuned questions.")
        _report_evidence(job, evidence, name=name, adoption=adoption, noun="cut-offs")
    return adoption


def _adopted(adoption: Adoption) -> dict[str, bool]:
    return {"written": adoption == "written", "unchanged": adoption == "unchanged"}


def _report_evidence(
    job: TuneArguments, evidence: Comparison, *, name: str, adoption: Adoption, noun: str = "weights"
) -> None:
    print(f"Tuned {job.measure} against {name}: {evidence}.")
    if adoption == "unchanged":
        print(f"{job.output} already has these {noun}.")
        return
    verdict = "are better" if evidence.better else "are not shown to be better"
    action = "written to" if adoption == "written" else "not written; kept"
    print(f"At level {job.level:g} the new {noun} {verdict}: {action} {job.output}.")
    if adoption == "written" and not evidence.better:
        print(f"The file is new, so it replaces no weights; use {name} until more questions show a gain.")


def _cut(job: TuneArguments) -> tuple[str, ...]:
    """The levels for which cut-offs are searched."""
    from mpir.bioasq.submission_rules import FIRST_CUT
    from mpir.tune.measures import CUT_BY

    if not job.cutoffs or job.version < FIRST_CUT:
        return ()
    return CUT_BY.get(job.measure, ())


def _plan(job: TuneArguments, cut: tuple[str, ...]) -> Plan:
    from mpir.tune.optimiser import Bayesian, RandomSearch
    from mpir.tune.search import Plan

    halves = METHODS[job.method]
    # all weights at once get the calls of both halves
    calls = job.calls * (2 // len(halves))
    if cut and len(halves) > 1:
        halves = (*halves, "cutoffs")
    bayesian = Bayesian(job.initial, job.acquisition)
    return Plan(
        halves=halves,
        calls=calls,
        loops=job.loops,
        tolerance=job.tolerance,
        seed=job.seed,
        optimiser=RandomSearch if job.method == "random" else bayesian,
    )


def _in_place(job: TuneArguments, objective: Objective) -> tuple[Weights, str]:
    """The weights to compare with, and their name for messages."""
    from mpir.core.weights import Weights

    layout = objective.scored.columns.layout
    which = job.output if job.output.is_file() else job.against
    if which is None:
        return Weights.equal(layout.sentences, layout.documents), "equal weights"
    from mpir.files.weights import read_weights

    return read_weights(which).align_to(layout, str(which)), f"the weights {which}"


def _draw(folder: Path, objective: Objective, space: Space, result: SearchResult) -> None:
    from mpir.tune import plots
    from mpir.tune.partial_dependence import dependence, top_shares

    plots.best_so_far(folder / "best-so-far", {"search": [result.best_so_far]}, objective.name)
    plots.weight_paths(folder / "weights", space, result)
    plots.partial_dependence(folder / "dependence", dependence(objective, space, result.point), objective.name)
    plots.shares_at_the_top(folder / "shares", top_shares(objective, result.weights))


def _report(
    job: TuneArguments,
    space: Space,
    result: SearchResult,
    evidence: Comparison,
    *,
    name: str,
    adoption: Adoption,
) -> None:
    from tabulate import tabulate

    shares = dict(zip(space.names, space.shares(result.point).round(4).tolist(), strict=True))
    cutoffs = {level: getattr(result.weights.cutoffs, level) for level in space.cut}
    if job.format == "json":
        facts = {**_adopted(adoption), "value": result.value, "trials": len(result.trials)}
        cut = {"cutoffs": {level: cutoff.to_dict() for level, cutoff in cutoffs.items()}} if cutoffs else {}
        print(json.dumps({**facts, "held_out": evidence.to_dict(), "against": name, "shares": shares, **cut}))
        return
    print(tabulate(shares.items(), headers=["weight", "share of its sum"], floatfmt=".4f"))
    for level, cutoff in cutoffs.items():
        print(f"Cut-off of {level}: {cutoff}.")
    print(f"\n{job.measure} {result.value:.4f} on the tuned questions, after {len(result.trials)} trials.")
    _report_evidence(job, evidence, name=name, adoption=adoption)
