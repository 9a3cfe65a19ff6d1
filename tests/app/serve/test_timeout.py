"""A request's own deadline: an answer in time, of what was reached, or a clear refusal."""

from collections.abc import Callable

import pytest

from tests.app.serve.running import Server

QUERY = "Which gene is mutated in cystic fibrosis?"
TEXTS = [
    "Cystic fibrosis is caused by mutations of CFTR, a chloride channel of epithelial cells.",
    "Many a gene is mutated in pancreatic cancer.",
    "Carriers are healthy.",
]


def test_a_bundle_without_probabilities_by_words_refuses_it(server: Server) -> None:
    refused = server.post("/v1/rerank", {"query": QUERY, "documents": TEXTS, "timeout_ms": 50})
    assert refused.status_code == 400
    assert "within needs a bundle that reads documents" in refused.text


@pytest.mark.slow
def test_it_answers_in_time_by_words_and_with_time_by_reading(start_server: Callable[..., Server]) -> None:
    served = start_server(bundle="fast")

    def results(**options: int) -> list[dict[str, float]]:
        answer = served.post("/v1/rerank", {"query": QUERY, "documents": TEXTS, **options})
        assert answer.status_code == 200
        ranked: list[dict[str, float]] = answer.json()["results"]
        return ranked

    at_once, patient, unlimited = results(timeout_ms=1), results(timeout_ms=300_000), results()
    assert [result["relevance_score"] for result in patient] == pytest.approx(
        [result["relevance_score"] for result in unlimited], abs=1e-5
    )
    assert [result["index"] for result in patient] == [result["index"] for result in unlimited]
    assert at_once[0]["index"] == 0
    # a quick machine reads one document within the millisecond; the others' scores are of their words
    assert sorted(result["relevance_score"] for result in at_once) != pytest.approx(
        sorted(result["relevance_score"] for result in patient), abs=1e-5
    )
