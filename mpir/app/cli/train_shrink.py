"""``mpir train shrink``: make a smaller encoder to distil into."""

from __future__ import annotations

import argparse

EPILOG = """\
Tokens are counted in the documents of --corpus, and in the queries and sentences of each file of --rows. The result is
a starting point for distillation, not a usable model.

example:
  mpir train shrink mpir/bundles/default/model --layers 3 --tokens 8192 --corpus abstracts.jsonl --output runs/small
"""


def run(arguments: argparse.Namespace) -> int:
    """Shrink, and print what remains; return 0. Raises MpirError for a user's mistake."""
    from mpir.lab.train.smaller_encoder import make_smaller

    options = {name: getattr(arguments, name) for name in ("layers", "tokens", "corpus", "rows")}
    layers, share = make_smaller(arguments.checkpoint, arguments.output, **options)
    numbers = ", ".join(str(number + 1) for number in layers)
    print(f"{arguments.output}: layers {numbers}; {arguments.tokens} tokens, {share:.1%} of those in the texts")
    return 0
