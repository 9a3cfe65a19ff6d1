"""From questions to a submission: how time is spent and grows, and the latency of `rerank` compared with its peers.

    python benchmarks/end_to_end.py --data DATA --json end-to-end.json

Without --data it runs on the sample that ships with mpir. Three parts, each in fresh processes with the same threads:

- stages: 1, 10 and 100 questions, each with its candidates; and one question with 10, 100 and 1,000 candidates. The
    real calls are timed from outside, once. The parts of scoring (splitting, BM25 of the sentences, tokenising) are
    timed by repeating them separately; the remaining time is the model's. No score cache is used.
  - corpus: random parts of the corpus are indexed and searched; the time for 36 million records is extrapolated
    linearly.
- latency: `Reranker.rerank` (all perspectives, splitting, blend) for 10, 100 and 1,000 documents of one sentence, in
  turns with one perspective's worth of sentence-transformers' `CrossEncoder.rank` and of the rerankers package's
  `rank`. `ratios` are the peer's seconds to mpir's: above 1, mpir is faster.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from measure import Worker, alternate, default_threads, describe, helper, machine, show, spread, start_all, table
from peers import cut_outputs, load_quietly
from workload import corpus_files, make_pairs, read_asked, read_documents

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import check_figures, file_path, positive, text_path
from mpir.core.text import Document, Question
from mpir.core.text.split import sentences as split_sentences
from mpir.errors import MpirError
from mpir.files.corpora import read_corpus
from mpir.files.write import write_json

PUBMED = 36_000_000
INSIDE = ("splitting", "BM25 of sentences", "tokenising")
STAGES = ("retrieval", *INSIDE, "model", "blend", "writing")
MPIR, PEERS = "mpir", ("sentence-transformers", "sentence-transformers, bf16", "rerankers")


def main() -> int:
    """Measure, print and write."""
    arguments = _arguments()
    return guarded("end_to_end", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """The whole benchmark, from arguments to exit status."""
    check_figures(arguments)
    result: dict[str, Any] = {"machine": machine(arguments.threads), "command": sys.argv}
    questions = read_asked(arguments.data)
    with TemporaryDirectory(prefix="mpir-end-to-end-") as folder:
        result["corpus"] = corpus_growth(arguments, Path(folder), questions)
        index = Path(folder) / str(result["corpus"]["sizes"][-1]["records"])
        question_counts, grown = (
            [(n, arguments.candidates) for n in arguments.questions],
            [(1, n) for n in arguments.growth],
        )
        measured = {
            job: stages(arguments, index, questions[: job[0]], job[1]) for job in dict.fromkeys(question_counts + grown)
        }
        result["questions"], result["candidates"] = (
            [measured[job] for job in jobs] for jobs in (question_counts, grown)
        )
        result["latency"] = latency(arguments, Path(folder), questions)
    result["ratios"] = {
        f"{peer}, {row['documents']} documents": row["ratios"][peer]
        for row in result["latency"]
        for peer in row["ratios"]
    }
    report(result)
    if arguments.json:
        write_json(arguments.json, result)
    return 0


@contextmanager
def timing(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Add the seconds of the block to a stage."""
    start = time.perf_counter()
    yield
    seconds[stage] = seconds.get(stage, 0.0) + time.perf_counter() - start


def stages(
    arguments: argparse.Namespace, index: Path, questions: Sequence[Question], candidates: int
) -> dict[str, Any]:
    """Seconds of each stage for these questions in a fresh process, after one question to warm up."""
    with Worker(submitter, index, arguments.bundle, arguments.device, threads=arguments.threads) as worker:
        timed = worker.call(questions, candidates, index.parent / "submission.json")
        memory = worker.peak_mib()
    return {"candidates": candidates, "peak_mib": memory, "start_seconds": worker.started, **timed.value}


