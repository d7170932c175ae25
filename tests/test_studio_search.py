"""Searches, poses, families and exports of the studio over HTTP."""

from __future__ import annotations

import gc
import io
import json
import shlex
import tracemalloc
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

import motionloom as ml
from motionloom.cli import app as cli
from motionloom.motion.rotations.planar_transform import PlanarTransform

pytest.importorskip("fastapi")

from studio_takes import corpus_library, studio_client

from motionloom.studio import messages
from motionloom.studio.requests import flags
from motionloom.studio.routes.search.queries import FamilyRequest, SearchRequest, family_of

KICK = "kick_front_high_right_p0:10-60"
TAKES = (
    "walk_p0", "walk_p1", "jog_p0", "kick_front_low_right_p0", "kick_front_mid_right_p0",
    "kick_front_high_right_p0", "kick_front_high_right_p1", "kick_inside_mid_right_p0",
    "kick_side_mid_right_p0", "punch_mid_right_p0", "reach_front_mid_right_p0",
)  # fmt: skip


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    with corpus_library(tmp_path_factory.mktemp("studio") / "takes.loom", TAKES) as takes:
        yield takes


@pytest.fixture(scope="module")
def client(library):
    with studio_client(library) as connected:
        yield connected


def _searched(client, query=KICK, **settings):
    answer = client.post("/api/search", json={"query": query, "settings": settings})
    assert answer.status_code == 200, answer.text
    return messages.unpack(answer.content)


def _typed(line: str):
    """Output of a command line with --json."""
    words = shlex.split(line)
    assert words[0] == "motionloom"
    done = CliRunner().invoke(cli, [*words[1:], "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def _run(line: str):
    """Value of the last variable after a line of Python."""
    names: dict = {}
    exec(line, names)  # the studio's own line, as somebody would paste it
    return names["matches"] if "matches" in names else names["family"]


# --- the menu -------------------------------------------------------------------------------


def test_the_menu_has_every_method_with_its_unit(client):
    menu = client.get("/api/search/menu").json()
    methods = {each["name"]: each for each in menu["methods"]}
    assert set(methods) == set(ml.search.METHODS)
    assert methods["emd"]["unit"] == "degrees" and methods["emd"]["whole_clips"]
    assert {"kick", "walk"} <= {each["name"] for each in menu["labels"]}
    assert "e15" in {each["name"] for each in menu["features"]}


def test_the_document_has_every_method_with_its_options(client):
    schemas = client.get("/openapi.json").json()["components"]["schemas"]
    about = schemas["SearchSettings"]["properties"]["method"]
    methods = {each["properties"]["name"]["const"]: each for each in about["oneOf"]}
    assert set(methods) == set(ml.search.METHODS)
    assert "radius" in methods["lazy"]["properties"]
    assert "radius" not in methods["dtw"]["properties"]
    assert all(each["description"] for each in methods.values())


@pytest.mark.parametrize("method", ["dtw", "lazy", "dtw-clip", "emd", "scaling"])
def test_every_method_of_the_menu_searches_and_reports_its_unit(client, method):
    head, arrays = _searched(client, method=method, max=5)
    unit = {each["name"]: each["unit"] for each in client.get("/api/search/menu").json()["methods"]}
    assert head["unit"] == (unit[method] or "m")
    assert 0 < len(head["matches"]) <= 5
    assert arrays["frames"].shape == (len(head["matches"]), 50)


# --- searches -------------------------------------------------------------------------------


def test_a_search_answers_as_the_library_does(client, library):
    head, arrays = _searched(client, max=6)
    expected = library.search(KICK, max=6)
    assert head["matches"] == json.loads(json.dumps(expected.to_json()))
    for match, frames in zip(expected, arrays["frames"], strict=True):
        assert frames[0] >= match.start_frame and frames[-1] < match.end_frame
        assert np.all(np.diff(frames) >= 0)


def test_frames_stand_for_the_query_s_frames(client):
    """The query finds itself, frame for frame."""
    head, arrays = _searched(client)
    assert head["matches"][0]["motion"] == "kick_front_high_right_p0"
    assert arrays["frames"][0].tolist() == list(range(10, 60))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"max": 4, "max_distance": 0.11},
        {"method": {"name": "lazy", "k": 64, "radius": 0.2}, "max": 5},
        {"method": "emd", "max": 3, "label": ["kick"]},
        {
            "method": {"name": "dtw", "rank": "distance", "weights": "equal", "steps": "classic"},
            "exclude_query": True,
        },
        {"only": ["kick_front_high_right_p1", "walk_p0"], "exclude": ["walk_p0"], "max": 3},
        {
            "feedback": {"accept": ["kick_front_high_right_p1:10-60"], "reject": ["walk_p0:0-50"]},
            "max": 5,
        },
    ],
)
def test_the_lines_shown_find_the_same(client, settings):
    head, _ = _searched(client, **settings)
    assert head["matches"]
    assert _typed(head["lines"]["cli"]) == head["matches"]
    results = _run(head["lines"]["python"])
    assert json.loads(json.dumps(results.to_json())) == head["matches"]
    said = client.post("/api/search/lines", json={"query": KICK, "settings": settings}).json()
    assert said == head["lines"]


