"""Generate SIA data in named steps, each stored on disk and made only when needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from mpir.core.text import Document, Question
from mpir.errors import InputError, format_names, format_value
from mpir.files.corpora import corpus_fingerprint, read_questions
from mpir.files.corpora.corpus import corpus_content
from mpir.files.hash import sha256
from mpir.files.job_shards import Shard
from mpir.lab.sia import facts, graded, similar
from mpir.lab.sia.answers import Answer, read_answers
from mpir.lab.sia.collect import Collected, collect
from mpir.lab.sia.entities import EntityFinder, TermEntities, entity_finder
from mpir.lab.sia.filters import asks
from mpir.lab.sia.qasc import read_items
from mpir.lab.sia.report import write_dataset, write_report
from mpir.lab.sia.rows import Item, SiaRow
from mpir.lab.sia.settings import SHARE, Decoding, GenerationSettings, Training, is_share
from mpir.lab.sia.swaps import swap_rows
from mpir.lab.sia.vectors import Neighbours
from mpir.lab.sia.workspace import CHUNK, Record, Step, Workspace
from mpir.lab.train.leakage import EvaluationQuestions
from mpir.models.device import choose_device, choose_dtype
from mpir.models.perspectives import Perspective, open_bundle, score_pairs
from mpir.search import LuceneIndex, index_files, index_matches
from mpir.validation import real_number, whole_number
from mpir.version import __version__

NEAR = 10
QUESTIONS_PER_CHUNK = 64


class Generation:
    """A single generation: `run` makes every step, then collects the rows."""

    def __init__(
        self,
        settings: GenerationSettings,
        folder: str | Path,
        *,
        resume: bool = False,
        progress: bool = False,
        shard: Shard | None = None,
        accept_changes: bool = True,
    ) -> None:
        """Check the settings and open the folder. Raises InputError, ArtefactError or OutputError.

        For `shard` and `accept_changes` see `Workspace`; a shard is made by `run_shard`.
        """
        self.settings, self.steps, self.progress = settings, settings.chosen(), progress
        real_number("sia.probability", settings.probability, SHARE, is_share)
        whole_number("seed", settings.seed, minimum=0)
        self._training = Training(checkpoint=settings.writer, **settings.training)
        self._decoding = Decoding(**settings.decoding)
        self._answers = self._load_answers() if {"graded", "coverage"} & set(self.steps) else {}
        is_shard = shard is not None and shard.count > 1
        if is_shard and "generated" in self.steps:
            raise InputError(
                "the language models of the method generated learn from all rows, so it has no shards; leave the "
                "method out, or make one shard 1/1."
            )
        self._swapping = self._load_swapping() if "swap" in self.steps and not is_shard else None
        self.space = Workspace(folder, resume=resume, progress=progress, shard=shard, accept_changes=accept_changes)
        self.counts: dict[str, Mapping[str, int]] = {}
        self._perspectives: dict[str, Perspective] = {}

    def _load_swapping(self) -> tuple[EntityFinder, Neighbours]:
        """Load optional parts first, so that a missing one is reported before any work."""
        return entity_finder(self.settings.entities), Neighbours(self.settings.vectors)

    def _load_answers(self) -> dict[str, Answer]:
        """The exact answers of all questions, read first so that a bad one is reported before any work."""
        return {identity: answer for path in self.settings.bioasq for identity, answer in read_answers(path).items()}

    def run(self) -> Collected:
        """Make all rows, and write them with a report and a data card."""
        steps = list(self._steps())
        records = (record for step in steps for record in step.records())
        collected = collect(records, self.space.folder, self.settings.seed)
        made_by = {"mpir": __version__, **asdict(self.settings), "steps": list(self.steps)}
        if "generated" in self.steps:
            made_by |= {"training": asdict(self._training), "decoding": self._written()}
        write_report(self.space.folder, collected, self.counts, made_by)
        write_dataset(self.space.folder, collected, made_by)
        return collected

    def run_shard(self) -> list[Step]:
        """Make the shard's chunks of the steps that need only models and inputs; merging makes the others."""
        steps = []
        if self.settings.qasc:
            items = self._read_items()
            steps.append(items)
            if {"partial", "swap"} & set(self.steps):
                steps.append(self._partial("", items))
            if "similar" in self.steps:
                steps.append(self._similar("", items))
        if {"graded", "coverage"} & set(self.steps):
            steps.append(self._bioasq)
        return steps

    def _steps(self) -> Iterator[Step]:
        if self.settings.qasc:
            items = self._read_items()
            yield from self._from_items("", items)
            if "generated" in self.steps:
                yield from self._from_items("generated-", self._generate(items))
        if {"graded", "coverage"} & set(self.steps):
            yield self._bioasq

    def _read_items(self) -> Step:
        """Read QASC rows as items, and check them."""
        counts: Counter[str] = Counter()
        settings, source = self.settings, self.settings.qasc
        items = islice(read_items(source, skip_bad=settings.skip_bad, counts=counts), settings.limit)
        identity = {"file": source_identity(source), "limit": settings.limit, "skip_bad": settings.skip_bad}
        step = self._step("items", items, lambda batch: _dicts(batch, {}), identity, counts=counts)
        if not step.chunks:
            raise InputError(f"{source}: there are no valid rows; expected rows in QASC's format.")
        return step

    def _from_items(self, prefix: str, items: Step) -> Iterator[Step]:
        """Apply the paper's methods to items from any source."""
        seed, steps = self.settings.seed, {}
        if {"combined", "swap"} & set(self.steps):
            steps["combined"] = self._over(
                prefix + "combined", items, lambda batch: (facts.combined_rows(batch, seed), {})
            )
        if {"partial", "swap", "generated"} & set(self.steps):
            steps["partial"] = self._partial(prefix, items)
        yield from (step for name, step in steps.items() if name in self.steps)
        if "similar" in self.steps:
            yield self._similar(prefix, items)
        if "swap" in self.steps:
            yield self._swap(prefix, items, list(steps.values()))

    def _partial(self, prefix: str, items: Step) -> Step:
        relevance, seed = self._perspective("relevance"), self.settings.seed
        identity = {"relevance": relevance.fingerprint}
        return self._over(
            prefix + "partial",
            items,
            lambda batch: facts.partial_rows(batch, relevance, seed),
            identity,
            divided=True,
        )

    def _similar(self, prefix: str, items: Step) -> Step:
        models = similar.Models(self._perspective("sts"), self._perspective("relevance"))
        settings, folder = self.settings, self.space.path(prefix + "questions")
        source = {"items": items.fingerprint}
        if not index_matches(folder, source):
            similar.index_items(_items(items), folder, source)
        with LuceneIndex(folder) as index:
            step = self._over(
                prefix + "similar",
                items,
                lambda batch: similar.similar_rows(batch, index, models, settings.threshold, settings.seed),
                {"models": [models.sts.fingerprint, models.relevance.fingerprint], "threshold": settings.threshold},
                divided=True,
            )
        if self.space.shard.count == 1:
            similar.check_found(step.counts, settings.threshold)
        self.counts[step.name] = dict(similar.public(step.counts))
        return step

    def _swap(self, prefix: str, items: Step, rows: Sequence[Step]) -> Step:
        assert self._swapping
        settings, (finder, neighbours) = self.settings, self._swapping
        if isinstance(finder, TermEntities):
            finder.count(item.full for item in _items(items))
        paired = ((SiaRow.from_dict(record), item.answer) for step in rows for item, record in _joined(items, step))
        identity = {"entities": finder.identity, **neighbours.identity, "probability": settings.probability}
        return self._step(
            prefix + "swap",
            paired,
            lambda batch: _dicts(*swap_rows(batch, finder, neighbours, settings.probability, settings.seed)),
            {"rows": [step.fingerprint for step in rows], **identity, "seed": settings.seed},
        )

    def _generate(self, items: Step) -> Step:
        """Train both writers, then write a query and a partial fact for every source sentence.

        Both learn from the items; the query writer also learns from BioASQ's gold sentences, where these are made.
        """
        from mpir.lab.sia.generated import PER_CHUNK, Writers, generate_items, read_sources
        from mpir.lab.sia.writer import CUES, Writer

        settings, training = self.settings, asdict(self._training)
        trained = {target: self._train(target, items) for target in CUES}
        shared = {"max_length": training["max_length"], "device": settings.device, "precision": settings.precision}
        writers = Writers(**{target: Writer(folder, target, **shared) for target, folder in trained.items()})
        limit = settings.limit if settings.sentences is None else settings.sentences
        sources = islice(read_sources(settings.sources, self._evaluation()), limit)
        relevance = self._perspective("relevance")
        identity = {
            "training": [training, items.fingerprint, self._bioasq.fingerprint if "graded" in self.steps else ""],
            "decoding": self._written(),
            "filters": [asdict(settings.filters), relevance.fingerprint],
            "sources": [source_identity(path) for path in settings.sources],
            "limit": limit,
            "seed": settings.seed,
        }
        step = self._step(
            "generated-items",
            sources,
            lambda batch: _dicts(
                *generate_items(batch, writers, relevance, self._decoding, settings.filters, seed=settings.seed)
            ),
            identity,
            size=PER_CHUNK,
        )
        if not any(True for _ in step.records()):
            raise InputError(
                f"generated: the filters removed every query ({dict(step.counts)}); train longer, use a better "
                "checkpoint, or relax the filters."
            )
        return step

    def _train(self, target: str, items: Step) -> Path:
        from mpir.core.checksum import fingerprint
        from mpir.lab.sia.writer import train_writer

        settings, training = self.settings, asdict(self._training)
        partial = self._partial("", items)
        gold = self._bioasq if "graded" in self.steps and target == "query" else None
        rows = [step.fingerprint for step in (partial, gold) if step]
        identity = fingerprint({"kind": target, "rows": rows, "training": training, "seed": settings.seed})
        folder = self.space.prepare(f"writer-{target}", identity)

        def examples() -> Iterator[tuple[str, str]]:
            """Yield (source, target) of all training examples for this kind of writer."""
            if target == "partial":
                yield from ((item.full, record["sentence"]) for item, record in _joined(items, partial))
                return
            yield from ((item.full, item.question) for item in _items(items) if asks(item.question))
            for record in gold.records() if gold else ():
                if record["method"] == "golden" and asks(record["query"]):
                    yield record["sentence"], record["query"]

        return train_writer(
            target,
            examples,
            self._training,
            folder,
            seed=settings.seed,
            device=settings.device,
            precision=settings.precision,
            progress=self.progress,
        )

    @cached_property
    def _bioasq(self) -> Step:
        """Graded rows of BioASQ questions, without those reserved for evaluation."""
        settings, counts = self.settings, Counter[str]()
        folder, source = self.space.path("corpus"), corpus_fingerprint(settings.corpus)
        if not index_matches(folder, source):
            index_files(settings.corpus, folder, source=source, progress=self.progress)
        relevance = self._perspective("relevance")
        chosen = [name for name in ("graded", "coverage") if name in self.steps]
        identity = {
            "files": [source_identity(path) for path in (*settings.bioasq, *settings.exclude)],
            "corpus": corpus_content(source),
            "methods": chosen,
            "relevance": relevance.fingerprint,
            "limit": settings.limit,
            "seed": settings.seed,
        }
        makers = {"graded": graded.graded_rows, "coverage": graded.coverage_rows}
        with LuceneIndex(folder) as index:

            def work(questions: Sequence[Question]) -> tuple[list[Record], dict[str, int]]:
                """Return the rows of some questions, and no counts of omissions."""
                evidence_list = _evidence(questions, index, self._answers, relevance)
                rows = [
                    row.to_dict()
                    for evidence in evidence_list
                    for name in chosen
                    for row in makers[name](evidence, settings.seed)
                ]
                return rows, {}

            questions = islice(self._questions(counts), settings.limit)
            how: dict[str, Any] = {"size": QUESTIONS_PER_CHUNK, "divided": True}
            return self._step("bioasq", questions, work, identity, counts=counts, **how)

    def _questions(self, counts: Counter[str]) -> Iterator[Question]:
        evaluation, known_texts = self._evaluation(), set[str]()
        for question in (q for path in self.settings.bioasq for q in read_questions(path)):
            if evaluation.holds(question.id, question.body):
                counts["questions kept for evaluation, left out"] += 1
            elif question.id not in known_texts:
                known_texts.add(question.id)
                counts["questions"] += 1
                yield question

    def _evaluation(self) -> EvaluationQuestions:
        questions = (q for path in self.settings.exclude for q in read_questions(path))
        return EvaluationQuestions((q.id, q.body) for q in questions)

    def _written(self) -> dict[str, Any]:
        """How text is sampled, including the number format, which may depend on the hardware."""
        dtype = choose_dtype(self.settings.precision, [choose_device(self.settings.device)])
        return {**asdict(self._decoding), "precision": str(dtype).removeprefix("torch.")}

    def _perspective(self, name: str) -> Perspective:
        if not self._perspectives:
            settings = self.settings
            loaded = open_bundle(settings.bundle).perspectives(
                device=settings.device, precision=settings.precision, tokens_per_batch=settings.tokens_per_batch
            )
            self._perspectives = {perspective.name: perspective for perspective in loaded}
        if name not in self._perspectives:
            raise InputError(
                f"bundle {format_value(self.settings.bundle)}: has no perspective {format_value(name)} "
                f"(only {format_names(self._perspectives)}); choose a bundle with one."
            )
        return self._perspectives[name]

    def _over(
        self,
        name: str,
        items: Step,
        work: Any,
        identity: Mapping[str, Any] | None = None,
        *,
        divided: bool = False,
    ) -> Step:
        """Run a step that makes rows from chunks of items."""
        depends = {"items": items.fingerprint, "seed": self.settings.seed, **(identity or {})}
        return self._step(name, _items(items), lambda batch: _dicts(*work(batch)), depends, divided=divided)

    def _step(
        self,
        name: str,
        inputs: Iterable[Any],
        work: Any,
        depends: Mapping[str, Any],
        *,
        counts: Mapping[str, int] | None = None,
        size: int | None = None,
        divided: bool = False,
    ) -> Step:
        """Run a step and record its counts; `counts` are those made while reading the inputs."""
        depends = {"mpir": __version__, **depends}
        step = self.space.run(name, inputs, work, depends=depends, size=size or CHUNK, divided=divided)
        self.counts[name] = {**(counts or {}), **step.counts}
        return step


