"""Candidate lists of many kinds for fitting and measuring probabilities, as scored sets on disk.

    python -m experiments.calibration.lists --data DATA --output runs/calibration

BioASQ's questions get lists of 1, 2 and 5 candidates, with negatives from the head of BM25's ranking ("hard"), at
random, or mixed; every second one also gets a list of 20, and every fourteenth BM25's first 100 as they are ("pool").
PubMedQA's and MedQuAD's get lists of 4, and questions with gold snippets lists of 4 single sentences. The sets in
`FIT` are development questions and the fit folds; the others are for reporting. Scores are kept in OUTPUT/cache, and
finished sets are not scored again.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments.common.test_sets import CANDIDATES, FOLDERS, READERS, limited
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.model_options import add_model_options, load_reranker, model_arguments
from mpir.app.cli.value_options import file_path, positive
from mpir.core.text import Document, Question
from mpir.files.corpora import read_jsonl, read_questions
from mpir.files.read import read_json, read_json_lines
from mpir.reranking.reranker import Reranker
from mpir.search.memory import MemoryIndex
from mpir.tune.dataset import Dataset

FIT = ("dev", "dev-sentences", "pubmedqa-fit", "medquad-fit")
REPORT = ("test", "test-sentences", "pubmedqa", "medquad", "trecqa", "med", "nfcorpus", "scifact")
BATCHES = {"dev": ("5B",), "test": ("6B", "7B", "11B")}
HEAD, POOL_EVERY, LONGEST = 30, 14, 2500
"""Hard negatives are among BM25's first 30; a pool for every 14th question; MedQuAD's longest answer in characters."""
NEGATIVES = ("hard", "random", "mixed")
List = tuple[Question, list[Document]]


@dataclass(frozen=True)
class Corpus:
    """Documents with BM25, and a generator of random ones."""

    documents: Sequence[Document]
    index: MemoryIndex
    generator: random.Random

    @classmethod
    def of(cls, documents: Sequence[Document], seed: int) -> Corpus:
        """Index the documents."""
        return cls(documents, MemoryIndex([document.text for document in documents]), random.Random(seed))

    def best(self, query: str, count: int) -> list[Document]:
        """BM25's first documents."""
        order = np.argsort(-self.index.scores(query), kind="stable")[:count]
        return [self.documents[i] for i in order]

    def negatives(self, query: str, source: str, count: int, without: set[str]) -> list[Document]:
        """Documents that are not gold: from BM25's head, from anywhere, or half of them from each."""
        hard = [document for document in self.best(query, HEAD) if document.id not in without]
        near = {"hard": count, "random": 0, "mixed": (count + 1) // 2}[source]
        chosen = self.generator.sample(hard, min(near, len(hard)))
        excluded = without | {document.id for document in chosen}
        while len(chosen) < count:
            document = self.generator.choice(self.documents)
            if document.id not in excluded:
                chosen.append(document)
                excluded.add(document.id)
        return chosen


def bioasq_lists(data: Path, split: str, limit: int | None, seed: int) -> Iterator[List]:
    """The lists of BioASQ's questions that have a gold document among the abstracts."""
    corpus = Corpus.of(list(read_jsonl(data / "pubmed" / "abstracts.jsonl")), seed)
    by_id = {document.id: document for document in corpus.documents}
    for number, question in enumerate(bioasq_questions(data, split, set(by_id), limit, seed)):
        gold = [by_id[name] for name in question.documents or ()]
        for size in (1, 2, 5, 20):
            source = NEGATIVES[(number + size) % 3]
            positives = gold[: max(1, size // 4)] if size > 1 or number % 2 else []
            negatives = corpus.negatives(
                question.body, source, size - len(positives), set(by_id) & set(question.documents or ())
            )
            yield _list(question, f"{size}-{source}", [*positives, *negatives])
        if number % POOL_EVERY == 0:
            yield _list(question, "100-pool", corpus.best(question.body, CANDIDATES))


def bioasq_questions(data: Path, split: str, held: set[str], limit: int | None, seed: int) -> list[Question]:
    """The questions of a split's golden batches with a gold document among those `held`; a sample of `limit`."""
    paths = [path for batch in BATCHES[split] for path in sorted((data / "bioasq").glob(f"{batch}*_golden.json"))]
    questions = {question.id: question for path in paths for question in read_questions(path)}
    with_gold = []
    for question in questions.values():
        documents = tuple(dict.fromkeys(name for name in question.documents or () if name in held))
        snippets = tuple(snippet for snippet in question.snippets or () if snippet.document in set(documents))
        if documents:
            with_gold.append(replace(question, documents=documents, snippets=snippets))
    return random.Random(seed).sample(with_gold, min(limit or len(with_gold), len(with_gold)))


def sentence_lists(data: Path, split: str, limit: int | None, seed: int) -> Iterator[List]:
    """A gold snippet of each question, with three sentences of other questions' snippets (one of them near by BM25)."""
    held = {document.id for document in read_jsonl(data / "pubmed" / "abstracts.jsonl")}
    questions = [q for q in bioasq_questions(data, split, held, limit, seed) if q.snippets]
    texts = [(question.id, snippet.text) for question in questions for snippet in (question.snippets or ())]
    corpus = Corpus.of([Document(str(i), "", text) for i, (_, text) in enumerate(texts)], seed)
    for question in questions:
        gold_ids = {str(i) for i, (owner, _) in enumerate(texts) if owner == question.id}
        gold = corpus.documents[int(min(gold_ids, key=int))]
        near = [document for document in corpus.best(question.body, HEAD) if document.id not in gold_ids][:1]
        negatives = corpus.negatives(question.body, "random", 2, gold_ids | {document.id for document in near})
        yield _list(
            Question(question.id, question.body, documents=(gold.id,)), "4-sentences", [gold, *near, *negatives]
        )


def pair_lists(pairs: Sequence[tuple[str, Document]], limit: int | None, seed: int) -> Iterator[List]:
    """Each question with its own text, the two nearest others by BM25, and one at random."""
    corpus = Corpus.of([document for _, document in pairs], seed)
    chosen = random.Random(seed).sample(range(len(pairs)), min(limit or len(pairs), len(pairs)))
    for number in chosen:
        query, gold = pairs[number]
        gold_ids = {document.id for text, document in pairs if text.lower() == query.lower()}
        near = [document for document in corpus.best(query, HEAD) if document.id not in gold_ids][:2]
        negatives = corpus.negatives(query, "random", 1, gold_ids | {document.id for document in near})
        yield _list(Question(gold.id, query, documents=(gold.id,)), "4-mixed", [gold, *near, *negatives])


def pubmedqa(data: Path) -> list[tuple[str, Document]]:
    """PubMedQA's questions, each with the abstract (without conclusion) that it was made from."""
    records = read_json(data / "pubmedqa" / "ori_pqal.json")
    return [(item["QUESTION"], Document(name, "", " ".join(item["CONTEXTS"]))) for name, item in records.items()]


def medquad(data: Path) -> list[tuple[str, Document]]:
    """MedQuAD's questions, each with its answer."""
    records = [record for _, record in read_json_lines(data / "medquad" / "medquad.jsonl")]
    short = (record for record in records if 100 <= len(record["answer"]) <= LONGEST)
    return [(record["question"], Document(str(i), "", record["answer"])) for i, record in enumerate(short)]


def fold(lists: Iterator[List], half: int) -> list[List]:
    """Every second list, beginning at `half`: 0 to fit, 1 to report."""
    return list(lists)[half::2]


def collection_lists(data: Path, name: str, limit: int | None, seed: int) -> Iterator[List]:
    """BM25's first 20 for each query of a collection, or its own candidates."""
    test = limited(READERS[name](data / FOLDERS[name]), limit, seed)
    corpus = None if test.candidates else Corpus.of(test.documents, seed)
    for query, text in test.queries.items():
        relevant = tuple(document for document, grade in test.qrels[query].items() if grade > 0)
        if corpus is None:
            candidates = [test.documents[i] for i in (test.candidates or {})[query]]
        else:
            candidates = corpus.best(text, 20)
        yield _list(Question(query, text, documents=relevant), "20-pool", candidates)


def _list(question: Question, name: str, documents: Sequence[Document]) -> List:
    """A list as a question of its own, whose id ends in the kind of list."""
    return replace(question, id=f"{question.id}/{name}"), list(documents)


def makers(data: Path, limit: int, seed: int) -> dict[str, Callable[[], Iterator[List] | list[List]]]:
    """How to make each set's lists: at most `limit` questions of BioASQ and pairs, a fifth as many of collections."""
    return {
        "dev": lambda: bioasq_lists(data, "dev", limit, seed),
        "dev-sentences": lambda: sentence_lists(data, "dev", limit, seed),
        "pubmedqa-fit": lambda: fold(pair_lists(pubmedqa(data), limit, seed), 0),
        "medquad-fit": lambda: fold(pair_lists(medquad(data), limit, seed), 0),
        "test": lambda: bioasq_lists(data, "test", limit, seed),
        "test-sentences": lambda: sentence_lists(data, "test", limit, seed),
        "pubmedqa": lambda: fold(pair_lists(pubmedqa(data), limit, seed), 1),
        "medquad": lambda: fold(pair_lists(medquad(data), limit, seed), 1),
        **{
            name: lambda name=name: collection_lists(data, name, max(1, limit // 5), seed)
            for name in ("trecqa", "med", "nfcorpus", "scifact")
        },
    }


def score_set(reranker: Reranker, lists: Sequence[List], folder: Path) -> Dataset:
    """Score a set's lists and write them; Raises MpirError for a folder that cannot be written."""
    scored = reranker.stream_scored([q.body for q, _ in lists], [documents for _, documents in lists])
    pairs = ((question, candidates) for (question, _), candidates in zip(lists, scored, strict=True))
    return Dataset.collect(pairs, json.loads(json.dumps(reranker.identity, default=str))).save(folder)


def main() -> int:
    """Make and score the sets that are not there yet."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, required=True, help="the folder with bioasq/, pubmed/ and others")
    parser.add_argument("--output", type=file_path, required=True, help="folder for the scored sets and the cache")
    parser.add_argument("--sets", nargs="+", choices=(*FIT, *REPORT), default=(*FIT, *REPORT))
    parser.add_argument("--limit", type=positive, default=100, help="most questions of BioASQ and of pairs (100)")
    parser.add_argument("--seed", type=int, default=0)
    add_model_options(parser)
    arguments = parser.parse_args()
    return guarded("lists", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Score set by set, so that an interrupted run loses at most one."""
    arguments.cache = arguments.cache or arguments.output / "cache"
    reranker = load_reranker(model_arguments(arguments))
    reranker.pairs_at_once = 2048
    makers_by_name: dict[str, Any] = makers(arguments.data, arguments.limit, arguments.seed)
    for name in arguments.sets:
        if (folder := arguments.output / name).exists():
            continue
        scored = score_set(reranker, list(makers_by_name[name]()), folder)
        print(f"{name}: {len(scored.questions)} lists, {len(scored.documents)} candidates", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