@pytest.mark.parametrize("settings", [{}, {"method": "dtw-clip"}, {"method": "emd"}])
def test_a_filter_threshold_drops_farther_matches(client, settings):
    """The page moves the slider without asking: that must be the same as asking."""
    wide, _ = _searched(client, **settings)
    distances = [each["distance"] for each in wide["matches"]]
    limit = float(np.median(distances))
    request, _ = _searched(client, **settings, max_distance=limit)
    assert request["matches"] == [each for each in wide["matches"] if each["distance"] <= limit]
    assert 0 < len(request["matches"]) < len(distances)


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"query": "kick_front_high_right_p0:60-200"}, "the range must lie within"),
        ({"settings": {"method": "magic"}}, "method must be one of dtw"),
        ({"settings": {"method": {"name": "dtw", "features": "e16"}}}, "did you mean"),
        ({"settings": {"label": ["kicks"]}}, "no motion is labeled 'kicks'"),
        ({"settings": {"method": "web"}}, "have not been built"),
        ({"settings": {"k": 8}}, "k is an option of LazyGraph"),
    ],
)
def test_mistakes_are_reported_in_the_words_of_the_command_line(client, request_, words):
    answer = client.post("/api/search", json={"query": KICK, **request_})
    assert answer.status_code in (404, 422)
    assert words in answer.json()["error"]


@pytest.mark.parametrize(
    "settings",
    [
        {"max": 100_000},
        {"max": None},
        {"max_distance": -1.0},
        {"max_distance": 1e300},
        {"method": {"name": "lazy", "k": 0}},
        {"method": {"name": "lazy", "k": 10**7}},
        {"path": "x"},
        {"only": ["a"] * 1001},
        {"label": "a" * 301},
        {"label": [[[[[["a"]]]]]]},
        {"method": {"name": "web", "distance": "/etc/weights.json"}},
        {"method": {"name": "dtw", "features": {"a": 1}}},
        [],
    ],
)
def test_settings_out_of_bounds_are_refused(client, settings):
    answer = client.post("/api/search", json={"query": KICK, "settings": settings})
    assert answer.status_code == 422, answer.text
    assert "Value error" not in answer.text


@pytest.mark.parametrize("body", [{"query": "a" * 1000}, {"query": KICK, "path": "x"}])
def test_requests_out_of_bounds_are_refused(client, body):
    assert client.post("/api/search", json=body).status_code == 422


def test_a_file_of_the_server_is_not_a_query(client, tmp_path):
    path = ml.demo.clip("walk").save(tmp_path / "walk.bvh")
    for text in (str(path), f"{path}:0-30"):
        answer = client.post("/api/search", json={"query": text})
        assert answer.status_code == 404 and "no motion" in answer.json()["error"]
        assert client.post("/api/families", json={"query": text}).status_code == 404


