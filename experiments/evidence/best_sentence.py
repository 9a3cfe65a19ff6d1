"""How often is the sentence that a document is shown with an answer, by type of question, and does a cheap rule help?

    python -m experiments.evidence.best_sentence --data DATA --split test --json runs/best-sentence.json

Only gold documents of BioASQ's questions are read, because a sentence's score does not depend on other candidates.
Counted are those of which a gold snippet is in the abstract. `marked` overlaps a gold snippet; `next` is not marked as
gold, but the sentence after it is; the rest is neither. Each rule changes the order of a document's sentences; choose
rules on --split dev.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from tabulate import tabulate

from experiments.ranking.sentences import gold_questions, known_documents
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.model_options import add_model_options, load_reranker, model_arguments
from mpir.app.cli.value_options import check_figures, file_path, positive
from mpir.core.blend import blend
from mpir.core.text import TITLE
from mpir.errors import InputError
from mpir.evaluate import bootstrap_interval
from mpir.files.write import write_json
from mpir.reranking.reranker import Reranker
from mpir.tune.dataset import Dataset
from mpir.tune.judgements import judge
from mpir.types import F64, Bool

WHAT_ARE = re.compile(r"(?:what|which) (?:is|are|was|were)\b", re.I)
OUTCOMES = ("marked", "next", "neither")
SHIPPED = "as shipped"


@dataclass(frozen=True, kw_only=True)
class Abstract:
    """The body sentences (N,) of a gold document, in its order, for a question of a type.

    `scores` are blended, `lexical` BM25 of each with the question, `is_gold` whether a gold snippet overlaps it.
    """

    kind: str
    is_what: bool
    scores: F64
    columns: Mapping[str, F64]
    lexical: F64
    is_gold: Bool


Rule = Callable[[Abstract], F64]


def after(share: float) -> Rule:
    """A share of the next sentence's score is added: the sentence before an answer is often a definition."""
    return lambda abstract: abstract.scores + share * np.append(abstract.scores[1:], abstract.scores.min())


def before(share: float) -> Rule:
    """A share of the previous sentence's score is added: an answer follows its topic."""
    return lambda abstract: abstract.scores + share * np.append(abstract.scores.min(), abstract.scores[:-1])


def less_words(share: float) -> Rule:
    """Shared words are taken off: a sentence that restates the question shares most."""
    return lambda abstract: abstract.scores - share * abstract.lexical / max(float(abstract.lexical.max()), 1e-9)


def later(share: float) -> Rule:
    """Later sentences are preferred: an abstract ends with its conclusion."""
    return lambda abstract: abstract.scores + share * np.linspace(0, 1, len(abstract.scores))


def column(name: str) -> Rule:
    """One column alone."""
    return lambda abstract: abstract.columns[name]


SHARES = (0.1, 0.25, 0.5)
MAKERS = {"next sentence": after, "previous sentence": before, "fewer shared words": less_words, "later": later}
RULES: Mapping[str, Rule] = {
    SHIPPED: lambda abstract: abstract.scores,
    **{f"{name}, {share:g}": make(share) for name, make in MAKERS.items() for share in SHARES},
    **{f"{name} alone": column(name) for name in ("relevance", "sts", "sia")},
    "first sentence": lambda abstract: -np.arange(len(abstract.scores), dtype=float),
    "last sentence": lambda abstract: np.arange(len(abstract.scores), dtype=float),
    "most shared words": lambda abstract: abstract.lexical,
}


