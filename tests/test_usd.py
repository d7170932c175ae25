"""USD: the way out and back, what usd-core itself finds, foreign stages, damage."""

from __future__ import annotations

import builtins
import os
import random
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from waiting import LIMIT

import motionloom as ml
from motionloom.errors import InvalidInput, MissingExtra, MotionFormatError
from motionloom.formats import usd
from motionloom.formats.child_process import usd as usd_child
from motionloom.motion.rotations import quaternions as rot

pytest.importorskip("pxr", reason="the extra usd is not installed")
from pxr import Gf, Sdf, Usd, UsdGeom, UsdShade, UsdSkel, Vt  # noqa: E402

SKELETON = ml.Skeleton(
    ["mixamorig:Hips", "1 spine", "Kopf-é"], [-1, 0, 1], [[0, 0, 0], [0, 0.5, 0], [0, 0.4, 0.1]],
    ["top"], [2], [[0, 0.2, 0]],
)  # fmt: skip


def random_motion(rng, frames=12, fps=60.0, name="dance", skeleton=SKELETON):
    turns = np.cumsum(rng.normal(scale=0.1, size=(frames, len(skeleton), 3)), axis=0)
    return ml.Motion(skeleton, rot.exp(turns), rng.normal(size=(frames, 3)), fps, name)


def apart(a, b):
    return np.linalg.norm(a.positions(end_sites=True) - b.positions(end_sites=True), axis=-1).max()


@pytest.mark.parametrize("suffix", [".usda", ".usdc", ".usd"])
def test_comes_back(tmp_path, rng, suffix):
    motion = random_motion(rng, fps=29.97)
    again = ml.load(motion.save(tmp_path / f"dance{suffix}"))
    assert (again.name, len(again), again.fps) == ("dance", 12, 29.97)
    assert again.skeleton.names == SKELETON.names
    assert again.skeleton.end_names == SKELETON.end_names
    assert again.skeleton.rest is None
    assert apart(motion, again) < 1e-5
    assert not again.repairs and not again.origin.warnings


def test_usd_itself_finds_every_joint_and_stick_where_we_put_it(tmp_path, rng):
    rest = rot.exp(rng.normal(scale=0.5, size=(3, 3)))
    motion = random_motion(rng, skeleton=replace(SKELETON, rest=rest))
    stage = Usd.Stage.Open(str(motion.save(tmp_path / "a.usda")))
    assert UsdGeom.GetStageUpAxis(stage) == "Y"
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    assert stage.GetTimeCodesPerSecond() == 60.0
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (0.0, 11.0)
    root = UsdSkel.Root(stage.GetPrimAtPath("/Characters/dance"))
    cache = UsdSkel.Cache()
    cache.Populate(root, Usd.PrimDefaultPredicate)
    query = cache.GetSkelQuery(UsdSkel.Skeleton(stage.GetPrimAtPath("/Characters/dance/Skeleton")))
    wanted = motion.positions(end_sites=True)
    for frame in (0, 5, 11):
        result = np.array(query.ComputeJointSkelTransforms(frame))[:, 3, :3]
        assert np.abs(result - wanted[frame]).max() < 1e-5
    # USD's own skinning brings the corners of the sticks to the joints.
    UsdSkel.BakeSkinning(root, Gf.Interval(0, 11))
    mesh = UsdGeom.Mesh(stage.GetPrimAtPath("/Characters/dance/Figure"))
    for frame in (0, 5, 11):
        corners = np.array(mesh.GetPointsAttr().Get(frame))
        for point in wanted[frame]:
            assert np.linalg.norm(corners - point, axis=1).min() < 1e-5


def test_several_characters_share_a_stage(tmp_path, rng):
    anna, bob = random_motion(rng, name="Anna"), random_motion(rng, frames=7, name="Bob")
    usd.write([anna, bob], tmp_path / "both.usd")
    first = ml.load(tmp_path / "both.usd")
    assert "the first of 2 skeletons was read" in first.origin.warnings[0]
    assert apart(first, anna) < 1e-5
    second = ml.load(tmp_path / "both.usd", skeleton="Bob")
    assert (second.name, len(second)) == ("Bob", 7)
    assert apart(second, bob) < 1e-5
    with pytest.raises(
        MotionFormatError, match="no skeleton is called 'Eve'. Skeletons in the file: /Charact"
    ):
        ml.load(tmp_path / "both.usd", skeleton="Eve")
    with pytest.raises(InvalidInput, match="must have the same rate; got .30.0, 60.0."):
        usd.write([anna, replace(bob, fps=30.0)], tmp_path / "no.usd")