def test_two_windows_search_at_once(client):
    settings = [{"max": 3}, {"max": 4}, {"method": "lazy", "max": 5}, {"method": "emd", "max": 2}]
    with ThreadPoolExecutor(4) as windows:
        results = list(
            windows.map(lambda each: len(_searched(client, **each)[0]["matches"]), settings)
        )
    assert results == [3, 4, 5, 2]


@pytest.mark.slow
@pytest.mark.parametrize("count", [20, 1000])
def test_memory_does_not_grow_with_searches(library, count):
    """Searches leave nothing behind, whatever their settings."""
    with studio_client(library) as client:
        state = client.app.state.studio

        def some(first, last):
            for number in range(first, last):
                limit = 0.01 + 1e-5 * number
                head, _ = _searched(client, max=2 + number % 5, max_distance=limit)
                _poses(client, {"motion": "walk_p0", "frame": 0}, _frames(head), small=True)

        some(0, 5)
        tracemalloc.start(12)
        some(5, 10)
        before = _allocated_by_the_studio()
        some(10, 10 + count)
        after = _allocated_by_the_studio()
        tracemalloc.stop()
        # 26 kB after 50 searches, then 40 bytes each (caches of regular expressions and paths);
        # a kept answer has several kB.
        assert after - before < 100_000 + 300 * count
        assert len(state.cached_keys) <= 3


def _allocated_by_the_studio() -> int:
    """Bytes allocated below its routes and still in use.

    Not those of the process: a cluster of other tests in it allocates as time passes. Nor those
    of pathlib: it enlarges the interpreter's table of interned strings, by megabytes at a time.
    """
    gc.collect()
    ours = tracemalloc.Filter(True, "*/motionloom/studio/*", all_frames=True)
    paths = tracemalloc.Filter(False, "*/pathlib*")
    traces = tracemalloc.take_snapshot().filter_traces([ours, paths]).traces
    return sum(trace.size for trace in traces)


def _frames(head):
    return [
        {"motion": each["motion"], "frames": list(range(each["start_frame"], each["end_frame"], 5))}
        for each in head["matches"]
    ]


# --- what must be there first -----------------------------------------------------------------


def test_a_web_is_offered_built_and_searched(tmp_path):
    with (
        corpus_library(tmp_path / "few.loom", TAKES[3:6]) as few,
        studio_client(few) as client,
    ):
        settings = {"method": "web", "max_distance": 0.2}
        request = {"query": KICK, "settings": settings}
        received = client.post("/api/search/prepare", json=request).json()
        assert received["lacking"]["pairs"] == 6 and received["job"] is None
        job = client.post("/api/search/web", json=request).json()
        assert job["total"] == 6
        ended = client.app.state.studio.jobs.wait(job["id"]).model_dump()
        assert (ended["state"], ended["done"], ended["result"]["built"]) == ("done", 6, 6)
        assert client.post("/api/search/prepare", json=request).json()["lacking"] is None
        head, _ = _searched(client, **settings)
        assert _typed(head["lines"]["cli"]) == head["matches"] != []


def test_features_of_a_large_library_are_made_as_a_job(tmp_path, monkeypatch):
    from motionloom.studio.routes.search import searches

    monkeypatch.setattr(searches, "MAX_QUICK_FRAMES", 1)
    with (
        corpus_library(tmp_path / "few.loom", TAKES[:3]) as few,
        studio_client(few) as client,
    ):
        for method in ("lazy", "emd"):
            request = {"query": "walk_p0:0-30", "settings": {"method": method}}
            job = client.post("/api/search/prepare", json=request).json()["job"]
            ended = client.app.state.studio.jobs.wait(job["id"]).model_dump()
            assert (ended["state"], ended["done"], ended["total"]) == ("done", 3, 3), ended
            assert client.post("/api/search/prepare", json=request).json()["job"] is None


# --- figures ----------------------------------------------------------------------------------


