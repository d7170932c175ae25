"""No request reads or writes anything outside the library, whatever names it carries."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from hostile_requests import HttpRequest, attacks, hostile_names, routes, sent, watched
from studio_takes import corpus_library

pytest.importorskip("fastapi")

from fastapi import FastAPI, Response  # noqa: E402
from pydantic import BaseModel  # noqa: E402

from motionloom import demo  # noqa: E402
from motionloom.studio import create_app  # noqa: E402
from motionloom.studio.live import REQUESTS, BrowserWindow, answer  # noqa: E402
from motionloom.studio.messages import unpack  # noqa: E402
from motionloom.studio.routes import ROUTERS  # noqa: E402

SECRET = b"nobody may read this"
DOCUMENT_ROUTES = [
    (method, "/api" + route.path)
    for router in ROUTERS
    for route in router.routes
    for method in sorted(route.methods)
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A library, and unrelated files next to it."""
    folder = tmp_path_factory.mktemp("paths")
    outside = folder / "elsewhere"
    outside.mkdir()
    (outside / "secret.bvh").write_bytes(SECRET)
    demo.clip("walk").save(outside / "walk.bvh")
    corpus_library(outside / "other.loom", ["jog_p0"]).close()
    corpus_library(folder / "own.loom", ["walk_p0"]).close()
    (folder / "cwd").mkdir()
    return folder


@pytest.fixture(scope="module")
def app(place):
    import motionloom as ml

    made = create_app(ml.Library(place / "own.loom"))
    yield made
    made.state.studio.close()


def tree(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file and folder below, with size and time."""
    files = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        files[str(path)] = (status.st_size, status.st_mtime_ns)
    return files


def test_the_document_has_every_route(app):
    """Used by the test below: a route that is not in the document would not be tried."""
    documented = {(method, address) for method, address, _ in routes(app.openapi())}
    plain = {(method, route.replace(":path", "")) for method, route in DOCUMENT_ROUTES}
    assert documented == plain
    assert len(documented) >= 20


def test_the_document_describes_every_route(app):
    for method, address, described in routes(app.openapi()):
        assert described["description"].strip().endswith("."), (method, address)
        assert described["tags"], (method, address)


def test_the_document_describes_every_answer(app):
    """Types of the page are generated from it: heads of arrays, results of jobs, live answers."""
    document = app.openapi()
    schemas = document["components"]["schemas"]
    for method, address, described in routes(document):
        for kind, content in described["responses"]["200"].get("content", {}).items():
            assert content["schema"], (method, address, kind)
    assert set(schemas["LiveHeads"]["properties"]) == set(REQUESTS)
    unknown = [
        (name, field)
        for name, schema in schemas.items()
        for field, about in schema.get("properties", {}).items()
        if set(about) <= {"title"} and name != "ValidationError"  # any value; FastAPI's own
    ]
    assert not unknown


def test_the_addresses_in_the_docs_are_in_the_document(app):
    page = (Path(__file__).parents[1] / "docs" / "guides" / "studio-server.md").read_text(
        encoding="utf-8"
    )
    shown = re.findall(r"^curl .*?\$at(/api/[^\s]+)", page, re.MULTILINE)
    patterns = [re.sub(r"\{\w+\}", "[^/]+", address) for address in app.openapi()["paths"]]
    assert len(shown) >= 6
    for address in shown:
        assert any(re.fullmatch(pattern, address) for pattern in patterns), address


# By default, one name of each kind: relative, encoded, absolute, after two slashes, with a
# NUL, too long.
ONE_OF_EACH = (0, 1, 5, 6, 8, -1)


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("method", "address"), DOCUMENT_ROUTES)
def test_no_route_leads_outside(app, place, method, address, every, monkeypatch):
    monkeypatch.chdir(place / "cwd")
    before = tree(place / "elsewhere")
    names = hostile_names(place / "elsewhere" / "secret.bvh")
    others = [hostile_names(place / "elsewhere" / name)[:6] for name in ("walk.bvh", "other.loom")]
    if every:
        names += others[0] + others[1]
    else:
        names = [names[k] for k in ONE_OF_EACH] + [others[0][0], others[1][5]]
    tried = 0
    with watched(place / "elsewhere") as touched:
        for request in attacks(
            app.openapi(), method, address.replace(":path", ""), names, "walk_p0"
        ):
            answer = sent(app, request)
            assert answer.status < 500, (request, answer.body)
            assert SECRET not in answer.body, request
            assert touched == [], request
            tried += 1
        for job in app.state.studio.jobs.all():
            received = app.state.studio.jobs.wait(job.id)
            assert "Error: " not in received.error.split(" ")[0], received  # refused, not broken
        assert touched == []
    assert tree(place / "elsewhere") == before
    assert os.listdir(place / "cwd") == []
    assert {path.name for path in place.iterdir()} == {"elsewhere", "own.loom", "cwd"}
    assert tried >= len(names) or "{" not in address


@pytest.mark.parametrize("kind", sorted(REQUESTS))
def test_no_live_request_leads_outside(app, place, kind):
    keys = (
        "name", "motion", "take", "player", "path", "file", "key", "id", "choreography",
        "music", "graph", "family", "library", "label", "labels", "takes", "by", "target",
    )  # fmt: skip
    window = BrowserWindow(app.state.studio)
    with watched(place / "elsewhere") as touched:
        for name in hostile_names(place / "elsewhere" / "secret.bvh"):
            message = {**dict.fromkeys(keys, name), "id": 1, "kind": kind}
            meta, _ = unpack(answer(window, json.dumps(message)))
            assert meta["id"] == 1
    assert touched == []


@pytest.mark.parametrize(
    "address",
    [
        "/../../../../../../../../etc/passwd",
        "/%2e%2e/%2e%2e/%2e%2e/app.py",
        "/..%2fapp.py",
        "/assets/../../app.py",
        "/assets/..%2f..%2fapp.py",
        "/assets/%2e%2e%5c%2e%2e%5capp.py",
        "//etc/passwd",
        "/%2fetc%2fpasswd",
        "/index.html%00.py",
        "/" + "a" * 5000,
    ],
)
def test_only_the_page_is_served(app, address):
    answer = sent(app, HttpRequest("GET", address))
    assert answer.status in (400, 404, 405), answer
    assert b"root:" not in answer.body
    assert b"import" not in answer.body


def test_the_watch_detects_opened_files(place):
    with watched(place / "elsewhere") as touched:
        (place / "elsewhere" / "secret.bvh").read_bytes()
        os.listdir(place / "elsewhere")
    assert len(touched) == 2


class Wanted(BaseModel):
    names: list[str]


def test_a_route_that_leads_outside_would_be_caught(place):
    """The walk itself, on a server that joins names to a folder, as people do."""
    careless = FastAPI()

    @careless.get("/files/{name:path}")
    def by_address(name: str):
        path = place / "own.loom" / name
        return Response(path.read_bytes() if "\0" not in name and path.is_file() else b"")

    @careless.post("/files")
    def by_body(wanted: Wanted):
        return by_address(wanted.names[0])

    names = hostile_names(place / "elsewhere" / "secret.bvh")
    for method, address in (("GET", "/files/{name}"), ("POST", "/files")):
        with watched(place / "elsewhere") as touched:
            for request in attacks(careless.openapi(), method, address, names, "walk_p0"):
                try:
                    sent(careless, request)
                except OSError:  # a name too long for the system
                    pass
        assert len(touched) >= 3
