"""Options that games need on every export: root motion, in place, the input's unit, cut takes."""

import numpy as np
import pytest
from commands import ran

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.formats.presets import convert, in_place
from motionloom.library.dataset import moving_parts

WALK = ml.demo.clip("walk")


def travel(motion):
    return float(np.linalg.norm(np.ptp(motion.root[:, [0, 2]], axis=0)))


def test_in_place_removes_the_travel_and_keeps_the_body():
    still = in_place(WALK.transform(yaw=0.7, shift=(5.0, 0.0, -3.0)))
    assert travel(WALK) > 2.0 and travel(still) < 0.12
    np.testing.assert_allclose(still.root[:, 1], WALK.root[:, 1], atol=1e-5)
    assert np.abs(still.root[:, [0, 2]].mean(axis=0)).max() < 0.05
    assert len(in_place(WALK[:1])) == 1


def test_the_root_bone_carries_the_travel(tmp_path):
    file = str(WALK.save(tmp_path / "walk.bvh"))
    ran("convert", file, str(tmp_path / "bone.bvh"), "--root", "bone")
    bone = ml.load(tmp_path / "bone.bvh", keep_carrier=True)
    assert bone.skeleton.names[:2] == ("root", "Hips") and travel(bone) > 2.0
    np.testing.assert_allclose(
        bone.positions()[:, 1:], ml.load(file).positions(), atol=2e-4
    )  # the world positions do not change
    ran("convert", file, str(tmp_path / "place.glb"), "--root", "in-place", "--preset", "unreal")
    place = ml.load(tmp_path / "place.glb", keep_carrier=True)
    assert place.skeleton.names[0] == "root" and travel(place) < 0.12
    with pytest.raises(InvalidInput, match="root must be one of bone, in-place; got 'hips'"):
        convert(WALK, root="hips")


def test_the_unit_of_the_input_can_be_given(tmp_path):
    file = str(WALK.save(tmp_path / "walk.bvh", unit="cm"))
    ran("convert", file, str(tmp_path / "inch.bvh"), "--from-unit", "inch", "--unit", "m")
    ratio = ml.load(tmp_path / "inch.bvh", unit="m").root[0, 1] / WALK.root[0, 1]
    assert ratio == pytest.approx(2.54, rel=1e-3)


def paused():
    """A walk, a pause of a second, and the walk again."""
    pause = np.repeat(len(WALK) - 1, 30)
    frames = np.concatenate([np.arange(len(WALK)), pause, np.arange(len(WALK))])
    root = WALK.root[frames].copy()
    root[-len(WALK) :] += WALK.root[-1] - WALK.root[0]
    return ml.Motion(WALK.skeleton, WALK.rotations[frames], root, WALK.fps, "long")


def test_a_long_take_is_cut_at_its_pauses(lib, tmp_path):
    first, second = moving_parts(paused())
    assert first[0] == 0 and abs(first[1] - len(WALK)) < 12
    assert abs(second[0] - len(WALK) - 30) < 12 and second[1] == len(paused())
    lib.add_motion(paused())
    lib.add_motion(WALK)
    done = ran("export", str(lib.path), str(tmp_path / "out"), "--cut", "pauses")
    assert "2 motions written" in done.stderr and "as 3 parts" in done.stderr
    assert len(list((tmp_path / "out").glob("long_*.bvh"))) == 2


def test_takes_are_cut_at_their_labels(lib, tmp_path):
    lib.add_motion(paused())
    lib.labels.add("long:10-60", "stroll")
    lib.labels.add("long", "calm")
    files = lib.export(tmp_path / "out", cut="labels", root="in-place")
    (clip,) = [file for file in files if file.suffix == ".bvh"]
    assert clip.name == "long_10-60_stroll.bvh" and len(ml.load(clip)) == 50
    assert travel(ml.load(clip)) < 0.12
    table = (tmp_path / "out/labels.csv").read_text()
    assert "calm" in table and "stroll" in table
    with pytest.raises(InvalidInput, match="cut must be one of labels, pauses; got 'beats'"):
        lib.export(tmp_path / "more", cut="beats")
