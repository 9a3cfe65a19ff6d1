"""A GPU's figures in one run of at most eight minutes: documents and pairs a second, and long lists for 100 questions.

    python benchmarks/gpu.py --json gpu.json
    python benchmarks/gpu.py --device cpu --seconds 5 --documents 8 --pairs 8 --questions 1 --candidates 8

It needs no data and no network: the documents are those of the sample, with their sentences in other orders, so that
all differ. Rates are of the reader of the default bundle to its end and to its exits (`fast` is its third layer), of
pairs of a question and a sentence, and of sentence-transformers' CrossEncoder with the same checkpoint on the same
documents and pairs, in bf16 on a GPU. Each repeats its work for a tenth of --seconds, after one call to warm up. At
last `Reranker.rerank` orders --candidates for each of --questions, once with the default cascade and once reading all,
as many questions as a fifth of --seconds allows; the seconds for all are then by proportion. No score cache is used.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from measure import default_threads, describe, machine, table
from peers import PAIRS, Pair, cut_outputs, gpu_name, mpir_score, on_gpu, sentence_transformers_score
from workload import make_pairs, read_asked, read_documents

from mpir import Document, Reranker, RunOptions
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import check_figures, file_path, positive
from mpir.core.text.split import sentences as split_sentences
from mpir.files.system import peak_memory
from mpir.files.write import write_json

TENTH, FIFTH = 0.1, 0.2


def main() -> int:
    """Measure, print and write."""
    parser = script_parser(__doc__)
    parser.add_argument("--device", default="auto", help="cpu, cuda, auto … (%(default)s)")
    parser.add_argument("--seconds", type=positive, default=400, help="of measuring, without loading (%(default)s)")
    parser.add_argument("--documents", type=positive, default=1024, help="documents of a rate (%(default)s)")
    parser.add_argument("--pairs", type=positive, default=4096, help="pairs of a rate (%(default)s)")
    parser.add_argument("--questions", type=positive, default=100, help="questions with lists (%(default)s)")
    parser.add_argument("--candidates", type=positive, default=1000, help="candidates of a question (%(default)s)")
    parser.add_argument("--json", type=file_path, metavar="FILE", help="also write the figures there")
    arguments = parser.parse_args()
    return guarded("gpu", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """The whole benchmark."""
    check_figures(arguments)
    result: dict[str, Any] = {"machine": machine(default_threads()), "command": sys.argv}
    result["gpu"] = gpu_name(arguments.device)
    print(describe(result["machine"]), result["gpu"] or "no GPU", sep="\n", flush=True)
    with TemporaryDirectory(prefix="mpir-gpu-") as folder:
        result["rates"] = dict(rates(arguments, Path(folder)))
    result["lists"] = {name: long_lists(arguments, name) for name in ("auto", "all")}
    result["memory_mib"] = memory(arguments.device)
    rows = [(name, f"{rate:,.0f}") for name, rate in result["rates"].items()]
    print(table(rows, ("", "a second")))
    lists = [(f"cascade {name}", f"{v['measured']}", f"{v['seconds']:.1f}") for name, v in result["lists"].items()]
    about = f"seconds for {arguments.questions} × {arguments.candidates:,}"
    print(table(lists, ("lists of candidates", "questions measured", about)))
    print(f"Peak memory, MiB: {result['memory_mib']:,.0f}")
    if arguments.json:
        write_json(arguments.json, result)
    return 0


def rates(arguments: argparse.Namespace, folder: Path) -> Iterator[tuple[str, float]]:
    """Yield each contender's name and its documents or pairs a second."""
    question, documents = read_asked(None)[0].body, list(islice(different_documents(), arguments.documents))
    for bundle in ("default", "fast"):
        reranker = Reranker(bundle, device=arguments.device, run=RunOptions(cascade="all"))
        yield f"documents, {bundle}", rate(reads(reranker, question, documents), len(documents), arguments)
    half = {"dtype": "bfloat16", "batch_size": 128} if on_gpu(arguments.device) is not None else {}
    device = None if arguments.device == "auto" else arguments.device
    peer = sentence_transformers_score(cut_outputs("default", str(folder / "reader"))[:1], device, half)
    whole: list[Pair] = [(question, document.text) for document in documents]
    yield "documents, CrossEncoder", rate(lambda: peer(whole), len(whole), arguments)
    pairs = make_pairs(read_asked(None), read_documents(None), arguments.pairs)
    own = mpir_score(PAIRS, arguments.device, "auto", 3)
    yield "pairs, three outputs", rate(lambda: own(pairs), len(pairs), arguments)
    peer = sentence_transformers_score(cut_outputs(PAIRS, str(folder / "pairs"))[:1], device, half)
    yield "pairs, CrossEncoder, one output", rate(lambda: peer(pairs), len(pairs), arguments)


def reads(reranker: Reranker, question: str, documents: Sequence[Document]) -> Callable[[], object]:
    """The work of reading documents; each time for another question, so that nothing is known from the time before."""
    numbers = count()
    return lambda: reranker.rerank(f"{question} {next(numbers)}", documents)


def rate(work: Callable[[], object], items: int, arguments: argparse.Namespace) -> float:
    """Return the items a second of work that is repeated for a tenth of the time, after one call to warm up."""
    work()
    start, rounds = time.perf_counter(), 0
    while not rounds or time.perf_counter() - start < TENTH * arguments.seconds:
        work()
        rounds += 1
    return rounds * items / (time.perf_counter() - start)


def different_documents() -> Iterator[Document]:
    """Yield the sample's documents without end; each time their sentences begin with the next one."""
    documents = read_documents(None)
    for lap in count():
        for document in documents:
            texts = [sentence.text for sentence in split_sentences(document) if sentence.section != "title"]
            at = lap % max(len(texts), 1)
            abstract = " ".join([*texts[at:], *texts[:at], *([f"This is part {lap} of the record."] if lap else [])])
            yield replace(document, id=f"{document.id}-{lap}", abstract=abstract)


def long_lists(arguments: argparse.Namespace, cascade: Any) -> dict[str, float]:
    """Return how many questions were measured, and the seconds for all of them."""
    candidates = list(islice(different_documents(), arguments.candidates))
    reranker = Reranker("default", device=arguments.device, run=RunOptions(cascade=cascade))
    asked = [question.body for question in read_asked(None)]
    reranker.rerank(asked[0], candidates[:16])
    start, measured = time.perf_counter(), 0
    while measured < arguments.questions and time.perf_counter() - start < FIFTH * arguments.seconds:
        reranker.rerank(f"{asked[measured % len(asked)]} {measured}", candidates)
        measured += 1
    seconds = time.perf_counter() - start
    return {"measured": measured, "seconds": seconds * arguments.questions / measured}


def memory(device: str) -> float:
    """Return the peak MiB of a GPU's memory, or else of the process's."""
    import torch

    gpu = on_gpu(device)
    used = torch.cuda.max_memory_allocated(gpu) if gpu is not None else peak_memory() or 0
    return used / 2**20


if __name__ == "__main__":
    sys.exit(main())
