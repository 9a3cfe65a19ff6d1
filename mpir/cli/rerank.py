"""``mpir rerank``: several perspectives on documents that are at hand."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Iterator
from dataclasses import replace
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

from mpir.cli.annotate import NOT_FOR_CLINICAL_USE
from mpir.cli.search import name_of, query_text
from mpir.errors import InputError, OutputError, naming, shown
from mpir.io.read import STDIN, at_terminal, place_of, read_json_lines
from mpir.io.writable import check_files
from mpir.io.write import cache_folder

if TYPE_CHECKING:
    from mpir.perspectives import ScoreCache
    from mpir.perspectives.negation import NegationPerspective
    from mpir.rank.ranking import Ranking
    from mpir.rank.reranker import Reranker
    from mpir.rank.weights import Weights
    from mpir.text import Document

log = logging.getLogger(__name__)

_FILES = ("html", "csv")
"""Options that name a file for the one query."""
EPILOG = """\
Without a QUERY, standard input holds JSON lines as `mpir search` prints them:
  {"id": "1", "query": "…", "documents": [{"id": "…", "title": "…", "abstract": "…", "score": 7.1}, …]}
A terminal shows tables; a pipe carries one JSON object for each query, or with --trec the lines of a TREC run.

examples:
  mpir rerank "Is aspirin a blood thinner?" --docs abstracts.jsonl --top-k 5 --explain
  mpir rerank "Is aspirin a blood thinner?" --docs pubmed-aspirin-set.txt embase.ris --html aspirin.html
  mpir rerank "Is aspirin a blood thinner?" --docs pubmed-aspirin-set.txt embase.ris --csv aspirin.csv
  mpir rerank "Is aspirin a blood thinner?" --docs paper.nxml other.pdf --sentences 5
  mpir rerank "no pleural effusion" --docs reports.jsonl --lexicon chest-xray.tsv --explain
  mpir search --index pubmed-index --k 100 "Is aspirin a blood thinner?" | mpir rerank
  mpir search --index pubmed-index --k 100 < questions.jsonl | mpir rerank --trec > run.trec
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``rerank``."""
    parser = subparsers.add_parser(
        "rerank",
        help="rerank documents and their sentences",
        description="Score every (query, sentence) pair from several perspectives and rank documents and sentences.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "query",
        nargs="?",
        type=query_text,
        metavar="QUERY",
        help="a question (default: JSON lines on standard input)",
    )
    parser.add_argument(
        "--docs",
        nargs="+",
        metavar="PATH",
        help="with a QUERY: its documents (.jsonl, .csv, .nbib, .ris, .xml, .nxml, .pdf)",
    )
    parser.add_argument("--top-k", type=int, metavar="N", help="keep the N best documents (default: all)")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--explain", action="store_true", help="tables, and why the best document is the best")
    form.add_argument("--sentences", type=int, metavar="N", help="a table of the N best sentences of all documents")
    form.add_argument("--json", action="store_true", help="JSON lines at a terminal, too")
    form.add_argument("--trec", action="store_true", help="lines of a TREC run instead")
    parser.add_argument("--html", metavar="FILE", help="also write a page that explains the ranking of the one query")
    parser.add_argument("--csv", metavar="FILE", help="also write the table of the one query, for a spreadsheet")
    add_model_options(parser)
    parser.set_defaults(run=run)


def add_model_options(parser: argparse.ArgumentParser, *, weights: bool = True) -> None:
    """Add the options that choose perspectives and (unless told otherwise) weights, which several commands share."""
    parser.add_argument(
        "--bundle",
        default="default",
        metavar="PATH|NAME",
        help="trained perspectives: ./DIR, default or fast (%(default)s)",
    )
    parser.add_argument("--trust-code", action="store_true", help="let the bundle run code that it names")
    from mpir.rank.cascade import DEFAULT_SHARE

    if weights:
        _add_weight_options(parser)
    parser.add_argument(
        "--device",
        default="auto",
        metavar="DEVICE[,DEVICE…]",
        help="auto (a GPU where there is one), cpu, cuda, cuda:1 …; of a list, such as cuda:0,cuda:1 or cpu,cpu, "
        "each gets a process of its own (default: auto)",
    )
    parser.add_argument("--precision", default="auto", help="auto, fp32, bf16 or fp16 (default: auto)")
    parser.add_argument(
        "--tokens-per-batch", type=int, metavar="N", help="size of a batch, with padding (default: as the device likes)"
    )
    keeping = parser.add_mutually_exclusive_group()
    keeping.add_argument(
        "--cache",
        metavar="DIR",
        help="folder where scores are kept between runs (default: mpir's folder for caches; of serve and explain none)",
    )
    keeping.add_argument("--no-cache", action="store_true", help="score everything anew, and keep nothing")
    parser.add_argument("--cache-limit", type=int, metavar="BYTES", help="the most that the cache may take (1 GiB)")
    parser.add_argument(
        "--cascade",
        nargs="?",
        type=_share,
        const=DEFAULT_SHARE,
        metavar="SHARE",
        help="score only this share of a question's sentences, those that a first pass finds promising "
        "(without SHARE: %(const)s; default: score all)",
    )
    _add_lexicon_options(parser)


def _add_lexicon_options(parser: argparse.ArgumentParser) -> None:
    from mpir.cli.annotate import add_annotation_options

    group = parser.add_argument_group("yes and no", "a column for whether a document affirms or denies what is asked")
    group.add_argument(
        "--lexicon",
        metavar="FILE",
        help="concepts and their phrases; adds the document column negation, and splits documents as reports",
    )
    add_annotation_options(group)


def _share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{shown(text)} is no share; give a number above 0 and at most 1, and put a QUERY before --cascade"
        ) from None


def _add_weight_options(parser: argparse.ArgumentParser) -> None:
    from mpir.rank.weights import PUBLISHED

    names = ", ".join(PUBLISHED)
    parser.add_argument("--weights", metavar="FILE|NAME", help=f"weights instead of the bundle's: a file, or {names}")
    parser.add_argument(
        "--context",
        metavar="COLUMN",
        help="what S_CONTEXT is: a document column, document or fixpoint (default: as the weights say)",
    )
    parser.add_argument(
        "--beta",
        action="append",
        type=_column_weight,
        metavar="COLUMN=NUMBER",
        help="the weight of a document column instead of the weights' own, such as dense=1; may be given several times",
    )


def _column_weight(text: str) -> tuple[str, float]:
    name, _, number = text.partition("=")
    try:
        return name.strip(), float(number)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{shown(text)} is no column with a number, such as dense=1") from None


def check_options(arguments: argparse.Namespace) -> None:
    """Refuse model options that are wrong by their form, before anything is read or loaded. Raises InputError."""
    from mpir.models.options import device_names, precision_name
    from mpir.rank.cascade import check_share
    from mpir.values import perhaps_whole

    for name in ("top_k", "sentences", "tokens_per_batch"):
        perhaps_whole(f"--{name.replace('_', '-')}", getattr(arguments, name, None))
    device_names(arguments.device)
    precision_name(arguments.precision)
    check_share(arguments.cascade)


def load_reranker(arguments: argparse.Namespace) -> Reranker:
    """The reranker that the model options ask for. Raises MpirError for a bundle or weights that cannot be used."""
    from mpir.perspectives.scoring import PAIRS_AT_ONCE
    from mpir.rank.reranker import Reranker

    options = ("weights", "context", "agreement", "device", "precision", "tokens_per_batch", "cascade", "trust_code")
    chosen: dict[str, Any] = {name: getattr(arguments, name, None) for name in options}
    if given := getattr(arguments, "beta", None):
        chosen["weights"] = _with_beta(arguments, dict(given))
    if polarity := load_negation(arguments):
        from mpir.perspectives.negation import WEIGHT

        print(f"mpir: {NOT_FOR_CLINICAL_USE}", file=sys.stderr)
        chosen |= {"beside": [(polarity, WEIGHT)], "style": "report"}
    # Results come, and are kept, as often as the cache keeps scores.
    return Reranker(arguments.bundle, **chosen, cache=open_cache(arguments), pairs_at_once=PAIRS_AT_ONCE)


def _with_beta(arguments: argparse.Namespace, given: dict[str, float]) -> Weights:
    """The weights of the options or of the bundle, with those of some document columns changed."""
    from mpir.perspectives.bundle import open_bundle
    from mpir.rank.weights import Weights

    if arguments.weights:
        weights = Weights.load(arguments.weights)
    else:
        bundle = open_bundle(arguments.bundle)
        if not bundle.weights:
            raise InputError(f"bundle {arguments.bundle} has no weights that --beta could change; give --weights, too.")
        weights = Weights.from_dict(bundle.weights, f"{bundle.folder}: weights")
    return replace(weights, beta={**weights.beta, **given})


def load_negation(arguments: argparse.Namespace) -> NegationPerspective | None:
    """The negation column that the options ask for, None without a lexicon.

    Raises:
        InputError: a wrong file, or how to search a lexicon that is not given.
    """
    if arguments.lexicon is None:
        for name in ("triggers", "partial"):
            if getattr(arguments, name, None) is not None:
                raise InputError(f"--{name} is for a --lexicon, but there is none; give one, or leave it out.")
        return None
    from mpir.annotate import Lexicon, NegEx
    from mpir.perspectives.negation import NegationPerspective

    negation = NegEx.load(*arguments.triggers or ())
    polarity = NegationPerspective(Lexicon.load(arguments.lexicon), negation=negation, likeness=arguments.partial)
    polarity.level = "document"
    return polarity


def open_cache(arguments: argparse.Namespace) -> ScoreCache | None:
    """The cache that the model options ask for; None where there is none, or mpir's own folder cannot be written.

    Raises:
        InputError: a limit that is too small.
        OutputError: the folder that was asked for cannot be written.
    """
    from mpir.perspectives.cache import LIMIT, ScoreCache

    if arguments.no_cache:
        return None
    limit = LIMIT if arguments.cache_limit is None else arguments.cache_limit
    try:
        return ScoreCache(arguments.cache or cache_folder() / "scores", limit=limit)
    except OutputError as error:
        if arguments.cache:
            raise
        log.warning("%s", error)
        return None


def run(arguments: argparse.Namespace) -> int:
    """Rerank and print; 0 is the exit status. Raises MpirError for a user's mistake."""
    check_options(arguments)
    if arguments.docs and arguments.query is None:
        raise InputError("--docs names the documents of a QUERY, but there is none; put it before --docs.")
    if arguments.html and arguments.top_k is not None:
        raise InputError("--html shows all documents, since each of them may move up; leave --top-k out.")
    check_files(
        [(f"--{name}", getattr(arguments, name)) for name in _FILES],
        [("--docs", path) for path in arguments.docs or []],
    )
    inputs = _one(arguments.query, arguments.docs) if arguments.query is not None else _read(trec=arguments.trec)
    first = next(inputs, None)
    if first is None:
        raise InputError("standard input: there is no query; pipe in what `mpir search` prints, or give a QUERY.")
    for name in (name for name in _FILES if getattr(arguments, name)):
        if next(inputs, None) is not None:
            raise InputError(
                f"--{name} shows the ranking of one query, but standard input has more; pipe in one at a time."
            )
    from mpir.rank.explain import reasons

    reranker = load_reranker(arguments)
    width = get_terminal_size().columns if sys.stdout.isatty() else None
    as_json = arguments.json or width is None
    item: tuple[str, str, list[Document]] | None = first
    while item is not None:
        identifier, query, documents = item
        ranking = reranker.rerank(query, documents, top_k=arguments.top_k)
        _write_files(arguments, ranking, documents)
        if arguments.trec:
            sys.stdout.write(ranking.to_trec(identifier))
        elif arguments.sentences:
            print(ranking.sentence_table(arguments.sentences, width), end="\n\n")
        elif as_json and not arguments.explain:
            print(json.dumps({"id": identifier, **ranking.to_dict()}, ensure_ascii=False))
        else:
            print(ranking.table(width), end="\n\n")
        if arguments.explain and ranking.documents:
            text = documents[ranking[0].index].text
            print("\n".join([ranking.explain(), *reasons(reranker.perspectives, ranking, text)]), end="\n\n")
        sys.stdout.flush()
        item = next(inputs, None)
    return 0


