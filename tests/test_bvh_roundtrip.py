"""Motions written as BVH read back unchanged, in the dialect that all readers accept."""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from odd_bvh_model import MAN, POSITIONS, ZXY, bvh_lines, encoded, rows_of, with_channels

import motionloom as ml
from motionloom.formats.settings import FormatOptions

TOLERANCE_M = 1e-4
MADE = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
NUMBER = r"-?\d+\.\d+"


@st.composite
def motions(draw) -> ml.Motion:
    """Any tree, any rotations, bones of a person's size."""
    joints = draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    frames = draw(st.integers(1, 8))
    parents = [-1] + [draw(st.integers(0, j - 1)) for j in range(1, joints)]
    letters = st.text(st.sampled_from("aZ9_.-: éß背"), min_size=1, max_size=8)
    names = draw(
        st.lists(letters.filter(str.strip), min_size=joints, max_size=joints, unique_by=str.strip)
    )
    ends = [j for j in range(joints) if draw(st.booleans())]
    skeleton = ml.Skeleton(
        [name.strip() for name in names],
        parents,
        np.vstack([np.zeros(3), rng.uniform(-0.5, 0.5, (joints - 1, 3))]),
        end_names=[f"tip {j}" for j in ends],
        end_parents=ends,
        end_offsets=rng.uniform(-0.2, 0.2, (len(ends), 3)),
    )
    turns = rng.normal(size=(frames, joints, 4))
    kind = draw(st.sampled_from(["any", "identity", "locked"]))
    if kind == "identity":
        turns[:] = [1, 0, 0, 0]
    elif kind == "locked":  # gimbal lock for every order in turn: quarter turns about each axis
        axes = rng.integers(0, 3, (frames, joints))
        turns[:] = 0.0
        turns[..., 0] = np.sqrt(0.5)
        np.put_along_axis(turns, 1 + axes[..., None], np.sqrt(0.5), axis=-1)
    turns /= np.linalg.norm(turns, axis=-1, keepdims=True)
    moved = None
    if draw(st.booleans()) and joints > 1:
        moved = skeleton.offsets + rng.normal(0, 0.05, (frames, joints, 3))
        moved[:, 0] = 0.0
    path = rng.uniform(-20, 20, (frames, 3))
    fps = draw(st.sampled_from([24.0, 29.97, 30.0, 59.94, 60.0, 120.0, 33.7]))
    return ml.Motion(skeleton, turns, path, fps, "made", moved)


def by_name(motion: ml.Motion) -> dict[str, np.ndarray]:
    points = motion.positions()
    plain = [re.sub(r"[\s:]+", "_", name) for name in motion.skeleton.names]
    return {name: points[:, j] for j, name in enumerate(plain)}


def assert_same(a: ml.Motion, b: ml.Motion) -> None:
    """Same joints in the same places; the order of branches may differ."""
    assert len(a) == len(b)
    assert b.fps == pytest.approx(a.fps, rel=1e-6)
    first, two = by_name(a), by_name(b)
    if len(first) == len(a.skeleton) and first.keys() == two.keys():
        for name, points in first.items():
            np.testing.assert_allclose(two[name], points, rtol=0, atol=TOLERANCE_M)
    else:  # names that became equal got a number: compare where joints are, in some order
        np.testing.assert_allclose(cloud(b), cloud(a), rtol=0, atol=TOLERANCE_M)


def cloud(motion: ml.Motion) -> np.ndarray:
    """Coordinates of all joints of each frame, each axis sorted."""
    return np.sort(motion.positions(), axis=1)


@MADE
@given(motion=motions(), unit=st.sampled_from(["m", "cm", "mm", "inch", 0.0564]))
def test_a_generated_motion_survives_writing_and_reading(motion, unit, tmp_path):
    file = motion.save(tmp_path / "made.bvh", unit=unit)
    again = ml.load(file, unit=unit, up="y", format=FormatOptions(tpose=False), strict=True)
    assert_same(motion, again)
    assert again.repairs == ()
    check_dialect(file, with_moving_bones=motion.translations is not None)


@MADE
@given(motion=motions(), order=st.sampled_from(["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"]))
def test_every_order_of_channels_gives_the_same_motion(motion, order, tmp_path):
    file = motion.save(tmp_path / "made.bvh", order=order, unit="cm")
    letters = " ".join(f"{axis}rotation" for axis in order)
    assert letters in file.read_text(encoding="utf-8")
    assert_same(motion, ml.load(file, unit="cm", up="y", format=FormatOptions(tpose=False)))