def _poses(client, onto, clips, **more):
    answer = client.post("/api/poses", json={"onto": onto, "clips": clips, **more})
    assert answer.status_code == 200, answer.text
    head, arrays = messages.unpack(answer.content)
    places, at = [], 0
    for clip in head["clips"]:
        size = clip["frames"] * clip["points"] * 3
        places.append(arrays["positions"][at : at + size].reshape(clip["frames"], -1, 3))
        at += size
    return head, places, arrays


def test_the_query_stands_at_the_origin_and_faces_forward(client, library):
    onto = {"motion": "kick_front_high_right_p0", "frame": 10}
    _, (query,), _ = _poses(client, onto, [{"motion": onto["motion"], "frames": [10, 20]}])
    skeleton = library[onto["motion"]].skeleton
    hips, left, right = (skeleton.point(r) for r in ("hips", "left_hip", "right_hip"))
    assert np.abs(query[0, hips, [0, 2]]).max() < 1e-5
    across = query[0, left] - query[0, right]
    assert across[0] > 0.05  # facing +Z, its left is +X


def test_matches_are_brought_to_the_query(tmp_path):
    kick = ml.demo.clip("kick_front_high_right")
    turned, root = PlanarTransform(3.0, -2.0, 1.1).apply_to_poses(kick.rotations, kick.root)
    with ml.Library.create(tmp_path / "two.loom") as two:
        two.add_motion(kick, name="here")
        two.add_motion(replace(kick, rotations=turned, root=root), name="there")
        two.add_motion(ml.demo.clip("kick_front_high_right", performer=1), name="other")
        with studio_client(two) as client:
            head, arrays = _searched(client, query="here:10-60", max=3)
            clips = [
                {"motion": each["motion"], "frames": frames.tolist()}
                for each, frames in zip(head["matches"], arrays["frames"], strict=True)
            ]
            _, places, _ = _poses(client, {"motion": "here", "frame": 10}, clips)
            later = [
                {"motion": name, "frames": [5, 25, 45], "anchor": 1} for name in ("here", "there")
            ]
            _, (same, moved), _ = _poses(client, {"motion": "here", "frame": 25}, later)
    results = {clip["motion"]: place for clip, place in zip(clips, places, strict=True)}
    assert np.abs(results["there"] - results["here"]).max() < 1e-3
    assert np.abs(results["other"] - results["here"]).mean() < 0.1  # another build, the same place
    assert np.abs(moved - same).max() < 1e-3
    assert np.abs(same[1, 0, [0, 2]]).max() < 1e-5 < np.abs(same[0, 0, [0, 2]]).max()


def test_small_figures_have_few_points_and_bones_between_them(client):
    onto = {"motion": "walk_p0", "frame": 0}
    frames = list(range(0, 30, 3))
    clips = [{"motion": name, "frames": frames} for name in ("walk_p0", "walk_p1")]
    head, places, arrays = _poses(client, onto, clips, small=True)
    assert "contacts" not in arrays
    for clip, place in zip(head["clips"], places, strict=True):
        body = head["bodies"][clip["body"]]
        assert place.shape[1] <= 22
        assert 0 <= np.min(body["bones"]) and np.max(body["bones"]) < place.shape[1]
        lengths = np.linalg.norm(np.diff(place[:, body["bones"]], axis=2), axis=3)
        assert np.ptp(lengths, axis=0).max() < 1e-3  # bones keep their lengths


