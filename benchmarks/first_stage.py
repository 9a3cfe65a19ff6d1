"""The first stage: mpir's Lucene index against bm25s, on the same records with the same questions.

    python benchmarks/first_stage.py --data DATA --json first-stage.json

Without --data it runs on the sample that ships with mpir. Both read the same files and write an index that returns
documents with their text. Both use Lucene's BM25 formula with mpir's k1 and b, lower-cased words, Lucene's 33 English
stop words and Porter stems (bm25s uses gensim's stemmer, Lucene its own). Every index is built, and every search run,
in a fresh process with the same threads, in turns. Start-up is the time from launching the process to the first hit.
Ratios above 1 favour Lucene.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from measure import Worker, alternate, default_threads, describe, machine, show, spread, table
from workload import corpus_files, read_asked

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import check_figures, file_path, positive
from mpir.files.corpora import read_corpus
from mpir.files.write import write_json
from mpir.search.memory import DEFAULT_B, DEFAULT_K1

K = 10
MPIR, PEER = "mpir (Lucene)", "bm25s"
Search = Callable[[Sequence[str], bool], list[list[str]]]


def main() -> int:
    """Measure, print and write."""
    arguments = _arguments()
    return guarded("first_stage", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """The whole benchmark, from arguments to exit status."""
    check_figures(arguments)
    result: dict[str, Any] = {"machine": machine(arguments.threads), "command": sys.argv, "rounds": arguments.rounds}
    queries = [question.body for question in read_asked(arguments.data)][: arguments.queries]
    with TemporaryDirectory(prefix="mpir-first-stage-") as folder:
        folders = {MPIR: Path(folder) / "lucene", PEER: Path(folder) / "bm25s"}
        indexing = measure_indexing(arguments, corpus_files(arguments.data), folders)
        start_up = measure_start_up(arguments, folders, queries[0])
        searching, overlap = measure_search(arguments, folders, queries)
    result |= {"queries": len(queries), "k": K, "top_10_overlap": overlap}
    result["contenders"] = {name: indexing[name] | start_up[name] | searching[name] for name in folders}
    result["ratios"] = ratios(result["contenders"])
    report(result)
    if arguments.json:
        write_json(arguments.json, result)
    return 0


def measure_indexing(
    arguments: argparse.Namespace, files: Sequence[Path], folders: Mapping[str, Path]
) -> dict[str, dict[str, Any]]:
    """Records per second from files to a finished index on disk, its size, and the memory that took."""
    builders = {MPIR: lucene_builder, PEER: bm25s_builder}
    rates: dict[str, list[float]] = {name: [] for name in builders}
    result: dict[str, dict[str, Any]] = {}
    for _ in range(arguments.rounds):
        for name, builder in builders.items():
            with Worker(builder, threads=arguments.threads) as worker:
                timed = worker.call(files, folders[name], arguments.threads)
                memory = worker.peak_mib()
            rates[name].append(timed.value / timed.seconds)
            size = sum(path.stat().st_size for path in folders[name].rglob("*") if path.is_file())
            result[name] = {"records": timed.value, "index_peak_mib": memory, "index_mib": size / 2**20}
    return {name: figures | {"records_per_second": spread(rates[name])} for name, figures in result.items()}


def measure_start_up(
    arguments: argparse.Namespace, folders: Mapping[str, Path], query: str
) -> dict[str, dict[str, Any]]:
    """Seconds from nothing to the first hit: a fresh process, imports, opening the index, and one search."""
    seconds: dict[str, list[float]] = {name: [] for name in folders}
    for _ in range(arguments.rounds):
        for name, folder in folders.items():
            with Worker(SEARCHERS[name], folder, arguments.threads, threads=arguments.threads) as worker:
                seconds[name].append(worker.started + worker.call([query], False).seconds)
    return {name: {"first_hit_seconds": spread(values)} for name, values in seconds.items()}


def measure_search(
    arguments: argparse.Namespace, folders: Mapping[str, Path], queries: Sequence[str]
) -> tuple[dict[str, dict[str, Any]], float]:
    """Queries per second one by one and in one call, the memory that took, and how much of the top 10 is the same."""
    rates: dict[str, dict[str, Any]] = {name: {} for name in folders}
    with (
        Worker(SEARCHERS[MPIR], folders[MPIR], arguments.threads, threads=arguments.threads) as lucene,
        Worker(SEARCHERS[PEER], folders[PEER], arguments.threads, threads=arguments.threads) as peer,
    ):
        workers = {MPIR: lucene, PEER: peer}
        for mode, together in (("single", False), ("batched", True)):
            timed = alternate(workers, arguments.rounds, queries, together)
            for name, turns in timed.items():
                rates[name][f"queries_per_second_{mode}"] = spread(len(queries) / turn.seconds for turn in turns)
        for name, worker in workers.items():
            rates[name]["search_peak_mib"] = worker.peak_mib()
    tops = [timed[name][0].value for name in workers]
    shared = [len(set(a) & set(b)) / max(len(a), len(b), 1) for a, b in zip(*tops, strict=True)]
    return rates, sum(shared) / len(shared)


def lucene_builder() -> Callable[[Sequence[Path], Path, int], int]:
    """mpir's index."""
    from mpir.search import build_index

    return lambda files, folder, threads: build_index(read_corpus(files), folder, threads=threads).documents


