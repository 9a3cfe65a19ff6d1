"""As many documents as PubMed has: indexing, searching by words and vectors, reranking, updating.

    python benchmarks/scale.py --data DATA --documents 1000000 --json scale.json
    python benchmarks/scale.py --data DATA --documents 36000000 --encoded 0 --folder /big/disk --json words.json

The corpus is made of the records of the data: the first lap has them as they are; later laps have new ids and shuffled
words, and three in ten of their records have only a title. So the index has as many words as it would
with other texts, but no more different ones. Only --encoded documents are really encoded, which gives the rate; the
other vectors are theirs with small random noise. With --encoded 0 there are no vectors.

Queries are BioASQ questions, one after the other. Cold is the first search for each in a fresh process, after the pages
of the index were dropped from memory; warm is the second. A reranking is that of the hybrid search's 100 documents,
search included. The update is a PubMed file of which nine in ten records replace others; meanwhile an open search
answers one query after the other. Next to elapsed time stands the time of the processor, to which other programs of the
machine add nothing. Making the corpus does not count. Indexes in --folder stay, and are used again.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
from measure import Worker, default_threads, describe, drop_pages, helper, machine, table
from vector_growth import pieces, stored
from workload import corpus_files, read_asked

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import check_figures, file_path, not_negative, positive
from mpir.core.text import Document, Question
from mpir.files.write import write_json

CANDIDATES, FIRST_ID, DAILY, DEPTHS, UNABRIDGED = 100, 10_000_000, 30_000, (100, 1000, 2000), 0.7
Search = Callable[[str, int], list[Document]]
Times = dict[str, float]


def main() -> int:
    """Measure, print and write."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, help="folder of BioASQ and PubMed (default: mpir's sample)")
    parser.add_argument("--documents", type=positive, default=1_000_000, help="documents (%(default)s)")
    parser.add_argument("--encoded", type=not_negative, default=2_000, help="documents to encode (%(default)s)")
    parser.add_argument("--folder", type=file_path, help="where the indexes go, and stay (default: a temporary one)")
    parser.add_argument("--queries", type=positive, default=100, help="queries to search for (%(default)s)")
    parser.add_argument("--reranked", type=positive, default=20, help="queries to rerank for (%(default)s)")
    parser.add_argument("--updated", type=positive, default=DAILY, help="records of the update (%(default)s)")
    parser.add_argument("--threads", type=positive, default=default_threads(), help="%(default)s")
    parser.add_argument("--json", type=file_path, metavar="FILE", help="write the figures")
    return guarded("scale", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """The whole benchmark, from arguments to exit status."""
    check_figures(arguments)
    result: dict[str, Any] = {"machine": machine(arguments.threads), "command": sys.argv}
    result["documents"] = arguments.documents
    questions = read_asked(arguments.data)[: arguments.queries]
    holder: Any = nullcontext(arguments.folder) if arguments.folder else TemporaryDirectory(prefix="mpir-scale-")
    with holder as name:
        folder = Path(name)
        steps: Mapping[str, Callable[..., Any]] = {"index": index, "encode": encode, "vectors": vectors}
        for step, function in list(steps.items())[: None if arguments.encoded else 1]:
            with Worker(helper, threads=arguments.threads) as worker:
                result[step] = worker.call(function, folder, arguments).value
                result[step]["peak_mib"] = worker.peak_mib()
            print(step, result[step], file=sys.stderr, flush=True)
        result["search"] = searches(arguments, folder, questions)
        result["update"] = update(arguments, folder, questions)
    report(result)
    if arguments.json:
        write_json(arguments.json, result)
    return 0


class Corpus:
    """So many documents, made of the records of the data; `seconds` of the processor that making them has taken."""

    def __init__(self, data: Path | None, count: int) -> None:
        """Read the records."""
        from mpir.files.corpora import read_corpus

        self.records = list(read_corpus(corpus_files(data, partial=False)))
        self.words = [np.array(record.abstract.split(), object) for record in self.records]
        self.count, self.seconds = count, 0.0

    def __iter__(self) -> Iterator[Document]:
        """Make the documents."""
        generator, laps = np.random.default_rng(0), len(self.records)
        for number in range(self.count):
            began = time.thread_time()
            record, abstract = self.records[number % laps], self.records[number % laps].abstract
            if number >= laps:
                shuffled = generator.random() < UNABRIDGED
                abstract = " ".join(generator.permutation(self.words[number % laps]).tolist()) if shuffled else ""
            document = Document(str(FIRST_ID + number), record.title, abstract)
            self.seconds += time.thread_time() - began
            yield document


def index(folder: Path, arguments: argparse.Namespace) -> dict[str, float]:
    """Index the corpus by its words, unless that was done before."""
    from mpir.search import build_index, index_matches

    source = {"documents": arguments.documents, "data": str(arguments.data)}
    corpus = Corpus(arguments.data, arguments.documents)
    began = now()
    if not index_matches(folder / "index", source):
        build_index(corpus, folder / "index", source=source, threads=arguments.threads)
    times = {name: seconds - corpus.seconds for name, seconds in since(began).items()}
    return {**times, "making_seconds": corpus.seconds, "bytes": size_of(folder / "index")}


def encode(folder: Path, arguments: argparse.Namespace) -> dict[str, float]:
    """Encode a sample, spread over the records; documents a second."""
    from mpir.app.cli.first_stage import open_encoder
    from mpir.files.corpora import read_corpus
    from mpir.search.dense import build_dense

    records = list(read_corpus(corpus_files(arguments.data, partial=False)))
    sample = records[:: max(1, len(records) // arguments.encoded)][: arguments.encoded]
    encoder = open_encoder("default")
    encoder.vectors([sample[0].abstract])
    began = now()
    info = build_dense(sample, folder / "sample", encoder)
    return {**since(began), "documents": len(sample), "vectors": info.vectors}


def vectors(folder: Path, arguments: argparse.Namespace) -> dict[str, float]:
    """An index of as many vectors as there are documents, made of the encoded ones."""
    from mpir.search.dense import from_vectors, read_dense_info

    info = read_dense_info(folder / "sample")
    base, count = np.concatenate(list(stored(folder / "sample"))), arguments.documents
    matrix = np.lib.format.open_memmap(folder / "vectors.npy", "w+", np.float32, (count, base.shape[1]))
    begin = 0
    for piece in pieces(base, count):
        matrix[begin : begin + len(piece)] = piece
        begin += len(piece)
    matrix.flush()
    began, names = now(), [str(FIRST_ID + number) for number in range(count)]
    from_vectors(folder / "vectors.npy", names, folder / "dense", encoder=info.encoder)
    result = since(began)
    (folder / "vectors.npy").unlink()
    return {**result, "bytes": size_of(folder / "dense")}


def searches(arguments: argparse.Namespace, folder: Path, questions: Sequence[Question]) -> dict[str, Any]:
    """Milliseconds of a query in each mode and depth, and with a reranking on top."""
    queries = [question.body for question in questions]
    modes = {f"bm25, {depth:,}": ("bm25", depth, queries) for depth in DEPTHS}
    if arguments.encoded:
        modes |= {mode: (mode, CANDIDATES, queries) for mode in ("dense", "hybrid")}
        modes["hybrid + rerank"] = ("hybrid + rerank", CANDIDATES, queries[: arguments.reranked])
    return {name: searched(folder, *mode, arguments.threads) for name, mode in modes.items()}


def searched(folder: Path, mode: str, depth: int, queries: Sequence[str], threads: int) -> dict[str, Any]:
    """Milliseconds of queries in a fresh process, cold and warm."""
    drop_pages(folder)
    with Worker(searcher, folder, mode, depth, threads=threads) as worker:
        cold, warm = latency(worker.call(queries).value), latency(worker.call(queries).value)
        result = {**warm, "cold_p50_ms": cold["p50_ms"], "cold_p95_ms": cold["p95_ms"], "peak_mib": worker.peak_mib()}
    print(mode, depth, result, file=sys.stderr, flush=True)
    return result


def searcher(folder: Path, mode: str, depth: int = CANDIDATES) -> Callable[[Sequence[str]], list[Times]]:
    """Opens the first stage, and the models where they are needed; the times of each query."""
    search = opened(folder, mode)

    def timed(queries: Sequence[str]) -> list[Times]:
        times = []
        for query in queries:
            began = now()
            assert search(query, depth)
            times.append(since(began))
        return times

    return timed


def opened(folder: Path, mode: str) -> Search:
    """A search in a mode."""
    from mpir import Reranker
    from mpir.app.cli.first_stage import open_encoder
    from mpir.search import DenseIndex, HybridRetriever, LuceneIndex

    if mode == "bm25":
        return LuceneIndex(folder / "index").search
    dense = DenseIndex(folder / "dense", open_encoder("default"))
    if mode == "dense":
        return dense.search
    lexical = LuceneIndex(folder / "index")
    hybrid = HybridRetriever([lexical, dense])
    if mode == "hybrid":
        return hybrid.search
    reranker = Reranker(cache=None)

    def rerank(query: str, depth: int) -> list[Document]:
        documents = [lexical.document(hit.id) for hit in hybrid.search(query, depth)]  # the vectors have no texts
        return list(reranker.rerank(query, documents).documents)  # type: ignore[arg-type]

    return rerank


def update(arguments: argparse.Namespace, folder: Path, questions: Sequence[Question]) -> dict[str, Any]:
    """Return records per second of an update, and milliseconds of queries before and during it."""
    write_update(folder / "update.xml", arguments)
    queries, during = [question.body for question in questions], []
    with Worker(searcher, folder, "bm25") as search, Worker(helper, threads=arguments.threads) as worker:
        search.call(queries)
        before = search.call(queries).value
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(worker.call, apply_update, folder, arguments.threads)
            while not running.done():
                during += search.call(queries[:5]).value
            result = {"records": arguments.updated, **running.result().value, "peak_mib": worker.peak_mib()}
    return {**result, "before": latency(before), "during": latency(during), "searches": len(during)}


def write_update(path: Path, arguments: argparse.Namespace) -> None:
    """Write a PubMed file: nine in ten records have ids of the corpus, and a hundredth as many are deleted."""
    from mpir.files.corpora import read_corpus

    records = list(read_corpus(corpus_files(arguments.data, partial=False)))
    generator, count = np.random.default_rng(1), arguments.updated
    chosen = FIRST_ID + generator.choice(arguments.documents, min(count, arguments.documents), replace=False)
    old, gone = chosen[: len(chosen) * 9 // 10], chosen[len(chosen) - len(chosen) // 100 :]
    new = np.arange(count - len(old)) + FIRST_ID + arguments.documents
    with path.open("w", encoding="utf-8") as stream:
        stream.write("<PubmedArticleSet>\n")
        stream.writelines(citation(pmid, records[pmid % len(records)]) for pmid in [*old.tolist(), *new.tolist()])
        deleted = "".join(f'<PMID Version="1">{pmid}</PMID>' for pmid in gone.tolist())
        stream.write(f"<DeleteCitation>{deleted}</DeleteCitation>\n</PubmedArticleSet>\n")


def citation(pmid: int, record: Document) -> str:
    """A record in PubMed's XML."""
    return (
        f'<PubmedArticle><MedlineCitation><PMID Version="1">{pmid}</PMID><Article><ArticleTitle>{escape(record.title)}'
        f"</ArticleTitle><Abstract><AbstractText>{escape(record.abstract)}</AbstractText></Abstract></Article>"
        "</MedlineCitation></PubmedArticle>\n"
    )


def apply_update(folder: Path, threads: int) -> Times:
    """Apply an update as `mpir index update.xml --update` does."""
    from mpir.files.corpora.corpus import corpus_fingerprint, deleted_ids, read_collection
    from mpir.search.lucene.updates import update_index

    paths, began = [folder / "update.xml"], now()
    how: dict[str, Any] = {"deleted": deleted_ids(paths), "source": corpus_fingerprint(paths), "threads": threads}
    info = update_index(read_collection(paths), folder / "index", **how)
    return {**since(began), "documents": info.documents}


def size_of(folder: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def now() -> tuple[float, float]:
    """The time that has elapsed, and that of the processor in all threads."""
    return time.perf_counter(), time.process_time()


def since(began: tuple[float, float]) -> Times:
    """Seconds since then."""
    elapsed, processor = now()
    return {"seconds": elapsed - began[0], "processor_seconds": processor - began[1]}


def latency(times: Sequence[Times]) -> dict[str, float]:
    """Milliseconds of queries."""
    elapsed = [1000 * query["seconds"] for query in times]
    processor = [1000 * query["processor_seconds"] for query in times]
    p50, p95 = np.percentile(elapsed, [50, 95]).tolist()
    processor_p50, processor_p95 = np.percentile(processor, [50, 95]).tolist()
    result = {"p50_ms": p50, "p95_ms": p95, "max_ms": max(elapsed)}
    return {**result, "processor_p50_ms": processor_p50, "processor_p95_ms": processor_p95}


def report(result: Mapping[str, Any]) -> None:
    """Print tables of the measurements."""
    print(f"\n{describe(result['machine'])}\n\n{result['documents']:,} documents:\n")
    rows = []
    for step in [step for step in ("index", "encode", "vectors") if step in result]:
        row, documents = result[step], result[step].get("documents", result["documents"])
        mib = f"{row['bytes'] / 2**20:,.0f}" if "bytes" in row else ""
        times = (f"{row['seconds']:,.1f}", f"{row['processor_seconds']:,.1f}")
        rate = f"{documents / row['processor_seconds']:,.0f}"
        rows.append([step, f"{documents:,}", *times, rate, mib, f"{row['peak_mib']:,.0f}"])
    heads = ("step", "documents", "s", "processor s", "documents / processor s", "MiB on disk", "peak MiB")
    print(table(rows, heads), end="\n\n")
    updated = result["update"]
    modes = {**result["search"], "bm25 before the update": updated["before"], "bm25 during it": updated["during"]}
    heads = {
        "cold_p50_ms": "cold p50, ms",
        "cold_p95_ms": "cold p95, ms",
        "p50_ms": "warm p50, ms",
        "p95_ms": "warm p95, ms",
        "processor_p50_ms": "processor p50, ms",
        "processor_p95_ms": "processor p95, ms",
        "peak_mib": "peak MiB",
    }
    rows = [[mode, *(f"{row[key]:,.0f}" if key in row else "" for key in heads)] for mode, row in modes.items()]
    print(table(rows, ("search", *heads.values())))
    print(
        f"\nUpdate: {updated['records']:,} records in {updated['seconds']:,.1f} s "
        f"({updated['processor_seconds']:,.1f} s of the processor), {updated['records'] / updated['seconds']:,.0f} "
        f"a second; {updated['searches']:,} searches meanwhile.\n"
    )


if __name__ == "__main__":
    sys.exit(main())