def test_contacts_are_those_of_the_requested_frames(client, library):
    expected = library["walk_p0"].contacts().standing_parts()
    frames = [5, 9, 9, 30]
    onto = {"motion": "walk_p0", "frame": 5}
    _, _, arrays = _poses(client, onto, [{"motion": "walk_p0", "frames": list(range(60))}])
    assert (arrays["contacts"] == expected[:60]).mean() > 0.95
    _, _, some = _poses(client, onto, [{"motion": "walk_p0", "frames": frames}])
    assert some["contacts"].shape == (4, 4)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"clips": [{"motion": "walk_p0", "frames": [10**6]}]}, "has frames 0 to"),
        (
            {"clips": [{"motion": "walk_p0", "frames": [1], "anchor": 1}]},
            "anchor must be less than 1",
        ),
        (
            {"clips": [{"motion": "walk_p0", "frames": [0] * 40_000}] * 2},
            "a request may have at most",
        ),
        ({"clips": [{"motion": "nobody", "frames": [1]}]}, "no motion 'nobody'"),
    ],
)
def test_frames_that_are_not_there_are_named(client, body, words):
    answer = client.post("/api/poses", json={"onto": {"motion": "walk_p0", "frame": 0}, **body})
    assert answer.status_code in (404, 422) and words in answer.json()["error"]


# --- families -----------------------------------------------------------------------------------


def test_a_family_is_the_library_s(client, library):
    request = {"query": KICK, "settings": {"expansion": {"join_distance": 0.12}}}
    received = client.post("/api/families", json=request).json()
    expected = library.family(KICK, expansion=ml.Expansion(join_distance=0.12))
    assert len(expected.nodes) > 3
    assert [node["motion"] for node in received["nodes"]] == [
        node.motion for node in expected.nodes
    ]
    assert np.allclose(
        [node["distance_to_query"] for node in received["nodes"]], expected.distance_to_query()
    )
    assert sum(edge["way"] for edge in received["edges"]) == len(expected.nodes) - 1
    assert all(len(node["frames"]) == 50 for node in received["nodes"])
    places = np.array([node["place"] for node in received["nodes"]])
    gaps = np.abs(places[:, None] - places)
    apart = (gaps[..., 0] > 0.98 * received["box"][0]) | (gaps[..., 1] > 0.98 * received["box"][1])
    assert (apart | np.eye(len(places), dtype=bool)).all()


def test_a_family_reports_its_join_distance(client, library):
    received = client.post("/api/families", json={"query": KICK, "settings": {"max": 12}}).json()
    expected = library.family(KICK, max=12)
    assert received["join_distance"] == pytest.approx(expected.join_distance)
    assert received["sweep"]["plateau"] == pytest.approx(expected.sweep.plateau)
    assert [e["cuts_off"] for e in received["edges"]] == [e.cuts_off for e in expected.edges]
    wrong = expected.matches[0].text
    settings = {"max": 12, "feedback": {"reject": [wrong]}}
    less = client.post("/api/families", json={"query": KICK, "settings": settings}).json()
    assert wrong not in {
        f"{n['motion']}:{n['start_frame']}-{n['end_frame']}" for n in less["nodes"]
    }


def test_the_lines_of_a_family_grow_the_same(client):
    settings = {"max": 6, "expansion": {"join_distance": 0.1, "tiers": 2}}
    request = {"query": KICK, "settings": settings}
    received = client.post("/api/families", json=request).json()
    typed = _typed(received["lines"]["cli"])
    assert [node["motion"] for node in typed["nodes"]] == [
        node["motion"] for node in received["nodes"]
    ]
    some = client.post("/api/families", json={**request, "members": [0, 1, 3]}).json()
    made = _run(some["lines"]["python"])
    assert [node.motion for node in made.nodes] == [node["motion"] for node in some["nodes"]]
    assert len(some["nodes"]) == 3
    assert client.post("/api/families/lines", json=request).json()["lines"] == received["lines"]


def test_an_id_grows_the_family_again(client, library):
    """A deep link after a restart: nothing is cached, the id is sufficient."""
    settings = {"expansion": {"join_distance": 0.1}}
    request = {"query": KICK, "settings": settings, "members": [0, 1, 2]}
    received = client.post("/api/families", json=request).json()
    with studio_client(library) as fresh:
        again = fresh.get(f"/api/families/{received['id']}").json()
        family = family_of(fresh.app.state.studio, received["id"])
    assert again["nodes"] == received["nodes"]
    assert len(family.nodes) == 3
    blend = library.blend(family, drop_unmatched=True)
    assert len(blend(np.full(len(blend.registration), 1 / len(blend.registration)))) > 20


