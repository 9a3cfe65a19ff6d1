"""Errors between mpir and a service, whose messages never contain the query."""

from __future__ import annotations

from collections.abc import Sequence

from mpir.errors import MpirError


class ServiceError(MpirError):
    """A service that cannot be reached, refuses the request, or gives no usable answer after all retries.

    `service` is its name and host; `reason` is the rest of the sentence, which also fits several services.
    """

    def __init__(self, service: str, reason: str) -> None:
        super().__init__(f"{service} {reason}")
        self.service, self.reason = service, reason


def joined_error(errors: Sequence[ServiceError]) -> ServiceError:
    """Join several services' errors into one, with a sentence for each reason."""
    services: dict[str, list[str]] = {}
    for error in errors:
        services.setdefault(error.reason, []).append(error.service)
    sentences = [f"{' and '.join(names)} {reason}" for reason, names in services.items()]
    service, _, reason = " ".join(sentences).partition(" ")
    return ServiceError(service, reason)


class DamagedAnswerError(Exception):
    """An answer that is truncated, empty or malformed, as the message says. The request is sent again."""


class RefusedError(Exception):
    """An HTTP error: the `status`, the beginning of the answer's `text`, and its Retry-After in `wait`."""

    def __init__(self, status: int, text: str, wait: float | None) -> None:
        super().__init__(f"status {status}")
        self.status, self.text, self.wait = status, text, wait

    @property
    def is_passing(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status in (408, 425, 429) or self.status >= 500
