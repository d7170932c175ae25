"""``motionloom convert`` as a user meets it."""

import json
from functools import partial

import numpy as np
import pytest
from commands import invoked
from rigs.bodies import performed

import motionloom as ml
from motionloom.cli.command import command
from motionloom.cli.library.convert import convert
from motionloom.errors import InvalidInput, MotionloomError

run = partial(invoked, command("convert", convert))


@pytest.fixture(scope="module")
def takes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("convert") / "takes"
    (folder / "more").mkdir(parents=True)
    ml.demo.clip("walk").save(folder / "walk.bvh")
    ml.demo.clip("punch_mid_left").save(folder / "more" / "punch.bvh")
    return folder


@pytest.fixture(scope="module")
def library(takes, tmp_path_factory):
    path = tmp_path_factory.mktemp("library") / "takes.loom"
    ml.Library.create(path).add(takes)
    return path


def files(folder):
    return sorted(str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file())


@pytest.mark.parametrize("suffix", ["bvh", "glb", "csv", "c3d", "usda"])
def test_a_file_becomes_another(takes, tmp_path, suffix):
    done = run(takes / "walk.bvh", tmp_path / f"walk.{suffix}")
    assert done.exit_code == 0
    assert (tmp_path / f"walk.{suffix}").stat().st_size > 1000
    assert files(tmp_path) == [f"walk.{suffix}"]


def test_a_folder_keeps_its_shape(takes, tmp_path):
    done = run(takes, tmp_path / "out", "--to", "glb", "--json")
    assert files(tmp_path / "out") == ["more/punch.glb", "walk.glb"]
    facts = json.loads(done.stdout)
    assert facts["failed"] == []
    assert len(facts["files"]) == 2


def test_a_motion_of_a_library_and_a_part_of_it(takes, library, tmp_path):
    name = next(name for name in ml.Library(library).names if name.endswith("walk"))
    run(f"{library}:{name}", tmp_path / "all.bvh")
    run(f"{library}:{name}:10-40", tmp_path / "out")
    assert len(ml.load(tmp_path / "all.bvh")) == len(ml.load(takes / "walk.bvh"))
    (part,) = (tmp_path / "out").rglob("*.bvh")
    assert part.name == "walk_10-40.bvh"
    assert len(ml.load(part)) == 30


def test_a_part_of_a_file(takes, tmp_path):
    run(f"{takes / 'walk.bvh'}:10-40", tmp_path / "out")
    assert files(tmp_path / "out") == ["walk_10-40.bvh"]


def test_a_whole_library(library, tmp_path):
    run(library, tmp_path / "out")
    assert len(files(tmp_path / "out")) == 2


def test_the_rate_can_be_changed(takes, tmp_path):
    run(takes / "walk.bvh", tmp_path / "walk.bvh", "--fps", 60)
    assert ml.load(tmp_path / "walk.bvh").fps == 60.0
    with pytest.raises(InvalidInput, match="fps must be positive"):
        run(takes / "walk.bvh", tmp_path / "other.bvh", "--fps", 0)
    assert files(tmp_path) == ["walk.bvh"]


def test_unit_and_axis_are_the_given_ones(takes, tmp_path):
    run(takes / "walk.bvh", tmp_path / "walk.bvh", "--unit", "inch", "--up", "z")
    walk = ml.load(tmp_path / "walk.bvh")
    assert walk.origin.unit_m == pytest.approx(0.0254)
    assert walk.origin.up == "z"
    with pytest.raises(
        InvalidInput, match=r"--unit is not available, because \.glb files have a fixed unit"
    ):
        run(takes / "walk.bvh", tmp_path / "walk.glb", "--unit", "cm")


def test_a_preset_sets_names_unit_and_axis(takes, tmp_path):
    run(takes / "walk.bvh", tmp_path / "walk.bvh", "--preset", "unreal")
    walk = ml.load(tmp_path / "walk.bvh", keep_carrier=True)
    assert walk.skeleton.names[:2] == ("root", "pelvis")
    assert (walk.origin.unit_m, walk.origin.up) == (0.01, "z")
    run(takes / "walk.bvh", tmp_path / "meters.bvh", "--preset", "unreal", "--unit", "m")
    assert ml.load(tmp_path / "meters.bvh").origin.unit_m == 1.0


def test_retargets_onto_the_skeleton_of_another_file(takes, tmp_path):
    walk = ml.load(takes / "walk.bvh")
    child = walk.retarget(walk.skeleton.scaled(0.8)).save(tmp_path / "child.bvh")
    run(takes / "more" / "punch.bvh", tmp_path / "out.bvh", "--onto", child)
    bones = np.linalg.norm(ml.load(tmp_path / "out.bvh").skeleton.offsets, axis=1)
    assert bones == pytest.approx(np.linalg.norm(ml.load(child).skeleton.offsets, axis=1), rel=1e-3)


