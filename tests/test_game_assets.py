"""Exports to game engines: one file with named takes, within a stated error, and their manifest."""

import json
import shutil
import subprocess
from dataclasses import fields, replace
from pathlib import Path

import commands
import numpy as np
import pytest
from naive import key_reduction as naive
from waiting import LIMIT

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.formats.fbx.writer import euler_curves
from motionloom.formats.game_assets import bundle
from motionloom.formats.game_assets.key_reduction import linear_keys, reduce_keys, rotation_keys
from motionloom.formats.game_assets.take import loop_points, on_root_bone
from motionloom.formats.settings import GameSettings

GAME = {field.name for field in fields(GameSettings)}
NAMES = ("walk_p0", "walk_left_p0")


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    library = ml.Library.create(tmp_path_factory.mktemp("games") / "takes.loom")
    for name in NAMES:
        library.add_motion(ml.demo.clip(name)[:120])
    library.labels.add("walk_p0", "walk")
    library.labels.add("walk_p0:20-60", "straight")
    return library


def exported(lib, folder, engine, **options):
    own = {key: options.pop(key) for key in list(options) if key in GAME}
    files = lib.export(folder, to=engine, game=GameSettings(**own), **options)
    return {file.relative_to(folder).as_posix(): file for file in files}


# --- key reduction --------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1e-4, 1e-3, 0.05])
def test_kept_keys_are_those_of_the_plain_greedy_search(limit):
    rng = np.random.default_rng(3)
    steps = np.cumsum(rng.normal(0.0, 0.02, (80, 3)), axis=0)
    assert linear_keys(steps, limit).tolist() == naive.linear_keys(steps, limit)
    turns = np.cumsum(rng.normal(0.0, 0.03, (80, 4)), axis=0) + [2.0, 0.0, 0.0, 0.0]
    turns /= np.linalg.norm(turns, axis=1, keepdims=True)
    none = np.zeros((0, 3))
    kept = rotation_keys(turns, turns, none, limit).tolist()
    assert kept == naive.rotation_keys(turns, limit)


def test_tracks_that_do_not_change_have_one_key_and_short_tracks_two():
    still = np.tile([[1.0, 2.0, 3.0]], (50, 1))
    assert linear_keys(still, 1e-6).tolist() == [0]
    line = np.linspace([0.0, 0.0, 0.0], [1.0, 2.0, 3.0], 50)
    assert linear_keys(line, 1e-6).tolist() == [0, 49]
    assert linear_keys(line[:1], 1e-6).tolist() == [0]


@pytest.mark.parametrize("limit", [0.0001, 0.001])
@pytest.mark.parametrize("euler", [False, True])
def test_every_joint_stays_within_the_limit(limit, euler):
    walk = ml.demo.clip("walk").resample(60)
    rooted = on_root_bone(walk, walk.root[:, [0, 2]].astype(float), walk.headings())
    angles = euler_curves(rooted.rotations) if euler else None
    keys = reduce_keys(rooted, limit, euler=angles, short=not euler)
    played = naive.played(rooted, keys.motion.rotations, keys.turns, keys.steps)
    worst = np.linalg.norm(played - rooted.positions(end_sites=True), axis=2).max()
    assert 0.3 * limit < worst <= limit and keys.error <= limit
    assert keys.keys < 0.8 * len(rooted) * len(rooted.skeleton)


def test_a_limit_of_zero_keeps_all_keys_of_moving_tracks():
    walk = ml.demo.clip("walk")[:40]
    keys = reduce_keys(walk, 0.0)
    assert keys.error < 1e-6 and not keys.short.any()
    assert max(map(len, keys.turns)) == len(walk)