def main() -> int:
    """Read, measure, print."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, required=True, help="the folder with bioasq/ and pubmed/")
    parser.add_argument("--split", choices=("dev", "test"), default="dev", help="%(default)s")
    parser.add_argument("--limit", type=positive, metavar="N", help="only the first N questions")
    parser.add_argument("--documents", type=positive, default=2, help="gold documents of a question (%(default)s)")
    parser.add_argument("--json", type=file_path, metavar="FILE", help="also write the figures there")
    add_model_options(parser)
    arguments = parser.parse_args()
    return guarded("best_sentence", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """A table by type of question, and one by rule."""
    check_figures(arguments)
    scored, weights = score(load_reranker(model_arguments(arguments)), arguments)
    abstracts = list(abstracts_of(scored, blend(scored.columns, weights).sentences))
    if not abstracts:
        raise InputError("no gold document has a gold snippet in its abstract; raise --limit.")
    groups = groups_of(abstracts)
    by_type = {name: shares(outcomes(members, RULES[SHIPPED])) for name, members in groups.items()}
    by_rule = rule_figures(abstracts)
    print(tabulate([[name, len(groups[name]), *of.values()] for name, of in by_type.items()],
                   ["", "documents", *OUTCOMES], tablefmt="pipe", floatfmt=".3f"))  # fmt: skip
    print(f"\nany sentence of these: {np.mean([item.is_gold.mean() for item in abstracts]):.3f} are gold\n")
    print(tabulate([[name, *of.values()] for name, of in by_rule.items()],
                   ["", "marked", "difference", "low", "high"], tablefmt="pipe", floatfmt=".3f"))  # fmt: skip
    if arguments.json:
        write_json(arguments.json, {"documents": len(abstracts), "types": by_type, "rules": by_rule})
    return 0


def score(reranker: Reranker, arguments: argparse.Namespace) -> tuple[Dataset, object]:
    """Score each question's gold documents; with the weights that blend them."""
    questions = [question for question in gold_questions(arguments.data, arguments.split) if question.snippets]
    documents = known_documents(arguments.data, questions)
    chosen = [(q, of[: arguments.documents]) for q, of in zip(questions, documents, strict=True) if of]
    chosen = chosen[: arguments.limit]
    scored = reranker.stream_scored([question.body for question, _ in chosen], [of for _, of in chosen])
    return Dataset.collect((q, item) for (q, _), item in zip(chosen, scored, strict=True)), reranker.weights


def abstracts_of(scored: Dataset, blended: F64) -> Iterable[Abstract]:
    """The gold documents with a gold snippet in a sentence of the body."""
    judged, columns, body = judge(scored), scored.columns, np.asarray(scored.sections) != TITLE
    names = list(columns.layout.sentences)
    for document in range(len(columns.documents)):
        rows = np.flatnonzero((columns.document_of == document) & body)
        rows = rows[np.argsort(np.asarray(scored.begin)[rows], kind="stable")]
        if judged.overlaps[rows].any():
            question = scored.questions[columns.query_of[document]]
            yield Abstract(
                kind=question.type,
                is_what=WHAT_ARE.match(question.body) is not None,
                scores=blended[rows],
                columns={name: columns.sentences[rows, i] for i, name in enumerate(names)},
                lexical=np.asarray(scored.lexical)[rows],
                is_gold=judged.overlaps[rows],
            )


def groups_of(abstracts: Iterable[Abstract]) -> dict[str, list[Abstract]]:
    """All, by type of question, and those of "what is" and "which are"."""
    groups: dict[str, list[Abstract]] = {"all": list(abstracts)}
    for item in groups["all"]:
        groups.setdefault(item.kind, []).append(item)
    what = [item for item in groups["all"] if item.is_what]
    return {**groups, **({'"what is/are", "which is/are"': what} if what else {})}


def outcome(abstract: Abstract, scores: F64) -> str:
    """Whether the best sentence is gold, the next one, or neither."""
    best = int(np.argmax(scores))
    if abstract.is_gold[best]:
        return OUTCOMES[0]
    return OUTCOMES[1] if abstract.is_gold[best + 1 : best + 2].any() else OUTCOMES[2]


def outcomes(abstracts: Iterable[Abstract], rule: Rule) -> list[str]:
    """The outcome of each document under a rule."""
    return [outcome(item, rule(item)) for item in abstracts]


def shares(names: list[str]) -> dict[str, float]:
    """The share of each outcome."""
    return {name: names.count(name) / len(names) for name in OUTCOMES}


def rule_figures(abstracts: list[Abstract]) -> dict[str, dict[str, float]]:
    """The share of marked answers by rule, and the difference to what ships with a 95 % bootstrap over documents."""
    values = {
        name: np.array([o == OUTCOMES[0] for o in outcomes(abstracts, rule)], float) for name, rule in RULES.items()
    }
    figures = {}
    for name, marked in values.items():
        difference = marked - values[SHIPPED]
        low, high = bootstrap_interval(difference)
        figures[name] = {
            "marked": float(marked.mean()),
            "difference": float(difference.mean()),
            "low": float(low),
            "high": float(high),
        }
    return figures


if __name__ == "__main__":
    sys.exit(main())
