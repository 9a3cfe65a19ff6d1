"""Build the training files of the three perspectives: question, sentence and label as JSON lines.

    python data_scripts/training_data.py --data DATA --output runs/data

This is the first step of the recipe in docs/guides/reproduce.md. It writes {relevance,sts,sia}.{train,dev}.jsonl, four
more files for relevance, and two sources of SIA that the default mixture uses for evaluation only, sia.coverage.jsonl
and sia.qasc.jsonl. Rows are {"id", "question", "sentence", "label", "kind"}: `id` groups the rows of a question, and
`kind` is their origin. Questions of the `dev` and `test` splits never enter a training file (checked by id and text).
"""

from __future__ import annotations

import argparse
import csv
import json
import logging
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import bm25s
import numpy as np
import numpy.typing as npt

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path
from mpir.core.text import Document, Question
from mpir.core.text.characters import normalise
from mpir.core.text.split import sentences, split
from mpir.files import output_checks
from mpir.files.corpora.bioasq import read_questions
from mpir.files.corpora.jsonl import read_jsonl
from mpir.files.read import read_json, read_json_lines
from mpir.files.write import atomic_write
from mpir.lab.gold_sentences import gold_sentences, is_gold
from mpir.lab.sia.answers import Answer, read_answers
from mpir.lab.sia.facts import combined_rows, partial_rows
from mpir.lab.sia.graded import Evidence, coverage_rows, graded_rows
from mpir.lab.sia.item_steps import NEAR
from mpir.lab.sia.qasc import read_items
from mpir.lab.sia.rows import words_of
from mpir.lab.sia.similar import Models, index_items, similar_rows
from mpir.lab.train.leakage import EvaluationQuestions
from mpir.models.perspectives import Perspective
from mpir.search import LuceneIndex

Example = dict[str, Any]
POSITIVES, NEGATIVES, WRONG_DOCUMENTS = 4, 8, 12
SEARCHED, SHOWN = 30, 6
"""Candidates of a search, and the number of them to calibrate on."""
MEDQUAD = 3000
"""Questions taken from MedQuAD."""
SIMILAR = 2.5
"""Minimum word overlap, 0 to 5, of two questions that swap their facts."""
GRADED = ("sts-", "searched")
"""Kinds of rows with continuous labels, which are not counted one by one."""
BACKGROUND_LABELS = {"METHODS", "MATERIALS AND METHODS", "METHOD", "DESIGN", "SETTING", "STUDY DESIGN", "BACKGROUND"}


@dataclass
class BioASQ:
    """The questions of the three splits and the corpus they point into.

    `held` has the normalised gold sentences of evaluation questions, which are never used as negatives.
    """

    train: list[Question]
    dev: list[Question]
    evaluation: EvaluationQuestions
    documents: dict[str, Document]
    pool: list[Document]
    random: random.Random
    answers: dict[str, Answer]
    held: set[str]
    _near: dict[str, list[Document]] = field(default_factory=dict)

    def near(self, question: Question) -> list[Document]:
        """The BM25 candidates of a question, without anything known relevant (the TripClick recipe)."""
        gold = set(question.documents or ())
        return [document for document in self._near[question.id] if document.id not in gold]

    def search(self, question: Question) -> list[Document]:
        """The BM25 candidates of a question, best first, gold or not."""
        return self._near[question.id]

    def retrieve(self, depth: int = 40) -> None:
        """Fill in the BM25 candidates of all questions at once."""
        logging.getLogger("bm25s").setLevel(logging.WARNING)  # bm25s sets itself to DEBUG at import
        index = bm25s.BM25()
        index.index(
            bm25s.tokenize([d.text for d in self.pool], stopwords="en", show_progress=False), show_progress=False
        )
        questions = self.train + self.dev
        tokens = bm25s.tokenize([q.body for q in questions], stopwords="en", show_progress=False)
        hits, _ = index.retrieve(tokens, k=depth, show_progress=False)
        self._near = {q.id: [self.pool[i] for i in row] for q, row in zip(questions, hits, strict=True)}


