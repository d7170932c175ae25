"""The Blender extension: installed, enabled and driven headless. Needs Pythons with bpy:

MOTIONLOOM_BLENDER=/path/to/python/with/bpy pytest -m "" tests/test_blender_extension.py

Several of them are separated as in PATH: each is a version of Blender.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("fastapi")

from studio_takes import StudioServer, corpus_library
from waiting import LIMIT

import motionloom as ml
from build_extension import blender_rules, build, validated
from motionloom.library import tune, write_sound
from motionloom.motion.kinematics.root_carrier import body_skeleton
from motionloom.motion.rotations.planar_transform import PlanarTransform

SCRIPT = Path(__file__).with_name("blender_extension.py")
BLENDERS = [path for path in os.environ.get("MOTIONLOOM_BLENDER", "").split(os.pathsep) if path]
if not BLENDERS and importlib.util.find_spec("bpy") is not None:
    BLENDERS = [sys.executable]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not BLENDERS, reason="no Blender here (set MOTIONLOOM_BLENDER to a Python that has bpy)"
    ),
]

TAKES = (
    "walk_p0", "walk_p1", "walk_slow_p0", "kick_front_low_right_p0", "kick_front_mid_right_p0",
    "kick_front_high_right_p0", "kick_inside_mid_right_p0", "kick_outside_mid_right_p0",
    "kick_side_mid_right_p0", "kick_side_high_right_p0", "dance_groove_p0", "dance_sway_p0",
)  # fmt: skip
VERBS = (
    "connect", "start", "find", "find_like", "import_motion", "show_reach", "aim", "walk", "dance",
    "push",
)  # fmt: skip
TAKE = {"motion": "kick_front_mid_right_p0", "start_frame": 5, "end_frame": 55}
MAIN = "from motionloom.cli import main; main()"
TOKEN = "a-token-of-this-test-and-of-no-other"


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    lib = corpus_library(tmp_path_factory.mktemp("library") / "takes.loom", TAKES)
    kicks = [name for name in TAKES if name.startswith("kick")]
    # By the frame of one kick: the ankle at its apex.
    apex = int(np.argmax(lib[kicks[1]].role_positions(["right_ankle"])[:, 0, 1]))
    lib.parametrize(kicks, ml.at("right_ankle", frame=apex), samples=300, name="kick")
    return lib


@pytest.fixture(scope="module", params=BLENDERS)
def seen(request, library, tmp_path_factory):
    """Results of one version of Blender, and its tasks."""
    folder = tmp_path_factory.mktemp("blender")
    person = ml.demo.clip("walk", performer=2)
    kick = library.parametric["kick"]
    # Within reach: between what examples do, brought to the person's size.
    scale = (
        person.skeleton.offsets[person.skeleton.joint("RightFoot")][1]
        / (kick.registration.skeleton.offsets[kick.registration.skeleton.joint("RightFoot")][1])
    )
    accessible = kick.accessible[np.argsort(kick.accessible[:, 1])]
    aims = [(scale * accessible[k]).tolist() for k in (len(accessible) // 3, len(accessible) // 2)]
    song = folder / "song.wav"
    write_sound(tune(bars=4), song)
    with StudioServer(library.path, "--token", TOKEN) as server, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound and not listening: nobody answers there
        task = {
            "address": server.address.partition("/?")[0],
            "nowhere": f"http://127.0.0.1:{closed.getsockname()[1]}",
            "token": TOKEN,
            "take": TAKE,
            "person": bones(person),
            "parametric": {"name": "kick", "aims": [*aims, [3.0, 3.0, 3.0]],
                           "bone": "mixamorig:RightFoot"},
            "song": str(song),
            "path": [[0.0, 0.0, 0.0], [0.0, 0.0, 3.0]],
            "library": str(library.path),
            "command": shlex.join([sys.executable, "-c", MAIN]),
        }  # fmt: skip
        (folder / "task.json").write_text(json.dumps(task))
        words = [request.param, str(SCRIPT), str(build(folder)), str(folder / "task.json")]
        done = subprocess.run(
            [*words, str(folder / "seen.json")],
            env={**os.environ, "BLENDER_USER_RESOURCES": str(folder)},
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
    if not (folder / "seen.json").exists():
        pytest.fail(f"Blender ended early:\n{done.stdout[-3000:]}\n{done.stderr[-6000:]}")
    results = json.loads((folder / "seen.json").read_text())
    yield {**results, "task": task}
    library.remove("from blender")


def test_a_match_has_handles_and_is_marked(seen):
    shown = seen["handles"]
    frames = TAKE["end_frame"] - TAKE["start_frame"]
    assert shown["range"] == [11, 11 + frames + 6 - 1]  # a tenth of a second on both sides
    assert shown["marks"] == {"match": 14, "match end": 14 + frames - 1}


def bones(person: ml.Motion) -> list[dict]:
    """Joints of a person at rest as bones, y up."""
    skeleton, rest = person.skeleton, person.rest_pose()
    places = rest.positions(end_sites=True)[0].astype(float)
    rows = []
    for joint, name in enumerate(skeleton.names):
        below = np.flatnonzero(skeleton.point_parents == joint)
        tail = places[below[0]] if len(below) else places[joint] + [0.0, 0.1, 0.0]
        if np.linalg.norm(tail - places[joint]) < 0.01:
            tail = places[joint] + [0.0, 0.05, 0.0]
        parent = int(skeleton.parents[joint])
        rows.append(
            {
                "name": name,
                "head": places[joint].tolist(),
                "tail": tail.tolist(),
                "parent": skeleton.names[parent] if parent >= 0 else None,
            }
        )
    return rows


def expected(shown: dict, library: ml.Library) -> dict[str, np.ndarray]:
    """Where motionloom has the joints of an armature that Blender showed, (T, 3) each.

    Computed without studio and extension: from the bones at rest, as Blender printed them.
    """
    turn = PlanarTransform(shown["placed"]["origin"][0], shown["placed"]["origin"][2],
                           shown["placed"]["heading"])  # fmt: skip
    lift = np.array([0.0, shown["placed"]["origin"][1], 0.0])
    joints = tree(shown["rest"])
    heads = {name: turn.inverse().apply(shown["rest"][name]["head"]) - lift for name in joints}
    tails = {name: turn.inverse().apply(shown["rest"][name]["tail"]) - lift for name in joints}
    names = list(joints)
    leaves = [name for name in names if name not in joints.values()]
    skeleton = body_skeleton(
        ml.Skeleton(
            [name.removeprefix("ORG-") for name in names],
            [names.index(above) if above else -1 for above in joints.values()],
            [heads[n] - (heads[joints[n]] if joints[n] else 0.0) for n in names],
            [f"{name} end" for name in leaves],
            [names.index(name) for name in leaves],
            [tails[name] - heads[name] for name in leaves],
        )
    )
    take = library[TAKE["motion"]][TAKE["start_frame"] : TAKE["end_frame"]]
    moved = take.retarget(skeleton)
    facing = PlanarTransform(0.0, 0.0, float(moved.rest_pose().headings()[0]))
    start = facing @ PlanarTransform.to_origin(moved)
    places = (turn @ start).apply(moved.resample(30.0).positions()) + lift
    prefix = "ORG-" if any(name.startswith("ORG-") for name in names) else ""
    return {prefix + name: places[:, joint] for joint, name in enumerate(skeleton.names)}


def tree(rest: dict) -> dict[str, str]:
    """Joints with their parents, parents first; bones that only touch are also connected."""
    above = {}
    for name, bone in rest.items():
        parent = bone["parent"]
        if parent not in rest:
            near = {
                other: np.linalg.norm(np.subtract(rest[other]["tail"], bone["head"]))
                for other in rest
                if other != name
            }
            best = min(near, key=near.get)
            parent = best if near[best] < 1e-3 else ""
        above[name] = parent or ""

    def depth(name: str) -> int:
        return 0 if not above[name] else 1 + depth(above[name])

    return {name: above[name] for name in sorted(above, key=depth)}


def test_errors_are_one_line(seen):
    refused = seen["refused"]
    assert refused["nobody"].startswith(f"no studio is running at {seen['task']['nowhere']} (")
    assert refused["nobody"].endswith("start one with: motionloom studio LIBRARY")
    assert refused["wrong"] == (
        "the studio rejected this token; copy the address that motionloom studio printed"
    )
    assert "192.0.2.1:8765 is another machine; allow online access" in refused["online"]
    assert "is not the address of a studio" in refused["nonsense"]
    assert refused["row"] == "no armature; make an armature the active object"
    assert not any("\n" in each for each in refused.values())


def test_the_library_is_listed_with_pictures(seen):
    shown = seen["connected"]
    assert shown["status"] == f"takes: {len(TAKES)} takes"
    assert shown["rows"] == sorted(TAKES)
    assert {"walk", "dance_sway"} <= set(shown["labels"])
    assert [name for name, _ in shown["parametric"]] == ["kick"]
    assert all(size == [128, 128] and 100 < drawn < 6000 for *size, drawn in shown["pictures"])


def test_the_panels_list_the_contents(seen):
    assert {f"motionloom.{name}" for name in VERBS} | {"words", "token"} <= set(seen["panels"])


def test_motions_are_found_by_words(seen):
    assert seen["found"] and all("kick" in name for name in seen["found"][:5])


@pytest.mark.parametrize(("armature", "limit"), [("mixamo", 2e-5), ("metarig", 2e-5)])
def test_joints_are_where_motionloom_has_them(seen, library, armature, limit):
    shown = seen["armatures"][armature]
    wanted = expected(shown, library)
    assert shown["first"] == 11 and len(wanted) > 15
    apart = {
        name: np.linalg.norm(np.array(shown["heads"][name]) - places, axis=1).max()
        for name, places in wanted.items()
    }
    print(seen["version"], armature, f"{1e3 * max(apart.values()):.4f} mm")
    assert max(apart.values()) < limit, apart


def test_a_generated_rigify_rig_follows_by_its_controls(seen, library):
    shown = seen["armatures"]["generated"]
    wanted = expected(shown, library)
    apart = {
        name: np.linalg.norm(np.array(shown["heads"][name]) - places, axis=1).max()
        for name, places in wanted.items()
    }
    print(seen["version"], {name: f"{1e3 * each:.3f} mm" for name, each in apart.items()})
    # One control turns both joints of the neck, so the joints above the first one differ.
    neck = {name: apart.pop(name) for name in ("ORG-spine.005", "ORG-spine.006")}
    assert max(apart.values()) < 2e-5, apart
    assert max(neck.values()) < 5e-3, neck


def test_the_motion_of_the_armature_is_found_again(seen):
    name, start, end = seen["similar"]["like"][0]
    assert name == TAKE["motion"]
    assert abs(start - TAKE["start_frame"]) <= 3 and abs(end - TAKE["end_frame"]) <= 3
    assert seen["similar"]["again"][0] == TAKE["motion"]


def test_an_action_becomes_a_take(seen, library):
    assert "from blender" in seen["pushed"]["rows"]
    assert seen["pushed"]["twice"].startswith("from blender already exists in this library")
    take = library["from blender"]
    assert set(library.labels["from blender"]) == {"blender", "kick"}
    assert take.fps == 30.0 and len(take) == TAKE["end_frame"] - TAKE["start_frame"]
    shown = seen["armatures"]["mixamo"]
    place = PlanarTransform(shown["placed"]["origin"][0], shown["placed"]["origin"][2],
                            shown["placed"]["heading"])  # fmt: skip
    lift = np.array([0.0, shown["placed"]["origin"][1], 0.0])
    for joint, name in enumerate(take.skeleton.names):
        there = place.inverse().apply(np.array(shown["heads"][name]) - lift)
        assert np.abs(there - take.positions()[:, joint]).max() < 5e-5, name


def test_a_parametric_motion_is_aimed_at_an_empty(seen):
    aimed = seen["aimed"]
    assert aimed["nothing"] == "choose a parametric motion of the library"
    assert aimed["nowhere"] == "choose the object to aim at, for example an empty"
    shown = seen["armatures"]["mixamo"]["placed"]
    place = PlanarTransform(shown["origin"][0], shown["origin"][2], shown["heading"])
    for tried, aim in zip(aimed["tries"][:2], seen["task"]["parametric"]["aims"][:2], strict=True):
        target = place.apply(aim) + [0.0, shown["origin"][1], 0.0]
        nearest = np.linalg.norm(np.array(tried["heads"]) - target, axis=1).min()
        assert nearest < 0.01, (tried["status"], nearest)
        assert tried["status"].startswith("mixamorig:RightFoot reaches the target within")
    assert aimed["tries"][2]["status"].endswith("the target is out of reach")
    assert len({tried["action"] for tried in aimed["tries"]}) == 1  # the action is used again


@pytest.mark.parametrize("armature", ["mixamo", "generated"])
def test_every_target_inside_the_shown_region_is_reached_within_a_centimeter(seen, armature):
    """Ten targets are snapped to the cloud; ten lie between its dots."""
    reached = seen["reached"][armature]
    assert re.search(r"reaches \d+ positions around", reached["said"])
    assert reached["instances"] == len(reached["dots"]) > 200
    missed = [math.dist(each["goal"], each["head"]) for each in reached["tries"]]
    print(seen["version"], armature, [f"{100 * each:.2f} cm" for each in missed])
    assert max(missed) < 0.01, missed
    snapped = reached["tries"][:10]
    assert max(each["nearest"] for each in snapped) < 1e-4
    assert len({tuple(np.round(each["goal"], 3)) for each in snapped}) >= 5
    assert np.ptp(reached["dots"], axis=0).max() > 0.3  # meters


@pytest.mark.parametrize("armature", ["mixamo", "generated"])
def test_the_shown_region_belongs_to_its_armature(seen, armature):
    reached = seen["reached"][armature]
    assert reached["moved"] == pytest.approx([1.0, 0.0, 0.0], abs=1e-4)
    assert reached["again"] == 0  # shown again, it replaces the earlier one
    assert not reached["renders"]


def test_actions_are_assets_with_tags_and_pictures(seen):
    asset = seen["armatures"]["mixamo"]["asset"]
    assert asset["tags"] == ["kick"]
    assert asset["description"] == "takes: kick_front_mid_right_p0:5-55"
    aimed = seen["reached"]["mixamo"]["asset"]
    assert aimed["tags"] == ["synthesized", "kick"]
    assert aimed["description"] == "takes: kick aimed at target.001"
    for each in (asset, aimed, seen["sound"]["asset"]):
        assert each["size"] == [128, 128] and 100 < each["drawn"] < 6000


def test_imports_go_to_strips_without_overlap(seen):
    strips = seen["strips"]
    frames = TAKE["end_frame"] - TAKE["start_frame"]
    starts = [[strip[:2] for strip in track] for track in strips["tracks"]]
    assert starts == [[[11, 10 + frames], [101, 100 + frames]], [[40, 39 + frames]]]
    assert not strips["active"]
    assert np.allclose(strips["shown"], strips["wanted"][: len(strips["shown"])], atol=1e-5)


def test_a_dance_starts_with_the_sound_of_its_strip(seen):
    sound = seen["sound"]
    assert sound["wrong"] == (
        "no sound strip is named no such strip; sound strips of the scene: song"
    )
    assert sound["range"][0] == sound["strip"][0] == 50
    assert sound["range"][1] == pytest.approx(sound["strip"][1], abs=15)
    assert sound["asset"]["tags"] == ["synthesized", "dance", "dance_sway"]


def test_walks_and_dances(seen):
    walked = seen["walk"]
    assert walked["random"][1] - walked["random"][0] + 1 == pytest.approx(4.0 * 30, abs=2)
    assert walked["kept"]  # the action before stays in the file
    place = PlanarTransform(walked["placed"]["origin"][0], walked["placed"]["origin"][2],
                            walked["placed"]["heading"])  # fmt: skip
    for end, wanted in zip(walked["ends"], seen["task"]["path"], strict=True):
        here = place.inverse().apply(end)[[0, 2]]
        assert np.linalg.norm(here - np.array(wanted)[[0, 2]]) < 0.6
    assert walked["dance"][1] - walked["dance"][0] > 60


def test_blender_does_not_wait_for_the_studio(seen):
    steps = seen["modal"]["find"]
    assert steps[:2] == ["modal", ["RUNNING_MODAL"]]
    assert steps[2:4] == [["WARNING", "Find is still running"], ["CANCELLED"]]
    assert steps[4] == "removed timer" and steps[6] == ["FINISHED"]
    assert steps[5][0] == "INFO" and steps[5][1].endswith("found")


def test_a_dragged_target_is_followed_until_esc(seen):
    follow = seen["modal"]["follow"]
    lines = [each for each in follow if isinstance(each, str)]
    assert len(lines) == 3 and all("mixamorig:RightFoot" in each for each in lines)
    assert [each for each in follow if isinstance(each, list)] == [
        *[["PASS_THROUGH"]] * 3,
        ["FINISHED"],
    ]
    assert seen["modal"]["busy"] == ""


def test_an_import_is_undone(seen):
    undone = seen["undone"]
    assert undone["after"][0] == undone["before"][0] + 1
    assert undone["back"] == undone["before"]
    assert undone["again"] == undone["after"]


def test_unusable_armatures_are_refused(seen):
    said = seen["unusable"]
    assert said["uneven"].startswith("mixamo is scaled unevenly, mirrored or sheared (scale 0.01,")
    assert said["none"] == "no armature; make an armature the active object"
    assert "no joint has the role hips" in said["roles"] and "stick 0" in said["roles"]
    assert said["action"] == "sticks has no action"
    assert said["editing"] == "sticks is in edit mode; leave edit mode first"


def test_a_studio_is_started_and_stopped(seen):
    said = seen["started"]
    assert said["command"] == (
        "no-such-motionloom was not found and cannot be installed; set Command in the preferences "
        "of this extension, or allow online access in Preferences > System"
    )
    # Without a library in the preferences, one with generated takes is made.
    assert re.fullmatch(r"generated takes: [1-9]\d* takes", said["generated"])
    assert "nowhere" in said["library"] and "\n" not in said["library"]
    assert said["status"].endswith("takes") and said["address"].startswith("http://127.0.0.1:")
    assert said["after"] == [False, ""]
    assert seen["disabled"]


@pytest.mark.parametrize("python", BLENDERS)
def test_blender_accepts_the_extension(python, tmp_path):
    ours = build(tmp_path)
    assert validated(ours, python) is not None
    theirs = tmp_path / "theirs.zip"
    rules = blender_rules(python)
    sources = str(Path(__file__).parents[1] / "blender")
    subprocess.run(
        [python, str(rules), "build", "--source-dir", sources, "--output-filepath", str(theirs)],
        check=True,
        capture_output=True,
    )
    import zipfile

    with zipfile.ZipFile(ours) as a, zipfile.ZipFile(theirs) as b:
        assert sorted(a.namelist()) == sorted(b.namelist())
        assert all(a.read(name) == b.read(name) for name in a.namelist())
