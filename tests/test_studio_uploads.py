"""Uploads to the studio: accepted and refused files, and clean-up."""

from __future__ import annotations

import asyncio
import io
import os
import shutil
import zipfile
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from hostile_requests import HttpRequest, hostile_names, sent, watched

pytest.importorskip("fastapi")

from starlette.requests import ClientDisconnect  # noqa: E402
from studio_takes import studio_client  # noqa: E402

import motionloom as ml  # noqa: E402
from motionloom import demo  # noqa: E402
from motionloom.errors import InvalidInput, LibraryError  # noqa: E402
from motionloom.files import remove_tree  # noqa: E402
from motionloom.studio.state import uploads  # noqa: E402
from motionloom.studio.state.uploads import Uploads, checked_name  # noqa: E402


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("files")
    names = ("walk", "kick_front_high_right", "jump_up")
    return {name: demo.clip(name).save(folder / f"{name}.bvh").read_bytes() for name in names}


@pytest.fixture
def library(tmp_path) -> ml.Library:
    return ml.Library.create(tmp_path / "own.loom")


@pytest.fixture
def client(library):
    with studio_client(library) as asking:
        yield asking
    assert not (library.path / "incoming").exists()


def staged(library) -> list[str]:
    """Files that lie in the library and wait to be imported."""
    place = library.path / "incoming"
    locks = ("lock", "queue")
    files = [path for path in place.rglob("*") if path.is_file() and path.name not in locks]
    return sorted(path.name for path in files)


def streamed(app, path: str, receive) -> bytes:
    """Send a body as it comes out of `receive`, without a header with its length."""
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "PUT",
        "scheme": "http", "path": path, "query_string": b"", "root_path": "",
        "headers": [(b"host", b"localhost")], "server": ("localhost", 80),
    }  # fmt: skip
    parts = []

    async def send(message):
        parts.append(message.get("body", b""))

    asyncio.run(app(scope, receive, send))
    return b"".join(parts)


def finished(client, job: dict) -> dict:
    client.app.state.studio.jobs.wait(job["id"])
    return client.get(f"/api/jobs/{job['id']}").json()


def test_one_file_becomes_a_motion(client, library, files):
    received = client.put("/api/uploads/walk.bvh", content=files["walk"]).json()
    frames = len(demo.clip("walk"))
    assert received == {
        "added": 1, "replaced": 0, "skipped": 0, "failed": [], "frames": frames,
        "seconds": pytest.approx(frames / 30.0), "names": ["walk"],
    }  # fmt: skip
    assert library.names == ("walk",)
    sent_there = demo.clip("walk").positions()
    assert np.abs(library["walk"].positions() - sent_there).max() < 1e-3
    assert staged(library) == []


def test_the_same_file_again_changes_nothing(client, library, files):
    for added in (1, 0):
        received = client.put("/api/uploads/walk.bvh", content=files["walk"]).json()
        assert (received["added"], received["skipped"]) == (added, 1 - added)
        assert received["names"] == ["walk"]


def test_another_file_of_the_same_name_does_not_replace_the_first(client, library, files):
    client.put("/api/uploads/walk.bvh", content=files["walk"])
    received = client.put("/api/uploads/walk.bvh", content=files["jump_up"]).json()
    assert received["added"] == 1
    assert len(library) == 2
    assert len(library["walk"]) == len(demo.clip("walk"))
    assert received["names"][0].endswith("/walk")


def test_names_in_any_script_survive(client, library, files):
    name = "Gehen größer 歩く.bvh"
    received = client.put(f"/api/uploads/{quote(name)}", content=files["walk"]).json()
    assert received["names"] == ["Gehen größer 歩く"]


def test_a_bad_file_is_reported_in_the_readers_words(client, library):
    answer = client.put("/api/uploads/bad.bvh", content=b"HIERARCHY\nnonsense")
    assert answer.status_code == 422
    assert answer.json()["error"].startswith("bad.bvh: line 2: ")
    assert str(library.path) not in answer.text
    assert (len(library), staged(library)) == (0, [])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "notes.txt",
            "the suffix must be one of .bvh, .amc, .npz, .npy, .json, .glb, .gltf, .vrm",
        ),
        ("walk", "one of .bvh"),
        ("walk.usda", "USD files can refer to other files"),
        ("walk.c3d", "one of .bvh"),
        (".hidden.bvh", "hidden files and names that end in"),
        ("skeleton.asf", "is not a complete motion; upload its whole folder"),
        ("a" * 300 + ".bvh", "is too long; use at most 200 bytes"),
        ("a%5Cb.bvh", "not a valid file name"),
        ("a%00.bvh", "not a valid file name"),
        ("a%0Ab.bvh", "not a valid file name"),
        ("C%3Aa.bvh", "not a valid file name"),
    ],
)
def test_a_file_that_is_not_wanted_is_refused_with_a_reason(client, library, files, name, words):
    answer = client.put(f"/api/uploads/{name}", content=files["walk"])
    assert answer.status_code == 422
    assert words in answer.json()["error"]
    assert (len(library), staged(library)) == (0, [])


