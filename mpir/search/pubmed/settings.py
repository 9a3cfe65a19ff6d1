"""How services are reached: addresses, key, time-outs and cache, from arguments or else the environment."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mpir.errors import InputError, format_value
from mpir.files.http import checked_url
from mpir.files.write import cache_folder
from mpir.validation import real_number

EUTILS = "https://eutils.ncbi.nlm.nih.gov/entrez/eutils"
EUROPEPMC = "https://www.ebi.ac.uk/europepmc/webservices/rest"
VARIABLES = {"eutils": "MPIR_EUTILS", "europepmc": "MPIR_EUROPEPMC", "key": "NCBI_API_KEY", "email": "NCBI_EMAIL"}
"""The environment variable that holds each setting."""
RATE, RATE_WITH_KEY = 3.0, 10.0
"""Requests per second that NCBI allows without and with a key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Addresses, time-outs and caching.

    `eutils` is the base URL of ``/esearch.fcgi``, `europepmc` that of ``/search``. `timeout` is in seconds without a
    byte received; `back_off` is the first pause in seconds before a retry, and doubles each time. `cache` is the
    folder of cached answers (None disables it); `refresh` fetches anew and caches the new answer. `rate` replaces the
    services' limits on requests per second, for servers of your own. `seconds` is the time for a whole search (None: 40
    time-outs).
    """

    eutils: str = EUTILS
    europepmc: str = EUROPEPMC
    key: str = field(default="", repr=False)
    email: str = ""
    timeout: float = 30.0
    cache: Path | None = None
    refresh: bool = False
    back_off: float = 1.0
    rate: float | None = None
    seconds: float | None = None

    @classmethod
    def from_environment(cls, **chosen: Any) -> Settings:
        """The given settings; where one is None, it comes from the environment or else is the default.

        The cache is the folder "pubmed" in mpir's cache folder, unless another folder, or False, is given.

        Raises:
            InputError: an address that is not an http(s) URL, a key or email that is blank or has white space, or a
                time-out that is not a number above 0.
        """
        values = {name: value for name, value in chosen.items() if value is not None}
        origins = {name: f"pubmed.{name}" for name in values}
        for name, variable in VARIABLES.items():
            if name not in values and variable in os.environ:
                values[name], origins[name] = os.environ[variable], f"${variable}"
        cache = values.pop("cache", True)
        folder = cache_folder() / "pubmed" if cache is True else Path(cache) if cache else None
        settings = cls(**values, cache=folder)
        settings._check(origins)
        return settings

    def _check(self, origins: dict[str, str]) -> None:
        for name in ("eutils", "europepmc"):
            checked_url(getattr(self, name), option=origins.get(name, name), key="NCBI_API_KEY", example=EUTILS)
        for name in {"key", "email"} & origins.keys():
            text = getattr(self, name)
            if not text.strip() or len(text.split()) != 1 or not text.isprintable() or not text.isascii():
                shown = "a text that cannot be one" if name == "key" else format_value(text)
                raise InputError(f"{origins[name]} is {shown}; expected one word without white space, or none at all.")
        real_number("pubmed.timeout", self.timeout, "a number of seconds above 0", lambda value: value > 0)

    @property
    def requests_per_second(self) -> float:
        """The most requests per second to PubMed."""
        return self.rate or (RATE_WITH_KEY if self.key else RATE)
