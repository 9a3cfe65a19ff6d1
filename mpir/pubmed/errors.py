"""What goes wrong between mpir and a service, in sentences that hold nothing of a query."""

from __future__ import annotations

from collections.abc import Sequence

from mpir.errors import MpirError


class ServiceError(MpirError):
    """A service that cannot be reached, refuses, or gives no usable answer, after every retry.

    `service` names it with its host, and `reason` is the rest of the sentence, which fits several services, too.
    """

    def __init__(self, service: str, reason: str) -> None:
        super().__init__(f"{service} {reason}")
        self.service, self.reason = service, reason


def joined_error(errors: Sequence[ServiceError]) -> ServiceError:
    """Several services' errors as one: a sentence for each reason."""
    services: dict[str, list[str]] = {}
    for error in errors:
        services.setdefault(error.reason, []).append(error.service)
    sentences = [f"{' and '.join(names)} {reason}" for reason, names in services.items()]
    service, _, reason = " ".join(sentences).partition(" ")
    return ServiceError(service, reason)


class DamagedAnswerError(Exception):
    """An answer that is cut, empty or of another form; the message says which. The request is sent again."""


class RefusedError(Exception):
    """A status that is no success. `status` is HTTP's, `text` the beginning of the answer, `wait` its Retry-After."""

    def __init__(self, status: int, text: str, wait: float | None) -> None:
        super().__init__(f"status {status}")
        self.status, self.text, self.wait = status, text, wait

    @property
    def is_passing(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status in (408, 425, 429) or self.status >= 500
