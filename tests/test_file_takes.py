"""Files with several animations, skeletons and people: none of them is lost."""

import json
from dataclasses import replace

import numpy as np
import pytest
from commands import ran
from gltf_files import Builder
from test_fbx import ASCII

import motionloom as ml
from motionloom.errors import MotionFormatError
from motionloom.formats import load_takes, takes_in
from motionloom.formats.fbx.writer import write as write_fbx
from motionloom.motion import Scene

WALK = ml.demo.clip("walk")


def legged(names=("Idle", "Run", "Run"), people=1):
    """A document with one animation per name, each moving all people, two nodes each."""
    nodes = []
    for person in range(people):
        nodes.append({"name": f"hips{person}", "children": [2 * person + 1]})
        nodes.append({"name": f"leg{person}", "translation": [0, 1, 0]})
    file = Builder(nodes)
    file.document["skins"] = [
        {"name": f"body{person}", "joints": [2 * person, 2 * person + 1]}
        for person in range(people)
    ]
    every = []
    for number, name in enumerate(names):
        file.document["animations"] = [{"name": name, "channels": [], "samplers": []}]
        for person in range(people):
            times = np.arange(number + 2) / 30
            file.curve(2 * person, "translation", times, np.ones((number + 2, 3)) * (number + 1))
        every += file.document["animations"]
    file.document["animations"] = every
    return file


def test_every_animation_of_a_gltf_file_is_imported(lib, tmp_path):
    legged().write(tmp_path / "knight.gltf")
    report = lib.add(tmp_path)
    assert lib.names == ("knight.gltf/Idle", "knight.gltf/Run", "knight.gltf/Run_2")
    assert report.added == 3
    assert [len(lib[name]) for name in lib.names] == [2, 3, 4]
    assert lib["knight.gltf/Run_2"].root[0].tolist() == [3.0, 3.0, 3.0]
    again = lib.add(tmp_path)
    assert (again.added, again.skipped) == (0, 3)


def test_every_person_of_a_file_is_imported(lib, tmp_path):
    legged(("Duel",), people=2).write(tmp_path / "duel.gltf")
    legged(("Duel", "Bow"), people=2).write(tmp_path / "two.gltf")
    lib.add(tmp_path)
    assert set(lib.names) == {
        "duel.gltf/body0", "duel.gltf/body1", "two.gltf/Duel/body0", "two.gltf/Duel/body1",
        "two.gltf/Bow/body0", "two.gltf/Bow/body1",
    }  # fmt: skip
    assert lib["duel.gltf/body1"].skeleton.names == ("hips1", "leg1")


def test_a_take_is_addressed_like_a_file_in_a_folder(tmp_path):
    file = legged().write(tmp_path / "knight.gltf")
    assert len(ml.load(f"{file}/Run_2")) == 4
    assert ml.load(f"{file}/Run").name == "knight.gltf/Run"
    with pytest.raises(MotionFormatError, match="no take 'Jump'. Takes in the file: Idle, Run"):
        ml.load(f"{file}/Jump")
    single = WALK.save(tmp_path / "walk.bvh")
    with pytest.raises(MotionFormatError, match="no take 'Jump', because the file has only one"):
        ml.load(f"{single}/Jump")


def test_takes_keep_their_names_when_files_change_or_collide(lib, tmp_path):
    a, b = tmp_path / "a", tmp_path / "b"
    a.mkdir(), b.mkdir()
    legged(("Idle", "Run")).write(a / "knight.gltf")
    lib.add(a)
    lib.rename("knight.gltf/Run", "sprint")
    legged(("Idle", "Run", "Jump")).write(a / "knight.gltf")
    report = lib.add(a)
    assert set(lib.names) == {"knight.gltf/Idle", "sprint", "knight.gltf/Jump"}
    assert (report.added, report.replaced) == (3, 2)
    legged(("Idle", "Hop")).write(b / "knight.gltf")
    lib.add(b)
    assert {"b/knight.gltf/Idle", "b/knight.gltf/Hop"} < set(lib.names)
    assert len(lib) == 5


