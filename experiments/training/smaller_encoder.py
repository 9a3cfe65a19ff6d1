"""A smaller encoder to train on: some layers of a larger one, and the tokens that a field's texts are made of.

    python -m experiments.training.smaller_encoder mpir/bundles/default/model --layers 3 --tokens 8192 \\
        --corpus DATA/pubmed/abstracts.jsonl --rows runs/data/*.train.jsonl --output runs/fast/start

Tokens are counted in the documents of --corpus, and in the questions and sentences of each file of --rows. The result
is where distillation starts and no model to use as it is (docs/guides/reproduce.md).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from mpir.cli import guarded
from mpir.cli.path_options import file_path, text_path
from mpir.errors import InputError
from mpir.io.folder_format import CHECKPOINT
from mpir.io.write import check_folder


def main() -> int:
    """Read arguments, shrink, say what is left."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkpoint", type=file_path, help="folder of a BERT-like encoder")
    parser.add_argument("--layers", type=int, required=True, help="so many of its layers")
    parser.add_argument("--tokens", type=int, required=True, help="so many of its tokens")
    parser.add_argument(
        "--corpus", type=text_path, nargs="+", default=[], metavar="FILE", help="documents in which tokens are counted"
    )
    parser.add_argument("--rows", nargs="+", default=[], type=file_path, metavar="FILE", help="training rows, likewise")
    parser.add_argument("--output", type=file_path, required=True, help="folder of the new checkpoint")
    arguments = parser.parse_args()
    return guarded("smaller_encoder", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """The whole job."""
    if not arguments.corpus and not arguments.rows:
        raise InputError("no texts to count tokens in; name --corpus, --rows or both.")
    CHECKPOINT.check_replaceable(arguments.output)
    check_folder(arguments.output.parent)
    from mpir.train.shrink import shrink
    from mpir.train.vocabulary import keep_tokens

    with TemporaryDirectory() as folder:
        layers = shrink(arguments.checkpoint, Path(folder) / "layers", arguments.layers)
        texts = texts_of(arguments.corpus, arguments.rows)
        share = keep_tokens(Path(folder) / "layers", arguments.output, texts, arguments.tokens)
    numbers = ", ".join(str(number + 1) for number in layers)
    print(f"{arguments.output}: layers {numbers}; {arguments.tokens} tokens, {share:.1%} of those in the texts")
    return 0


def texts_of(corpus: list[str], rows: list[Path]) -> Iterator[str]:
    """The documents' texts, and every question and sentence of each file once."""
    from mpir.corpora import read_corpus
    from mpir.train.examples import read_rows

    for document in read_corpus(corpus):
        yield document.text
    for file in rows:
        examples = read_rows(file, float("inf"))
        yield from sorted({text for row in examples for text in (row.question, row.sentence)})


if __name__ == "__main__":
    sys.exit(main())
