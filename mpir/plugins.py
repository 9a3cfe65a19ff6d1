"""What installed packages add to mpir, by entry points: each is imported only where its name is used."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from mpir.errors import InputError

COMMANDS = "mpir.commands"
"""Modules of commands of `mpir`, by the command."""
DIALECTS = "mpir.dialects"
"""Dialects of `mpir serve`, by their names."""
FAMILIES = "mpir.families"
"""Families of models, each a `ModelFamily` (models/recognition/model_family.py), by their names."""
FIRST_STAGES = "mpir.first_stages"
"""Searches in an engine, by the beginning of its addresses: ``solr`` of ``solr+https://…``."""
READERS = "mpir.readers"
"""Readers of corpus files, by the suffix of their names without its dot."""
WRITERS = "mpir.writers"
"""Writers of rankings, by the suffix of the file's name without its dot."""
GROUPS = (COMMANDS, DIALECTS, FAMILIES, FIRST_STAGES, READERS, WRITERS)


@cache
def plugins_of(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name."""
    return {entry.name: entry for entry in entry_points(group=group)}


def load_plugin(group: str, name: str) -> Any:
    """Import what a package adds to a group by this name. Raises InputError if the package cannot be imported."""
    entry = plugins_of(group)[name]
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        package = entry.dist.name if entry.dist else entry.value
        message = f"{package}: its {name!r} of {group} cannot be imported ({error}). Update or remove the package."
        raise InputError(message) from error
