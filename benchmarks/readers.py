"""Readers of exports: records per second and peak memory, against other libraries and another checkout of mpir.

    python benchmarks/readers.py --json readers.json
    python benchmarks/readers.py --records 10000 100000 --formats ris --other ../mpir-0.1

The script writes a RIS, CSV and gzipped PubMed XML file for each number of records, from the sample's documents under
new ids. Every reader has its own process for each file and turns records into objects; they take turns, round by
round, after one warm-up round. Each has one thread, and its processor time is measured. Peak memory is that of the
process, including imports, so the peak for a file of 100 records is shown for comparison. rispy, pandas and
pubmed_parser are left out, with the reason, if they are missing. `--other` is the root of another checkout, whose mpir
is measured, too. A ratio is the other reader's time divided by mpir's in the same round; the median is shown.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any
from xml.sax.saxutils import escape

from measure import Worker, alternate, describe, machine, show, spread, table

import mpir
from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import check_figures, file_path, positive
from mpir.core.text.types import Document
from mpir.errors import InputError
from mpir.files.corpora.jsonl import read_jsonl
from mpir.files.write import write_json

SAMPLE = Path(mpir.__file__).parent / "sample/documents.jsonl"
CORPORA = ("mpir/files/corpora", "mpir/corpora")
"""The package of the readers in a checkout, today and up to version 0.2."""
FEW = 100
MPIR, OTHER = "mpir", "mpir, other checkout"
Read = Callable[[str], int]
Timed = Callable[[str], tuple[int, float]]


def main() -> int:
    """Read arguments, measure, print, write."""
    parser = script_parser(__doc__)
    parser.add_argument("--records", nargs="+", type=positive, default=[10_000, 100_000], help="%(default)s")
    parser.add_argument("--formats", nargs="+", choices=tuple(FORMATS), default=list(FORMATS), help="%(default)s")
    parser.add_argument("--rounds", type=positive, default=3, help="%(default)s")
    parser.add_argument("--other", type=file_path, metavar="FOLDER", help="the root of another checkout of mpir")
    parser.add_argument("--json", type=file_path, metavar="FILE", help="also write the figures there")
    return guarded("readers", lambda: run(parser.parse_args()))


def run(arguments: argparse.Namespace) -> int:
    """A table for each format."""
    check_figures(arguments)
    if arguments.other and not any((arguments.other / folder).is_dir() for folder in CORPORA):
        raise InputError(f"--other: {arguments.other} has no folder {CORPORA[0]}; name the root of a checkout.")
    facts, figures = machine(1), []
    print(describe(facts))
    with TemporaryDirectory(prefix="mpir-readers-") as folder:
        for format_name in arguments.formats:
            few = written(Path(folder), format_name, FEW)
            for count in arguments.records:
                path = written(Path(folder), format_name, count)
                figures += measured(arguments, format_name, count, few, path)
                path.unlink()
            report([row for row in figures if row["format"] == format_name])
    if arguments.json:
        write_json(arguments.json, {"machine": facts, "command": sys.argv, "rows": figures})
    return 0


def measured(
    arguments: argparse.Namespace, format_name: str, count: int, few: Path, path: Path
) -> list[dict[str, Any]]:
    """A row for each reader of a file of so many records."""
    rows, seconds = [], dict[str, list[float]]()
    with ExitStack() as stack:
        workers, least = {}, {}
        for name, prepare in readers(arguments, format_name):
            workers[name] = stack.enter_context(Worker(timed, *prepare, threads=1))
            workers[name].call(str(few))
            least[name] = workers[name].peak_mib()
        for name, turns in alternate(workers, arguments.rounds, str(path)).items():
            if (read := turns[0].value[0]) != count:
                raise InputError(f"{name} reads {read:,} of {count:,} records of {path.name}.")
            seconds[name] = [turn.value[1] for turn in turns]
        for name, times in seconds.items():
            ratios = [time / own for time, own in zip(times, seconds[MPIR], strict=True)]
            row = {"format": format_name, "reader": name, "records": count, "file_mib": path.stat().st_size / 2**20}
            row |= {"records_per_second": spread(count / time for time in times), "ratio": median(ratios)}
            rows.append(row | {"peak_mib": workers[name].peak_mib(), "peak_mib_of_100": least[name]})
    return rows


def readers(arguments: argparse.Namespace, format_name: str) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The readers of a format: names, and what prepares them."""
    yield MPIR, (mpir_reader, "")
    if arguments.other:
        yield OTHER, (mpir_reader, str(arguments.other.resolve()))
    package, prepare = FORMATS[format_name][2:]
    if find_spec(package) is None:
        print(f"{format_name}: {package} is left out, since it is not installed (pip install {package})")
    else:
        yield package, (prepare,)


def report(rows: list[dict[str, Any]]) -> None:
    """Print the rows of a format."""
    cells = [
        (
            f"{row['records']:,}",
            row["reader"],
            show(row["records_per_second"]),
            f"{row['ratio']:.2f}",
            f"{row['peak_mib']:,.0f}",
            f"{row['peak_mib_of_100']:,.0f}",
        )
        for row in rows
    ]
    name = rows[0]["format"]
    heads = (f"{name}, records", "reader", "records per CPU second", "its time : mpir's", "peak MiB", f"of {FEW}")
    print(f"\n{table(cells, heads)}")


def written(folder: Path, format_name: str, count: int) -> Path:
    """A file of so many records."""
    suffix, write = FORMATS[format_name][:2]
    path = folder / f"{count}{suffix}"
    documents = (
        replace(document, title=f"{document.title} {number}")
        for number, document in enumerate(islice(cycle(read_jsonl(SAMPLE)), count))
    )
    opened = gzip.open if suffix.endswith(".gz") else open
    with opened(path, "wt", encoding="utf-8", newline="") as stream:
        stream.writelines(write(enumerate(documents, 10_000_000)))
    return path


