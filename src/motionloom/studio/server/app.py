"""ASGI application of the studio: routes, error responses, and the page."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request
from fastapi.encoders import jsonable_encoder
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from fastapi.staticfiles import StaticFiles

from motionloom import __version__
from motionloom.errors import LibraryError, MotionloomError
from motionloom.studio.live import live_schemas, live_socket
from motionloom.studio.requests import with_named_settings
from motionloom.studio.routes import ROUTERS
from motionloom.studio.server.limits import WorkLimiter
from motionloom.studio.server.security import LOCAL_NAMES, AccessControl
from motionloom.studio.state.app_state import AppState

if TYPE_CHECKING:
    from motionloom.formats.vmc import LiveStream
    from motionloom.library import Library
    from motionloom.studio.state.library_choice import LibraryChoice

_MOST_PROBLEMS = 100  # of one request that are listed
PAGE = Path(__file__).parents[1] / "static"

_NO_PAGE = (
    "The studio's page was not built when motionloom was installed, because the npm packages "
    "could not be downloaded. Everything else works. To get the page, install a released wheel "
    "(pip install --force-reinstall 'motionloom[studio]'), or run python build_page.py in a "
    "clone of the repository, with access to the npm registry."
)


class StudioApp(FastAPI):
    """Application whose OpenAPI document also describes settings and websocket messages."""

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document; ``LiveHeads`` has the headers of websocket responses."""
        if self.openapi_schema is None:
            document = with_named_settings(super().openapi())
            document["components"]["schemas"] |= live_schemas("#/components/schemas/{model}")
            self.openapi_schema = document
        return self.openapi_schema


def create_app(
    library: Library | None,
    *,
    names: frozenset[str] = LOCAL_NAMES,
    token: str | None = None,
    choice: LibraryChoice | None = None,
    stream: LiveStream | None = None,
) -> FastAPI:
    """Create the ASGI application that serves a library's studio.

    Parameters
    ----------
    library : Library or None
        Library to show. If None, the page starts with a list of libraries.
    names : set of str
        Host names that the server answers to.
    token : str, optional
        Token that every request must contain; required if other machines can connect.
    choice : LibraryChoice, optional
        Other libraries that the page may open. Default: none.
    stream : LiveStream, optional
        Program that also receives the frames that characters play.

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> from fastapi.testclient import TestClient
    >>> folder = tempfile.TemporaryDirectory()
    >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
    >>> with TestClient(create_app(lib), base_url="http://localhost") as client:
    ...     client.get("/api/library").json()["motions"]
    []
    """
    app = StudioApp(
        title="motionloom studio",
        version=__version__,
        description="HTTP interface of the studio's page; it can do the same as the command line.",
        docs_url=None,  # these pages load external scripts; /openapi.json is the document
        redoc_url=None,
        lifespan=_lifespan,
    )
    app.state.studio = AppState(library, choice=choice, stream=stream)
    app.state.exchanging = threading.Lock()
    for router in ROUTERS:
        app.include_router(router, prefix="/api")
    app.add_api_websocket_route("/api/live", live_socket)
    app.add_exception_handler(MotionloomError, _error_response)
    app.add_exception_handler(RequestValidationError, _invalid_response)
    app.add_middleware(WorkLimiter, limiter=app.state.studio.limiter)
    app.add_middleware(AccessControl, names=names, token=token)
    if not missing_page():
        app.mount("/", StaticFiles(directory=PAGE, html=True), name="page")
    else:
        app.get("/", response_class=PlainTextResponse, include_in_schema=False)(missing_page)
    return app


def missing_page() -> str:
    """Return instructions for getting the page if it was not built, otherwise an empty string."""
    return "" if (PAGE / "index.html").is_file() else _NO_PAGE


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    yield
    app.state.studio.close()


class _AsciiResponse(JSONResponse):
    """JSON in ASCII: a message may quote half a character, which UTF-8 cannot encode."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


def _error_response(request: Request, error: Exception) -> JSONResponse:
    """Return the response to an invalid request, with motionloom's error message."""
    code = 404 if isinstance(error, LibraryError) else 422
    return _AsciiResponse({"error": str(error)}, status_code=code)


def _invalid_response(request: Request, error: Exception) -> JSONResponse:
    """Return the response to an invalid value; ``detail`` has the same format as in FastAPI."""
    problems = list(error.errors()) if isinstance(error, RequestValidationError) else []
    said = "; ".join(_sentence(problem) for problem in problems[:4])
    detail = [
        {**problem, "ctx": None, "msg": _sentence(problem), "input": _shown(problem.get("input"))}
        for problem in problems[:_MOST_PROBLEMS]
    ]
    return _AsciiResponse({"error": said, "detail": jsonable_encoder(detail)}, status_code=422)


def _shown(value: object) -> str:
    """Return an invalid value as a short string; it may be NaN, or as large as the request."""
    return type(value).__name__ if isinstance(value, dict | list) else str(value)[:200]


def _sentence(error: dict[str, Any]) -> str:
    """Describe an invalid value: motionloom's message, or the field and pydantic's message."""
    reason = error.get("ctx", {}).get("error")
    if isinstance(reason, MotionloomError):
        return str(reason)
    place = [part for part in error["loc"] if isinstance(part, str)]
    place += [error["ctx"]["discriminator"].strip("'")] if "tag" in error["type"] else []
    field = place[-1].replace("_", " ") if len(place) > 1 else "the request"
    return f"{field}: {error['msg'].removeprefix('Input ').removeprefix('Value error, ')}"
