"""Pages and controllers for the web, read back without motionloom's own code."""

import base64
import hashlib
import json
import re
import zlib
from dataclasses import replace

import numpy as np
import pytest

import motionloom as ml
from motionloom.errors import InvalidInput, MotionloomError
from motionloom.motion_matching import MatchingSettings, matching_database
from motionloom.motion_matching.exports import web
from motionloom.motion_matching.exports.controller_file import pack_controller

SCRIPT = "document.title += '!';"


@pytest.fixture(scope="module")
def database():
    walks = [ml.demo.clip(kind) for kind in ("walk", "walk_left")]
    walks[1] = replace(walks[1], name="</title><img src=x onerror=alert(1)> $script")
    return matching_database(walks, MatchingSettings())


@pytest.fixture
def built(tmp_path, monkeypatch):
    """A stand-in for the built page, so that these tests need no npm."""
    folder = tmp_path / "static"
    for name, text in {
        "controller/page.js": SCRIPT,
        "controller/licenses.md": "MIT",
        "runtime/index.js": "export const one = 1;",
        "runtime/types/index.d.ts": "export declare const one: number;",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(web, "_built", lambda: folder)
    return folder


def unpacked(raw):
    """Header and arrays of a controller, straight from the description of the format."""
    data = zlib.decompress(raw)
    size = int.from_bytes(data[:4], "little")
    header, at, arrays = json.loads(data[4 : 4 + size]), 4 + size, {}
    for entry in header["arrays"]:
        rows, columns, planes = entry["rows"], entry["columns"], entry["bytes"]
        part = data[at : at + rows * columns * planes]
        at += len(part)
        if entry["type"] == "bytes":
            arrays[entry["name"]] = np.frombuffer(part, np.uint8).reshape(rows, columns)
            continue
        values = np.zeros((columns, rows), np.int64)
        for k in range(planes):
            plane = part[k * rows * columns : (k + 1) * rows * columns]
            values += np.frombuffer(plane, np.uint8).reshape(columns, rows).astype(int) << (8 * k)
        values = np.where(values % 2, -(values + 1) // 2, values // 2).T
        for _ in range(entry["order"]):
            values = np.cumsum(values, axis=0)
        arrays[entry["name"]] = values * entry["scale"]
    assert at == len(data)
    return header, arrays


def test_a_controller_holds_the_database(database):
    raw, played = pack_controller(database, database.ranges, [], "walks")
    header, arrays = unpacked(raw)
    assert header["fps"] == 30.0 and header["standing"] == played.standing_frame
    np.testing.assert_array_equal(arrays["contacts"].astype(bool), database.contacts)
    np.testing.assert_array_equal(arrays["places"], played.places)
    np.testing.assert_array_equal(arrays["features"].astype(np.float32), played.features)
    q = arrays["rotations"].reshape(len(database), -1, 4)
    unit = (q / np.linalg.norm(q, axis=-1, keepdims=True)).astype(np.float32)
    np.testing.assert_allclose(unit, played.rotations, rtol=0, atol=1e-7)
    np.testing.assert_allclose(q, database.rotations, rtol=0, atol=2.0**-15 + 1e-7)
    np.testing.assert_allclose(arrays["root"], database.root, rtol=0, atol=2.0**-17 + 1e-6)
    assert [part["stop"] for part in header["ranges"]] == [part.stop for part in database.ranges]


def test_some_ranges_keep_their_labels(database):
    part = database.ranges[2]
    _, played = pack_controller(database, [part], [], "one")
    assert len(played) == part.stop - part.start and played.ranges[0].start == 0
    assert played.player(start=0).read(10).root.shape == (10, 3)


def test_a_page_contains_everything_and_allows_only_its_own_script(database, built, tmp_path):
    report = database.export(tmp_path / "out", "web", mesh="low")
    assert report.error < 2e-4 and report.takes == 2
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy
    for tag, kind in (("<script>", "script-src"), ("<style>", "style-src")):
        text = page.split(tag)[1].split(tag.replace("<", "</"))[0]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy
    assert "<img" not in page and "&lt;img src=x" in page and page.count(SCRIPT) == 1
    assert "http://" not in page and "https://" not in page
    coded = page.split('type="application/octet-stream">')[1].split("<")[0]
    assert base64.b64decode(coded) == (tmp_path / "out" / "controller.bin").read_bytes()
    header, arrays = unpacked(base64.b64decode(coded))
    assert header["meshes"][0]["name"] and arrays["mesh0.weights"].shape[1] == 4
    np.testing.assert_allclose(arrays["mesh0.weights"].sum(axis=1), 1.0, atol=0.01)
    assert arrays["mesh0.joints"].max() < len(database.skeleton)
    package = json.loads((tmp_path / "out" / "runtime" / "package.json").read_text())
    assert package["license"] == "MIT" and package["version"] == "1.0.0"
    for name in (package["main"], package["types"], "LICENSE", "README.md"):
        assert (tmp_path / "out" / "runtime" / name).is_file()


def test_a_page_of_a_character(database, built, tmp_path):
    hero = ml.demo.clip("walk", performer=2).save(tmp_path / "hero.glb")
    walk = matching_database([ml.demo.clip("walk")], MatchingSettings(mirror=False))
    walk.export(tmp_path / "out", "web", character=str(hero))
    header, arrays = unpacked((tmp_path / "out" / "controller.bin").read_bytes())
    assert header["skeleton"]["names"] == list(ml.load(hero).skeleton.names)
    assert len(arrays["mesh0.positions"]) > 100


def test_options_that_do_not_apply_are_refused(database, built, tmp_path):
    with pytest.raises(InvalidInput, match="remove option separate"):
        database.export(tmp_path / "out", "web", separate=True)


def test_a_page_that_was_not_built_says_how(database, tmp_path, monkeypatch):
    monkeypatch.setattr(web, "files", lambda _: tmp_path)
    with pytest.raises(MotionloomError, match="build_page.py"):
        database.export(tmp_path / "out", "web")
