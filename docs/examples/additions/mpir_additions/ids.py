"""`mpir ids FILE…`: print the ids of documents. A command is a module with OPTIONS, EPILOG and `run`."""

from mpir.additions import option
from mpir.files.corpora import read_corpus

OPTIONS = (
    option("paths", {"ids": "files or folders of documents"}, nargs="+", metavar="FILE"),
    option("--titles", {"ids": "print the titles, too"}, action="store_true", default=False),
    option("ids.width", {"ids": "least width of an id"}, type=int, default=0, metavar="N"),
)
EPILOG = """\
example:
  mpir ids abstracts.jsonl --titles
"""


def run(arguments):
    """Print a line for each document; 0 is the exit status."""
    for document in read_corpus(arguments.paths):
        print(document.id.ljust(arguments.ids_width), document.title if arguments.titles else "")
    return 0