@pytest.mark.parametrize("name", ["../a.bvh", "a/../b.bvh", "/a.bvh", "a//b.bvh", "./a.bvh", ""])
def test_no_name_leads_upwards(name):
    with pytest.raises(InvalidInput, match="not a valid file name|must have 1 to"):
        checked_name(name)


def test_hostile_names_in_a_batch_stay_inside(client, library, files, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "walk.bvh").write_bytes(b"mine")
    batch = client.post("/api/uploads").json()["id"]
    with watched(elsewhere) as touched:
        for name in hostile_names(elsewhere / "walk.bvh"):
            for address in (f"/api/uploads/{batch}/files/{name}", f"/api/uploads/{name}"):
                assert sent(client.app, HttpRequest("PUT", address)).status in (404, 405, 422)
    assert touched == []
    assert (elsewhere / "walk.bvh").read_bytes() == b"mine"
    assert staged(library) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["elsewhere", "own.loom"]


def test_a_folder_is_imported_as_a_job(client, library, files):
    batch = client.post("/api/uploads").json()["id"]
    content = {
        "takes/walks/a.bvh": files["walk"],
        "takes/kicks/a.bvh": files["kick_front_high_right"],
        "takes/kicks/broken.bvh": b"HIERARCHY\n",
        "takes/kicks/unused.asf": b":version 1.10",
    }
    for name, data in content.items():
        answer = client.put(f"/api/uploads/{batch}/files/{name}", content=data)
        assert answer.json() == {"bytes": len(data)}
    assert len(staged(library)) == 4
    begun = client.post(f"/api/uploads/{batch}/import", json={"label_by_folder": True}).json()
    assert (begun["total"], begun["title"]) == (3, "importing")
    received = finished(client, begun)
    assert (received["state"], received["done"]) == ("done", 3)
    result = received["result"]
    assert (result["added"], result["names"]) == (2, ["kicks/a", "walks/a"])
    assert [bad["file"] for bad in result["failed"]] == ["takes/kicks/broken.bvh"]
    assert result["failed"][0]["reason"]
    # A folder that contains all files describes none of them.
    assert library.labels["kicks/a"] == ("kicks",)
    assert staged(library) == []
    assert client.get("/api/library").json()["motions"][0]["name"] == "kicks/a"


def test_an_import_that_is_stopped_keeps_what_came_before(client, library, files, monkeypatch):
    batch = client.post("/api/uploads").json()["id"]
    for number in range(4):
        client.put(f"/api/uploads/{batch}/files/{number}.bvh", content=files["walk"])
    shop = client.app.state.studio
    job = shop.jobs.start("waiting", lambda job: None)
    shop.jobs.wait(job.id)
    advance = type(job).advance

    def stops_after_two(self, steps=1):
        advance(self, steps)
        if self.title == "importing" and self.done == 2:
            self.stop()

    monkeypatch.setattr(type(job), "advance", stops_after_two)
    received = finished(client, client.post(f"/api/uploads/{batch}/import", json={}).json())
    assert received["state"] == "stopped"
    assert len(library) in (2, 3)
    assert library.store.damage() == []
    assert staged(library) == []


def test_uploads_continue_after_the_library_folder_was_replaced(client, library, files):
    assert client.put("/api/uploads/walk.bvh", content=files["walk"]).json()["added"] == 1
    again = library.path.with_name("again.loom")
    shutil.copytree(library.path, again, ignore=shutil.ignore_patterns("incoming"))
    shutil.rmtree(library.path)
    os.rename(again, library.path)
    assert client.put("/api/uploads/jump.bvh", content=files["jump_up"]).json()["added"] == 1
    assert library.names == ("jump", "walk")


def test_a_batch_that_is_given_up_is_gone(client, library, files):
    batch = client.post("/api/uploads").json()["id"]
    client.put(f"/api/uploads/{batch}/files/a.bvh", content=files["walk"])
    assert client.delete(f"/api/uploads/{batch}").status_code == 200
    assert staged(library) == []
    for answer in (
        client.put(f"/api/uploads/{batch}/files/b.bvh", content=b"x"),
        client.post(f"/api/uploads/{batch}/import", json={}),
        client.delete(f"/api/uploads/{batch}"),
    ):
        assert answer.status_code == 404
        assert "start one first" in answer.json()["error"]