def load(data: Path, seed: int) -> BioASQ:
    """Read questions, splits and abstracts, and drop training questions whose text is also an evaluation question."""
    splits = read_json(data / "bioasq/splits.json")
    questions = {q.id: q for q in read_questions(data / "bioasq/training.json")}
    # Also the gold files: a few of their questions are missing in the training file, or differ in wording.
    gold = {q.id: q for path in sorted((data / "bioasq").glob("*_golden.json")) for q in read_questions(path)}
    held = [*splits["dev"], *splits["test"]]
    evaluation_questions = [source[i] for source in (questions, gold) for i in held if i in source]
    evaluation = EvaluationQuestions((q.id, q.body) for q in evaluation_questions)
    dev = [gold[i] for i in splits["dev"] if i in gold]
    train = [questions[i] for i in splits["train"] if not evaluation.holds(i, questions[i].body)]
    pool = list(read_jsonl(data / "pubmed/abstracts.jsonl"))
    files = [data / "bioasq/training.json", *(data / "bioasq").glob("5B*_golden.json")]
    answers = {identifier: answer for path in files for identifier, answer in read_answers(path).items()}
    documents, generator = {d.id: d for d in pool}, random.Random(seed)
    held_sentences = {normalise(text) for question in evaluation_questions for text in gold_sentences(question)}
    bioasq = BioASQ(train, dev, evaluation, documents, pool, generator, answers, held_sentences)
    bioasq.retrieve()
    return bioasq


def document_rows(bioasq: BioASQ, question: Question) -> Iterator[Example]:
    """Yield all sentences of available gold documents: label 1 inside a gold snippet, 0 outside."""
    snippets = [normalise(s.text) for s in question.snippets or ()]
    for identifier in question.documents or ():
        for text in whole_sentences(bioasq.documents.get(identifier, Document(""))):
            yield row(question, text, float(is_gold(text, snippets)), "in-document")


def shared_rows(bioasq: BioASQ) -> Iterator[Example]:
    """Gold sentences of documents that are relevant for several questions: another question's is no answer to this one.

    Few gold documents are available as whole abstracts, but experts marked answers in all of them. A sentence that was
    marked for another question only was read and rejected for this one.
    """
    marked: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for question in bioasq.train:
        for text, document in gold_places(question):
            marked[document][question.id].append(text)
    questions, rows = {q.id: q for q in bioasq.train}, dict[tuple[str, str], Example]()
    for owned in marked.values():
        for name, texts_of_question in owned.items():
            question, gold = questions[name], [normalise(s.text) for s in questions[name].snippets or ()]
            query = normalise(question.body)
            other_texts = [
                t for other_id, texts in owned.items() if normalise(questions[other_id].body) != query for t in texts
            ]
            wrong = [t for t in other_texts if not is_gold(t, gold) and normalise(t) not in bioasq.held]
            for text in texts_of_question if wrong else ():
                rows[name, text] = row(question, text, 1.0, "shared")
            for text in wrong:
                rows.setdefault((name, text), row(question, text, 0.0, "shared"))
    yield from rows.values()


def gold_places(question: Question) -> list[tuple[str, str]]:
    """Yield a question's gold sentences with their documents."""
    locations = [(s.text[b:e], s.document) for s in question.snippets or () for b, e in split(s.text)]
    return [location for location in dict.fromkeys(locations) if 20 <= len(location[0]) <= 600]


def whole_sentences(document: Document) -> list[str]:
    """Return a document's sentences without fragments such as "B" and "OBJECTIV" from truncated headings."""
    return [sentence.text for sentence in sentences(document) if len(sentence.text) >= 20]


def candidate_rows(bioasq: BioASQ, question: Question) -> Iterator[Example]:
    """Yield some gold sentences, and sentences of BM25 candidates of any rank that are not gold."""
    gold = gold_sentences(question)
    snippets = [normalise(s.text) for s in question.snippets or ()]
    for text in bioasq.random.sample(gold, min(POSITIVES, len(gold))):
        yield row(question, text, 1.0, "golden")
    near = bioasq.near(question)
    documents = bioasq.random.sample(near, min(WRONG_DOCUMENTS, len(near)))
    wrong = [text for d in documents for text in whole_sentences(d) if not is_gold(text, snippets)]
    drawn = bioasq.random.sample(wrong, min(NEGATIVES, len(wrong)))
    yield from (row(question, text, 0.0, "bm25") for text in drawn if normalise(text) not in bioasq.held)


def search_rows(bioasq: BioASQ, question: Question) -> Iterator[Example]:
    """Yield sentences of some BM25 candidates, gold or not, for calibration.

    Questions without an available gold document have none.
    """
    if not bioasq.documents.keys() & set(question.documents or ()):
        return
    snippets = [normalise(s.text) for s in question.snippets or ()]
    hits = bioasq.search(question)[:SEARCHED]
    for document in random.Random(question.id).sample(hits, min(SHOWN, len(hits))):
        for text in whole_sentences(document):
            yield row(question, text, float(is_gold(text, snippets)), "search")


