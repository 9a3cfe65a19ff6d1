"""A dialect of `mpir serve`: requests to /order are answered by the order of the documents alone."""

from mpir.additions import Dialect, RerankBody


def _answer(answer):
    return {"order": [document.index for document in answer.best]}


def _error(request_id, error):
    return {"problem": error.message}


ORDER = Dialect(name="order", body=RerankBody, answer=_answer, error=_error, paths=frozenset({"/order"}))