@MADE
@given(motion=motions())
def test_end_sites_survive(motion, tmp_path):
    again = ml.load(
        motion.save(tmp_path / "made.bvh"), unit="cm", up="y", format=FormatOptions(tpose=False)
    )
    wanted = motion.positions(end_sites=True)[:, len(motion.skeleton) :]
    positions = again.positions(end_sites=True)[:, len(again.skeleton) :]
    for k in range(wanted.shape[1]):
        gap = np.abs(positions - wanted[:, [k]]).max(axis=(0, 2))
        assert gap.min() < TOLERANCE_M


def test_writing_twice_gives_the_same_bytes(tmp_path):
    source = tmp_path / "plain.bvh"
    source.write_bytes(encoded(bvh_lines(MAN, rows_of(MAN, 20))))
    motion = ml.load(source)
    first = motion.save(tmp_path / "a.bvh").read_bytes()
    assert motion.save(tmp_path / "b.bvh").read_bytes() == first
    # ... and a second generation is worn no further than single precision wears it.
    again = ml.load(tmp_path / "a.bvh")
    np.testing.assert_allclose(again.positions(), motion.positions(), rtol=0, atol=2e-6)


@pytest.mark.parametrize("frame_time", [".0083333", "0.0333667", "0.04", "0.033", "0.016683"])
def test_the_frame_time_of_the_source_is_kept(frame_time, tmp_path):
    source = tmp_path / "plain.bvh"
    source.write_bytes(encoded(bvh_lines(MAN, rows_of(MAN), time=frame_time)))
    written = ml.load(source).save(tmp_path / "again.bvh").read_text()
    assert float(re.search(r"Frame Time: (\S+)", written)[1]) == float(frame_time)


@pytest.mark.parametrize("unit", ["m", "cm", "mm", "inch", "cmu"])
def test_the_unit_of_the_source_is_kept(unit, tmp_path):
    source = tmp_path / "plain.bvh"
    source.write_bytes(encoded(bvh_lines(MAN, rows_of(MAN))))
    written = ml.load(source, unit=unit).save(tmp_path / "again.bvh").read_text()
    # Offsets of the file, whatever a unit of it is said to be.
    result = re.findall(rf"OFFSET ({NUMBER}) ({NUMBER}) ({NUMBER})", written)
    np.testing.assert_allclose(np.array(result[1], float), [0, 20, -1.5], atol=1e-4)
    first_row = written.split("Frame Time:")[1].split("\n")[1].split()
    np.testing.assert_allclose(np.array(first_row[:3], float), [3.0, 91.5, 2.0], atol=1e-4)


def test_another_unit_is_written_on_request(tmp_path):
    source = tmp_path / "plain.bvh"
    source.write_bytes(encoded(bvh_lines(MAN, rows_of(MAN))))
    motion = ml.load(source, unit="cm")
    again = ml.load(motion.save(tmp_path / "meters.bvh", unit="m"), unit="m")
    assert_same(motion, again)
    assert "OFFSET 0.000000 0.200000 -0.015000" in (tmp_path / "meters.bvh").read_text()


def test_the_source_order_of_rotations_is_kept(tmp_path):
    source = tmp_path / "plain.bvh"
    source.write_bytes(encoded(bvh_lines(MAN, rows_of(MAN))))
    written = ml.load(source).save(tmp_path / "again.bvh").read_text()
    assert "CHANNELS 3 Zrotation Xrotation Yrotation" in written
    assert "CHANNELS 3 Zrotation Yrotation Xrotation" not in written


def test_six_channel_sources_are_written_with_three_where_bones_keep_their_length(tmp_path):
    six = with_channels(MAN, POSITIONS + ZXY)
    source = tmp_path / "six.bvh"
    source.write_bytes(encoded(bvh_lines(six, rows_of(six))))
    motion = ml.load(source, unit="cm")
    file = motion.save(tmp_path / "again.bvh")
    check_dialect(file)
    assert_same(motion, ml.load(file, unit="cm"))


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    source = tmp_path / "take.bvh"
    source.write_bytes(encoded(bvh_lines(MAN, rows_of(MAN))))
    motion = ml.load(source)
    before = source.read_bytes()

    class Interrupted(BaseException):
        pass

    real = Path.open

    def open_and_break(path, *args, **options):
        file = real(path, *args, **options)
        if "w" in str(args) + str(options.get("mode", "")):
            write = file.write
            file.writelines = lambda lines: (write("half a li"), _raise(Interrupted()))
        return file

    monkeypatch.setattr(Path, "open", open_and_break)
    for target in (source, tmp_path / "new.bvh"):
        with pytest.raises(Interrupted):
            motion.save(target)
    monkeypatch.undo()
    assert [entry.name for entry in tmp_path.iterdir()] == ["take.bvh"]
    assert source.read_bytes() == before


