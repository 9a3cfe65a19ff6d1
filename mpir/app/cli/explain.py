"""``mpir explain``: show rankings and their scores in a browser."""

from __future__ import annotations

import sys
import threading
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mpir.app.cli.model_options import check_options
from mpir.app.cli.option import flag, option, positional, setting
from mpir.app.cli.server_options import Access, ServerArguments, serve_reranker
from mpir.app.cli.value_options import DOCS, text_path
from mpir.errors import InputError

if TYPE_CHECKING:
    from mpir.app.explain.library import Library

EPILOG = """\
The page ranks the documents of DOCS, documents that you paste or drop on it and, with --index or --pubmed, search
results. You include, maybe or exclude them by key or touch. DOCS and the decisions on them are kept in one file, the
review NAME.mpir beside DOCS, which `mpir explain NAME.mpir` opens, too: copy it as a back-up. The records of files that
are named later join it, and known ones keep their decisions. Other decisions stay in the browser and can be exported.

The page shows the first stage's order at once and refines it as scores arrive, which have no time limit. Sliders change
the weights and rerank in the browser. The page is served only on this machine and loads nothing from elsewhere. `mpir
rerank QUERY --docs FILE --output PAGE.html` writes such a page with one ranking inside.

examples:
  mpir explain abstracts.ris
  mpir explain abstracts.mpir new-search.ris
  mpir explain
  mpir explain --index pubmed-index --no-browser --port 8001
"""


@dataclass(frozen=True, kw_only=True)
class ExplainArguments(ServerArguments):
    """The arguments of `mpir explain`."""

    paths: Sequence[str] = positional(
        help=f"documents to rank and grade: {DOCS}", type=text_path, default=[], nargs="*", metavar="DOCS"
    )
    port: int = option("--port", help="port to listen on; 0 takes a free one (%(default)s)", type=int, default=0)
    reviewer: str = option(
        "--reviewer",
        help="name under which decisions are kept (default: that of your account)",
        default="",
        metavar="NAME",
    )
    decisions: str = option(
        "--decisions",
        help="a column of DOCS with your decisions (include, maybe, exclude, 1, 0, -1)",
        default="",
        metavar="COLUMN",
    )
    split: str = option(
        "--split",
        help="take the record of this id out of the one that it was wrongly joined with",
        default="",
        metavar="ID",
    )
    no_browser: bool = flag("--no-browser", help="only print the page's address")
    max_documents: int = setting(
        "serve.max_documents", help="documents of a request", type=int, default=100_000, metavar="N"
    )
    max_sentences: int = setting(
        "serve.max_sentences", help="sentences of a request", type=int, default=5_000_000, metavar="N"
    )
    max_body: int = setting("serve.max_body", help="bytes of a request", type=int, default=2**28, metavar="BYTES")
    timeout: float = setting(
        "serve.timeout", help="time limit for an answer", type=float, default=86_400.0, metavar="SECONDS"
    )


def run(arguments: ExplainArguments) -> int:
    """Serve the page until told to stop; 0 is the exit status. Raises MpirError for a user's mistake."""

    def started(url: str) -> None:
        """Print the address of the page, and open it in a browser."""
        print(f"mpir: the page is on {url}/explain", file=sys.stderr, flush=True)
        if not arguments.no_browser:  # in a thread: w3m and lynx return only when their user leaves the page
            threading.Thread(target=webbrowser.open, args=(f"{url}/explain",), daemon=True).start()

    check_options(arguments)
    for name, value in {"decisions": arguments.decisions, "split": arguments.split}.items():
        if value and not arguments.paths:
            raise InputError(f"--{name}: needs a review (got no DOCS). Name its file.")
    library = _open_library(arguments) if arguments.paths else None
    if library is not None and library.note:
        print(f"mpir: {library.note}", file=sys.stderr, flush=True)
    return serve_reranker(arguments, Access(), started, library=library, keeps=True)


def _open_library(arguments: ExplainArguments) -> Library:
    """The review of the documents."""
    from mpir.app.explain.library import open_library

    return open_library(arguments.paths, arguments.reviewer, column=arguments.decisions, split_id=arguments.split)