def pubmedqa_rows(data: Path, evaluation: EvaluationQuestions) -> Iterator[Example]:
    """PubMedQA: the conclusion answers the question; methods and background of the same abstract do not."""
    for identifier, item in read_json(data / "pubmedqa/ori_pqal.json").items():
        question = Question(f"pubmedqa-{identifier}", item["QUESTION"])
        if evaluation.holds(question.id, question.body):
            continue
        for begin, end in split(item["LONG_ANSWER"]):
            yield row(question, item["LONG_ANSWER"][begin:end], 1.0, "pubmedqa")
        for label, text in zip(item["LABELS"], item["CONTEXTS"], strict=True):
            if label in BACKGROUND_LABELS:
                for begin, end in split(text)[:6]:
                    yield row(question, text[begin:end], 0.0, "pubmedqa")


def medquad_rows(data: Path, evaluation: EvaluationQuestions, generator: random.Random) -> Iterator[Example]:
    """MedQuAD: sentences of a question's answer, and of answers to other questions about the same subject.

    Questions "What is X?" are left out, because anything about X answers them.
    """
    items = (item for _, item in read_json_lines(data / "medquad/medquad.jsonl"))
    answered = [item for item in items if item["answer"] and item["qtype"] != "information"]
    by_focus: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for item in answered:
        by_focus[item["focus"]].append(item)
    for item in generator.sample(answered, min(MEDQUAD, len(answered))):
        question = Question(f"medquad-{item['source']}-{item['qid']}", item["question"])
        if not evaluation.holds(question.id, question.body):
            answers = statements(item["answer"])
            other_answers = [
                other_item for other_item in by_focus[item["focus"]] if other_item["qtype"] != item["qtype"]
            ]
            wrong = sorted(
                {text for other_item in other_answers for text in statements(other_item["answer"])} - set(answers)
            )
            for label, texts, limit in ((1.0, answers[: 2 * POSITIVES], POSITIVES), (0.0, wrong, NEGATIVES)):
                for text in generator.sample(texts, min(limit, len(texts))):
                    yield row(question, text, label, "medquad")


def statements(text: str) -> list[str]:
    """Return the distinct sentences of a text, without questions and very short or long ones."""
    texts = (text[begin:end] for begin, end in split(text))
    return [sentence for sentence in dict.fromkeys(texts) if 20 <= len(sentence) <= 600 and not sentence.endswith("?")]


def sts_rows(path: Path, *, both_orders: bool = False) -> Iterator[Example]:
    """STS-B pairs, 0 to 5, each its own group; optionally in both orders, because similarity is symmetric."""
    with open(path, encoding="utf-8", newline="") as stream:
        for number, cells in enumerate(csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE), 1):
            name, first, second, label = f"{path.stem}-{number}", cells[5], cells[6], float(cells[4])
            yield row(Question(name, first), second, label, "sts-b")
            if both_orders:
                yield row(Question(f"{name}-swapped", second), first, label, "sts-b")


class WordOverlap(Perspective):
    """A perspective without training: the share of the question's terms in the sentence, 0 to 5."""

    def __init__(self, name: str) -> None:
        self.name = name

    def score_pairs(self, pairs: Sequence[tuple[str, str]], **_: Any) -> npt.NDArray[np.float64]:
        """Return scores (N,) of pairs."""
        words = [(words_of([query]), words_of([text])) for query, text in pairs]
        return np.array([5 * len(query & text) / max(1, len(query)) for query, text in words])


def qasc_rows(data: Path, seed: int) -> Iterator[Example]:
    """QASC by the steps of lab.sia: 4 the combined fact, 2 the better of its parts, 0 a similar question's fact."""
    items = list(read_items(str(data / "qasc/dev.jsonl")))
    partial, _ = partial_rows(items, WordOverlap("relevance"), seed)
    with TemporaryDirectory() as folder:
        index_items(items, Path(folder) / "index", {})
        with LuceneIndex(Path(folder) / "index") as index:
            similar, _ = similar_rows(items, index, Models(WordOverlap("sts"), WordOverlap("relevance")), SIMILAR, seed)
    rows = {(r.query, r.sentence): r for r in (*similar, *partial, *combined_rows(items, seed))}
    for question in sorted(rows.values(), key=lambda r: r.source_ids[0]):
        yield row(
            Question(f"qasc-{question.source_ids[0]}", question.query),
            question.sentence,
            question.sia_score,
            f"qasc-{question.method}",
        )


def sia_rows(bioasq: BioASQ, questions: Iterable[Question], seed: int) -> Iterator[Example]:
    """The graded rows of mpir.lab.sia, from gold snippets and their surroundings."""
    for question in questions:
        for example in graded_rows(evidence(bioasq, question), seed):
            yield row(question, example.sentence, example.sia_score, example.method)


def exact_rows(bioasq: BioASQ, questions: Iterable[Question], seed: int) -> Iterator[Example]:
    """The coverage rows of mpir.lab.sia, graded by the exact answers in a sentence."""
    for question in questions:
        for example in coverage_rows(evidence(bioasq, question), seed):
            yield row(question, example.sentence, example.sia_score, example.method)