def test_growing_is_a_job_that_counts_members(client, monkeypatch):
    request = {"query": KICK, "settings": {"expansion": {"join_distance": 0.105}}}
    job = client.post("/api/families/grow", json=request).json()
    ended = client.app.state.studio.jobs.wait(job["id"]).model_dump()
    assert ended["state"] == "done" and ended["done"] == ended["result"]["nodes"] > 1
    with monkeypatch.context() as patched:
        patched.delattr(FamilyRequest, "family")  # not grown again
        family = client.post("/api/families", json=request).json()
    assert len(family["nodes"]) == ended["done"]


def test_an_id_of_nothing_is_refused(client):
    answer = client.get("/api/families/bm90aGluZw")
    assert answer.status_code == 422 and "is not the id of a family" in answer.json()["error"]


def test_settings_are_reported_by_what_differs():
    family = FamilyRequest(query="a:0-9", settings=ml.FamilySettings(label=("kick",), max=7))
    assert FamilyRequest.from_id(family.id) == family
    assert flags(SearchRequest(query="a:0-9").settings) == []
    chosen = ml.SearchSettings(label=("x y", "z"), only=("b", "c"))
    words = ["--label", "x y", "--label", "z", "--only", "b,c"]
    assert flags(chosen) == words
    lazy = replace(chosen, method=ml.LazyGraph(radius=0.5))
    assert flags(lazy) == [*words, "--method", "lazy", "--radius", "0.5"]
    grown = ml.SearchSettings(expansion=ml.Expansion(tiers=2, clear=False))
    assert flags(grown) == ["--tiers", "2", "--no-clear"]


# --- export -------------------------------------------------------------------------------------


def _clips(head, count=3):
    names = ("motion", "start_frame", "end_frame", "distance", "tier", "label")
    return [{name: each[name] for name in names} for each in head["matches"][:count]]


@pytest.mark.parametrize("suffix", ["bvh", "glb"])
def test_accepted_matches_are_exported_and_load_again(client, library, tmp_path, suffix):
    head, _ = _searched(client)
    request = {"clips": _clips(head), "format": suffix, "search": {"query": KICK}}
    answer = client.post("/api/export", json=request)
    assert answer.status_code == 200, answer.text
    assert (
        'filename="like_kick_front_high_right_p0_10-60.zip"'
        in answer.headers["content-disposition"]
    )
    with zipfile.ZipFile(io.BytesIO(answer.content)) as packed:
        assert packed.testzip() is None
        packed.extractall(tmp_path)
    received = json.loads((tmp_path / "matches.json").read_text())
    assert received["search"] == {"query": KICK} and received["command"] == head["lines"]["cli"]
    assert len(received["matches"]) == 3
    for rank, (each, clip) in enumerate(
        zip(received["matches"], request["clips"], strict=True), start=1
    ):
        name = f"{rank:03d}_{clip['motion']}_{clip['start_frame']}-{clip['end_frame']}.{suffix}"
        assert each["file"] == name and each["distance"] == clip["distance"]
        made = ml.load(tmp_path / name)
        source = library[clip["motion"]][clip["start_frame"] : clip["end_frame"]]
        assert len(made) == len(source) and made.fps == pytest.approx(source.fps, rel=1e-3)
        ours, theirs = (m.role_positions(["hips", "right_ankle", "head"]) for m in (source, made))
        assert np.abs(ours - theirs).max() < 2e-3
    assert not list((tmp_path).glob("*.tmp*"))