@pytest.mark.parametrize("where", ["rotations", "root", "translations"])
def test_a_motion_with_a_gap_is_not_written(where, tmp_path):
    skeleton = ml.Skeleton(["a", "b"], [-1, 0], [[0, 0, 0], [0, 1, 0]])
    arrays = {
        "rotations": np.tile([1.0, 0, 0, 0], (2, 2, 1)),
        "root": np.zeros((2, 3)),
        "translations": np.tile(skeleton.offsets, (2, 1, 1)),
    }
    arrays[where][1, -1] = np.nan
    motion = ml.Motion(skeleton, fps=30, **arrays)
    with pytest.raises(ml.InvalidInput, match="NaN"):
        motion.save(tmp_path / "gap.bvh")
    assert list(tmp_path.iterdir()) == []


def test_a_motion_without_frames_is_not_written(tmp_path):
    skeleton = ml.Skeleton(["a"], [-1], [[0, 0, 0]])
    motion = ml.Motion(skeleton, np.zeros((0, 1, 4)), np.zeros((0, 3)), 30)
    with pytest.raises(ml.InvalidInput, match="frame"):
        motion.save(tmp_path / "none.bvh")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.cmu
def test_real_takes_survive_writing_and_reading(cmu30, tmp_path):
    check_takes(random.Random(3).sample(sorted(cmu30.glob("*/*.bvh")), 40), tmp_path, frames=120)


@pytest.mark.cmu
@pytest.mark.slow
def test_200_real_takes_survive_writing_and_reading(cmu30, tmp_path):
    check_takes(random.Random(4).sample(sorted(cmu30.glob("*/*.bvh")), 200), tmp_path)


@pytest.mark.cmu
def test_the_originals_survive_writing_and_reading(cmu_raw, tmp_path):
    check_takes(sorted(cmu_raw.glob("*.bvh")), tmp_path, frames=400)


def check_takes(takes: list[Path], folder: Path, frames: int | None = None) -> None:
    for take in takes:
        motion = ml.load(take)[:frames]
        file = motion.save(folder / "again.bvh")
        again = ml.load(file, strict=True, format=FormatOptions(tpose=False))
        assert again.origin.unit_m == motion.origin.unit_m
        assert again.skeleton.names == motion.skeleton.names
        np.testing.assert_allclose(
            again.positions(end_sites=True), motion.positions(end_sites=True), atol=TOLERANCE_M
        )
        check_dialect(file)


def check_dialect(file: Path, *, with_moving_bones: bool = False) -> None:
    """The text obeys every rule that makes it readable everywhere."""
    data = file.read_bytes()
    assert b"\r" not in data
    assert b"  " not in data
    assert data.endswith(b"\n")
    assert not data.startswith(b"\xef\xbb\xbf")
    text = data.decode("utf-8")
    head, _, rest = text.partition("MOTION\n")
    head_lines = [line.strip() for line in head.splitlines()]
    assert head_lines[0] == "HIERARCHY"
    assert re.fullmatch(r"ROOT \S+", head_lines[1])
    assert re.fullmatch(r"OFFSET 0\.0+ 0\.0+ 0\.0+", head_lines[3])
    three = set(re.findall(r"CHANNELS 3 (\S+ \S+ \S+)", head))
    six = re.findall(r"CHANNELS 6 Xposition Yposition Zposition (\S+ \S+ \S+)", head)
    assert head_lines[4].startswith("CHANNELS 6 Xposition Yposition Zposition ")
    assert len(three | set(six)) == 1, "one order of rotations"
    assert with_moving_bones or len(six) == 1, "position channels on the root alone"
    joints = head.count("ROOT ") + len(re.findall(r"^\t*JOINT ", head, re.M))
    assert len(re.findall("CHANNELS", head)) == joints
    for line in head_lines:
        assert re.fullmatch(
            rf"HIERARCHY|(ROOT|JOINT) [^\s:]+|\{{|\}}|End Site|OFFSET {NUMBER} {NUMBER} {NUMBER}"
            r"|CHANNELS [36]( [XYZ](position|rotation))+",
            line,
        ), line
    assert not re.search(r"CHANNELS [^\n]*\n\t*\}", head), "every leaf ends in an End Site"
    frames, frame_time, *rows = rest.splitlines()
    assert frames == f"Frames: {len(rows)}"
    assert re.fullmatch(r"Frame Time: \d+\.\d{7,}", frame_time)
    columns = 3 * joints + 3 * len(six)
    row = re.compile(rf"{NUMBER}( {NUMBER}){{{columns - 1}}}")
    assert all(row.fullmatch(line) for line in rows)


def _raise(error: BaseException) -> None:
    raise error