def test_one_unreadable_take_does_not_stop_the_others(lib, tmp_path):
    file = legged(("Idle", "Run"))
    file.document["animations"][1]["channels"].append({"target": {"node": 1, "path": 3}})
    file.write(tmp_path / "knight.gltf")
    report = lib.add(tmp_path)
    assert lib.names == ("knight.gltf/Idle",)
    (failure,) = report.failed
    assert failure.file.endswith("knight.gltf/Run") and "must be a string" in failure.reason


def test_labels_apply_to_all_takes_of_a_file(lib, tmp_path):
    (tmp_path / "sword").mkdir()
    legged(("Idle", "Run")).write(tmp_path / "sword/knight.gltf")
    lib.add(tmp_path, labels="folder")
    assert all(lib.labels[name] == ("sword",) for name in lib.names)


def test_animations_that_share_a_prefix_are_named_without_it(tmp_path):
    file = legged(("rig|Run", "rig|Walk")).write(tmp_path / "a.gltf")
    assert [take.name for take in takes_in(file)] == ["Run", "Walk"]
    assert takes_in(file)[0].animation == "rig|Run"


def test_skins_of_one_body_are_one_take(tmp_path):
    file = legged(("Run",))
    file.document["skins"].append({"name": "hair", "joints": [1]})
    (take,) = takes_in(file.write(tmp_path / "a.gltf"))
    assert take.name == ""


def test_every_stack_of_an_fbx_file_is_read_at_once(tmp_path):
    pytest.importorskip("ufbx")
    path = tmp_path / "a.fbx"
    write_fbx(WALK[:30], path, mesh="none", takes=[replace(WALK[:20], name="short")])
    takes = dict(load_takes(path))
    assert [(name, len(motion)) for name, motion in takes.items()] == [
        ("walk_p0", 30), ("short", 20)
    ]  # fmt: skip
    alone = ml.load(path, animation="short")
    np.testing.assert_allclose(takes["short"].positions(), alone.positions(), atol=1e-6)


@pytest.mark.parametrize("suffix", ["fbx", pytest.param("usda", marks=pytest.mark.slow), "glb"])
def test_people_written_to_one_file_are_read_back(tmp_path, suffix):
    pytest.importorskip({"fbx": "ufbx", "usda": "pxr", "glb": "numpy"}[suffix])
    scene = Scene([WALK[:9], WALK[:9].transform(shift=(1.0, 0.0, 0.0))], names=["Anna", "Bob"])
    takes = dict(load_takes(ml.save(scene, tmp_path / f"duet.{suffix}", mesh="none")))
    assert len(takes) == 2
    first, second = takes.values()
    np.testing.assert_allclose(second.root - first.root, np.tile([1, 0, 0], (9, 1)), atol=1e-3)


def test_both_figures_of_a_bvh_file_are_read(lib, tmp_path):
    text = WALK[:3].save(tmp_path / "one.bvh").read_text()
    (tmp_path / "one.bvh").unlink()
    head, _, rows = text.partition("MOTION\n")
    lines = rows.splitlines()
    both = [*lines[:2], *(f"{line} {line}" for line in lines[2:])]
    second = head.replace("HIERARCHY\n", "").replace("ROOT Hips", "ROOT Hips2")
    (tmp_path / "two.bvh").write_text(head + second + "MOTION\n" + "\n".join(both) + "\n")
    lib.add(tmp_path)
    assert lib.names == ("two.bvh/Hips", "two.bvh/Hips2")


def test_the_command_lists_and_converts_takes(tmp_path):
    file = str(legged().write(tmp_path / "knight.gltf"))
    facts = json.loads(ran("info", file, "--json").stdout)
    assert [take["name"] for take in facts["takes"]] == ["Idle", "Run", "Run_2"]
    assert "3 in this file" in ran("info", file).stdout
    done = json.loads(
        ran("convert", file, str(tmp_path / "out"), "--animation", "all", "--json").stdout
    )
    assert len(done["files"]) == 3 and not done["left_out"]
    assert len(ml.load(tmp_path / "out/knight/Run_2.bvh")) == 4
    done = ran("convert", file, str(tmp_path / "one.bvh"))
    assert "1 of 3 takes was converted. --animation all" in done.stderr
    assert len(ml.load(tmp_path / "one.bvh")) == 2
    ran("convert", file, str(tmp_path / "run.bvh"), "--animation", "2")
    assert len(ml.load(tmp_path / "run.bvh")) == 4


