"""Paths about the server itself: health, metrics, and the models and limits that clients look up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from mpir.app.serve.responses import AsciiJSON, error_response
from mpir.app.serve.service import Service
from mpir.app.serve.settings import ApiError
from mpir.version import __version__

Handler = Callable[[Request], Awaitable[Response]]
CHARACTERS_PER_TOKEN = 4


def add_state(app: FastAPI, service: Service) -> None:
    """Add ``/health`` and ``/ready``, which need no key, and the paths that do."""

    async def health() -> Response:
        """Report whether the server is alive: 200, or 503 with the reason while scoring fails."""
        if fault := service.scoring.fault:
            return AsciiJSON({"status": "failing", "reason": fault, "version": __version__}, 503)
        return AsciiJSON({"status": "ok", "version": __version__})

    async def ready() -> Response:
        """Report whether the models are loaded: 200, or 503 while they are not."""
        warm = service.ready.is_set() and not service.scoring.fault
        return AsciiJSON({"ready": warm, "model": service.settings.name}, 200 if warm else 503)

    for path, handler in (("/health", health), ("/ready", ready)):
        _add(app, path, handler)
        app.add_api_route(path, handler, methods=["HEAD"], response_model=None, include_in_schema=False)
    _add(app, "/metrics", _authorised(service, _metrics, "Counts, times and sizes for Prometheus."))
    about = "What clients of Text Embeddings Inference look up: kind and limits."
    _add(app, "/info", _authorised(service, _info, about))
    for path in ("/v1/models", "/models"):
        about = "The models that requests may name, as clients of OpenAI list them."
        _add(app, path, _authorised(service, _models, about))
        for name in ("{name}", "{organisation}/{name}"):  # and no empty name
            app.add_api_route(
                f"{path}/{name}", _model(service), methods=["GET"], response_model=None, include_in_schema=False
            )


def _add(app: FastAPI, path: str, handler: Callable[..., Awaitable[Response]]) -> None:
    app.add_api_route(path, handler, methods=["GET"], response_model=None, tags=["state"])


def _authorised(service: Service, answer: Callable[[Service], Response], description: str) -> Handler:
    async def handle(request: Request) -> Response:
        """Answer an authorised request; FastAPI shows the description in place of this sentence."""
        try:
            service.authorize(request)
        except ApiError as api_error:
            return error_response(request.url.path, api_error)
        return answer(service)

    handle.__doc__ = description
    return handle


def _metrics(service: Service) -> Response:
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _info(service: Service) -> Response:
    """TEI's information: Dify requires reranker as the first model type; Continue reads the limits."""
    limits = service.settings.limits
    info = {
        "model_id": service.settings.public_names[0],
        "model_sha": None,
        "model_dtype": "float32",
        "model_type": {"reranker": {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}},
        "max_concurrent_requests": limits.connections,
        "max_input_length": limits.document // CHARACTERS_PER_TOKEN,
        "max_batch_tokens": limits.batch,
        "max_batch_requests": None,
        "max_client_batch_size": limits.documents,
        "auto_truncate": True,
        "tokenization_workers": 1,
        "version": __version__,
        "sha": None,
        "docker_label": None,
    }
    return AsciiJSON(info)


def _models(service: Service) -> Response:
    """OpenAI's list of models, without individual dates."""
    return AsciiJSON({"object": "list", "data": [_described(name) for name in service.settings.public_names]})


def _model(service: Service) -> Handler:
    async def model(request: Request) -> Response:
        """One of the models, as clients of OpenAI look it up."""
        name = "/".join(request.path_params.values())
        try:
            service.authorize(request)
            service.check_model(name)
        except ApiError as api_error:
            return error_response(request.url.path, api_error)
        return AsciiJSON(_described(name))

    return model


def _described(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "mpir"}
