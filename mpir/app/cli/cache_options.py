"""``cache.folder`` and ``cache.limit``: where scores are kept between runs."""

from __future__ import annotations

import argparse
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mpir.app.cli.typed_arguments import arguments_of
from mpir.errors import OutputError
from mpir.files.write import cache_folder

if TYPE_CHECKING:
    from mpir.models.perspectives import ScoreCache

NO_CACHE = "none"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class CacheOptions:
    """The cache's folder, "none" for no cache, and its limit in bytes."""

    cache: str | None
    cache_limit: int | None


def open_cache(arguments: argparse.Namespace, *, keeps: bool) -> ScoreCache | None:
    """The cache that the model options select; None without one, or if mpir's own folder is not writable.

    Raises:
        InputError: a limit that is too small.
        OutputError: the given folder is not writable.
    """
    from mpir.models.perspectives.cache import LIMIT, ScoreCache

    options = arguments_of(CacheOptions, arguments)
    if options.cache == NO_CACHE or not (options.cache or keeps):
        return None
    limit = LIMIT if options.cache_limit is None else options.cache_limit
    try:
        return ScoreCache(options.cache or cache_folder() / "scores", limit=limit)
    except OutputError as error:
        if options.cache:
            raise
        _log.warning("%s", error)
        return None
