"""``mpir tune``: find weights on scored questions, and adopt them if held-out questions support it."""

from __future__ import annotations

import argparse
import json
import sys
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from mpir.app.cli.progress import shows_progress
from mpir.errors import InputError
from mpir.files.paths import resolved

if TYPE_CHECKING:
    from mpir.core.weights import Weights
    from mpir.tune.cross_validation import Adoption, Comparison
    from mpir.tune.objective import Objective
    from mpir.tune.search import Plan, SearchResult
    from mpir.tune.space import Space

EXIT_NOT_ADOPTED = 1
PICTURES = [f"{name}{form}" for name in ("best-so-far", "weights", "dependence", "shares") for form in (".png", ".svg")]
MEASURES = "document-map, document-f1, snippet-map, snippet-f1, sentence-map or document-sentence-map"
FOR_BOTH = "for weights that rank both, give --measure document-sentence-map"
CUTOFFS = "cutoffs"
"""The method that searches only cut-offs."""
METHODS = {"alternating": ("beta", "alpha"), "joint": ("all",), "random": ("all",)}
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


def run(arguments: argparse.Namespace) -> int:
    """Tune, compare, write or keep the weights, and report. Raises MpirError for a user's mistake."""
    from mpir.files.journal import Journal
    from mpir.files.write import check_folder
    from mpir.models.bundles.bundle import check_sealed
    from mpir.tune.cross_validation import adopt, check_folds, cross_validate, signed
    from mpir.tune.dataset import Dataset
    from mpir.tune.measures import OF_DOCUMENTS
    from mpir.tune.objective import Objective
    from mpir.tune.search import search, settings
    from mpir.tune.space import Space

    _check_outputs(arguments)
    if arguments.plots:
        check_folder(arguments.plots)
    check_sealed(arguments.output.parent, but=arguments.output.name)
    first = reduce(Dataset.join_columns, map(Dataset.load, arguments.scored))
    scored = Dataset.concat([first, *map(Dataset.load, arguments.also)])
    objective = Objective(scored, arguments.measure, version=arguments.version)
    scored = objective.scored
    unseen = scored.columns.layout.ordering if arguments.measure in OF_DOCUMENTS else ()
    bounds = dict.fromkeys(unseen, (0.0, 0.0)) | dict(arguments.bounds)
    old, name = _in_place(arguments, objective)
    if arguments.method == CUTOFFS:
        return _tune_cutoffs(arguments, objective, old, name)
    forms = {
        "context": arguments.context,
        "normalise": arguments.normalise,
        "sentence_list_beta": old.sentence_list_beta,
    }
    cut = _cut(arguments)
    space = Space.of(scored.columns, bounds=bounds, cut=cut, **forms)
    plan, progress = _plan(arguments, cut), shows_progress(arguments)
    header = settings(objective, space, plan, folds=arguments.folds)
    check_folds(objective, arguments.folds, arguments.level, plan.seed)
    with Journal(arguments.log or _log_beside(arguments.output), header) as journal:
        held_out = {"folds": arguments.folds, "level": arguments.level}
        evidence = cross_validate(objective, space, plan, old, **held_out, journal=journal, progress=progress)
        result = search(objective, space, plan, journal=journal, label="all questions", progress=progress)
    adoption = adopt(arguments.output, signed(result, evidence, objective, space, header), evidence)
    if arguments.plots:
        _draw(arguments.plots, objective, space, result)
    _report(arguments, space, result, evidence, name=name, adoption=adoption)
    snippets_known = any(question.snippets for question in scored.questions)
    if adoption == "written" and arguments.measure in OF_DOCUMENTS and snippets_known:
        advice = f"{arguments.measure} ignores the order of sentences; {FOR_BOTH}."
        print(advice, file=sys.stderr if arguments.format == "json" else sys.stdout)
    return EXIT_NOT_ADOPTED if adoption == "kept" else 0


def _check_outputs(arguments: argparse.Namespace) -> None:
    """Raise OutputError for outputs that would overwrite each other or an input."""
    from mpir.files.output_checks import Output, are_weights, check_outputs, is_journal, is_picture

    read = [("SCORED", path) for path in arguments.scored] + [("--also", path) for path in arguments.also]
    read.append(("--against", arguments.against))
    weights = Output("--output", arguments.output, are_weights)
    check_outputs([weights], read)  # the name of the log depends on it
    log = arguments.log or _log_beside(arguments.output)
    pictures = [Output("--plots", arguments.plots / name, is_picture) for name in PICTURES] if arguments.plots else []
    written = [weights, Output("tune.log", log, is_journal), *pictures]
    check_outputs(written, read)


