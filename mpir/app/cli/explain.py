"""``mpir explain``: show rankings and their scores in a browser."""

from __future__ import annotations

import argparse
import sys
import threading
import webbrowser

from mpir.app.cli.model_options import check_options
from mpir.app.cli.parser import replace
from mpir.app.cli.serve import serve
from mpir.app.explain.library import open_library
from mpir.errors import InputError

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


def run(arguments: argparse.Namespace) -> int:
    """Serve the page until told to stop; 0 is the exit status. Raises MpirError for a user's mistake."""

    def started(url: str) -> None:
        """Print the address of the page, and open it in a browser."""
        print(f"mpir: the page is on {url}/explain", file=sys.stderr, flush=True)
        if not arguments.no_browser:  # in a thread: w3m and lynx return only when their user leaves the page
            threading.Thread(target=webbrowser.open, args=(f"{url}/explain",), daemon=True).start()

    check_options(arguments)
    for name in ("decisions", "split"):
        if getattr(arguments, name) and not arguments.paths:
            raise InputError(f"--{name}: needs a review (got no DOCS). Name its file.")
    options = {"column": arguments.decisions, "split_id": arguments.split}
    library = open_library(arguments.paths, arguments.reviewer, **options) if arguments.paths else None
    if library is not None and library.note:
        print(f"mpir: {library.note}", file=sys.stderr, flush=True)
    local = {
        "host": "127.0.0.1",
        "allowed_host": [],
        "cors": [],
        "insecure": False,
        "any_model": False,
        "model_name": [],
    }
    return serve(replace(arguments, **local), started, library, keeps=True)
