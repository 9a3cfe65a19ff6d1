"""No body makes the server fail: every answer is a ranking or a refusal with its reason, never a 500."""

import json
import os

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.app.serve.running import Server

pytestmark = pytest.mark.slow

BODIES = int(os.environ.get("MPIR_FUZZ", "300"))
"""How many bodies; `make fuzz` sends 10,000."""
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=8,
)
document = st.text(max_size=60) | st.fixed_dictionaries(
    {}, optional={"id": anything, "title": anything, "text": anything, "score": anything, "image": anything}
)
fields = {
    "query": st.text(min_size=1, max_size=30) | anything,
    "documents": st.lists(document, max_size=5) | anything,
    "texts": st.lists(st.text(max_size=60), max_size=5) | anything,
    "model": st.just("mpir") | anything,
    "top_n": st.integers(-2, 7) | anything,
    "top_k": st.integers(-2, 7) | anything,
    "return_documents": st.booleans() | anything,
    "raw_scores": st.booleans() | anything,
    "truncation": anything,
    "rank_fields": st.lists(st.sampled_from(["text", "title", "image"])) | anything,
    "relevant_spans": st.fixed_dictionaries(
        {}, optional={"mode": anything, "threshold": anything, "max_spans": anything}
    )
    | anything,
    "mpir": st.fixed_dictionaries({}, optional={"sentences": anything}) | anything,
    "mode": anything,
    "k": st.integers(-2, 7) | anything,
}
bodies = (
    st.fixed_dictionaries({}, optional=fields).map(lambda body: json.dumps(body).encode())
    | anything.map(lambda body: json.dumps(body).encode())
    | st.binary(max_size=60)
)
paths = st.sampled_from(
    ["/rerank", "/v1/rerank", "/v2/rerank", "/v1/reranking", "/search", "/explain/ranking", "/explain/documents"]
)


def test_no_body_is_a_500(server: Server) -> None:
    headers = {"Content-Type": "application/json"}
    with httpx.Client(base_url=server.url, timeout=30, headers=headers) as client:

        @settings(max_examples=BODIES)
        @given(path=paths, body=bodies)
        def send(path: str, body: bytes) -> None:
            response = client.post(path, content=body)
            assert response.status_code in (200, 400, 404, 413), (path, body, response.text)
            result = response.json()
            if response.status_code != 200:
                reason = result.get("message") or result.get("detail") or result.get("error")
                assert isinstance(reason, str)
                assert reason

        send()
    assert "Traceback" not in server.log.read_text()
