"""mpir's errors arrive from worker processes as they were raised."""

import pickle

import pytest

from mpir.errors import InputError, MpirError, RepeatedIdError, ServiceError
from mpir.lab.sia.qasc import BadRowError
from mpir.models.chat.chat_endpoint import StatusError

ERRORS = [
    InputError("a sentence"),
    RepeatedIdError("7", "the id 7 is there twice"),
    StatusError(401, "the key is wrong"),
    ServiceError("PubMed (eutils)", "is down."),
    BadRowError("rows.jsonl, line 2", "fact1", 3),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_can_be_pickled(error: MpirError) -> None:
    error.add_note("on worker 3")
    restored = pickle.loads(pickle.dumps(error))
    assert type(restored) is type(error)
    assert (str(restored), vars(restored)) == (str(error), vars(error))