def test_a_file_without_a_skeleton_is_a_failure_not_a_silent_loss(lib, tmp_path):
    """A weapon of a game: a mesh without bones, as FBX and as glTF."""
    pytest.importorskip("ufbx")
    (tmp_path / "dagger.fbx").write_bytes(ASCII.format(kind="Null").encode())
    dagger = Builder([{"name": "dagger"}])
    dagger.document["animations"] = []
    dagger.write(tmp_path / "dagger.gltf")
    report = lib.add(tmp_path)
    assert report.added == 0 and len(report.failed) == 2
    reasons = " ".join(failure.reason for failure in report.failed)
    assert "no skeleton, because" in reasons and "neither a skin nor" in reasons


# --- small files with many takes ------------------------------------------------------------


def test_the_number_of_takes_is_limited(tmp_path):
    many = legged(("a",))
    many.document["animations"] *= 1001
    bvh = "".join(f"ROOT r{k} {{ OFFSET 0 0 0 CHANNELS 3 Xrotation Yrotation Zrotation }}\n"
                  for k in range(1001))  # fmt: skip
    (tmp_path / "a.bvh").write_text(
        f"HIERARCHY\n{bvh}MOTION\nFrames: 1\nFrame Time: 0.1\n" + "0 " * 3003 + "\n"
    )
    person = '<subject label="{0}"><segments/></subject>'
    people = "".join(person.format(k) for k in range(1001))
    (tmp_path / "a.mvnx").write_text(f"<mvnx>{people}</mvnx>")
    for path in (many.write(tmp_path / "a.gltf"), tmp_path / "a.bvh", tmp_path / "a.mvnx"):
        with pytest.raises(MotionFormatError, match="more than 1000 takes"):
            list(load_takes(path))


def test_takes_that_share_their_data_are_limited_by_the_size_of_the_file(tmp_path, monkeypatch):
    """A file of 2 MB with 200 animations of 100,000 frames became 20 million frames."""
    monkeypatch.setattr("motionloom.formats.takes._ROOM", 1000)
    file, frames = Builder([{"name": "hips", "children": [1]}, {"name": "leg"}], [0, 1]), 4000
    file.curve(0, "translation", np.arange(frames) / 30, np.ones((frames, 3)))
    file.document["animations"] *= 400
    path, read = file.write(tmp_path / "a.gltf"), 0
    with pytest.raises(MotionFormatError, match="use the same data too often"):
        for _, take in load_takes(path):
            read += len(take)
    assert 0 < read * 2 < 16 * path.stat().st_size


def test_a_file_with_several_takes_is_parsed_once(tmp_path, monkeypatch):
    from motionloom.formats.gltf import container

    parsed, parse = [], container.parse_json
    monkeypatch.setattr(
        container, "parse_json", lambda *given, **more: parsed.append(1) or parse(*given, **more)
    )
    file = legged(tuple("abcdef")).write(tmp_path / "a.gltf")
    assert len(list(load_takes(file))) == 6 and len(parsed) == 1


@pytest.mark.parametrize("element", ["<a/>", "<frame>" + "<a/>" * 30_000 + "</frame>"])
def test_elements_of_xsens_files_are_not_kept(tmp_path, element):
    import tracemalloc

    path = tmp_path / "a.mvnx"
    times = 30_000 if element == "<a/>" else 1
    path.write_text(f'<mvnx><subject label="a">{element * times}</subject></mvnx>')
    tracemalloc.start()
    with pytest.raises(MotionFormatError, match="no frames|too many levels or parts"):
        ml.load(path)
    assert tracemalloc.get_traced_memory()[1] < 3e6
    tracemalloc.stop()
