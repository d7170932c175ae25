"""The application: routes, refusals, and the page."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, PlainTextResponse
from fastapi.staticfiles import StaticFiles

from motionloom import __version__
from motionloom.errors import LibraryError, MotionloomError
from motionloom.studio.app_state import Workshop
from motionloom.studio.live.socket import live
from motionloom.studio.routes import ROUTERS
from motionloom.studio.security import LOCAL_NAMES, Doorkeeper

if TYPE_CHECKING:
    from motionloom.library import Library

PAGE = Path(__file__).parent / "static"

_NO_PAGE = (
    "The studio's page was not built when motionloom was installed: the npm packages could not "
    "be reached. Everything else works. To get it, install a released wheel, which brings the "
    "page (pip install --force-reinstall 'motionloom[studio]'), or run python build_page.py in a "
    "clone of the repository, with the npm registry in reach."
)


def create_app(
    library: Library, *, names: frozenset[str] = LOCAL_NAMES, token: str | None = None
) -> FastAPI:
    """The studio of one library, as an ASGI application.

    Parameters
    ----------
    library : Library
    names : set of str
        Host names that the server answers to.
    token : str, optional
        What every request must carry; needed when others than this machine can connect.

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
    app = FastAPI(
        title="motionloom studio",
        version=__version__,
        description="What the studio's page asks; the same functions as the command line.",
        docs_url=None,  # its pages load scripts from elsewhere; /openapi.json is the document
        redoc_url=None,
        lifespan=_open,
    )
    app.state.workshop = Workshop(library)
    for router in ROUTERS:
        app.include_router(router, prefix="/api")
    app.add_api_websocket_route("/api/live", live)
    app.add_exception_handler(MotionloomError, _explain)
    app.add_middleware(Doorkeeper, names=names, token=token)
    if not missing_page():
        app.mount("/", StaticFiles(directory=PAGE, html=True), name="page")
    else:
        app.get("/", response_class=PlainTextResponse, include_in_schema=False)(missing_page)
    return app


def missing_page() -> str:
    """What to tell where the page was not built; empty where it is there."""
    return "" if (PAGE / "index.html").is_file() else _NO_PAGE


@asynccontextmanager
async def _open(app: FastAPI) -> AsyncIterator[None]:
    yield
    app.state.workshop.close()


def _explain(request: Request, error: Exception) -> JSONResponse:
    """A mistake in what was asked, in the words that the command line would use."""
    code = 404 if isinstance(error, LibraryError) else 422
    return JSONResponse({"error": str(error)}, status_code=code)
