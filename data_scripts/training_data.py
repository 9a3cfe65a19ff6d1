"""Build the training files of the three perspectives: question, sentence, label, one JSON object a line.

    python data_scripts/training_data.py --data ../shared/data --output runs/data

Writes {relevance,sts,sia}.{train,dev}.jsonl. Every row is {"id", "question", "sentence", "label", "kind"}: `id` groups
the rows of one question, `kind` says how the row came about. Questions of the `dev` and `test` splits never enter a
training file (checked by id and by text).
"""

from __future__ import annotations

import argparse
import csv
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bm25s

from mpir.corpora.bioasq import read_questions
from mpir.corpora.jsonl import read_jsonl
from mpir.files import atomic_write, read_json, read_json_lines
from mpir.text import Document, Question
from mpir.text.split import sentences, split
from mpir.train.leakage import EvaluationQuestions, normalise

Row = dict[str, Any]
POSITIVES, NEGATIVES, WRONG_DOCUMENTS = 4, 8, 12
BACKGROUND_LABELS = {"METHODS", "MATERIALS AND METHODS", "METHOD", "DESIGN", "SETTING", "STUDY DESIGN", "BACKGROUND"}


@dataclass
class BioASQ:
    """The questions of the three splits and the corpus they point into."""

    train: list[Question]
    dev: list[Question]
    evaluation: EvaluationQuestions
    documents: dict[str, Document]
    pool: list[Document]
    random: random.Random
    _near: dict[str, list[Document]] = field(default_factory=dict)

    def near(self, question: Question) -> list[Document]:
        """The BM25 candidates of a question, without anything known relevant (the TripClick recipe)."""
        gold = set(question.documents or ())
        return [document for document in self._near[question.id] if document.id not in gold]

    def retrieve(self, depth: int = 40) -> None:
        """Fill in the BM25 candidates of all questions at once."""
        index = bm25s.BM25()
        index.index(
            bm25s.tokenize([d.text for d in self.pool], stopwords="en", show_progress=False), show_progress=False
        )
        questions = self.train + self.dev
        tokens = bm25s.tokenize([q.body for q in questions], stopwords="en", show_progress=False)
        found, _ = index.retrieve(tokens, k=depth, show_progress=False)
        self._near = {q.id: [self.pool[i] for i in row] for q, row in zip(questions, found, strict=True)}


def load(data: Path, seed: int) -> BioASQ:
    """Read questions, splits and abstracts, and drop training questions whose text is also an evaluation question."""
    splits = read_json(data / "bioasq/splits.json")
    questions = {q.id: q for q in read_questions(data / "bioasq/training.json")}
    # The golden files, too: a few of their questions are not in the training file, or are worded otherwise there.
    golden = {q.id: q for path in sorted((data / "bioasq").glob("*_golden.json")) for q in read_questions(path)}
    held = [*splits["dev"], *splits["test"]]
    kept = [source[i] for source in (questions, golden) for i in held if i in source]
    evaluation = EvaluationQuestions((q.id, q.body) for q in kept)
    dev = [golden[i] for i in splits["dev"] if i in golden]
    train = [questions[i] for i in splits["train"] if not evaluation.holds(i, questions[i].body)]
    pool = list(read_jsonl(data / "pubmed/abstracts.jsonl"))
    bioasq = BioASQ(train, dev, evaluation, {d.id: d for d in pool}, pool, random.Random(seed))
    bioasq.retrieve()
    return bioasq


def golden_sentences(question: Question) -> list[str]:
    """The sentences of a question's golden snippets, each once."""
    texts = [s.text[begin:end] for s in question.snippets or () for begin, end in split(s.text)]
    return [text for text in dict.fromkeys(texts) if 20 <= len(text) <= 600]


def is_golden(sentence: str, snippets: list[str]) -> bool:
    """Whether the sentence and one of the (normalised) snippets contain one another."""
    text = normalise(sentence)
    return bool(text) and any(text in snippet or snippet in text for snippet in snippets)


def document_rows(bioasq: BioASQ, question: Question) -> Iterator[Row]:
    """Every sentence of the golden documents at hand: 1 in a golden snippet, 0 beside it."""
    snippets = [normalise(s.text) for s in question.snippets or ()]
    for identifier in question.documents or ():
        for sentence in sentences(bioasq.documents.get(identifier, Document(""))):
            label = float(is_golden(sentence.text, snippets))
            yield row(question, sentence.text, label, "in-document")


def candidate_rows(bioasq: BioASQ, question: Question) -> Iterator[Row]:
    """Some golden sentences against sentences of BM25 candidates that are not golden, whatever their rank."""
    golden = golden_sentences(question)
    snippets = [normalise(s.text) for s in question.snippets or ()]
    for text in bioasq.random.sample(golden, min(POSITIVES, len(golden))):
        yield row(question, text, 1.0, "golden")
    near = bioasq.near(question)
    documents = bioasq.random.sample(near, min(WRONG_DOCUMENTS, len(near)))
    wrong = [s.text for d in documents for s in sentences(d) if len(s.text) >= 20 and not is_golden(s.text, snippets)]
    for text in bioasq.random.sample(wrong, min(NEGATIVES, len(wrong))):
        yield row(question, text, 0.0, "bm25")


def pubmedqa_rows(data: Path, evaluation: EvaluationQuestions) -> Iterator[Row]:
    """PubMedQA: the conclusion answers the question; the methods and background of the same abstract do not."""
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


