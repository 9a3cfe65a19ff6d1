"""`mpir ids FILE…`: print the ids of documents. A command is a module with EPILOG and `run`."""

from collections.abc import Sequence
from dataclasses import dataclass

from mpir.additions import flag, positional, setting
from mpir.files.corpora import read_corpus

EPILOG = """\
example:
  mpir ids abstracts.jsonl --titles
"""


@dataclass(frozen=True, kw_only=True)
class IdsArguments:
    """The options of `mpir ids`, each with its help and its default."""

    paths: Sequence[str] = positional(help="files or folders of documents", nargs="+", metavar="FILE")
    titles: bool = flag("--titles", help="print the titles, too")
    width: int = setting("ids.width", help="least width of an id", type=int, default=0, metavar="N")


def run(arguments: IdsArguments) -> int:
    """Print a line for each document; 0 is the exit status."""
    for document in read_corpus(arguments.paths):
        print(document.id.ljust(arguments.width), document.title if arguments.titles else "")
    return 0