def _log_beside(output: Path) -> Path:
    """The default log, next to the weights but never in a bundle, whose files are sealed."""
    inside = (output.parent / "bundle.json").is_file()
    target = resolved(output.parent) if inside else output
    return target.with_name(f"{target.name}.trials.jsonl")


def _tune_cutoffs(arguments: argparse.Namespace, objective: Objective, old: Weights, name: str) -> int:
    """Find and report cut-offs for the current weights; return the exit status."""
    from mpir.tune.cross_validation import adopt
    from mpir.tune.fit_cutoffs import tune_cutoffs

    levels = _cut(arguments)
    if not levels or arguments.plots or arguments.bounds:
        raise InputError(
            "--method cutoffs needs --measure document-f1 or snippet-f1 of version 9, without --plots and bounds, "
            "and tune.cutoffs; only with these measures can a shorter list be better."
        )
    options = {"folds": arguments.folds, "level": arguments.level, "seed": arguments.seed}
    tuned, evidence = tune_cutoffs(objective, old, levels, **options)
    adoption = adopt(arguments.output, tuned, evidence)
    cutoffs, value = {level: getattr(tuned.cutoffs, level) for level in levels}, objective(tuned)
    if arguments.format == "json":
        facts = {**_adopted(adoption), "value": value, "held_out": evidence.to_dict(), "against": name}
        print(json.dumps({**facts, "cutoffs": {level: cutoff.to_dict() for level, cutoff in cutoffs.items()}}))
    else:
        for level, cutoff in cutoffs.items():
            print(f"Cut-off of {level}: {cutoff}.\n\n{arguments.measure} {value:.4f} on the tuned questions.")
        _report_evidence(arguments, evidence, name=name, adoption=adoption, noun="cut-offs")
    return EXIT_NOT_ADOPTED if adoption == "kept" else 0


def _adopted(adoption: Adoption) -> dict[str, bool]:
    return {"written": adoption == "written", "unchanged": adoption == "unchanged"}


def _report_evidence(
    arguments: argparse.Namespace, evidence: Comparison, *, name: str, adoption: Adoption, noun: str = "weights"
) -> None:
    print(f"Tuned {arguments.measure} against {name}: {evidence}.")
    if adoption == "unchanged":
        print(f"{arguments.output} already has these {noun}.")
        return
    verdict = "are better" if evidence.better else "are not shown to be better"
    action = "written to" if adoption == "written" else "not written; kept"
    print(f"At level {arguments.level:g} the new {noun} {verdict}: {action} {arguments.output}.")
    if adoption == "written" and not evidence.better:
        print(f"The file is new, so it replaces no weights; use {name} until more questions show a gain.")


def _cut(arguments: argparse.Namespace) -> tuple[str, ...]:
    """The levels for which cut-offs are searched."""
    from mpir.bioasq.submission_rules import FIRST_CUT
    from mpir.tune.measures import CUT_BY

    if not arguments.cutoffs or arguments.version < FIRST_CUT:
        return ()
    return CUT_BY.get(arguments.measure, ())


def _plan(arguments: argparse.Namespace, cut: tuple[str, ...]) -> Plan:
    from mpir.tune.optimiser import Bayesian, RandomSearch
    from mpir.tune.search import Plan

    halves = METHODS[arguments.method]
    # all weights at once get the calls of both halves
    calls = arguments.calls * (2 // len(halves))
    if cut and len(halves) > 1:
        halves = (*halves, "cutoffs")
    bayesian = Bayesian(arguments.initial, arguments.acquisition)
    return Plan(
        halves=halves,
        calls=calls,
        loops=arguments.loops,
        tolerance=arguments.tolerance,
        seed=arguments.seed,
        optimiser=RandomSearch if arguments.method == "random" else bayesian,
    )


def _in_place(arguments: argparse.Namespace, objective: Objective) -> tuple[Weights, str]:
    """The weights to compare with, and their name for messages."""
    from mpir.core.weights import Weights

    layout = objective.scored.columns.layout
    which = arguments.output if arguments.output.is_file() else arguments.against
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
    arguments: argparse.Namespace,
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
    if arguments.format == "json":
        facts = {**_adopted(adoption), "value": result.value, "trials": len(result.trials)}
        cut = {"cutoffs": {level: cutoff.to_dict() for level, cutoff in cutoffs.items()}} if cutoffs else {}
        print(json.dumps({**facts, "held_out": evidence.to_dict(), "against": name, "shares": shares, **cut}))
        return
    print(tabulate(shares.items(), headers=["weight", "share of its sum"], floatfmt=".4f"))
    for level, cutoff in cutoffs.items():
        print(f"Cut-off of {level}: {cutoff}.")
    print(f"\n{arguments.measure} {result.value:.4f} on the tuned questions, after {len(result.trials)} trials.")
    _report_evidence(arguments, evidence, name=name, adoption=adoption)