def evidence(bioasq: BioASQ, question: Question) -> Evidence:
    """Convert a question for mpir.lab.sia."""
    known = [bioasq.documents[name] for name in question.documents or () if name in bioasq.documents]
    return Evidence(
        question=question, gold=known, wrong=bioasq.near(question)[:NEAR], answer=bioasq.answers.get(question.id, ())
    )


def row(question: Question, sentence: str, label: float, subset: str) -> Example:
    """Make a training row."""
    return {"id": question.id, "question": question.body, "sentence": sentence, "label": label, "kind": subset}


def complete_groups(rows: Iterable[Example]) -> list[Example]:
    """Return the rows of questions with both a positive and a negative, which listwise losses need."""
    groups: dict[str, list[Example]] = defaultdict(list)
    for item in rows:
        groups[item["id"]].append(item)
    return [r for group in groups.values() if len({r["label"] > 0 for r in group}) == 2 for r in group]


FILES = (
    "in_document.train",
    "shared.train",
    "relevance.train",
    "relevance.dev",
    "relevance.search.dev",
    "pubmedqa.train",
    "medquad.train",
    "sts.train",
    "sts.dev",
    "sia.train",
    "sia.dev",
    "sia.coverage",
    "sia.qasc",
)
"""The training files, without .jsonl."""


def check_outputs(paths: Sequence[Path], read: Iterable[tuple[str, Path]] = ()) -> None:
    """Check training files before any work.

    Raises:
        OutputError: a file cannot be written, is an input, or would replace another kind of file.
    """
    outputs = [output_checks.Output("--output", path, lambda head: head.startswith(b'{"id":')) for path in paths]
    output_checks.check_outputs(outputs, read)


def write(path: Path, rows: Iterable[Example], evaluation: EvaluationQuestions | None = None) -> None:
    """Write rows as JSON lines, atomically, and print the number of each kind.

    Raises:
        InputError: a row of a question reserved for `evaluation`.
    """
    counts: Counter[str] = Counter()
    with atomic_write(path) as stream:
        for item in rows:
            if evaluation is not None:
                evaluation.refuse(item["id"], item["question"])
            stream.write(json.dumps(item, ensure_ascii=False) + "\n")
            subset = str(item.get("kind") or "")  # optional in user files
            counts[subset if subset.startswith(GRADED) else f"{subset}={item.get('label', 0):g}"] += 1
    print(f"{path}: {counts.total()} rows; {dict(counts)}")


def main() -> int:
    """The command line."""
    parser = script_parser(__doc__)
    parser.add_argument(
        "--data", type=file_path, required=True, help="the folder with bioasq, pubmed, sts, qasc, pubmedqa, medquad"
    )
    parser.add_argument("--output", type=file_path, required=True, help="where the training files go")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    return guarded("training_data", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Build all files."""
    check_outputs([arguments.output / f"{name}.jsonl" for name in FILES])
    bioasq, output = load(arguments.data, arguments.seed), arguments.output
    evaluation = bioasq.evaluation
    in_document = [r for q in bioasq.train for r in document_rows(bioasq, q)]
    write(output / "in_document.train.jsonl", complete_groups(in_document), evaluation)
    write(output / "shared.train.jsonl", complete_groups(shared_rows(bioasq)), evaluation)
    write(
        output / "relevance.train.jsonl",
        complete_groups(r for q in bioasq.train for r in candidate_rows(bioasq, q)),
        evaluation,
    )
    write(output / "relevance.dev.jsonl", complete_groups(r for q in bioasq.dev for r in document_rows(bioasq, q)))
    write(output / "relevance.search.dev.jsonl", (r for q in bioasq.dev for r in search_rows(bioasq, q)))
    write(
        output / "pubmedqa.train.jsonl", complete_groups(pubmedqa_rows(arguments.data, bioasq.evaluation)), evaluation
    )
    medquad = medquad_rows(arguments.data, evaluation, random.Random(arguments.seed))
    write(output / "medquad.train.jsonl", complete_groups(medquad), evaluation)
    write(output / "sts.train.jsonl", sts_rows(arguments.data / "sts/stsb/sts-train.csv", both_orders=True), evaluation)
    write(output / "sts.dev.jsonl", sts_rows(arguments.data / "sts/stsb/sts-dev.csv"))
    write(output / "sia.train.jsonl", sia_rows(bioasq, bioasq.train, arguments.seed), evaluation)
    write(output / "sia.dev.jsonl", sia_rows(bioasq, bioasq.dev, arguments.seed))
    write(output / "sia.coverage.jsonl", exact_rows(bioasq, bioasq.dev, arguments.seed))
    write(output / "sia.qasc.jsonl", qasc_rows(arguments.data, arguments.seed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
