"""Eight clients use every path of one server at once: each gets the answer of one client alone, and all are counted."""

import re
from typing import Any

import pytest

from tests.app.serve.running import Server
from tests.threads import from_threads

REQUESTS = 96
QUERY = "does aspirin thin blood"
TEXTS = ["Aspirin does thin the blood. Yes.", "A heart attack is a risk of patients.", "The gene in a cell. No trial."]
PATHS = ("/v1/rerank", "/v2/rerank", "/rerank", "/score", "/explain/ranking", "/v1/models", "/info", "/ready")


def answer(server: Server, number: int) -> Any:
    """One of 96 answers: its values, and its scores by themselves."""
    path = PATHS[number % len(PATHS)]
    texts = [f"{text} {'blood ' * (number // len(PATHS))}" for text in TEXTS[: 1 + number % 3]]
    if path in PATHS[-3:]:
        response = server.get(path)
    else:
        both = {"text_1": QUERY, "text_2": texts} if path == "/score" else {"query": QUERY, "documents": texts}
        response = server.post(path, {"query": QUERY, "texts": texts} if path == "/rerank" else both)
    assert response.status_code == 200, response.text
    scores: list[float] = []
    return without_scores(response.json(), scores), scores


def without_scores(value: Any, scores: list[float]) -> Any:
    """Values without identifiers and scores, whose last digits may change with the company in a batch."""
    if isinstance(value, dict):
        return {name: without_scores(item, scores) for name, item in value.items() if name not in ("id", "created")}
    if isinstance(value, list):
        return [without_scores(item, scores) for item in value]
    if isinstance(value, float):
        scores.append(value)
    return None if isinstance(value, float) else value


def counted(server: Server) -> float:
    """The number of ranking requests that the server counted."""
    text = server.get("/metrics").text
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if re.match(r"mpir_requests_total\b", line))


def test_clients_of_every_path_get_the_answers_of_one_client(server: Server) -> None:
    before = counted(server)
    expected = [answer(server, number) for number in range(REQUESTS)]
    alone = counted(server) - before
    results = from_threads(lambda number: answer(server, number), range(REQUESTS))
    for (values, scores), (required, required_scores) in zip(results, expected, strict=True):
        assert values == required
        assert scores == pytest.approx(required_scores, abs=1e-4)
    assert counted(server) - before == 2 * alone > 0