def _items(step: Step) -> Iterator[Item]:
    return map(Item.from_dict, step.records())


def _dicts(rows: Iterable[SiaRow | Item], counts: Mapping[str, int]) -> tuple[list[Record], Mapping[str, int]]:
    return [row.to_dict() for row in rows], counts


def _joined(items: Step, rows: Step) -> Iterator[tuple[Item, Record]]:
    """Yield every row with its item. Both are in the items' order, and an item has at most one row."""
    stream = _items(items)
    for record in rows.records():
        item = next(i for i in stream if (i.id, i.question) == (record["source_ids"][0], record["query"]))
        yield item, record


def source_identity(source: str) -> Any:
    """Identify a file by its content, a corpus folder by its files, and a hub dataset by its name."""
    if Path(source).is_file():
        return sha256(source)
    return corpus_fingerprint([source]) if Path(source).exists() else source


def _evidence(
    questions: Sequence[Question], index: LuceneIndex, answers: Mapping[str, Any], relevance: Perspective
) -> Iterator[graded.Evidence]:
    pairs = [(question.body, text) for question in questions for text in graded.gold_sentences(question)]
    scores = dict(zip(pairs, score_pairs([relevance], pairs).values[:, 0].tolist(), strict=True))
    results = index.search_batch([question.body for question in questions], NEAR + 1)
    for question, near in zip(questions, results, strict=True):
        gold = [document for name in question.documents or () if (document := _known(index, name))]
        names = set(question.documents or ())
        wrong = [document for document in near if document.id not in names]
        values = {text: scores[question.body, text] for text in graded.gold_sentences(question)}
        yield graded.Evidence(
            question=question,
            gold=gold,
            wrong=wrong,
            answer=answers.get(question.id, ()),
            relevance=values,
        )


def _known(index: LuceneIndex, name: str) -> Document | None:
    """A gold document, or None if the corpus lacks it."""
    try:
        return index.document(name)
    except InputError:
        return None