def test_segments_are_exported_with_padding_names_and_rate(client, library, tmp_path):
    clips = [
        {"motion": "walk_p0", "start_frame": 5, "end_frame": 40, "label": "stroll"},
        {"motion": "walk_p0", "start_frame": 5, "end_frame": 40},
    ]
    wanted = {"padding": 0.5, "fps": 60, "root": "in-place"}
    for naming, names in {
        "label": ["stroll_001.bvh", "walk_p0_002.bvh"],
        "take": ["walk_p0_5-40.bvh", "walk_p0_5-40_2.bvh"],
    }.items():
        answer = client.post("/api/export", json={"clips": clips, "naming": naming, **wanted})
        assert answer.status_code == 200, answer.text
        with zipfile.ZipFile(io.BytesIO(answer.content)) as packed:
            rows = json.loads(packed.read("matches.json"))["matches"]
            packed.extractall(tmp_path)
        assert [row["file"] for row in rows] == names
        # Half a second is added after the segment, and only the five frames that exist before it.
        assert [(row["start_frame"], row["end_frame"]) for row in rows] == [(0, 55)] * 2
        made = ml.load(tmp_path / names[0])
        assert made.fps == pytest.approx(60.0, rel=1e-3)
        assert made.duration == pytest.approx(library["walk_p0"][:55].duration, abs=0.04)
        assert np.ptp(made.root[:, [0, 2]], axis=0).max() < 0.3  # the walk covers over a meter
    assert np.ptp(library["walk_p0"].root[:55, [0, 2]], axis=0).max() > 1.0
    unknown = client.post("/api/export", json={"clips": clips, "character": "none"})
    assert unknown.status_code == 422 and "no longer available" in unknown.json()["error"]


def test_many_takes_are_packed_by_a_job_with_steps(client, library):
    names = list(library.names)[:3]
    clips = [{"motion": name, "start_frame": 0, "end_frame": 20} for name in names]
    begun = client.post("/api/exports", json={"clips": clips, "format": "bvh"}).json()
    job = client.app.state.studio.jobs.wait(begun["id"])
    assert (job.state, job.done, job.total) == ("done", 3, 3), job.error
    packed = client.get(f"/api/exports/{job.result['id']}")
    with zipfile.ZipFile(io.BytesIO(packed.content)) as archive:
        assert len([name for name in archive.namelist() if name.endswith(".bvh")]) == 3
    gone = client.get("/api/exports/none")
    assert gone.status_code == 422 and "pack it again" in gone.json()["error"]


@pytest.mark.parametrize(
    ("clip", "words"),
    [
        ({"motion": "../../etc/passwd", "start_frame": 0, "end_frame": 5}, "no motion"),
        ({"motion": "walk_p0", "start_frame": 0, "end_frame": 10**5}, "the range must be within"),
        ({"motion": "walk_p0", "start_frame": 9, "end_frame": 9}, "the range must be within"),
        (
            {"motion": "walk_p0", "start_frame": 0, "end_frame": 10**6},
            "a zip archive may have at most",
        ),
    ],
)
def test_segments_outside_the_library_are_not_exported(client, clip, words):
    answer = client.post("/api/export", json={"clips": [clip]})
    assert answer.status_code in (404, 422) and words in answer.json()["error"]


def test_mirrored_matches_are_found_and_marked(tmp_path):
    takes = ("kick_front_mid_right_p0", "kick_front_mid_left_p0", "walk_p0")
    with corpus_library(tmp_path / "takes.loom", takes) as library:
        with studio_client(library) as client:
            query = "kick_front_mid_right_p0:20-50"
            asked = {"query": query, "settings": {"max": 2}}
            plain = client.post("/api/search", json=asked)
            asked = {"query": query, "settings": {"max": 2, "mirror": True}}
            both = client.post("/api/search", json=asked)
            menu = client.get("/api/search/menu").json()
    assert not any(row["mirrored"] for row in messages.unpack(plain.content)[0]["matches"])
    head, _ = messages.unpack(both.content)
    mirrored = {row["motion"]: row["mirrored"] for row in head["matches"]}
    assert mirrored == {"kick_front_mid_right_p0": False, "kick_front_mid_left_p0": True}
    assert "--mirror" in head["lines"]["cli"]
    offered = {each["name"]: each["mirrors"] for each in menu["methods"]}
    assert offered["dtw"] and not offered["web"]