# --- files ----------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["godot", "unreal"])
def test_one_file_has_all_takes_by_name_on_one_skeleton(lib, tmp_path, engine):
    folder = tmp_path / "out"
    if engine == "unreal":
        pytest.importorskip("ufbx")
    files = exported(lib, folder, engine, fps=30, mesh="low")
    file = next(path for name, path in files.items() if name.endswith(("takes.glb", "takes.fbx")))
    manifest = json.loads(next(p for n, p in files.items() if n.endswith("takes.json")).read_text())
    assert [take["name"] for take in manifest["takes"]] == sorted(NAMES)
    assert 0.0 < manifest["error_mm"] <= 0.1
    for name in NAMES:
        take = ml.load(f"{file}/{name}", keep_carrier=True)
        source = lib[name]
        names = list(take.skeleton.names)
        assert names[0] == "root" == manifest["skeleton"]["root"]
        np.testing.assert_allclose(take.positions()[:, 0, 1], 0.0, atol=1e-5)
        joints = [names.index(joint) for joint in source.skeleton.names]
        gaps = np.linalg.norm(take.positions()[:, joints] - source.positions(), axis=2)
        assert gaps.max() < 0.0001
    text = (folder / "README.md").read_text()
    assert "$" not in text and sorted(NAMES)[0] in text


def test_the_file_has_one_mesh_and_animations_share_two_views(lib, tmp_path):
    file = exported(lib, tmp_path / "out", "godot", mesh="low")["motion/takes.glb"]
    document = glb_document(file)
    assert len(document["meshes"]) == len(document["skins"]) == 1
    views = {
        document["accessors"][sampler["output"]]["bufferView"]
        for animation in document["animations"]
        for sampler in animation["samplers"]
    }
    assert len(views) == 2
    bare = exported(lib, tmp_path / "bare", "godot", mesh="none")["motion/takes.glb"]
    assert "meshes" not in glb_document(bare)


def glb_document(file):
    raw = file.read_bytes()
    length = int.from_bytes(raw[12:16], "little")
    return json.loads(raw[20 : 20 + length])


def test_separate_files_and_a_character_file(lib, tmp_path):
    files = exported(lib, tmp_path / "out", "unreal", separate=True, mesh="low")
    assert {f"{name}.fbx" for name in NAMES} | {"character.fbx"} <= set(files)
    manifest = json.loads(files["takes.json"].read_text())
    assert [take["file"] for take in manifest["takes"]] == [f"{name}.fbx" for name in sorted(NAMES)]
    assert files["walk_p0.fbx"].stat().st_size < files["character.fbx"].stat().st_size


@pytest.mark.parametrize(
    ("kind", "engine"),
    [
        ("glb", "godot"),
        ("fbx", "unity"),
        pytest.param("fbx", "godot", marks=pytest.mark.slow),
        pytest.param("glb", "unity", marks=pytest.mark.slow),
    ],
)
def test_the_takes_are_on_the_character_of_the_user(lib, tmp_path, kind, engine):
    if kind == "fbx" or engine == "unity":
        pytest.importorskip("ufbx")
    hero = ml.demo.clip("walk", performer=2)[:2].save(tmp_path / f"hero.{kind}", mesh="low")
    options = {"only": "walk_p0", "character": str(hero)}
    files = exported(lib, tmp_path / "out", engine, **options)
    file = next(path for name, path in files.items() if name.endswith(("takes.glb", "takes.fbx")))
    take = ml.load(file, keep_carrier=True)
    expected = lib["walk_p0"].retarget(ml.load(hero))
    joints = [take.skeleton.names.index(name) for name in expected.skeleton.names]
    gaps = np.linalg.norm(take.positions()[:, joints] - expected.positions(), axis=2)
    assert take.skeleton.names[0] == "root" and gaps.max() < 0.0002
    from motionloom.formats.own_character import load_character

    body = load_character(file)  # the skinned mesh is in the file, bound to the same joints
    assert set(expected.skeleton.names) <= set(body.skeleton.names)


