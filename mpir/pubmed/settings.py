"""How the services are reached: addresses, key, time-outs, cache. From arguments, else from the environment."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mpir.errors import InputError, format_value
from mpir.io.write import cache_folder
from mpir.validation import real_number

EUTILS = "https://eutils.ncbi.nlm.nih.gov/entrez/eutils"
EUROPEPMC = "https://www.ebi.ac.uk/europepmc/webservices/rest"
VARIABLES = {"eutils": "MPIR_EUTILS", "europepmc": "MPIR_EUROPEPMC", "key": "NCBI_API_KEY", "email": "NCBI_EMAIL"}
"""The environment variable that holds each setting."""
RATE, RATE_WITH_KEY = 3.0, 10.0
"""Requests a second that NCBI allows without and with a key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Addresses and manners.

    `eutils` is what stands before ``/esearch.fcgi``, `europepmc` what stands before ``/search``. `timeout` counts
    seconds without a byte; `back_off` is the first pause in seconds before a request is sent again, and doubles.
    `cache` is the folder of kept answers (None keeps nothing); `refresh` asks again and keeps the new answer. `rate`
    replaces the services' limits of requests a second, for servers of your own.
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

    @classmethod
    def from_environment(cls, **chosen: Any) -> Settings:
        """The chosen settings; where one is None, the environment's, else the default.

        The cache is the folder "pubmed" in mpir's folder for caches, unless another one, or False, is chosen.

        Raises:
            InputError: an address that is no http(s) URL, a key or email that is blank or has white space, or a
                time-out that is no number above 0.
        """
        values = {name: value for name, value in chosen.items() if value is not None}
        origins = {name: f"--{name}" for name in values}
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
            _check_url(origins.get(name, name), getattr(self, name))
        for name in {"key", "email"} & origins.keys():
            text = getattr(self, name)
            if not text.strip() or len(text.split()) != 1 or not text.isprintable() or not text.isascii():
                shown = "a text that cannot be one" if name == "key" else format_value(text)
                raise InputError(f"{origins[name]} is {shown}; expected one word without white space, or none at all.")
        real_number("--timeout", self.timeout, "a number of seconds above 0", lambda value: value > 0)

    @property
    def requests_per_second(self) -> float:
        """What PubMed may be asked in a second."""
        return self.rate or (RATE_WITH_KEY if self.key else RATE)


def _check_url(origin: str, url: str) -> None:
    try:
        address = urlsplit(url)
        is_url = address.scheme in ("http", "https") and bool(address.hostname) and (address.port or 1) > 0
    except ValueError:
        is_url = False
    if not is_url or address.query or address.fragment or not url.isprintable() or " " in url:
        raise InputError(f"{origin} is {format_value(url)}; expected the start of an address, such as {EUTILS}.")
