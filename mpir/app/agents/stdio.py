"""Serve an agent on standard input and output, and answer every line, also one that is no message.

The protocol's library leaves such a line without an answer, for which the agent would wait.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError

from mpir.core.text.characters import without_surrogates

Message = SessionMessage | Exception


async def serve_stdio(server: Server[Any]) -> None:
    """Serve until the agent's host closes standard input."""
    async with stdio_server() as (lines, answers), anyio.create_task_group() as group:
        sender, messages = anyio.create_memory_object_stream[Message](0)
        group.start_soon(_pass_on, lines, sender, answers.clone())
        await server.run(messages, answers, server.create_initialization_options())


async def _pass_on(lines: Any, sender: MemoryObjectSendStream[Message], answers: Any) -> None:
    """Pass messages on, and answer the lines that are none."""
    async with sender, answers:
        async for line in lines:
            message = _read_again(line) if isinstance(line, ValidationError) else line
            if isinstance(message, JSONRPCError):
                await answers.send(SessionMessage(message))
            elif message is not None:
                await sender.send(message)


def _read_again(error: ValidationError) -> Message | JSONRPCError | None:
    """Return the message of a line with half a surrogate pair, which is replaced; else an error, or None if blank."""
    value = _value_of(error)
    if not isinstance(value, str):
        return _not_a_message(value, error)
    if not value.strip():
        return None
    try:
        text = without_surrogates(json.dumps(json.loads(value), ensure_ascii=False))
    except (ValueError, RecursionError):
        return _error(PARSE_ERROR, "the line is not JSON; send one JSON-RPC message per line.")
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
    except ValidationError as mistake:
        return _not_a_message(_value_of(mistake), mistake)


def _value_of(error: ValidationError) -> Any:
    """Return a line that is not JSON, or else its JSON value."""
    errors = error.errors(include_url=False)
    return next((item["input"] for item in errors if len(item["loc"]) < 2 or item["type"] == "missing"), None)


def _not_a_message(value: Any, error: ValidationError) -> Message | JSONRPCError:
    """Return the error for a JSON value of another form; an answer of the agent is not answered."""
    if isinstance(value, Mapping) and "method" not in value and ("result" in value or "error" in value):
        return error
    name = value.get("id") if isinstance(value, Mapping) else None
    is_valid = isinstance(name, str | int) and not isinstance(name, bool)
    return _error(
        INVALID_REQUEST,
        'the line is not a JSON-RPC message; send one object with "jsonrpc", "method" and a text or whole number "id".',
        name if is_valid else None,
    )


def _error(code: int, message: str, name: str | int | None = None) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=name, error=ErrorData(code=code, message=message))
