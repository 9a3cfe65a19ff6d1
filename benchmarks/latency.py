"""The latency of one `rerank` of whole abstracts: bundles that read in stages or everything, against one cross-encoder.

    python benchmarks/latency.py --data DATA --json latency.json

The peer is sentence-transformers' CrossEncoder with the bundle's own six layers, in fp32 with its defaults, which reads
question and whole abstract once; `encode` is its SentenceTransformer, which only computes the abstracts' vectors. Each
has its own process, and they take turns, question by question; a question's abstracts are BM25's best. `cold` starts
with nothing but loaded models. `warm` is a second question over the same abstracts, where mpir has cached vectors of a
bundle that makes any; the peers cache nothing. The work is counted, too: the matrix products of a rerank in GFLOP, on
real tokens, without the peers' padding.

A probe runs first: a contender slower than a tenth of the fastest's speed is left out, and reported. Rounds end after
--seconds, so that the benchmark takes under ten minutes on any machine.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from measure import Worker, default_threads, describe, fast_enough, helper, machine, start_all, table
from peers import cut_outputs, load_quietly
from workload import read_asked, read_documents

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import check_figures, file_path, positive, text_path
from mpir.core.text import Document
from mpir.files.write import write_json
from mpir.search.memory import MemoryIndex

PEER, ENCODE = "sentence-transformers, CrossEncoder", "sentence-transformers, encode alone"
CORPUS = 3_000
Call = Callable[[str, Sequence[str], bool], float]


def main() -> int:
    """Measure, print and write."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, help="folder with bioasq/ and pubmed/ (default: mpir's sample)")
    parser.add_argument("--documents", type=positive, nargs="+", default=[100, 10], help="(100 and 10)")
    parser.add_argument("--questions", type=positive, default=5, help="rounds, as far as time allows (%(default)s)")
    parser.add_argument("--seconds", type=positive, default=480, help="for the rounds (%(default)s)")
    parser.add_argument("--precision", default="auto", help="of mpir's models: auto, fp32 or bf16 (%(default)s)")
    parser.add_argument(
        "--bundles",
        type=text_path,
        nargs="+",
        default=["default", "fast"],
        metavar="DIR|NAME",
        help="mpir's contenders, with and without stages; the first one's weights are the peers', too",
    )
    parser.add_argument("--threads", type=positive, default=default_threads(), help="of each (every core)")
    parser.add_argument("--json", type=file_path, metavar="FILE", help="write the figures")
    arguments = parser.parse_args()
    return guarded("latency", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """The whole benchmark."""
    check_figures(arguments)
    facts = machine(arguments.threads)
    queries = [question.body for question in read_asked(arguments.data)[: 2 * arguments.questions]]
    documents = read_documents(arguments.data, CORPUS, partial=False)
    with ExitStack() as stack, TemporaryDirectory(prefix="mpir-latency-") as folder:
        contenders = contenders_of(arguments, folder)
        probe = [document.text for document in documents[: min(arguments.documents)]]
        workers, _, notes = start_all(stack, contenders, arguments.threads, queries[0], probe[:2], True)
        workers, slow = fast_enough(workers, queries[0], probe, True)
        sizes = {count: rounds(arguments, workers, queries, documents, count) for count in arguments.documents}
    figures = {"machine": facts, "command": sys.argv, "left_out": [*notes, *slow]}
    figures["documents"] = {str(count): summary(turns) for count, turns in sizes.items()}
    report(figures)
    if arguments.json:
        write_json(arguments.json, figures)
    return 0


def contenders_of(arguments: argparse.Namespace, folder: str) -> dict[str, tuple[Any, ...]]:
    """Return each contender's preparation and arguments; the peers' weights are written to the folder."""
    with Worker(helper, threads=arguments.threads) as aside:
        cross_encoder = aside.call(cut_outputs, arguments.bundles[0], folder).value[0]
        encoder = aside.call(document_encoder, arguments.bundles[0]).value
    contenders: dict[str, tuple[Any, ...]] = {}
    for bundle in arguments.bundles:
        contenders[bundle] = (mpir_call, bundle, {"cascade": "all"}, arguments.precision)
        contenders[f"{bundle}, cascade auto"] = (mpir_call, bundle, {"cascade": "auto"}, arguments.precision)
    peers = {PEER: (cross_encoder_call, cross_encoder), ENCODE: (encode_call, encoder)}
    return contenders | {name: peer for name, peer in peers.items() if peer[1]}


def document_encoder(bundle: str) -> Path | None:
    """The folder of the encoder that makes a bundle's vectors of documents."""
    from mpir.models.perspectives import open_bundle

    opened = open_bundle(bundle)
    folders = [opened.folder / item["checkpoint"] for item in opened.entries if item["kind"] == "bi-encoder"]
    return next(iter(folders), None)


def rounds(
    arguments: argparse.Namespace,
    workers: Mapping[str, Worker],
    queries: Sequence[str],
    documents: Sequence[Document],
    count: int,
) -> dict[str, list[tuple[float, float, float]]]:
    """Seconds cold, seconds warm, and GFLOP cold of each contender, question by question, as long as time allows."""
    share = arguments.seconds * count / sum(arguments.documents)
    turns: dict[str, list[tuple[float, float, float]]] = {name: [] for name in workers}
    index, start, names = MemoryIndex([document.text for document in documents]), time.perf_counter(), list(workers)
    for number in range(arguments.questions):
        query, second = queries[(2 * number) % len(queries)], queries[(2 * number + 1) % len(queries)]
        best = np.argsort(-index.scores(query), kind="stable")[:count]
        texts = [documents[row].text for row in best]
        for name in names[number % len(names) :] + names[: number % len(names)]:
            cold, warm = (workers[name].call(*call) for call in ((query, texts, True), (second, texts, False)))
            turns[name].append((cold.seconds, warm.seconds, cold.value / 1e9))
        if (time.perf_counter() - start) * (number + 2) / (number + 1) > share:
            break
    return turns


def summary(turns: Mapping[str, Sequence[tuple[float, float, float]]]) -> dict[str, dict[str, float]]:
    """Medians and 95th percentiles of each contender, and the median over rounds of the peer's seconds to its own."""
    peer = [cold for cold, _, _ in turns[PEER]] if PEER in turns else []
    figures = {}
    for name, contender_turns in turns.items():
        cold, warm, work = (np.array(column) for column in zip(*contender_turns, strict=True))
        figures[name] = {
            "cold_p50": float(np.median(cold)),
            "cold_p95": float(np.percentile(cold, 95)),
            "warm_p50": float(np.median(warm)),
            "warm_p95": float(np.percentile(warm, 95)),
            "gflop": float(np.median(work)),
            "rounds": len(cold),
        }
        if peer:
            figures[name] |= {
                "times_peer": float(np.median(peer / cold)),
                "times_peer_warm": float(np.median(peer / warm)),
            }
    return figures


def report(figures: Mapping[str, Any]) -> None:
    """A table for each number of documents."""
    print(f"\n{describe(figures['machine'])}", *figures["left_out"], sep="\n")
    heads = ("", "cold p50, s", "p95", "warm p50, s", "p95", "GFLOP", "times the peer, cold", "warm")
    keys = ("cold_p50", "cold_p95", "warm_p50", "warm_p95", "gflop", "times_peer", "times_peer_warm")
    for count, contenders in figures["documents"].items():
        rows = [[name, *(f"{row[key]:.2f}" if key in row else "" for key in keys)] for name, row in contenders.items()]
        print(f"\n{count} abstracts, {next(iter(contenders.values()))['rounds']} questions\n\n{table(rows, heads)}")


@contextmanager
def counted_operations() -> Iterator[list[float]]:
    """The floating-point operations of mpir's encoders meanwhile: matrix products on true tokens."""
    from mpir.models.bert.bert import UnpaddedBert
    from mpir.models.devices.device_model import DeviceModel
    from mpir.models.documents.sentence_outputs import SentenceOutputs

    counted, forward, read_to = [0.0], DeviceModel._forward, UnpaddedBert.read_to
    backends = list[DeviceModel]()

    def counting(self: DeviceModel, sequences: Sequence[Any], reading: Any) -> Any:
        backends.append(self)
        if not isinstance(reading, SentenceOutputs):  # those count as far as they read
            counted[0] += operations(self.config, [len(tokens.ids) for tokens in sequences])
        return forward(self, sequences, reading)

    def counting_layers(
        self: UnpaddedBert, sequences: Sequence[Any], depth: Any = None, state_cache: Any = None
    ) -> Any:
        is_known = state_cache is not None and state_cache.find(sequences) is not None
        layers = (depth or len(self.layers)) - (state_cache.layer if is_known else 0)
        counted[0] += operations(backends[-1].config, [len(tokens.ids) for tokens in sequences], layers)
        return read_to(self, sequences, depth, state_cache)

    DeviceModel._forward, UnpaddedBert.read_to = counting, counting_layers  # type: ignore[method-assign]
    try:
        yield counted
    finally:
        DeviceModel._forward, UnpaddedBert.read_to = forward, read_to  # type: ignore[method-assign]


def operations(config: Any, lengths: Sequence[int], layers: int | None = None) -> float:
    """The operations of layers (by default all): 2 for each weight and token, and 4 · tokens² · width for attention."""
    tokens, width = np.array(lengths, np.float64), config.hidden_size
    weights = 4 * width**2 + 2 * width * config.intermediate_size
    return float((layers or config.num_hidden_layers) * (2 * weights * tokens + 4 * width * tokens**2).sum())


def mpir_call(bundle: str, options: Mapping[str, Any], precision: str) -> Call:
    """A loaded Reranker's `rerank`, which forgets the documents' vectors first where it shall be cold."""
    from mpir import Reranker, RunOptions

    reranker = Reranker(bundle, precision=precision, run=RunOptions(**options))

    def call(query: str, texts: Sequence[str], cold: bool) -> float:
        if cold:
            reranker.close()
        with counted_operations() as counted:
            assert len(reranker.rerank(query, texts).documents) == len(texts)
        return counted[0]

    return call


def cross_encoder_call(checkpoint: Path) -> Call:
    """A loaded CrossEncoder's `rank`, in fp32."""
    load_quietly()
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(str(checkpoint), device="cpu", model_kwargs={"dtype": "float32"}, trust_remote_code=False)

    def call(query: str, texts: Sequence[str], cold: bool) -> float:
        assert len(model.rank(query, list(texts))) == len(texts)
        ids = model.tokenizer([query] * len(texts), list(texts), truncation=True, max_length=512)["input_ids"]
        return operations(model.config, list(map(len, ids)))

    return call


def encode_call(encoder: Path) -> Call:
    """SentenceTransformer's `encode` of the documents, in fp32."""
    load_quietly()
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(encoder), device="cpu", model_kwargs={"dtype": "float32"}, trust_remote_code=False)

    def call(query: str, texts: Sequence[str], cold: bool) -> float:
        assert len(model.encode(list(texts))) == len(texts)
        ids = model.tokenizer(list(texts), truncation=True, max_length=512)["input_ids"]
        return operations(model[0].auto_model.config, list(map(len, ids)))

    return call


if __name__ == "__main__":
    sys.exit(main())
