"""``cache.folder`` and ``cache.limit``: where scores are kept between runs."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mpir.app.cli.option import setting
from mpir.app.cli.value_options import text_path
from mpir.errors import OutputError
from mpir.files.write import cache_folder

if TYPE_CHECKING:
    from mpir.models.perspectives import ScoreCache

NO_CACHE = "none"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class CacheArguments:
    """Where scores are kept between runs."""

    cache: str | None = setting(
        "cache.folder",
        help="folder for scores kept between runs, or none (default: mpir's cache folder; serve, mcp: none)",
        type=text_path,
        metavar="DIR|none",
    )
    cache_limit: int | None = setting(
        "cache.limit", help="maximum size of the cache (1 GiB)", type=int, metavar="BYTES"
    )


def open_cache(arguments: CacheArguments, *, keeps: bool) -> ScoreCache | None:
    """The cache that the model options select; None without one, or if mpir's own folder is not writable.

    Raises:
        InputError: a limit that is too small.
        OutputError: the given folder is not writable.
    """
    from mpir.models.perspectives.cache import LIMIT, ScoreCache

    if arguments.cache == NO_CACHE or not (arguments.cache or keeps):
        return None
    limit = LIMIT if arguments.cache_limit is None else arguments.cache_limit
    try:
        return ScoreCache(arguments.cache or cache_folder() / "scores", limit=limit)
    except OutputError as error:
        if arguments.cache:
            raise
        _log.warning("%s", error)
        return None
