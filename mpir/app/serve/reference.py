"""/docs: the request and answer of every path, as one page of plain HTML."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Mapping
from typing import Any


def reference_page(openapi: Mapping[str, Any]) -> str:
    """The page for an OpenAPI description. It has no script, and loads only the server's own style sheet."""
    sections = "\n".join(
        _operation(path, method, operation, openapi.get("components", {}).get("schemas", {}))
        for path, operations in openapi["paths"].items()
        for method, operation in operations.items()
    )
    info = openapi["info"]
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>mpir: paths of the server</title>
<link rel="stylesheet" href="./explain/explain.css">
</head>
<body>
<header>
<h1>mpir {html.escape(info["version"])}</h1>
<p>{html.escape(info.get("description", ""))}</p>
<p>Bodies are JSON and need the header <code>Content-Type: application/json</code>. A server with a key needs
<code>Authorization: Bearer KEY</code>. <a href="openapi.json">openapi.json</a> is this page for programs, and
<a href="explain">explain</a> shows rankings.</p>
</header>
<main>
{sections}
</main>
</body>
</html>
"""


def _operation(path: str, method: str, operation: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    summary = operation.get("description") or operation.get("summary", "")
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    bodies = "".join(_body(schemas[_name(form)], schemas) for form in content.get("schema", {}).get("anyOf", ()))
    answers = ((status, answer["description"]) for status, answer in operation.get("responses", {}).items())
    title = f"<h2>{method.upper()} {html.escape(path)}</h2>\n<p>{html.escape(summary)}</p>"
    return f"<article>\n{title}{bodies}{_table('Status', answers)}\n</article>"


def _body(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    required = schema.get("required", ())
    fields = ((name, _form(field, schemas, name in required)) for name, field in schema.get("properties", {}).items())
    return f"\n<h3>{html.escape(schema['description'])}</h3>{_table('Field', fields)}"


def _form(field: Mapping[str, Any], schemas: Mapping[str, Any], is_required: bool) -> str:
    """The type of a field, its default and its description."""
    words = [_type(field, schemas)]
    words += ["required"] if is_required else []
    default = field.get("default")
    words += (
        [f"default {json.dumps(default)}"] if default not in (None, "") and not isinstance(default, Mapping) else []
    )
    return ", ".join(words) + (f": {field['description']}" if "description" in field else "")


def _type(field: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    """The type of a field in words; an object's fields in brackets."""
    if "$ref" in field:
        return f"object ({', '.join(schemas[_name(field)]['properties'])})"
    if "enum" in field:
        return " or ".join(field["enum"])
    if "anyOf" in field:
        return " or ".join(_type(form, schemas) for form in field["anyOf"] if form.get("type") != "null")
    return f"array of {_type(field['items'], schemas)}" if field.get("type") == "array" else str(field.get("type", ""))


def _name(reference: Mapping[str, Any]) -> str:
    return str(reference["$ref"]).rsplit("/", 1)[1]


def _table(name: str, rows: Iterable[tuple[str, str]]) -> str:
    lines = "".join(
        f'\n<tr><th scope="row"><code>{html.escape(first)}</code></th><td>{html.escape(second)}</td></tr>'
        for first, second in rows
    )
    head = f'<tr><th scope="col">{name}</th><th scope="col">Meaning</th></tr>'
    return f"\n<table>{head}{lines}\n</table>" if lines else ""
