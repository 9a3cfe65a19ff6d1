"""Index files in the form of PubMed's baseline: records a second, and an index that was killed and resumed.

    python benchmarks/baseline.py --data DATA --files 100 --records 30000 --json baseline.json

Each file has new records, revisions of a hundredth as many records of the file before, and deletions of a thousandth.
Titles and abstracts are those of the data; from the second lap on, the abstracts' words are shuffled. Authors, journal
and headings are made up. The files are gzipped, and each has its MD5 beside it. `mpir index` then reads them twice:
once undisturbed, and once killed by SIGKILL after a share of that time and repeated. Both indexes must have the same
documents and the same results for BioASQ's questions; otherwise the exit status is 1. The indexes are in a temporary
folder. So are the files, unless --folder keeps them for the next run with the same numbers.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
from measure import ContenderError, Worker, default_threads, describe, helper, machine, table
from workload import corpus_files, read_asked

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import check_figures, file_path, positive, probability
from mpir.core.text import Document
from mpir.files.corpora import read_corpus
from mpir.files.write import atomic_write, write_json
from mpir.search import LuceneIndex
from mpir.search.lucene.build_files import GROUP_SECONDS, STATE

COMMAND = (
    "from mpir.app.cli import main; from mpir.search.lucene import build_files; "
    "build_files.GROUP_SECONDS = {seconds}; raise SystemExit(main())"
)
K, REVISED, DELETED, AUTHORS, HEADINGS = 10, 100, 1000, 6, 10


def main() -> int:
    """Measure, print and write."""
    parser = script_parser(__doc__)
    parser.add_argument("--data", type=file_path, help="folder of BioASQ and PubMed (default: mpir's sample)")
    parser.add_argument("--files", type=positive, default=10, help="files (%(default)s)")
    parser.add_argument("--records", type=positive, default=30_000, help="new records of a file (%(default)s)")
    parser.add_argument("--group-seconds", type=positive, default=round(GROUP_SECONDS), help="%(default)s")
    parser.add_argument("--killed-at", type=probability, default=0.6, help="share of the time (%(default)s)")
    parser.add_argument("--threads", type=positive, default=default_threads(), help="%(default)s")
    parser.add_argument("--folder", type=file_path, help="keep the files here, next to the temporary folder")
    parser.add_argument("--json", type=file_path, metavar="FILE", help="write the figures")
    return guarded("baseline", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """The whole benchmark, from arguments to exit status: 1 if the two indexes differ."""
    check_figures(arguments)
    result: dict[str, Any] = {"machine": machine(arguments.threads), "command": sys.argv}
    if arguments.folder:
        arguments.folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="mpir-baseline-", dir=arguments.folder) as temporary:
        folder = Path(temporary)
        files = (arguments.folder or folder) / f"files-{arguments.files}-{arguments.records}"
        with Worker(helper) as worker:  # this process stays small, because children inherit its peak memory
            worker.call(write_files, files, arguments)
        result["records"] = arguments.files * (arguments.records + arguments.records // REVISED)
        result["bytes"] = sum(file.stat().st_size for file in files.glob("*.gz"))
        result["undisturbed"] = index(files, folder / "undisturbed", arguments)
        seconds = arguments.killed_at * result["undisturbed"]["seconds"]
        result["killed"] = index(files, folder / "killed", arguments, seconds=seconds)
        result["groups_kept"] = len(list(folder.glob(f"killed.part/*/{STATE}")))
        result["resumed"] = index(files, folder / "killed", arguments)
        queries = [question.body for question in read_asked(arguments.data)]
        found = [results(folder / name, queries) for name in ("undisturbed", "killed")]
        result |= {"documents": found[0][0], "queries": len(queries), "equal": found[0] == found[1]}
    report(result)
    if arguments.json:
        write_json(arguments.json, result)
    return int(not result["equal"])


def write_files(folder: Path, arguments: argparse.Namespace) -> None:
    """Write the files with their MD5, unless a former run did."""
    records = list(read_corpus(corpus_files(arguments.data, partial=False)))
    words = [record.abstract.split() for record in records]
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(arguments.files):
        path = folder / f"pubmed26n{number + 1:04}.xml.gz"
        if path.with_name(f"{path.name}.md5").exists():
            continue
        with atomic_write(path, binary=True) as stream, gzip.open(stream, "wt", 1, encoding="utf-8") as text:
            text.write('<?xml version="1.0" encoding="utf-8"?>\n<PubmedArticleSet>\n')
            text.writelines(citations(number, records, words, arguments.records))
            text.write("</PubmedArticleSet>\n")
        digest = hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
        path.with_name(f"{path.name}.md5").write_text(f"MD5({path.name})= {digest}\n")


def citations(file: int, records: Sequence[Document], words: Sequence[list[str]], count: int) -> Iterator[str]:
    """Yield a file's records, revisions of the file before, and deletions, by PMID from 1."""
    generator, first = np.random.default_rng(file), 1 + file * count
    numbers = np.arange(first, first + count)
    if file:
        before = generator.choice(np.arange(first - count, first), count // REVISED + count // DELETED, replace=False)
        gone = "".join(f'<PMID Version="1">{pmid}</PMID>' for pmid in before[count // REVISED :])
        yield f"<DeleteCitation>{gone}</DeleteCitation>\n"
        numbers = np.concatenate([before[: count // REVISED], numbers])
    for pmid in numbers.tolist():
        lap, row = divmod(pmid - 1, len(records))
        abstract = words[row] if pmid >= first and not lap else generator.permutation(words[row]).tolist()
        yield citation(
            pmid, records[row].title, " ".join(abstract), generator.permutation(words[row] or ["Name"]).tolist()
        )


def citation(pmid: int, title: str, abstract: str, names: Sequence[str]) -> str:
    """A record in PubMed's XML, whose authors and headings have these names."""
    chosen = [escape(names[number % len(names)]) for number in range(2 * AUTHORS + HEADINGS)]
    authors = "".join(
        f'<Author ValidYN="Y"><LastName>{last}</LastName><ForeName>{first}</ForeName><AffiliationInfo><Affiliation>'
        f"Department of {last}, University of {first}.</Affiliation></AffiliationInfo></Author>"
        for first, last in zip(chosen[:AUTHORS], chosen[AUTHORS:], strict=False)
    )
    headings = "".join(
        f'<MeshHeading><DescriptorName UI="D{number:06}" MajorTopicYN="N">{name}</DescriptorName></MeshHeading>'
        for number, name in enumerate(chosen[2 * AUTHORS :])
    )
    return (
        f'<PubmedArticle><MedlineCitation Status="MEDLINE" Owner="NLM"><PMID Version="1">{pmid}</PMID><Article>'
        f"<Journal><ISSN>0000-0000</ISSN><JournalIssue><Volume>1</Volume><PubDate><Year>{1980 + pmid % 45}</Year>"
        f"</PubDate></JournalIssue><Title>Journal of {chosen[0]}</Title></Journal><ArticleTitle>{escape(title)}"
        f"</ArticleTitle><Abstract><AbstractText>{escape(abstract)}</AbstractText></Abstract><AuthorList>{authors}"
        "</AuthorList><Language>eng</Language><PublicationTypeList><PublicationType>Journal Article</PublicationType>"
        f"</PublicationTypeList></Article><MeshHeadingList>{headings}</MeshHeadingList></MedlineCitation><PubmedData>"
        f'<ArticleIdList><ArticleId IdType="pubmed">{pmid}</ArticleId><ArticleId IdType="doi">10.1000/{pmid}'
        "</ArticleId></ArticleIdList></PubmedData></PubmedArticle>\n"
    )


def index(files: Path, folder: Path, arguments: argparse.Namespace, *, seconds: float | None = None) -> dict[str, Any]:
    """Run `mpir index`, and kill it after so many seconds; its times and peak memory."""
    command = [sys.executable, "-c", COMMAND.format(seconds=arguments.group_seconds), "index", str(files)]
    options = ["--index", str(folder), "--workers", str(arguments.threads), "--quiet"]
    began = time.perf_counter()
    process = subprocess.Popen([*command, *options])
    if seconds is not None:
        time.sleep(seconds)
        os.kill(process.pid, signal.SIGKILL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if status and seconds is None:
        raise ContenderError(f"mpir index ended with status {process.returncode}.")
    if status == 0 and seconds is not None:
        print(
            "The run ended before it was killed, since the machine was freer than before; take a smaller --killed-at."
        )
    times = {"seconds": time.perf_counter() - began, "processor_seconds": usage.ru_utime + usage.ru_stime}
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return {**times, "peak_mib": usage.ru_maxrss / 1024, "index_bytes": size}


def results(folder: Path, queries: Sequence[str]) -> tuple[int, list[list[Document]]]:
    """The number of documents, and the best for each query."""
    with LuceneIndex(folder) as opened:
        return len(opened), opened.search_batch(queries, K)


def report(result: dict[str, Any]) -> None:
    """Print the figures."""
    rows = [
        (name, f"{row['seconds']:,.1f}", f"{row['processor_seconds']:,.1f}", f"{row['peak_mib']:,.0f}")
        for name, row in result.items()
        if isinstance(row, dict) and "seconds" in row
    ]
    whole = result["undisturbed"]
    print(
        f"{describe(result['machine'])}\n{result['records']:,} records, {result['bytes'] / 2**20:,.0f} MiB gzipped.\n"
    )
    print(table(rows, ("run", "s", "processor s", "peak MiB")))
    print(
        f"\n{result['records'] / whole['seconds']:,.0f} records a second; {result['documents']:,} documents in "
        f"{whole['index_bytes'] / 2**20:,.0f} MiB. {result['groups_kept']} groups outlived the kill. The results of "
        f"{result['queries']} queries are {'equal' if result['equal'] else 'different'}."
    )


if __name__ == "__main__":
    sys.exit(main())