def test_a_name_comes_once_in_a_batch(client, files):
    batch = client.post("/api/uploads").json()["id"]
    address = f"/api/uploads/{batch}/files/a.bvh"
    assert client.put(address, content=files["walk"]).status_code == 200
    assert (
        client.put(address, content=b"other").json()["error"]
        == "a.bvh was uploaded twice in one import"
    )


def test_an_empty_batch_is_not_imported(client):
    batch = client.post("/api/uploads").json()["id"]
    answer = client.post(f"/api/uploads/{batch}/import", json={})
    assert "does not contain any motion files" in answer.json()["error"]


def test_sizes_and_numbers_are_bounded(client, library, monkeypatch):
    monkeypatch.setattr(uploads, "LARGEST_FILE", 2 << 20)
    monkeypatch.setattr(uploads, "LARGEST_BATCH", 3 << 20)
    monkeypatch.setattr(uploads, "MOST_FILES", 3)
    monkeypatch.setattr(uploads, "MOST_BATCHES", 2)
    batch = client.post("/api/uploads").json()["id"]
    address = f"/api/uploads/{batch}/files/"
    assert (
        "file may have at most 2 MB" in client.put(address + "a.bvh", content=b"x" * (3 << 20)).text
    )
    assert client.put(address + "b.bvh", content=b"x" * (2 << 20)).status_code == 200
    assert "one import may have" in client.put(address + "c.bvh", content=b"x" * (2 << 20)).text
    assert staged(library) == ["b.bvh"]
    for number in (1, 2):
        assert client.put(f"{address}{number}.bvh", content=b"").status_code == 200
    assert "at most 3 files" in client.put(address + "z.bvh", content=b"").text
    assert client.post("/api/uploads").status_code == 200
    assert "2 imports are in progress" in client.post("/api/uploads").json()["error"]


def test_abandoned_batches_expire_and_can_be_listed(client, library, files, monkeypatch):
    for _ in range(uploads.MOST_BATCHES):
        batch = client.post("/api/uploads").json()["id"]
        client.put(f"/api/uploads/{batch}/files/a.bvh", content=b"x")
    assert "16 imports are in progress" in client.put("/api/uploads/w.bvh", content=b"").text
    listed = client.get("/api/uploads").json()
    assert len(listed) == 16 and listed[-1]["id"] == batch
    assert (listed[0]["files"], listed[0]["bytes"]) == (1, 1) and listed[0]["idle"] >= 0.0
    last = client.app.state.studio.uploads[batch]
    monkeypatch.setattr(uploads, "IDLE_SECONDS", 0.0)
    with last.in_use():  # still sending
        assert client.put("/api/uploads/walk.bvh", content=files["walk"]).status_code == 200
        assert [row["id"] for row in client.get("/api/uploads").json()] == [batch]
    assert staged(library) == ["a.bvh"]
    assert client.get("/api/uploads").json() == [] == staged(library)


def test_uploads_go_on_after_the_library_was_replaced(client, library, files, tmp_path):
    client.post("/api/uploads")
    moved = tmp_path / "moved.loom"
    shutil.copytree(library.path, moved)
    library.path.rename(tmp_path / "old.loom")
    moved.rename(library.path)
    shutil.rmtree(library.path / "incoming")
    assert client.put("/api/uploads/walk.bvh", content=files["walk"]).status_code == 200


def test_a_large_file_is_refused_by_its_header(client, library):
    received = {"Content-Length": str(1 << 40)}
    answer = client.put("/api/uploads/a.bvh", content=b"", headers=received)
    assert "file may have at most 512 MB" in answer.json()["error"]


def test_a_body_without_length_is_counted(client, library, monkeypatch):
    """Chunked: no header says how long it is; it never ends."""
    monkeypatch.setattr(uploads, "LARGEST_FILE", 4 << 20)

    taken = 0

    async def receive():
        nonlocal taken
        taken += 1
        return {"type": "http.request", "body": bytes(1 << 20), "more_body": True}

    answer = streamed(client.app, "/api/uploads/a.bvh", receive)
    assert b"file may have at most 4 MB" in answer
    assert taken <= 6
    assert staged(library) == []


def test_a_sender_that_leaves_in_the_middle_leaves_nothing(client, library):
    batch = client.post("/api/uploads").json()["id"]
    messages = [{"type": "http.request", "body": bytes(2 << 20), "more_body": True}]

    async def receive():
        return messages.pop() if messages else {"type": "http.disconnect"}

    with pytest.raises(ClientDisconnect):
        streamed(client.app, f"/api/uploads/{batch}/files/a.bvh", receive)
    assert staged(library) == []
    assert client.app.state.studio.uploads[batch].files == 0


