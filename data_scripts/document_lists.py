"""Build more training files of a model that reads whole documents: lists beside those of data_scripts/document_rows.py.

    python data_scripts/document_lists.py --data DATA --output runs/documents

This is a step of the recipe in docs/guides/reproduce.md. Rows are those that mpir/lab/train/document_mixture.py
describes, in four files:

    inserted.train.jsonl.gz  gold sentences set into other abstracts, beside gold sentences of other questions
    topics.train.jsonl.gz    titles, sentences and phrases of abstracts as queries, without labels, for a teacher
    medquad.train.jsonl.gz   MedQuAD's questions with their answer and the nearest other answers
    squad.train.jsonl.gz     SQuAD's questions with their paragraph and the nearest others (reading/squad.jsonl.gz)

Questions of the `dev` and `test` splits never enter a file, and their gold sentences are no negatives.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import bm25s
from document_rows import add_abstracts, are_rows, level_titles, write
from training_data import BioASQ, load

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path
from mpir.core.text import Document, Question
from mpir.core.text.characters import normalise
from mpir.core.text.split import sentences, split
from mpir.files.output_checks import Output, check_outputs
from mpir.files.read import read_json_lines
from mpir.lab.gold_sentences import gold_sentences, may_be_gold
from mpir.validation import whole_number

Row = dict[str, Any]
FILES = {name: f"{name}.train.jsonl.gz" for name in ("inserted", "topics", "medquad", "squad")}
ANSWERED, DISTRACTED, PLAIN = 3, 2, 3
"""Documents of a list with a gold sentence set in, with another question's only, and as they are."""
ALSO_DISTRACTED = 0.75
"""The share of documents with a gold sentence that have another question's, too."""
NEAR_QUESTIONS, DEPTH = 12, 24
"""Questions whose gold sentences distract from a question, and candidates of a topic."""
CANDIDATES = {"medquad": 8, "squad": 6}
PHRASE = 5
"""The most words of a phrase."""


def main() -> int:
    """Read, search, write."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, required=True, help="the data folder")
    parser.add_argument("--output", type=file_path, required=True, help="folder for the files")
    parser.add_argument("--abstracts", type=file_path, nargs="*", default=[], help="more files of abstracts")
    parser.add_argument("--most", type=int, default=20_000, help="lists of a file (%(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    return guarded("document_lists", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """The whole job."""
    limit, data = whole_number("--most", arguments.most), arguments.data
    paths = {name: arguments.output / file for name, file in FILES.items()}
    check_outputs([Output("--output", path, are_rows) for path in paths.values()], [("--data", data)])
    bioasq = load(data, arguments.seed)
    add_abstracts(bioasq, arguments.abstracts)
    arguments.output.mkdir(parents=True, exist_ok=True)
    makers = {
        "inserted": inserted_lists(bioasq),
        "topics": topic_lists(bioasq, limit),
        "medquad": medquad_lists(data, bioasq.random, limit),
        "squad": squad_lists(data, bioasq.random, limit),
    }
    for name, rows in makers.items():
        chosen = [row for row in rows if not bioasq.evaluation.holds(row["id"], row["question"])][:limit]
        write(paths[name], chosen)
        print(f"{paths[name]}: {len(chosen)} lists")
    return 0


class TextSearch:
    """BM25 over texts that have numbers."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._index, self._count = bm25s.BM25(), len(texts)
        self._index.index(bm25s.tokenize(list(texts), stopwords="en", show_progress=False), show_progress=False)

    def near(self, queries: Sequence[str], depth: int) -> list[list[int]]:
        """The numbers of each query's best texts."""
        tokens = bm25s.tokenize(list(queries), stopwords="en", show_progress=False)
        hits, _ = self._index.retrieve(tokens, k=min(depth, self._count), show_progress=False)
        return [list(map(int, row)) for row in hits]


def inserted_lists(bioasq: BioASQ) -> Iterator[Row]:
    """Yield lists of training questions that have gold sentences and enough candidates."""
    questions, generator = bioasq.train, bioasq.random
    bodies = [question.body for question in questions]
    for question, near in zip(questions, TextSearch(bodies).near(bodies, NEAR_QUESTIONS + 1), strict=True):
        gold = gold_sentences(question)
        hosts = [document for document in bioasq.near(question) if len(sentences(document)) > 2]
        distracting = distractors(bioasq, question, [questions[number] for number in near])
        if gold and distracting and len(hosts) >= ANSWERED + DISTRACTED + PLAIN:
            chosen = generator.sample(hosts, ANSWERED + DISTRACTED + PLAIN)
            level = level_titles(chosen, {document.id for document in chosen[:ANSWERED]})
            yield make_list(question.id, question.body, inserted(level, gold, distracting, generator))


def distractors(bioasq: BioASQ, question: Question, near: Iterable[Question]) -> list[str]:
    """Gold sentences of other questions that share no gold document with this one and do not answer it."""
    snippets, documents = [normalise(s.text) for s in question.snippets or ()], set(question.documents or ())
    unrelated = [item for item in near if item.id != question.id and not documents & set(item.documents or ())]
    texts = [text for item in unrelated for text in gold_sentences(item)]
    return [text for text in texts if normalise(text) not in bioasq.held and not may_be_gold(text, snippets)]


