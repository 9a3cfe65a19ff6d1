"""What goes wrong between mpir and a service, in sentences that hold nothing of a query."""

from __future__ import annotations

from mpir.errors import MpirError


class ServiceError(MpirError):
    """A service that cannot be reached, refuses, or gives no usable answer, after every retry."""


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