def test_a_bomb_is_not_unpacked(client, library, tmp_path):
    """100 MB of zeros in an archive of half a megabyte."""
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("poses.npy", "w", force_zip64=True) as file:
            np.lib.format.write_array_header_1_0(
                file, {"descr": "<f8", "fortran_order": False, "shape": (80_000, 156)}
            )
            for _ in range(100):
                file.write(bytes(1 << 20))
    answer = client.put("/api/uploads/bomb.npz", content=path.read_bytes())
    assert answer.status_code == 422
    assert "too much for the size of the file" in answer.json()["error"]
    assert len(library) == 0


def test_a_buffer_outside_is_not_read(client, library, tmp_path):
    """A glTF file names its buffer by an address; only a buffer next to the file is opened."""
    (tmp_path / "secret.bin").write_bytes(bytes(1000))
    scene = (
        '{"asset": {"version": "2.0"}, "buffers": [{"uri": "%s", "byteLength": 1000}],'
        '"bufferViews": [{"buffer": 0, "byteLength": 1000}], "accessors": [{"bufferView": 0,'
        '"componentType": 5126, "count": 2, "type": "SCALAR"}], "nodes": [{}],'
        '"animations": [{"channels": [{"sampler": 0, "target": {"node": 0, "path": "rotation"}}],'
        '"samplers": [{"input": 0, "output": 0}]}]}'
    )
    with watched(tmp_path / "secret.bin") as touched:
        for uri in ("../../../../secret.bin", str(tmp_path / "secret.bin"), "%2e%2e/secret.bin"):
            answer = client.put("/api/uploads/a.gltf", content=(scene % uri).encode())
            assert answer.status_code == 422
    assert touched == []


@pytest.mark.skipif(os.name != "posix", reason="links need rights on other systems")
def test_links_are_not_followed(client, library, files, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (library.path / "incoming").symlink_to(elsewhere)
    answer = client.put("/api/uploads/walk.bvh", content=files["walk"])
    assert "is a symbolic link; delete it" in answer.json()["error"]
    assert list(elsewhere.iterdir()) == []
    (library.path / "incoming").unlink()
    # A link in the very folder of a batch, planted by somebody with rights on the library.
    batch = client.post("/api/uploads").json()["id"]
    folder = client.app.state.studio.uploads[batch].folder
    (folder / "a.bvh").symlink_to(elsewhere / "written.bvh")
    answer = client.put(f"/api/uploads/{batch}/files/a.bvh", content=files["walk"])
    assert answer.status_code == 422
    assert list(elsewhere.iterdir()) == []


def test_what_a_killed_server_left_is_removed_and_what_another_uses_is_not(library):
    first, second = Uploads(library.path), Uploads(library.path)
    kept = first.begin()
    with kept.open("a.bvh") as file:
        file.write(b"abc")
        file.done()
    left = library.path / "incoming" / "0123456789ab" / "batch-x"
    left.mkdir(parents=True)
    (left / "b.bvh").write_bytes(b"half")
    second.begin()
    assert staged(library) == ["a.bvh"]
    second.close()
    assert staged(library) == ["a.bvh"]
    first.close()
    assert not (library.path / "incoming").exists()


@pytest.mark.slow
def test_very_deep_folders_are_imported(client, library, files, tmp_path, monkeypatch):
    """In a received library, or in a folder that is imported: Python recurses a thousand times."""
    abandoned, outside = library.path / "incoming" / "old", tmp_path / "outside"
    for top in (abandoned, outside):
        top.mkdir(parents=True)
        with monkeypatch.context() as moved:
            moved.chdir(top)
            for _ in range(1200):
                os.mkdir("a")
                os.chdir("a")
    (abandoned / "link").symlink_to(outside)
    assert client.put("/api/uploads/walk.bvh", content=files["walk"]).status_code == 200
    assert not abandoned.exists() and (outside / "a" / "a").is_dir()
    (outside / "jump.bvh").write_bytes(files["jump_up"])
    report = library.add(outside, workers=1)
    assert report.added == 1 and "more than 200 levels deep" in report.failed[0].reason
    remove_tree(outside)  # pytest could not
    assert not outside.exists()


def test_a_full_disk_is_reported(library, monkeypatch):
    class Full(io.BytesIO):
        def write(self, part):
            raise OSError(28, "No space left on device")

    def opened(handle, mode):
        os.close(handle)
        return Full()

    place = Uploads(library.path)
    monkeypatch.setattr(os, "fdopen", opened)
    with place.begin().open("a.bvh") as file:
        monkeypatch.undo()
        with pytest.raises(
            InvalidInput, match="a.bvh cannot be written: the disk of the library is full"
        ):
            file.write(b"x")
    place.close()


def test_a_library_that_cannot_be_written_to_is_reported(library, monkeypatch):
    def read_only(self, mode=0o777, parents=False, exist_ok=False):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", read_only)
    with pytest.raises(LibraryError, match="incoming cannot be created: Permission denied"):
        Uploads(library.path).begin()