def test_a_character_keeps_its_axes_and_scale(lib, tmp_path):
    """A rig in centimeters, z up, below a node that turns and scales it, as Mixamo's."""
    hero = ml.demo.clip("walk", performer=1)[:2].save(tmp_path / "hero.glb", mesh="low")
    document = glb_document(hero)
    raw = hero.read_bytes()
    binary = raw[28 + int.from_bytes(raw[12:16], "little") :]
    from motionloom.formats.gltf.container import write_document

    hips = next(k for k, node in enumerate(document["nodes"]) if node["name"] == "Hips")
    holder = next(node for node in document["nodes"] if hips in node.get("children", []))
    holder |= {"scale": [0.01] * 3, "rotation": [-(0.5**0.5), 0.0, 0.0, 0.5**0.5]}
    for node in document["nodes"]:
        if "translation" in node:
            node["translation"] = [100.0 * value for value in node["translation"]]
    x, y, z = document["nodes"][hips]["translation"]
    document["nodes"][hips] |= {
        "translation": [x, -z, y],
        "rotation": [0.5**0.5, 0.0, 0.0, 0.5**0.5],
    }
    del document["animations"]
    write_document(hero, document, binary)
    files = exported(lib, tmp_path / "out", "godot", only="walk_p0", character=str(hero))
    take = ml.load(files["motion/takes.glb"])
    expected = lib["walk_p0"].retarget(ml.load(hero))
    joints = [take.skeleton.names.index(name) for name in expected.skeleton.names]
    gaps = np.linalg.norm(take.positions()[:, joints] - expected.positions(), axis=2)
    assert gaps.max() < 0.0002


# --- manifest -------------------------------------------------------------------------------


def test_the_manifest_has_labels_gaits_contacts_and_events(lib, tmp_path):
    files = exported(lib, tmp_path / "out", "godot", mesh="none")
    takes = json.loads(files["motion/takes.json"].read_text())["takes"]
    left, walk = takes
    assert {tag["name"] for tag in walk["tags"]} == {"walk", "straight"}
    assert {"name": "straight", "start": 20, "end": 60} in walk["tags"]
    assert [gait["name"] for gait in walk["gaits"]] == ["walk"]
    source = lib["walk_p0"]
    speed = np.linalg.norm(source.root[-1, [0, 2]] - source.root[0, [0, 2]]) / source.duration
    assert walk["speed_m_s"]["mean"] == pytest.approx(speed, rel=0.1)
    assert left["turn_degrees"] > 45.0 > abs(walk["turn_degrees"])
    feet = [step["foot"] for step in walk["footsteps"]]
    assert len(feet) >= 4 and all(a != b for a, b in zip(feet, feet[1:], strict=False))
    contacts = walk["contacts"]
    assert set(contacts) == {"left_heel", "left_ball", "right_heel", "right_ball"}
    loop = walk["loop"]
    stride = (loop["end"] - loop["start"]) / source.fps
    assert 0.8 < stride < 1.5 and loop["gap_m"] < 0.05


def test_beats_are_events_of_rhythmic_takes(tmp_path):
    library = ml.Library.create(tmp_path / "dance.loom")
    library.add_motion(ml.demo.clip("dance_groove"), name="groove")
    library.add_motion(ml.demo.clip("kick_front_high_right"), name="kick")
    files = exported(library, tmp_path / "out", "unreal", mesh="none", max_error=5, cut="pauses")
    takes = json.loads(files["takes.json"].read_text())["takes"]
    beats = [take["beats"] for take in takes if take["source"] == "groove"]
    assert sum(map(len, beats)) > 10 and all(times == sorted(times) for times in beats)
    assert all(0.0 <= times[0] and times[-1] < 30.0 for times in beats if times)
    assert not any(take["beats"] for take in takes if take["source"] == "kick")


def test_a_take_that_never_repeats_has_no_loop():
    kick = ml.demo.clip("kick_front_high_right")
    rooted = on_root_bone(kick, kick.root[:, [0, 2]].astype(float), kick.headings())
    loop = loop_points(rooted[: round(0.6 * kick.fps)])
    assert loop is None


def test_names_of_takes_are_valid_and_unique_on_every_system(lib, tmp_path):
    other = ml.Library.create(tmp_path / "odd.loom")
    pose = ml.demo.clip("walk")[:30]
    for name in ("a/walk", "a walk", "CON", "kick"):
        other.add_motion(replace(pose, name=name))
    files = exported(other, tmp_path / "out", "unreal", separate=True, mesh="none")
    stems = {Path(name).stem.casefold() for name in files if name.endswith(".fbx")}
    assert stems == {"a_walk", "a_walk_2", "_con", "kick", "character"}


# --- surface --------------------------------------------------------------------------------


def test_names_cannot_add_lines_to_projects(tmp_path):
    from motionloom.formats.game_assets.bundle import _templates

    _templates("godot", tmp_path, {"title": 'a"\n[autoload]\nx="res://x.gd'})
    project = (tmp_path / "project.godot").read_text()
    assert 'config/name="a__[autoload]_x=_res://x.gd"' in project


