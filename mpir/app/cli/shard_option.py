"""``--shard``: the option that divides a job among several processes."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpir.files.job_shards import Shard


def chosen_shard(arguments: argparse.Namespace) -> Shard:
    """The shard given by the option, or else by a Slurm array, which is noted on standard error.

    Raises:
        InputError: the option or Slurm's variables are of another form.
    """
    from mpir.files.job_shards import Shard

    if arguments.shard is not None:
        return Shard.parse(arguments.shard)
    shard = Shard.of_environment()
    if shard.count > 1:
        print(f"mpir: note: shard {shard}, from the Slurm array; --shard 1/1 does everything", file=sys.stderr)
    return shard
