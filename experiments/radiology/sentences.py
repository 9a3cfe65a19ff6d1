"""Rank the sentences of one source by encoders that were trained on another: the paper's Tables 2, 3 and 4.

Sources are files of pairs (`mpir data lexicon-pairs`) or folders of brat's annotations, whose labels are people's.
Systems are BM25 (k1 1.5, b 0.75) that keeps "no", encoders as they are, one that was trained on the reports' plain text
(masked language modelling), and the encoder that learned from the pairs of the other source. Mean recall is
R-precision. The separation is cos(q, s) − cos(opposite of q, s) over all pairs, as mean ± standard deviation.

Queries are findings and denials ("edema", "no edema"); `templates` says them in several forms, and `without` asks for
sentences that affirm one finding and deny another ("edema without effusion").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

from experiments.common.baselines import Start
from experiments.common.retrieval import measure_run, run_of_scores
from experiments.radiology.brat import read_brat_pairs
from experiments.radiology.reports import TABLE
from experiments.radiology.training import train
from mpir.errors import InputError
from mpir.evaluate.comparison import Comparison
from mpir.evaluate.comparison_tables import describe, format_interval
from mpir.files.corpora import read_corpus
from mpir.lab.annotate import Lexicon, NegEx
from mpir.lab.annotate.pairs import DENIAL, lexicon_pairs, report_sentences
from mpir.lab.train.examples import Example, read_rows
from mpir.lab.train.masked_language import train_masked
from mpir.lab.train.sampling import Sampling
from mpir.lab.train.settings import TrainingSettings
from mpir.search import MemoryIndex
from mpir.types import F64

Answers = Mapping[str, Sequence[str]]
"""Query → the sentences that answer it."""
K1, B = 1.5, 0.75
AFFIRMED_FORMS = ("{}", "evidence of {}", "there is {}", "{} is present")
DENIED_FORMS = ("no {}", "no evidence of {}", "without {}", "{} is absent")
HARD = Sampling("hard", 128)
TRIGGERS = ("negation", "hedges", "radiology")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The training of the last system; the defaults are the paper's, whose warm-up is a number of steps."""

    checkpoint: Path | None = None
    sampling: Sampling = HARD
    batch_size: int = 32
    epochs: int = 10
    steps: int | None = None
    warmup_steps: int = 100
    learning_rate: float = 2e-5
    seed: int = 1

    def settings(self, pairs: int, checkpoint: str) -> TrainingSettings:
        """The settings of a run over this number of pairs."""
        steps = self.steps or max(1, self.epochs * pairs // self.batch_size)
        return TrainingSettings(
            checkpoint=checkpoint,
            batch_size=self.batch_size,
            max_steps=steps,
            warmup=min(1.0, self.warmup_steps / steps),
            learning_rate=self.learning_rate,
            seed=self.seed,
            evaluate_every=10**6,
        )


@dataclass(frozen=True, slots=True)
class Source:
    """The sentences to rank, and which of them answer each query."""

    texts: Sequence[str]
    answers: Answers

    @classmethod
    def read(cls, path: Path, fewest: int) -> Source:
        """Read pairs or brat's folder, with the queries of `fewest` sentences or more."""
        if path.is_dir():
            texts, answers = read_brat_pairs(path)
        else:
            pairs = [(row.question, row.sentence) for row in read_rows(path, 1.0)]
            texts, answers = list(dict.fromkeys(text for _, text in pairs)), _grouped(pairs)
        frequent = {query: sentences for query, sentences in answers.items() if len(sentences) >= fewest}
        if not frequent:
            raise InputError(f"{path}: no query has {fewest} sentences; lower --fewest.")
        return cls(texts, frequent)

    @classmethod
    def annotated(cls, reports: Path, lexicon: Path) -> Source:
        """Label reports by a lexicon, with the triggers for chest X-rays."""
        texts = report_sentences(read_corpus([reports]))
        return cls(texts, lexicon_pairs(texts, Lexicon.load(lexicon), NegEx.load(*TRIGGERS)))


def _grouped(pairs: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    answers: dict[str, list[str]] = {}
    for query, text in pairs:
        answers.setdefault(query, []).append(text)
    return answers


def run(
    training: Source, test: Source, output: Path, *, recipe: Recipe, models: Sequence[str], corpus: Path, form: str
) -> int:
    """Train, rank and print; `form` is findings, templates or without."""
    queries = QUERIES[form](test.answers)
    if not any(queries.values()):
        raise InputError(f"--queries {form}: no sentence answers such a query; choose others.")
    flat = {query: truth for group in queries.values() for query, truth in group.items()}
    number = {text: str(row) for row, text in enumerate(test.texts)}
    judged = {query: {number[text]: 1 for text in truth} for query, truth in flat.items()}
    systems: dict[str, dict[str, F64]] = {}
    gaps: dict[str, F64] = {}
    for name, encoder in _systems(training, output, recipe, models, corpus):
        scores = _bm25(list(flat), test.texts) if encoder is None else encoder.cosines(list(flat), test.texts)
        run = run_of_scores(flat, map(str, range(len(test.texts))), scores)
        systems[name] = measure_run(judged, run, ("AP", "Rprec"))
        if encoder is not None:
            gaps[name] = separation(encoder, test.answers)
    group_of = [name for name, group in queries.items() for _ in group]
    compared = Comparison(queries=list(flat), systems=systems, groups={"queries": group_of})
    print(f"{len(training.answers)} queries trained on; {len(flat)} queries, {len(test.texts)} sentences ranked\n")
    print(table(compared, gaps), end="\n\n")
    print(describe(compared))
    return 0


def table(compared: Comparison, gaps: Mapping[str, F64]) -> str:
    """AP and recall of each group of queries and of all, with the interval of AP, and the separation."""
    groups = list(compared.breakdown("queries"))
    rows = []
    for name in compared.systems:
        means = {measure: compared.breakdown("queries", measure) for measure in compared.measures}
        cells = [f"{means[measure][group][1][name]:.3f}" for measure in means for group in groups]
        half = len(groups)
        totals = [f"{compared.total(name, measure):.3f}" for measure in means]
        spread = f"{gaps[name].mean():+.3f} ± {gaps[name].std():.3f}" if name in gaps else ""
        interval = format_interval(compared.interval(name, "AP"), ".3f")
        rows.append([name, *cells[:half], totals[0], interval, *cells[half:], totals[1], spread])
    head = [f"mAP {group}" for group in groups], [f"recall {group}" for group in groups]
    return tabulate(rows, ["", *head[0], "mAP all", "95 %", *head[1], "recall all", "separation"], **TABLE)


def _systems(
    training: Source, output: Path, recipe: Recipe, models: Sequence[str], corpus: Path
) -> Iterator[tuple[str, Start | None]]:
    """Yield each system's name and encoder, None for BM25."""
    yield 'BM25 that keeps "no"', None
    start = Start(recipe.checkpoint)
    yield "pretrained encoder", start
    steps = TrainingSettings(
        checkpoint=start.encoder.checkpoint, batch_size=recipe.batch_size, max_steps=recipe.steps, seed=recipe.seed
    )
    masked, _ = train_masked([str(corpus)], steps, output / "mlm")
    yield "the same after MLM on the reports", Start(masked)
    for name in models:
        yield name, Start(name)
    entries = [
        Example(group=query, question=query, sentence=text, label=1.0)
        for query, texts in training.answers.items()
        for text in texts
    ]
    settings = recipe.settings(len(entries), start.encoder.checkpoint)
    yield f"trained, {recipe.sampling}", Start(train(entries, recipe.sampling, output / "trained", settings))


def _bm25(queries: Sequence[str], texts: Sequence[str]) -> F64:
    index = MemoryIndex(list(texts), stop_words="not-no", k1=K1, b=B)
    return np.stack([index.scores(query) for query in queries]).astype(np.float64)


def separation(encoder: Start, answers: Answers) -> F64:
    """How much nearer each sentence is to its query than to the opposite one, over all pairs (P,)."""
    queries = list(dict.fromkeys(query for query in answers for query in (query, opposite(query))))
    texts = list(dict.fromkeys(text for sentences in answers.values() for text in sentences))
    rows, columns = ({name: i for i, name in enumerate(names)} for names in (queries, texts))
    cosines = encoder.cosines(queries, texts)
    pairs = ((query, text) for query, sentences in answers.items() for text in sentences)
    return np.array(
        [cosines[rows[query], columns[text]] - cosines[rows[opposite(query)], columns[text]] for query, text in pairs]
    )


def opposite(query: str) -> str:
    """The query that denies what a query affirms, or the reverse."""
    return query.removeprefix(DENIAL) if query.startswith(DENIAL) else f"{DENIAL}{query}"


def findings(answers: Answers) -> dict[str, dict[str, Sequence[str]]]:
    """Findings and denials, as they are."""
    return {
        "findings": {query: texts for query, texts in answers.items() if not query.startswith(DENIAL)},
        "denials": {query: texts for query, texts in answers.items() if query.startswith(DENIAL)},
    }


def templates(answers: Answers) -> dict[str, dict[str, Sequence[str]]]:
    """Each form of each finding and denial, with the same answers."""
    affirmed, denied = findings(answers).values()
    forms = {form: {form.format(query): texts for query, texts in affirmed.items()} for form in AFFIRMED_FORMS}
    return forms | {
        form: {form.format(query.removeprefix(DENIAL)): texts for query, texts in denied.items()}
        for form in DENIED_FORMS
    }


def without(answers: Answers) -> dict[str, dict[str, Sequence[str]]]:
    """ "A without C", answered by the sentences that affirm A and deny C."""
    names = sorted({query.removeprefix(DENIAL) for query in answers})
    both = {
        f"{first} without {second}": [text for text in answers.get(first, ()) if text in denied]
        for first, second in permutations(names, 2)
        if (denied := set(answers.get(f"{DENIAL}{second}", ())))
    }
    return {"A without C": {query: texts for query, texts in both.items() if texts}}


QUERIES: Mapping[str, Any] = {"findings": findings, "templates": templates, "without": without}