def test_characters_of_one_skeleton_share_it_and_move_by_themselves(tmp_path, rng):
    crowd = [random_motion(rng, name=f"soldier {k}") for k in range(9)]
    other = replace(SKELETON, offsets=1.1 * SKELETON.offsets)
    odd = random_motion(rng, name="Looks", skeleton=other)  # a name that is taken
    usd.write([*crowd, odd], tmp_path / "crowd.usda")
    text = (tmp_path / "crowd.usda").read_text()
    assert text.count("point3f[] points = ") == text.count("bindTransforms = ") == 2
    stage = Usd.Stage.Open(str(tmp_path / "crowd.usda"))
    roots = [UsdSkel.Root(prim) for prim in stage.Traverse() if prim.IsA(UsdSkel.Root)]
    assert [root.GetPrim().GetDisplayName() for root in roots] == [
        motion.name for motion in [*crowd, odd]
    ]
    cache = UsdSkel.Cache()
    for root, motion in zip(roots, [*crowd, odd], strict=True):
        cache.Populate(root, Usd.PrimDefaultPredicate)
        (binding,) = cache.ComputeSkelBindings(root, Usd.PrimDefaultPredicate)
        (skinned,) = binding.GetSkinningTargets()
        assert skinned.GetPrim().GetPath() == root.GetPath().AppendChild("Figure")
        places = cache.GetSkelQuery(binding.GetSkeleton()).ComputeJointSkelTransforms(5.0)
        result = np.array(places)[:, 3, :3]
        np.testing.assert_allclose(result, motion.positions(end_sites=True)[5], atol=1e-5)
    painted = [UsdShade.MaterialBindingAPI(stage.GetPrimAtPath(f"{root.GetPath()}/Figure"))
               .ComputeBoundMaterial()[0].GetPath() for root in roots]  # fmt: skip
    assert len(set(painted)) == 7
    again = ml.load(tmp_path / "crowd.usda", skeleton="soldier 4")
    assert apart(again, crowd[4]) < 1e-5


def foreign_stage(path, *, samples=((0, 0.0), (2, 90.0), (4, 180.0)), joints=("a", "a/b")):
    """Z up, centimeters, moved and scaled from above, every other time code."""
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)
    stage.SetTimeCodesPerSecond(60)
    root = UsdSkel.Root.Define(stage, "/Model")
    xform = UsdGeom.Xformable(root)
    xform.AddTranslateOp().Set(Gf.Vec3d(0, 0, 50))
    xform.AddScaleOp().Set(Gf.Vec3f(2, 2, 2))
    skeleton = UsdSkel.Skeleton.Define(stage, "/Model/Rig")
    skeleton.CreateJointsAttr(list(joints))
    matrices = [Gf.Matrix4d(1.0) for _ in joints]
    for matrix in matrices[1:]:
        matrix.SetTranslate(Gf.Vec3d(0, 0, 30))
    skeleton.CreateRestTransformsAttr(matrices)
    skeleton.CreateBindTransformsAttr([Gf.Matrix4d(1.0) for _ in joints])
    animation = UsdSkel.Animation.Define(stage, "/Model/Rig/Anim")
    animation.CreateJointsAttr([joints[0]])
    animation.CreateTranslationsAttr([Gf.Vec3f(0, 0, 0)])
    animation.CreateScalesAttr([Gf.Vec3h(1, 1, 1)])
    turns = animation.CreateRotationsAttr()
    for time, angle in samples:
        turn = Gf.Rotation(Gf.Vec3d(1, 0, 0), angle).GetQuat()
        turns.Set(Vt.QuatfArray([Gf.Quatf(turn)]), time)
    binding = UsdSkel.BindingAPI.Apply(skeleton.GetPrim())
    binding.CreateAnimationSourceRel().SetTargets([Sdf.Path("/Model/Rig/Anim")])
    stage.GetRootLayer().Save()
    return path