def submitter(folder: Path, bundle: str, device: str) -> Callable[[Sequence[Question], int, Path], dict[str, Any]]:
    """mpir with models and index loaded: questions in, a submission out, and the seconds of every stage."""
    load_quietly()
    from mpir import Reranker
    from mpir.bioasq.task import System, answer
    from mpir.files.corpora import write_submission
    from mpir.search import LuceneIndex

    index, reranker = LuceneIndex(folder), Reranker(bundle, device=device, cache=None)
    take_apart = inside_of_scoring(bundle)
    system = System("blend", reranker.weights)
    question = "Which gene is mutated in cystic fibrosis?"
    reranker.score([question], [index.search(question, 10)])

    def submit(questions: Sequence[Question], candidates: int, output: Path) -> dict[str, Any]:
        seconds: dict[str, float] = {}
        queries = [question.body for question in questions]
        with timing(seconds, "retrieval"):
            hits = [index.search(query, candidates) for query in queries]
        with timing(seconds, "scoring"):
            scored = reranker.score(queries, hits)
        with timing(seconds, "blend"):
            answers = [
                answer(question, scored_question, system)
                for question, scored_question in zip(questions, scored, strict=True)
            ]
        with timing(seconds, "writing"):
            write_submission(output, answers)
        total = sum(seconds.values())
        inside = take_apart(queries, hits)
        seconds |= inside | {"model": max(0.0, seconds.pop("scoring") - sum(inside.values()))}
        counts = {
            "documents": sum(map(len, hits)),
            "sentences": sum(len(scored_question.sentences) for scored_question in scored),
        }
        return {"questions": len(questions), **counts, "seconds": total, "stages": seconds}

    return submit


def inside_of_scoring(bundle: str) -> Callable[[Sequence[str], Sequence[Sequence[Any]]], dict[str, float]]:
    """Times what happens in scoring besides the model, done alone on the same documents."""
    from transformers import AutoTokenizer

    from mpir.models.perspectives import open_bundle
    from mpir.search import MemoryIndex

    opened = open_bundle(bundle)
    tokenizer = AutoTokenizer.from_pretrained(
        opened.folder / opened.manifest["perspectives"][0]["checkpoint"], trust_remote_code=False
    )

    def take_apart(queries: Sequence[str], hits: Sequence[Sequence[Any]]) -> dict[str, float]:
        seconds = dict.fromkeys(INSIDE, 0.0)
        for query, documents in zip(queries, hits, strict=True):
            with timing(seconds, "splitting"):
                texts = [sentence.text for document in documents for sentence in split_sentences(document)]
            with timing(seconds, "BM25 of sentences"):
                MemoryIndex(texts).scores(query)
            with timing(seconds, "tokenising"):
                if texts:
                    tokenizer([query] * len(texts), texts)
        return seconds

    return take_apart


def corpus_growth(arguments: argparse.Namespace, folder: Path, questions: Sequence[Question]) -> dict[str, Any]:
    """Index and search random parts of the corpus, and extrapolate the figures to PubMed with a straight line."""
    files = corpus_files(arguments.data)
    records = sum(1 for _ in read_corpus(files))
    sizes = sorted({min(size, records) for size in arguments.sizes})
    queries = [question.body for question in questions][: max(arguments.questions)]
    rows = []
    for size in sizes:
        with Worker(grower, threads=arguments.threads) as worker:
            target = folder / str(size)
            chosen = set(random.Random(0).sample(range(records), size))
            rows.append(worker.call(files, chosen, target, queries, arguments.candidates).value)
            rows[-1] |= {"records": size, "peak_mib": worker.peak_mib()}
            rows[-1]["index_mib"] = sum(p.stat().st_size for p in target.rglob("*") if p.is_file()) / 2**20
    return {"sizes": rows, "on_paper": on_paper(rows) if len(rows) > 1 else {}}