def bm25s_builder() -> Callable[[Sequence[Path], Path, int], int]:
    """Index and search with bm25s, which indexes on one thread and keeps the corpus in memory."""
    from bm25s import BM25

    def build(files: Sequence[Path], folder: Path, threads: int) -> int:
        documents = list(read_corpus(files))
        retriever = BM25(k1=DEFAULT_K1, b=DEFAULT_B, method="lucene")
        retriever.index(terms([document.text for document in documents]), show_progress=False)
        corpus = [{"id": d.id, "title": d.title, "abstract": d.abstract} for d in documents]
        retriever.save(str(folder), corpus=corpus, show_progress=False)
        return len(documents)

    return build


def lucene_searcher(folder: Path, threads: int) -> Search:
    """mpir's search; batches on all threads."""
    from mpir.search import LuceneIndex

    index = LuceneIndex(folder)

    def search(queries: Sequence[str], together: bool) -> list[list[str]]:
        hits = index.search_batch(queries, K, threads=threads) if together else [index.search(q, K) for q in queries]
        return [[document.id for document in documents] for documents in hits]

    return search


def bm25s_searcher(folder: Path, threads: int) -> Search:
    """bm25s, loaded with its corpus; batches on all threads."""
    from bm25s import BM25

    retriever = BM25.load(str(folder), load_corpus=True, show_progress=False)

    def retrieve(queries: Sequence[str], workers: int) -> list[list[str]]:
        retrieved = retriever.retrieve(
            terms(queries, ids=False), k=K, n_threads=workers, show_progress=False, leave_progress=False
        )
        pairs = zip(retrieved.documents, retrieved.scores, strict=True)
        return [[document["id"] for document, score in zip(*pair, strict=True) if score > 0] for pair in pairs]

    def search(queries: Sequence[str], together: bool) -> list[list[str]]:
        if together:
            return retrieve(queries, threads if threads > 1 else 0)
        return [retrieve([query], 0)[0] for query in queries]

    return search


SEARCHERS = {MPIR: lucene_searcher, PEER: bm25s_searcher}


def terms(texts: Sequence[str], *, ids: bool = True) -> Any:
    """bm25s' tokens in Lucene's manner: one-letter words too, 33 stop words, Porter stems (each word stemmed once)."""
    from bm25s import tokenize
    from gensim.parsing.porter import PorterStemmer

    stem = PorterStemmer().stem
    return tokenize(
        list(texts),
        token_pattern=r"(?u)\b\w+\b",
        stopwords="en",
        stemmer=lambda words: [stem(word) for word in words],
        return_ids=ids,
        show_progress=False,
    )


def ratios(contenders: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Return ratios of medians; above 1, Lucene is better, and below 1, bm25s."""
    ours, theirs = contenders[MPIR], contenders[PEER]
    faster = ("records_per_second", "queries_per_second_single", "queries_per_second_batched")
    ratio_of = {name: ours[name]["median"] / theirs[name]["median"] for name in faster}
    ratio_of["first_hit_seconds"] = theirs["first_hit_seconds"]["median"] / ours["first_hit_seconds"]["median"]
    return ratio_of | {name: theirs[name] / ours[name] for name in ("index_peak_mib", "search_peak_mib", "index_mib")}


def report(result: Mapping[str, Any]) -> None:
    """Ratios first, then what they are made of."""
    print(f"\n{describe(result['machine'])}")
    ours, theirs = (result["contenders"][name] for name in (MPIR, PEER))
    print(f"{ours['records']:,} records, {result['queries']} queries, {result['rounds']} rounds, medians (range).\n")
    rows = [
        [label, f"{result['ratios'][label]:.2f}", cell(ours[label]), cell(theirs[label])] for label in result["ratios"]
    ]
    print(table(rows, ["", "ratio", MPIR, PEER]))
    print(f"\nThe top {K} have {result['top_10_overlap']:.1%} of their documents in common.")


def cell(value: Any) -> str:
    """A spread or a number."""
    spreads = value if isinstance(value, dict) else spread([value])
    digits = 2 if spreads["median"] < 10 else 0
    return show(value, digits) if isinstance(value, dict) else f"{value:,.{digits}f}"


def _arguments() -> argparse.Namespace:
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, help="folder with bioasq/ and pubmed/ (default: mpir's sample)")
    parser.add_argument("--queries", type=positive, default=500, help="at most (%(default)s)")
    parser.add_argument("--rounds", type=positive, default=3, help="(%(default)s)")
    parser.add_argument("--threads", type=positive, default=default_threads(), help="of both (every core)")
    parser.add_argument("--json", type=file_path, metavar="FILE", help="write the figures")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