def test_says_how_well_the_target_keeps_its_shape(takes, tmp_path):
    still = performed("walk", "lafan1")[:2]  # arms and feet of this rig need a motion to be known
    rig = still.save(tmp_path / "rig.bvh")
    done = run(takes / "walk.bvh", tmp_path / "out.bvh", "--onto", rig)
    assert "quality: within limits: slide" in done.stderr
    assert ", shoulders 100 %, hips 100 %, limbs " in done.stderr
    assert "warning: the rest pose does not show how the target holds its feet" in done.stderr
    done = run(takes, tmp_path / "both", "--onto", rig, "--json")
    facts = json.loads(done.stdout)
    assert sorted(facts["quality"]) == sorted(facts["files"])
    for report in facts["quality"].values():
        assert report["retarget"]["shoulder_width"] == pytest.approx(1.0, abs=0.05)
    assert "warning: punch.bvh and 1 more: " in run(takes, tmp_path / "c", "--onto", rig).stderr


def test_a_role_map_distinguishes_joints(takes, tmp_path):
    roles = tmp_path / "roles.json"
    roles.write_text(json.dumps({"head": "LeftHand"}))
    names = ml.load(takes / "walk.bvh").skeleton.roles
    roles.write_text(json.dumps({"head": names["neck"], "neck": names["chest"]}))
    run(takes / "walk.bvh", tmp_path / "walk.bvh", "--preset", "unity", "--roles", roles)
    skeleton = ml.load(tmp_path / "walk.bvh").skeleton
    assert skeleton.names[ml.load(takes / "walk.bvh").skeleton.joint(names["neck"])] == "Head"


def test_markers_go_through_too(takes, tmp_path):
    run(takes / "walk.bvh", tmp_path / "walk.c3d")
    run(tmp_path / "walk.c3d", tmp_path / "walk.csv")
    assert (tmp_path / "walk.csv").read_text().count("\n") > 100
    ml.Markers(["LFHD", "RFHD"], np.zeros((9, 2, 3)), 30.0).save(tmp_path / "head.c3d")
    with pytest.raises(InvalidInput, match="markers have no skeleton"):
        run(tmp_path / "head.c3d", tmp_path / "other.c3d", "--preset", "blender")


def test_markers_that_are_joints_become_a_motion_if_the_output_needs_one(takes, tmp_path):
    run(takes / "walk.bvh", tmp_path / "walk.trc")
    run(tmp_path / "walk.trc", tmp_path / "again.bvh", "--preset", "maya")
    assert "LeftForeArm" in ml.load(tmp_path / "again.bvh").skeleton.names


def test_a_bad_file_in_a_folder_is_named_and_the_rest_goes_on(takes, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "walk.bvh").write_bytes((takes / "walk.bvh").read_bytes())
    (tmp_path / "in" / "bad.bvh").write_text("HIERARCHY\nROOT hips\n{\n")
    done = run(tmp_path / "in", tmp_path / "out", "--json")
    assert done.exit_code == 1
    (failure,) = json.loads(done.stdout)["failed"]
    assert failure["file"].endswith("bad.bvh")
    assert "bad.bvh:" in failure["reason"]
    assert files(tmp_path / "out") == ["walk.bvh"]


def test_a_single_bad_file_leaves_nothing_behind(tmp_path):
    (tmp_path / "bad.bvh").write_text("nonsense")
    with pytest.raises(MotionloomError, match=r"bad\.bvh"):
        run(tmp_path / "bad.bvh", tmp_path / "out.glb")
    assert files(tmp_path) == ["bad.bvh"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["TAKES/walk.bvh"], "convert needs an input and an output"),
        (["TAKES", "OUT.glb"], "2 motions cannot be written to one file"),
        (["TAKES/walk.bvh", "OUT.blend"], "cannot write .*blend: the suffix must be one of .bvh"),
        (["TAKES", "OUT", "--to", "blend"], "--to must be one of bvh, .*got 'blend'"),
        (["TAKES", "OUT", "--to", "amc"], "--to must be one of"),
        (["TAKES", "OUT", "--preset", "poser"], "preset must be one of blender"),
        (["TAKES", "OUT", "--to", "glb", "--up", "z"], "have a fixed up"),
        (["TAKES/walk.bvh", "TAKES/walk.bvh"], "would overwrite an input file"),
        (["TAKES", "TAKES", "OUT"], "would both be written to"),
        (["EMPTY", "OUT"], "no motion files"),
        (["TAKES/walk.bvh", "OUT.xyz", "--to", "xyz"], "--to must be one of"),
    ],
)
def test_errors_are_reported_before_anything_is_written(takes, tmp_path, words, message):
    (tmp_path / "empty").mkdir()
    places = {"TAKES": takes, "OUT": tmp_path / "out", "EMPTY": tmp_path / "empty"}

    def real(word):
        for name, place in places.items():
            word = word.replace(name, str(place))
        return word

    with pytest.raises(InvalidInput, match=message):
        run(*map(real, words))
    assert files(tmp_path) == []