def grower() -> Callable[..., dict[str, Any]]:
    """Indexes the chosen documents of the files, and searches them one question after the other."""
    from mpir.search import LuceneIndex, build_index

    with TemporaryDirectory() as warm:
        build_index([Document("1", abstract="starts Java")], Path(warm) / "index")

    def grow(
        files: Sequence[Path], chosen: set[int], folder: Path, queries: Sequence[str], candidates: int
    ) -> dict[str, Any]:
        documents = [document for number, document in enumerate(read_corpus(files)) if number in chosen]
        seconds: dict[str, float] = {}
        with timing(seconds, "index_seconds"):
            build_index(documents, folder)
        with LuceneIndex(folder) as index:
            index.search_batch(queries, candidates)  # to warm up
            with timing(seconds, "search_ms"):
                for query in queries:
                    index.search(query, candidates)
        return seconds | {"search_ms": 1000 * seconds["search_ms"] / len(queries)}

    return grow


def on_paper(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Straight lines through (records, figure), read at 36 million records: no more than that."""
    records = [row["records"] for row in rows]
    lines = {
        name: np.polyfit(records, [row[name] for row in rows], 1)
        for name in ("index_seconds", "index_mib", "search_ms")
    }
    at = {name: float(np.polyval(line, PUBMED)) for name, line in lines.items()}
    return {
        "records": PUBMED,
        "index_hours": at["index_seconds"] / 3600,
        "index_gib": at["index_mib"] / 1024,
        "search_seconds": at["search_ms"] / 1000,
    }


def latency(arguments: argparse.Namespace, folder: Path, questions: Sequence[Question]) -> list[dict[str, Any]]:
    """Seconds of one call for lists of one-sentence documents, in turns."""
    documents = read_documents(arguments.data, 10_000, partial=False)
    texts = list(dict.fromkeys(text for _, text in make_pairs(questions, documents, 20 * max(arguments.documents))))
    with Worker(helper) as worker:
        checkpoint = str(worker.call(cut_outputs, arguments.bundle, str(folder)).value[0])
    device = None if arguments.device == "auto" else arguments.device
    contenders = {
        MPIR: (mpir_call, arguments.bundle, arguments.device),
        PEERS[0]: (sentence_transformers_call, checkpoint, device, {}),
        PEERS[1]: (sentence_transformers_call, checkpoint, device, {"dtype": "bfloat16"}),
        PEERS[2]: (rerankers_call, checkpoint, device),
    }
    with ExitStack() as stack:
        workers, _, notes = start_all(stack, contenders, arguments.threads, questions[0].body, texts[:4])
        if MPIR not in workers:
            raise MpirError("; ".join(notes))
        print(*notes, sep="\n", end="\n" if notes else "")
        return [one_length(workers, arguments.rounds, questions[0].body, texts[:n]) for n in arguments.documents]


def one_length(workers: Mapping[str, Worker], rounds: int, query: str, texts: list[str]) -> dict[str, Any]:
    """Everyone's seconds for one list."""
    timed = alternate(workers, rounds, query, texts)
    seconds = {name: spread(turn.seconds for turn in turns) for name, turns in timed.items()}
    peers = [name for name in workers if name != MPIR]
    ratios = {name: seconds[name]["median"] / seconds[MPIR]["median"] for name in peers}
    return {"documents": len(texts), "seconds": seconds, "ratios": ratios}


def mpir_call(bundle: str, device: str) -> Callable[[str, list[str]], None]:
    """A loaded Reranker's `rerank`."""
    load_quietly()
    from mpir import Reranker

    reranker = Reranker(bundle, device=device, cache=None)

    def call(query: str, texts: list[str]) -> None:
        assert len(reranker.rerank(query, texts).documents) == len(texts)
        reranker.close()  # so that the next round computes the documents' vectors again

    return call


def sentence_transformers_call(
    checkpoint: str, device: str | None, options: Mapping[str, Any]
) -> Callable[[str, list[str]], None]:
    """A loaded CrossEncoder's `rank`."""
    load_quietly()
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(checkpoint, device=device, model_kwargs=dict(options), trust_remote_code=False)

    def call(query: str, texts: list[str]) -> None:
        assert len(model.rank(query, texts)) == len(texts)

    return call


def rerankers_call(checkpoint: str, device: str | None) -> Callable[[str, list[str]], None]:
    """A loaded rerankers.Reranker's `rank`."""
    load_quietly()
    from rerankers import Reranker

    model = Reranker(checkpoint, model_type="cross-encoder", device=device, verbose=0)

    def call(query: str, texts: list[str]) -> None:
        assert len(model.rank(query, texts).results) == len(texts)

    return call


def report(result: Mapping[str, Any]) -> None:
    """Ratios first, then where the time goes, and how it grows."""
    print(f"\n{describe(result['machine'])}\n")
    names = list(result["latency"][0]["seconds"])
    rows = [
        [f"{row['documents']:,}", *(f"{row['ratios'][name]:.2f}" for name in names[1:]), *milliseconds(row, names)]
        for row in result["latency"]
    ]
    heads = ["documents", *(f"{name} : mpir" for name in names[1:]), *(f"{name}, ms" for name in names)]
    print("One call:\n", table(rows, heads), sep="\n", end="\n\n")
    heads = ["questions × candidates", "sentences", "s", "s/question", *(f"{stage} %" for stage in STAGES), "peak MiB"]
    candidate_rows = [row for row in result["candidates"] if row not in result["questions"]]
    rows = [stage_row(row) for row in (*result["questions"], *candidate_rows)]
    print("Questions to a submission:\n", table(rows, heads), sep="\n", end="\n\n")
    rows = [
        [
            f"{row['records']:,}",
            *(f"{row[key]:,.1f}" for key in ("index_seconds", "index_mib", "search_ms", "peak_mib")),
        ]
        for row in result["corpus"]["sizes"]
    ]
    print("Corpus:\n", table(rows, ["records", "index s", "index MiB", "ms/search", "peak MiB"]), sep="\n")
    if paper := result["corpus"]["on_paper"]:
        print(
            f"\nStraight lines through these say of {PUBMED:,} records, on paper: {paper['index_hours']:.1f} hours to "
            f"index, {paper['index_gib']:.0f} GiB on disk, {paper['search_seconds']:.2f} s a search."
        )


def milliseconds(row: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """The cells of everyone's time."""
    return [show({key: 1000 * value for key, value in row["seconds"][name].items()}) for name in names]


def stage_row(row: Mapping[str, Any]) -> list[str]:
    """The cells of one job."""
    shares = [f"{100 * row['stages'][stage] / row['seconds']:.1f}" for stage in STAGES]
    each = row["seconds"] / row["questions"]
    head = [f"{row['questions']:,} × {row['candidates']:,}", f"{row['sentences']:,}", f"{row['seconds']:.2f}"]
    return [*head, f"{each:.2f}", *shares, f"{row['peak_mib']:,.0f}"]


def _arguments() -> argparse.Namespace:
    parser = script_parser(__doc__)
    several: dict[str, Any] = {"type": positive, "nargs": "+", "metavar": "N", "help": "(%(default)s)"}
    parser.add_argument("--data", type=file_path, help="folder with bioasq/ and pubmed/ (default: mpir's sample)")
    parser.add_argument("--questions", default=[1, 10, 100], **several)
    parser.add_argument("--candidates", type=positive, default=100, help="of each question (%(default)s)")
    parser.add_argument(
        "--growth", default=[10, 100, 1000], **several | {"help": "candidates of one question (%(default)s)"}
    )
    parser.add_argument(
        "--sizes", default=[1000, 10_000, 60_000], **several | {"help": "records indexed (%(default)s)"}
    )
    parser.add_argument(
        "--documents", default=[10, 100, 1000], **several | {"help": "of one rerank call (%(default)s)"}
    )
    parser.add_argument("--rounds", type=positive, default=3, help="of the rerank calls (%(default)s)")
    parser.add_argument("--threads", type=positive, default=default_threads(), help="of every process (every core)")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, … (%(default)s)")
    parser.add_argument("--bundle", type=text_path, default="default", help="mpir's bundle (%(default)s)")
    parser.add_argument("--json", type=file_path, metavar="FILE", help="write the figures")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