def test_foreign_stages_are_turned_and_scaled(tmp_path):
    motion = ml.load(foreign_stage(tmp_path / "a.usda"))
    assert (motion.fps, len(motion), motion.skeleton.names) == (30.0, 3, ("a", "b"))
    assert (motion.origin.up, motion.origin.unit_m) == ("z", 0.01)
    np.testing.assert_allclose(motion.root, [[0, 0.5, 0]] * 3, atol=1e-6)
    wanted = [[0, 1.1, 0], [0, 0.5, 0.6], [0, -0.1, 0]]
    np.testing.assert_allclose(motion.positions()[:, 1], wanted, atol=1e-6)
    finer = ml.load(tmp_path / "a.usda", fps=60)
    assert len(finer) == 5
    np.testing.assert_allclose(
        finer.positions()[1, 1], [0, 0.5 + 0.6 * 0.5**0.5, 0.6 * 0.5**0.5], atol=1e-6
    )
    given = ml.load(tmp_path / "a.usda", unit="m", up="y")
    np.testing.assert_allclose(given.root[0], [0, 0, 50], atol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"joints": ("a", "b")}, "the joints must have one root"),
        (
            {"samples": ((0, 0.0), (1, 1.0), (2, 1.0), (10.0**12, 2.0))},
            "would have 1e.12 frames",
        ),
    ],
)
def test_reports_invalid_input(tmp_path, options, message):
    path = foreign_stage(tmp_path / "a.usda", **options)
    with pytest.raises(MotionFormatError, match=message) as caught:
        ml.load(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("metersPerUnit = 0.01", "metersPerUnit = 0", "metersPerUnit is 0, which is not valid"),
        (
            "timeCodesPerSecond = 60",
            "timeCodesPerSecond = 0",
            "timeCodesPerSecond must be positive and finite; found 0",
        ),
    ],
)
def test_numbers_that_make_no_sense_are_named(tmp_path, old, new, message):
    text = foreign_stage(tmp_path / "b.usda").read_text()
    assert text.count(old) == 1
    (tmp_path / "a.usda").write_text(text.replace(old, new))
    with pytest.raises(MotionFormatError, match=message):
        ml.load(tmp_path / "a.usda")


@pytest.mark.parametrize("samples", [[0.0, 0.0, 0.0], [0.0, 1.0, np.inf], [0.0, np.nan, 2.0]])
def test_times_that_do_not_rise_are_refused(samples):
    """The text form drops such samples; a damaged crate may hold them."""
    with pytest.raises(usd_child.UnreadableUsd, match="the times of the animation do not increase"):
        usd_child.sample_times(samples, 24.0, None, joints=1)


def test_a_stage_that_usd_cannot_write_is_reported_and_leaves_nothing(tmp_path, rng, monkeypatch):
    monkeypatch.setattr(Sdf.Layer, "Export", lambda *_: False)
    with pytest.raises(InvalidInput, match=r"USD could not write .*a\.usda"):
        random_motion(rng).save(tmp_path / "a.usda")
    assert not list(tmp_path.iterdir())


def test_a_stage_without_a_skeleton_is_refused(tmp_path):
    path = tmp_path / "a.usda"
    path.write_text('#usda 1.0\ndef Xform "a" {}\n')
    with pytest.raises(MotionFormatError, match="the file has no skeleton"):
        ml.load(path)
    path.write_text("hello")
    with pytest.raises(MotionFormatError, match="USD cannot read this file"):
        ml.load(path)


def test_a_skeleton_without_an_animation_is_one_frame(tmp_path):
    path = tmp_path / "a.usda"
    text = foreign_stage(tmp_path / "b.usda").read_text()
    path.write_text(text.replace("rel skel:animationSource = </Model/Rig/Anim>", ""))
    motion = ml.load(path)
    assert len(motion) == 1
    assert "one frame in its rest pose" in motion.origin.warnings[0]