def _write_files(arguments: argparse.Namespace, ranking: Ranking, documents: list[Document]) -> None:
    from mpir.io.write import atomic_write

    if arguments.html:
        from mpir.explain.page import page_data, page_with

        with atomic_write(arguments.html) as stream:
            stream.write(page_with(page_data(ranking, documents)))
    if arguments.csv:
        from mpir.rank.spreadsheet import spreadsheet

        with atomic_write(arguments.csv) as stream:
            stream.write(spreadsheet(ranking, arguments.sentences))


def _one(query: str, paths: list[str] | None) -> Iterator[tuple[str, str, list[Document]]]:
    if not paths:
        raise InputError("there are no documents for the query; name them with --docs PATH….")
    from mpir.corpora.copies import without_copies
    from mpir.corpora.corpus import naming_places, read_corpus
    from mpir.rank.inputs import as_documents

    with naming_places(paths):
        found = list(read_corpus(paths))
        documents = as_documents(without_copies(found))
    if copies := len(found) - len(documents):
        print(f"mpir: {copies} of {len(found)} documents are copies of others, and left out", file=sys.stderr)
    yield "1", query, documents


def _read(*, trec: bool) -> Iterator[tuple[str, str, list[Document]]]:
    if at_terminal(sys.stdin):
        raise InputError("there is no query; give one with --docs PATH…, or pipe in what `mpir search` prints.")
    from mpir.corpora.trec import check_ids
    from mpir.rank.inputs import as_documents

    for number, record in read_json_lines(STDIN):
        query, documents, place = record.get("query"), record.get("documents"), place_of(STDIN, number)
        if not isinstance(query, str) or not isinstance(documents, list):
            raise InputError(
                f'{place}: expected "query" (a string) and "documents" (a list), found '
                f"{shown(sorted(record))}; pipe in what `mpir search` prints."
            )
        with naming(place):
            found = as_documents(documents)
            if trec:
                check_ids(name_of(record, number), *(document.id for document in found))
        yield name_of(record, number), query, found
