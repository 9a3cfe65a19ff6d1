"""Errors between mpir and a service, whose messages never contain the query."""

from __future__ import annotations

from collections.abc import Sequence

from mpir.errors import ServiceError
from mpir.files.http import PassingError


def joined_error(errors: Sequence[ServiceError]) -> ServiceError:
    """Join several services' errors into one, with a sentence for each reason."""
    services: dict[str, list[str]] = {}
    for error in errors:
        services.setdefault(error.reason, []).append(error.service)
    sentences = [f"{' and '.join(names)} {reason}" for reason, names in services.items()]
    service, _, reason = " ".join(sentences).partition(" ")
    return ServiceError(service, reason)


class DamagedAnswerError(PassingError):
    """An answer that is truncated, empty or malformed, as the message says. The request is sent again."""
