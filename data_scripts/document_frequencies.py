"""Count document frequencies of words, for BM25 over a few texts (mpir/core/text/terms.py).

    python data_scripts/document_frequencies.py DATA/pubmed/abstracts.jsonl --output mpir/core/text/pubmed.tsv.gz

The corpus is PubMed XML or JSON lines, files or folders, read once.
"""

from __future__ import annotations

import argparse
import sys

from mpir.app.cli import guarded, script_parser
from mpir.app.cli.value_options import file_path, text_path


def main() -> int:
    """Count, write, and print the number of words."""
    parser = script_parser(__doc__)
    parser.add_argument("corpus", type=text_path, nargs="+", metavar="PATH", help="corpus file or folder")
    parser.add_argument("--output", type=file_path, required=True, metavar="FILE", help="where the frequencies go")
    parser.add_argument("--least", type=int, default=3, help="documents that must have a word (%(default)s)")
    arguments = parser.parse_args()
    return guarded("document_frequencies", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """The whole job, from arguments to exit status."""
    from tqdm import tqdm

    from mpir.core.text.terms import Background
    from mpir.files.corpora import read_corpus
    from mpir.files.output_checks import Output, check_outputs
    from mpir.files.read import GZIP, STDIN
    from mpir.files.write import atomic_write

    output = Output("--output", arguments.output, lambda head: head.startswith(GZIP))
    check_outputs([output], [("PATH", path) for path in arguments.corpus if path != STDIN])
    documents = tqdm(read_corpus(arguments.corpus), unit="document", disable=not sys.stderr.isatty())
    background = Background.of((document.text for document in documents), arguments.least)
    with atomic_write(arguments.output, binary=True) as stream:
        stream.write(background.to_tsv())
    print(f"{arguments.output}: {len(background.frequencies)} words of {background.documents} documents")
    return 0


if __name__ == "__main__":
    sys.exit(main())