def sts_rows(path: Path) -> Iterator[Row]:
    """STS-B pairs, 0 to 5. Each pair is its own group."""
    with open(path, encoding="utf-8", newline="") as stream:
        for number, cells in enumerate(csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE), 1):
            yield row(Question(f"{path.stem}-{number}", cells[5]), cells[6], float(cells[4]), "sts-b")


def qasc_rows(data: Path, seed: int) -> Iterator[Row]:
    """QASC: 4 the combined fact, 2 the fact that shares more words with the question, 0 a near question's fact."""
    rows = [item for _, item in read_json_lines(data / "qasc/dev.jsonl")]
    stems = [item["question"]["stem"] for item in rows]
    index = bm25s.BM25()
    index.index(bm25s.tokenize(stems, stopwords="en", show_progress=False), show_progress=False)
    near, _ = index.retrieve(bm25s.tokenize(stems, stopwords="en", show_progress=False), k=4, show_progress=False)
    for number, item in enumerate(rows):
        question = Question(f"qasc-{item['id']}", stems[number])
        words = set(normalise(question.body).split())
        partial = max((item["fact1"], item["fact2"]), key=lambda fact: len(words & set(normalise(fact).split())))
        other = next(i for i in near[number] if normalise(stems[i]) != normalise(question.body))
        yield row(question, item["combinedfact"], 4.0, "qasc-4")
        yield row(question, partial, 2.0, "qasc-2")
        yield row(question, rows[other]["combinedfact"], 0.0, "qasc-0")


def graded_rows(bioasq: BioASQ, questions: Iterable[Question]) -> Iterator[Row]:
    """BioASQ graded: 4 golden, 2 half of a golden one, 1 beside it in its document, 0 from a wrong document."""
    for question in questions:
        golden = golden_sentences(question)
        beside = [r["sentence"] for r in document_rows(bioasq, question) if r["label"] == 0 and len(r["sentence"]) > 20]
        wrong = [r["sentence"] for r in candidate_rows(bioasq, question) if r["label"] == 0]
        pick = bioasq.random.sample
        yield from (row(question, text, 4.0, "golden") for text in pick(golden, min(1, len(golden))))
        yield from (row(question, half(bioasq, text), 2.0, "half") for text in pick(golden, min(1, len(golden))))
        yield from (row(question, text, 1.0, "beside") for text in pick(beside, min(4, len(beside))))
        yield from (row(question, text, 0.0, "wrong") for text in pick(wrong, min(1, len(wrong))))


def half(bioasq: BioASQ, text: str) -> str:
    """The first or the second half of a sentence, cut between words."""
    words = text.split()
    middle = max(1, len(words) // 2)
    return " ".join(words[:middle] if bioasq.random.random() < 0.5 else words[middle:])


def row(question: Question, sentence: str, label: float, kind: str) -> Row:
    """One training row."""
    return {"id": question.id, "question": question.body, "sentence": sentence, "label": label, "kind": kind}


def complete_groups(rows: Iterable[Row]) -> list[Row]:
    """The rows of questions that have both a positive and a negative, which a listwise loss needs."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for item in rows:
        groups[item["id"]].append(item)
    return [r for group in groups.values() if len({r["label"] > 0 for r in group}) == 2 for r in group]


def write(path: Path, rows: Iterable[Row], evaluation: EvaluationQuestions | None = None) -> None:
    """Write rows as JSON lines, atomically, and print how many of each kind there are.

    Raises:
        InputError: a row of a question that is kept for `evaluation`.
    """
    counts: Counter[str] = Counter()
    with atomic_write(path) as stream:
        for item in rows:
            if evaluation is not None:
                evaluation.refuse(item["id"], item["question"])
            stream.write(json.dumps(item, ensure_ascii=False) + "\n")
            counts[f"{item['kind']}={item['label']:g}" if item["kind"] != "sts-b" else "sts-b"] += 1
    print(f"{path}: {counts.total()} rows; {dict(counts)}")


def main() -> None:
    """Build all six files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with bioasq, pubmed, sts, qasc, pubmedqa")
    parser.add_argument("--output", type=Path, required=True, help="where the training files go")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    bioasq, output = load(arguments.data, arguments.seed), arguments.output
    evaluation = bioasq.evaluation
    in_document = [r for q in bioasq.train for r in document_rows(bioasq, q)]
    write(output / "in_document.train.jsonl", complete_groups(in_document), evaluation)
    write(
        output / "relevance.train.jsonl",
        complete_groups(r for q in bioasq.train for r in candidate_rows(bioasq, q)),
        evaluation,
    )
    write(output / "relevance.dev.jsonl", complete_groups(r for q in bioasq.dev for r in document_rows(bioasq, q)))
    write(
        output / "pubmedqa.train.jsonl", complete_groups(pubmedqa_rows(arguments.data, bioasq.evaluation)), evaluation
    )
    write(output / "sts.train.jsonl", sts_rows(arguments.data / "sts/stsb/sts-train.csv"), evaluation)
    write(output / "sts.dev.jsonl", sts_rows(arguments.data / "sts/stsb/sts-dev.csv"))
    qasc = list(qasc_rows(arguments.data, arguments.seed))
    write(output / "sia.train.jsonl", [*qasc[300:], *graded_rows(bioasq, bioasq.train)], evaluation)
    write(output / "sia.dev.jsonl", [*qasc[:300], *graded_rows(bioasq, bioasq.dev)])


if __name__ == "__main__":
    main()