def test_reading_has_a_time_limit(tmp_path, rng, monkeypatch):
    path = random_motion(rng).save(tmp_path / "a.usda")
    monkeypatch.setenv("MOTIONLOOM_READ_SECONDS", "0.001")
    with pytest.raises(MotionFormatError, match="took longer than the limit of 0.001 s"):
        ml.load(path)
    for wrong in ("0", "-1", "nan", "soon"):
        monkeypatch.setenv("MOTIONLOOM_READ_SECONDS", wrong)
        with pytest.raises(
            InvalidInput, match="READ_SECONDS must be a positive number of seconds; got"
        ):
            ml.load(path)


def test_a_crash_of_the_library_is_reported(tmp_path, rng, monkeypatch):
    path = random_motion(rng).save(tmp_path / "a.usda")
    crash = ["-c", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"]
    run = subprocess.run
    monkeypatch.setattr(
        subprocess, "run", lambda command, **rest: run([command[0], *crash], **rest)
    )
    with pytest.raises(
        MotionFormatError, match="the file is damaged: USD crashed while reading it .exit code -11"
    ):
        ml.load(path)


def test_a_missing_extra_is_named(tmp_path, rng, monkeypatch):
    path = random_motion(rng).save(tmp_path / "a.usda")
    whole_import = builtins.__import__

    def without_pxr(name, *rest):
        if name == "pxr":
            raise ImportError(name)
        return whole_import(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_pxr)
    with pytest.raises(MissingExtra, match=r"pip install 'motionloom\[usd\]'"):
        ml.load(path)
    with pytest.raises(MissingExtra, match=r"pip install 'motionloom\[usd\]'"):
        random_motion(rng).save(tmp_path / "b.usda")
    assert [file.name for file in tmp_path.iterdir()] == ["a.usda"]


def test_an_empty_scene_is_not_written(tmp_path):
    with pytest.raises(
        InvalidInput, match="at least one motion, and each motion at least one frame"
    ):
        usd.write([], tmp_path / "a.usd")
    assert not list(tmp_path.iterdir())


def mutated(data: bytes, rng: random.Random) -> bytes:
    raw = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(raw))
        blow = rng.choice(["set", "set", "set", "delete", "cut"])
        if blow == "set":
            raw[place] = rng.randrange(256)
        elif blow == "delete":
            del raw[place : place + rng.randint(1, 30)]
        else:
            del raw[max(place, 100) :]
    return bytes(raw)


@pytest.mark.parametrize(
    ("suffix", "count"),
    [
        (".usda", 2),
        (".usdc", 3),
        pytest.param(".usda", 30, marks=pytest.mark.slow),
        pytest.param(".usdc", 60, marks=pytest.mark.slow),
    ],
)
def test_mutated_files_are_read_or_refused(tmp_path, suffix, count, monkeypatch):
    monkeypatch.setenv("MOTIONLOOM_READ_SECONDS", str(LIMIT))
    motion = random_motion(np.random.default_rng(3), frames=3)
    whole = motion.save(tmp_path / f"whole{suffix}").read_bytes()
    path = tmp_path / f"broken{suffix}"
    dice = random.Random(count)
    for _ in range(count):
        path.write_bytes(mutated(whole, dice))
        try:
            again = ml.load(path)
        except MotionFormatError as error:
            assert str(error).startswith(str(path))
        else:
            assert np.isfinite(again.positions()).all()
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes")
@pytest.mark.parametrize("arc", ["subLayers = [@pipe.usda@]", 'def "A" (references = @b.usda@) {}'])
def test_pipes_and_devices_in_layers_are_refused_at_once(tmp_path, arc):
    os.mkfifo(tmp_path / "pipe.usda")
    (tmp_path / "b.usda").write_text("#usda 1.0\n(subLayers = [@./pipe.usda:SDF_FORMAT_ARGS:a=b@])")
    head = f"({arc})" if arc.startswith("sub") else arc
    (tmp_path / "a.usda").write_text(f"#usda 1.0\n{head}\n")
    with pytest.raises(MotionFormatError, match="pipe.usda, which is not a regular file"):
        ml.load(tmp_path / "a.usda")
