"""Requests that try to leave the library: every route and parameter of the OpenAPI document.

The document (OpenAPI) says which parameters and fields each route has. Every text among them
is replaced by names that lead elsewhere, one at a time; all the others keep sensible values.
"""

from __future__ import annotations

import asyncio
import copy
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

_watched: list[tuple[str, list[str]]] = []


def _note(event: str, arguments: tuple) -> None:
    if event in ("open", "os.listdir", "os.mkdir", "os.rename", "os.remove", "os.rmdir"):
        for place, seen in _watched:
            for given in arguments[:2]:
                if isinstance(given, (str, bytes)) and place in _text(given):
                    seen.append(f"{event} {_text(given)}")


def _text(path: str | bytes) -> str:
    return path.decode("utf-8", "replace") if isinstance(path, bytes) else path


@contextmanager
def watched(place: Path) -> Iterator[list[str]]:
    """All files below `place` that Python opens, lists, creates or removes within the block.

    Recorded by audit events of the interpreter, independent of the responses.
    """
    if not getattr(_note, "installed", False):
        sys.addaudithook(_note)  # it cannot be taken away again, only be given nothing to watch
        _note.installed = True
    entry = (str(place), [])
    _watched.append(entry)
    try:
        yield entry[1]
    finally:
        _watched.remove(entry)


def hostile_names(outside: Path) -> list[str]:
    """URL-encoded names that lead to `outside`, or that are invalid as file names."""
    relative = f"../{outside.parent.name}/{outside.name}"
    up = "../" * 12 + str(outside).lstrip("/")
    return [
        quote(relative, safe="/."),
        relative.replace("..", "%2e%2e"),
        quote(relative, safe=".").replace(".", "%2E"),
        quote(relative.replace("/", "\\"), safe="."),
        up,
        quote(str(outside), safe=""),
        "/" + str(outside),
        quote(f"file://{outside}", safe=""),
        quote(f"{relative}\0.bvh", safe="/."),
        "%00",
        "..",
        ".",
        "%2e%2e",
        "C%3A%5Cwindows%5Cwin.ini",
        "~root",
        "CON",
        "%F0%9F%92%83%E2%80%AE",
        "%ff%fe",
        "a" * 5000,
    ]


@dataclass(frozen=True)
class HttpRequest:
    """One request."""

    method: str
    address: str  # raw: nothing in it is decoded or tidied
    query: str = ""
    body: Any = None


@dataclass
class Answer:
    """The response."""

    status: int = 0
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


def sent(app, request: HttpRequest) -> Answer:
    """Send a request to the application as a server does, without a client."""
    answer = Answer()
    body = b"" if request.body is None else json.dumps(request.body).encode()
    kind = b"application/json" if request.body is not None else b"application/octet-stream"
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1",
        "method": request.method, "scheme": "http", "path": unquote(request.address),
        "raw_path": request.address.encode(), "query_string": request.query.encode(),
        "root_path": "", "server": ("localhost", 80), "client": ("127.0.0.1", 1),
        "headers": [
            (b"host", b"localhost"), (b"content-type", kind),
            (b"content-length", str(len(body)).encode()),
        ],
    }  # fmt: skip
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive():
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    async def send(message):
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = {k.decode(): v.decode() for k, v in message["headers"]}
        else:
            answer.body += message.get("body", b"")

    asyncio.run(app(scope, receive, send))
    return answer


def routes(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Method, address and description of every route in the document."""
    for address, methods in document["paths"].items():
        for method, described in methods.items():
            yield method.upper(), address, described


def attacks(
    document: dict[str, Any], method: str, address: str, names: list[str], sensible: str
) -> Iterator[HttpRequest]:
    """All requests with one of `names` as one parameter of a route."""
    described = document["paths"][address][method.lower()]
    parameters = described.get("parameters", [])
    body = _sensible(_body_schema(described), document, sensible)
    inside = [parameter["name"] for parameter in parameters if parameter["in"] == "path"]
    behind = {parameter["name"]: sensible for parameter in parameters if parameter["in"] == "query"}
    plain = _filled(address, dict.fromkeys(inside, sensible))
    for name in names:
        for place in inside:
            values = {**dict.fromkeys(inside, sensible), place: name}
            yield HttpRequest(method, _filled(address, values), _query(behind), body)
        for place in behind:
            yield HttpRequest(method, plain, _query({**behind, place: unquote(name)}), body)
        for path in _texts(body):
            changed = copy.deepcopy(body)
            _put(changed, path, unquote(name))
            yield HttpRequest(method, plain, _query(behind), changed)


def _filled(address: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        address = address.replace("{" + name + "}", value)
    return address


def _query(values: dict[str, str]) -> str:
    return "&".join(f"{name}={quote(value, safe='')}" for name, value in values.items())


def _body_schema(described: dict[str, Any]) -> dict[str, Any] | None:
    content = described.get("requestBody", {}).get("content", {})
    return content.get("application/json", {}).get("schema")


def _sensible(schema: Any, document: dict[str, Any], text: str) -> Any:
    """A value that fits a schema; every text in it is `text`."""
    if schema is None:
        return None
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return _sensible(document["components"]["schemas"][name], document, text)
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return _sensible(schema[choice][0], document, text)
    if "enum" in schema or "const" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind  # the others are null, mostly
    if kind == "object":
        fields = schema.get("properties", {})
        return {name: _sensible(each, document, text) for name, each in fields.items()}
    if kind == "array":
        first = schema.get("prefixItems", [schema.get("items", {"type": "string"})])[0]
        return [_sensible(first, document, text)] * max(1, schema.get("minItems", 1))
    if kind in ("integer", "number"):
        return schema.get("default", max(schema.get("minimum", 1), 1))
    return False if kind == "boolean" else text


def _texts(value: Any, path: tuple = ()) -> Iterator[tuple]:
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _texts(each, (*path, key))
    elif isinstance(value, list) and value:
        yield from _texts(value[0], (*path, 0))


def _put(value: Any, path: tuple, new: str) -> None:
    for step in path[:-1]:
        value = value[step]
    value[path[-1]] = new