def inserted(
    hosts: Sequence[Document], gold: Sequence[str], distracting: Sequence[str], generator: random.Random
) -> Iterator[Row]:
    """Yield documents with a gold sentence set in, with another question's sentence only, and as they are."""
    for number, host in enumerate(hosts):
        texts = [(sentence.text, 0) for sentence in sentences(host)]
        is_answered = number < ANSWERED
        added = [(generator.choice(gold), 1)] if is_answered else []
        if (is_answered and generator.random() < ALSO_DISTRACTED) or ANSWERED <= number < ANSWERED + DISTRACTED:
            added.append((generator.choice(distracting), 0))
        for item in added:
            texts.insert(generator.randint(1, len(texts)), item)
        marks = [mark for _, mark in texts] if is_answered else None
        yield make_document([text for text, _ in texts], int(is_answered), marks)


def topic_lists(bioasq: BioASQ, limit: int) -> Iterator[Row]:
    """Yield lists without labels: titles, sentences and phrases with the abstracts that they find."""
    pool, generator = bioasq.pool, bioasq.random
    chosen = generator.sample(pool, min(limit, len(pool)))
    queries = [topic_query(document, generator) for document in chosen]
    search = TextSearch([document.text for document in pool])
    for document, query, near in zip(chosen, queries, search.near(queries, DEPTH), strict=True):
        candidates = [pool[number] for number in near if pool[number] is not document]
        documents = [make_document([sentence.text for sentence in sentences(item)]) for item in candidates]
        if query.strip() and len(candidates) > 1:
            yield make_list(f"topic-{document.id}", query, documents)


def topic_query(document: Document, generator: random.Random) -> str:
    """A document's title (one in two), one of its sentences (one in five), or some consecutive words of its title."""
    text, draw = document.title or document.abstract, generator.random()
    if draw < 0.5 and document.title:
        return document.title
    if draw < 0.7:
        return generator.choice(sentences(document)).text if sentences(document) else ""
    words = re.findall(r"[^\W\d_][\w-]+", text)
    start = generator.randrange(max(1, len(words) - PHRASE))
    return " ".join(words[start : start + generator.randint(1, PHRASE)])


def medquad_lists(data: Path, generator: random.Random, limit: int) -> Iterator[Row]:
    """Yield MedQuAD's questions with their answers, and near answers to other questions."""
    items = [item for _, item in read_json_lines(data / "medquad/medquad.jsonl") if item["answer"]]
    search = TextSearch([item["answer"] for item in items])
    chosen = generator.sample(range(len(items)), min(limit, len(items)))
    near = search.near([items[number]["question"] for number in chosen], CANDIDATES["medquad"])
    for number, hits in zip(chosen, near, strict=True):
        item, query = items[number], normalise(items[number]["question"])
        negatives = [items[hit]["answer"] for hit in hits if normalise(items[hit]["question"]) != query]
        documents = [
            make_document(split_text(text), int(text == item["answer"])) for text in (item["answer"], *negatives)
        ]
        if negatives:
            yield make_list(f"medquad-{item['source']}-{item['qid']}", item["question"], documents)


def squad_lists(data: Path, generator: random.Random, limit: int) -> Iterator[Row]:
    """Yield SQuAD's questions with the paragraph of the answer and near ones; none if there is no file."""
    path = data / "reading/squad.jsonl.gz"
    paragraphs = [item for _, item in read_json_lines(path)] if path.is_file() else []
    answered = [
        (number, query)
        for number, item in enumerate(paragraphs)
        for query in item["questions"]
        if not query.get("impossible")
    ]
    chosen = generator.sample(answered, min(limit, len(answered)))
    if not chosen:
        return
    search = TextSearch([item["text"] for item in paragraphs])
    near = search.near([query["q"] for _, query in chosen], CANDIDATES["squad"])
    for order, ((number, query), hits) in enumerate(zip(chosen, near, strict=True)):
        text, middle = paragraphs[number]["text"], query["start"] + len(query["answer"]) / 2
        marks = [int(begin <= middle < end) for begin, end in split(text)]
        negatives = [make_document(split_text(paragraphs[hit]["text"]), 0) for hit in hits if hit != number]
        if sum(marks) == 1 and negatives:
            yield make_list(f"squad-{order}", query["q"], [make_document(split_text(text), 1, marks), *negatives])


def split_text(text: str) -> list[str]:
    """The sentences of a text."""
    return [text[begin:end] for begin, end in split(text)]


def make_document(texts: Sequence[str], label: int | None = None, gold: Sequence[int] | None = None) -> Row:
    """A candidate of a row."""
    return {"sentences": list(texts), "label": label, "gold": gold}


def make_list(identifier: str, query: str, documents: Iterable[Row]) -> Row:
    """A row."""
    texts = [document for document in documents if document["sentences"]]
    return {"id": identifier, "question": query, "documents": texts}


if __name__ == "__main__":
    sys.exit(main())
