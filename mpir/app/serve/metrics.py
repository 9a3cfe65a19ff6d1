"""The metrics for Prometheus: counts, times and sizes, never texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from mpir.app.serve.batcher import Job

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
REQUESTS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
TOKENS = (100, 1_000, 5_000, 10_000, 50_000, 100_000, 500_000)


class Metrics:
    """The figures of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        registry = self.registry
        self._requests = Counter("mpir_requests", "Requests by path and status", ["path", "status"], registry=registry)
        self._seconds = Histogram("mpir_request_seconds", "From request to answer", buckets=SECONDS, registry=registry)
        self._wait = Histogram("mpir_wait_seconds", "Time in the queue", buckets=SECONDS, registry=registry)
        self._score = Histogram("mpir_score_seconds", "Scoring one batch", buckets=SECONDS, registry=registry)
        self._tokens = Histogram(
            "mpir_batch_tokens", "Tokens of one batch (estimated)", buckets=TOKENS, registry=registry
        )
        self._together = Histogram("mpir_batch_requests", "Requests of one batch", buckets=REQUESTS, registry=registry)
        self._documents = Counter("mpir_documents", "Documents scored", registry=registry)
        self._waiting = Gauge("mpir_waiting_tokens", "Tokens in the queue (estimated)", registry=registry)

    def watch(self, waiting: Callable[[], float]) -> None:
        """Query the length of the queue whenever the metrics are read."""
        self._waiting.set_function(waiting)

    def answered(self, path: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        self._requests.labels(path, str(status)).inc()
        self._seconds.observe(seconds)

    def scored(self, jobs: Sequence[Job], seconds: float) -> None:
        """Count requests that were scored together."""
        self._score.observe(seconds)
        self._tokens.observe(sum(job.tokens for job in jobs))
        self._together.observe(len(jobs))
        self._documents.inc(sum(len(job.documents) for job in jobs))
        for job in jobs:
            self._wait.observe(job.waited)

    def text(self) -> bytes:
        """All figures in Prometheus' text format."""
        return generate_latest(self.registry)