def test_size_and_error_are_printed(lib, tmp_path):
    words = ["export", str(lib.path), str(tmp_path / "out"), "--to", "unity", "--mesh", "none"]
    result = commands.run(*words)
    assert "2 takes, " in result.stderr and "MB; all joints within 0.0" in result.stderr
    words = ["match", str(lib.path), "export", "--only", "walk_p0", "-o", str(tmp_path / "m")]
    result = commands.run(*words, "--mesh", "none", "--max-error", "1")
    assert "all joints within 0." in result.stderr


def test_options_of_engines_are_refused_for_other_formats(lib, tmp_path):
    with pytest.raises(InvalidInput, match="separate is an option of exports to game engines"):
        lib.export(tmp_path / "out", to="bvh", game=GameSettings(separate=True))
    with pytest.raises(InvalidInput, match="exports to godot have a root bone and no preset"):
        lib.export(tmp_path / "out", to="godot", root="bone")
    assert not (tmp_path / "out").exists()


def test_scripts_of_all_engines_are_complete(lib, tmp_path):
    for engine in ("unity", "unreal", "godot"):
        files = exported(lib, tmp_path / engine, engine, mesh="none", only="walk_p0")
        for file in files.values():
            if file.suffix in (".gd", ".cs", ".py", ".md", ".tscn", ".godot"):
                text = file.read_text()
                assert text.endswith("\n") and text.count("{") == text.count("}")
                assert text.count("(") == text.count(")")
    assert set(bundle.ENGINES) == {"glb", "fbx", "godot", "unity", "unreal"}


@pytest.mark.slow
def test_scripts_for_godot_follow_the_grammar(lib, tmp_path):
    gdparse = shutil.which("gdparse")
    if gdparse is None:
        pytest.skip("gdtoolkit is not installed")
    exported(lib, tmp_path / "out", "godot", mesh="none", only="walk_p0")
    scripts = [str(path) for path in (tmp_path / "out").rglob("*.gd")]
    assert len(scripts) == 5
    subprocess.run([gdparse, *scripts], check=True, capture_output=True)


@pytest.mark.slow
@pytest.mark.skipif(
    not (shutil.which("mcs") and shutil.which("mono")), reason="no Mono to compile C# with"
)
def test_the_scripts_for_unity_compile_and_import_takes(lib, tmp_path):
    """Against a stand-in for Unity's API, because Unity itself cannot run here."""
    files = exported(lib, tmp_path / "out", "unity", mesh="none")
    scripts = [str(path) for name, path in files.items() if name.endswith(".cs")]
    stand_in = str(Path(__file__).with_name("unity_stand_in.cs"))
    program = str(tmp_path / "program.exe")
    words = ["mcs", "-langversion:7", "-r:System.Runtime.Serialization.dll", f"-out:{program}"]
    subprocess.run([*words, stand_in, *scripts], check=True, capture_output=True, timeout=LIMIT)
    model = next(path for name, path in files.items() if name.endswith("takes.fbx"))
    manifest = json.loads((model.parent / "takes.json").read_text())
    said = subprocess.run(
        ["mono", program, str(model), *NAMES, "other"],
        check=True, capture_output=True, text=True, timeout=LIMIT,
    ).stdout.split("\n")  # fmt: skip
    assert said[0] == f"model Generic {manifest['skeleton']['root']}"
    clips = [line.split()[1] for line in said if line.startswith("clip ")]
    loops = [f"{take['name']}_loop" for take in manifest["takes"] if take["loop"]]
    assert set(clips) == {*NAMES, *loops, "other"} and loops
    first = next(take for take in manifest["takes"] if take["name"] == NAMES[0])
    start = said.index(next(line for line in said if line.startswith(f"clip {NAMES[0]} ")))
    events = [said[start + 1 + number].split() for number in range(len(first["footsteps"]))]
    for event, step in zip(events, first["footsteps"], strict=True):
        assert event[:2] == ["event", step["foot"]]
        assert float(event[2]) == pytest.approx(step["time"] / first["seconds"], abs=1e-3)