def ris(documents: Iterator[tuple[int, Document]]) -> Iterator[str]:
    """RIS as Scopus writes it."""
    for number, document in documents:
        yield (
            f"TY  - JOUR\nTI  - {document.title}\nT2  - Journal of Sample {number % 99}\nVL  - 12\nIS  - 3\n"
            f"SP  - 1\nEP  - 9\nPY  - 2020\nDO  - 10.1000/{number}\nAN  - {number}\nAU  - Doe, J. {number}\n"
            f"AU  - Roe, R. {number}\nAB  - {document.abstract}\nKW  - Samples\nKW  - Benchmarks\n"
            "M3  - Article\nDB  - A database\nER  - \n\n"
        )


def comma_separated(documents: Iterator[tuple[int, Document]]) -> Iterator[str]:
    """A table as Zotero writes it."""
    lines = list[str]()
    writer = csv.writer(_Lines(lines), quoting=csv.QUOTE_ALL)
    writer.writerow(["PMID", "Title", "Authors", "Journal", "Year", "DOI", "Abstract", "Keywords"])
    for number, document in documents:
        bibliography = (f"Doe, J.; Roe, {number}", f"Journal of Sample {number % 99}", 2020, f"10.1000/{number}")
        writer.writerow([number, document.title, *bibliography, document.abstract, "Samples; Benchmarks"])
        yield from lines
        lines.clear()


class _Lines:
    """A stream whose lines are a list's."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines

    def write(self, text: str) -> None:
        """Append a line."""
        self._lines.append(text)


def pubmed(documents: Iterator[tuple[int, Document]]) -> Iterator[str]:
    """PubMed's XML."""
    yield '<?xml version="1.0" encoding="utf-8"?>\n<PubmedArticleSet>\n'
    for number, document in documents:
        yield (
            f'<PubmedArticle>\n<MedlineCitation Status="MEDLINE" Owner="NLM">\n<PMID Version="1">{number}</PMID>\n'
            "<DateRevised><Year>2020</Year><Month>01</Month><Day>02</Day></DateRevised>\n"
            '<Article PubModel="Print">\n<Journal><ISSN IssnType="Print">1234-5678</ISSN><JournalIssue CitedMedium='
            '"Print"><Volume>12</Volume><Issue>3</Issue><PubDate><Year>2020</Year><Month>Mar</Month></PubDate>'
            f"</JournalIssue><Title>Journal of Sample {number % 99}</Title><ISOAbbreviation>J Samples"
            "</ISOAbbreviation></Journal>\n"
            f"<ArticleTitle>{escape(document.title)}</ArticleTitle>\n"
            f'<ELocationID EIdType="doi" ValidYN="Y">10.1000/{number}</ELocationID>\n'
            f"<Abstract><AbstractText>{escape(document.abstract)}</AbstractText></Abstract>\n"
            '<AuthorList CompleteYN="Y"><Author ValidYN="Y"><LastName>Doe</LastName>'
            f"<ForeName>Jane {number}</ForeName><Initials>"
            'J</Initials></Author></AuthorList><Language>eng</Language><PublicationTypeList><PublicationType UI="D1">'
            "Journal Article</PublicationType></PublicationTypeList>\n</Article>\n<MedlineJournalInfo><MedlineTA>"
            "J Samples</MedlineTA></MedlineJournalInfo>\n</MedlineCitation>\n</PubmedArticle>\n"
        )
    yield "</PubmedArticleSet>\n"


def timed(prepare: Callable[..., Read], *arguments: Any) -> Timed:
    """A reader that gives its records, and the seconds of processor time that they took."""
    read = prepare(*arguments)

    def work(path: str) -> tuple[int, float]:
        start = time.process_time()
        return read(path), time.process_time() - start

    return work


def mpir_reader(checkout: str) -> Read:
    """mpir's reader, of another checkout where one is named."""
    if checkout:
        for name in [name for name in sys.modules if name.partition(".")[0] == "mpir"]:
            del sys.modules[name]
        sys.path.insert(0, checkout)
    package = next((folder for folder in CORPORA if (Path(checkout) / folder).is_dir()), CORPORA[0])
    corpus = import_module(f"{package.replace('/', '.')}.corpus")
    assert Path(str(corpus.__file__)).is_relative_to(checkout or "/")
    read_corpus = corpus.read_corpus
    return lambda path: sum(1 for _ in read_corpus([path]))


def rispy_reader() -> Read:
    """rispy, which gives a list."""
    import rispy

    def read(path: str) -> int:
        with open(path, encoding="utf-8") as stream:
            return len(rispy.load(stream))

    return read


def pandas_reader() -> Read:
    """pandas, which gives a table; its fastest engine that needs no other package."""
    import pandas

    return lambda path: len(pandas.read_csv(path, dtype=str))


def pubmed_parser_reader() -> Read:
    """pubmed_parser, whose dictionaries have more fields than mpir's documents."""
    from pubmed_parser import parse_medline_xml

    return lambda path: sum(1 for _ in parse_medline_xml(path))


FORMATS: dict[str, tuple[str, Callable[[Iterator[tuple[int, Document]]], Iterator[str]], str, Callable[[], Read]]] = {
    "ris": (".ris", ris, "rispy", rispy_reader),
    "csv": (".csv", comma_separated, "pandas", pandas_reader),
    "pubmed": (".xml.gz", pubmed, "pubmed_parser", pubmed_parser_reader),
}
"""Each format's suffix and writer, and the other library that reads it."""


if __name__ == "__main__":
    sys.exit(main())
