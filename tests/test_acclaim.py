"""Acclaim: angles, gaps, units, skeletons next to takes, and damaged files."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import motionloom as ml
from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.formats.settings import FormatOptions
from motionloom.motion.rotations import quaternions as rot

ASF = """# a comment
:version 1.10
:name test
:units
  mass 1.0
  length 0.45
  angle deg
:documentation
  free text: with anything in it
:root
  order TX TY TZ RX RY RZ
  axis XYZ
  position 0 0 0
  orientation 0 0 0
:bonedata
  begin
    id 1
    name thigh
    direction 0 -1 0
    length 8
    axis 0 0 20 XYZ
    dof rx ry rz
    limits (-160.0 20.0)
           (-70.0 70.0)
           (-60.0 70.0)
  end
  begin
    id 2
    name shin
    direction 0 -1 0   # down
    length 7.5
    axis 10 20 30 ZXY
    dof rz rx
    limits (-inf inf)
           (-10.0 170.0)
  end
  begin
    id 3
    name foot
    direction 0 0 1
    length 2.5
    axis 0 0 0 XYZ
  end
:hierarchy
  begin
    root thigh
    thigh shin
    shin foot
  end
"""
HEAD = "#!OML:ASF test\n:FULLY-SPECIFIED\n:DEGREES\n"


def block(number, root=(1, 2, 3, 10, 20, 30), thigh=(5, -15, 40), shin=(25, -35)):
    words = lambda values: " ".join(f"{value:g}" for value in values)  # noqa: E731
    return f"{number}\nroot {words(root)}\nthigh {words(thigh)}\nshin {words(shin)}\n"


@pytest.fixture
def take(tmp_path):
    """Write the two files and give the path of the take."""

    def written(amc, asf=ASF, stem="01_02", skeleton="01"):
        (tmp_path / f"{skeleton}.asf").write_text(asf)
        path = tmp_path / f"{stem}.amc"
        path.write_bytes(amc if isinstance(amc, bytes) else amc.encode())
        return path

    return written


def test_joints_stand_where_bones_start(take):
    motion = ml.load(take(HEAD + block(1)), unit=1.0)
    assert motion.skeleton.names == ("root", "thigh", "shin", "foot")
    assert motion.skeleton.end_names == ("foot_End",)
    np.testing.assert_allclose(motion.skeleton.offsets[1], 0.0)
    np.testing.assert_allclose(motion.skeleton.offsets[2], [0, -8, 0])
    np.testing.assert_allclose(motion.skeleton.end_offsets, [[0, 0, 2.5]])
    np.testing.assert_allclose(motion.root, [[1, 2, 3]])


def matrix(axis, degrees):
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    rows = {
        "x": [[1, 0, 0], [0, c, -s], [0, s, c]],
        "y": [[c, 0, s], [0, 1, 0], [-s, 0, c]],
        "z": [[c, -s, 0], [s, c, 0], [0, 0, 1]],
    }
    return np.array(rows[axis])


def test_angles_follow_the_specification(take):
    """Turns about fixed axes in the order of `dof`, in the frame that `axis` gives."""
    motion = ml.load(take(HEAD + block(1)), unit=1.0)
    root = matrix("z", 30) @ matrix("y", 20) @ matrix("x", 10)
    c1 = matrix("z", 20)
    thigh = c1 @ matrix("z", 40) @ matrix("y", -15) @ matrix("x", 5) @ c1.T
    c2 = matrix("y", 20) @ matrix("x", 10) @ matrix("z", 30)  # ZXY: z first, then x, then y
    shin = c2 @ matrix("x", -35) @ matrix("z", 25) @ c2.T
    at = np.array([1.0, 2.0, 3.0])
    knee = at + root @ thigh @ [0, -8, 0]
    ankle = knee + root @ thigh @ shin @ [0, -7.5, 0]
    toe = ankle + root @ thigh @ shin @ [0, 0, 2.5]
    positions = motion.positions(end_sites=True)[0]
    np.testing.assert_allclose(positions, [at, at, knee, ankle, toe], atol=2e-6)


def test_root_presets_shift_and_turn_the_motion(take):
    asf = ASF.replace("position 0 0 0", "position 0 10 0").replace(
        "orientation 0 0 0", "orientation 0 90 0"
    )
    motion = ml.load(take(HEAD + block(1), asf), unit=1.0)
    np.testing.assert_allclose(motion.root, [[1, 12, 3]])
    c = matrix("y", 90)
    wanted = c @ matrix("z", 30) @ matrix("y", 20) @ matrix("x", 10) @ c.T
    turned = rot.rotate(motion.rotations[0, 0].astype(float), np.eye(3)).T
    np.testing.assert_allclose(turned, wanted, atol=1e-6)


def test_radians_in_either_file(take):
    def radians(*values):
        return tuple(math.radians(value) for value in values)

    plain = ml.load(take(HEAD + block(1)), unit=1.0)
    asf = (
        ASF.replace("angle deg", "angle rad")
        .replace("axis 0 0 20", f"axis 0 0 {math.radians(20)!r}")
        .replace("axis 10 20 30", "axis " + " ".join(map(repr, radians(10, 20, 30))))
    )
    amc = "".join(
        f"{name} {' '.join(map(repr, values))}\n"
        for name, values in [
            ("root", (1, 2, 3, *radians(10, 20, 30))),
            ("thigh", radians(5, -15, 40)),
            ("shin", radians(25, -35)),
        ]
    )
    for head in (":FULLY-SPECIFIED\n:RADIANS\n1\n", ":FULLY-SPECIFIED\n1\n"):
        motion = ml.load(take(head + amc, asf), unit=1.0)
        np.testing.assert_allclose(motion.rotations, plain.rotations, atol=1e-6)


def test_root_channels_in_another_order(take):
    asf = ASF.replace("order TX TY TZ RX RY RZ", "order RZ RY RX TZ TX TY")
    motion = ml.load(take(HEAD + block(1, root=(30, 20, 10, 3, 1, 2)), asf), unit=1.0)
    np.testing.assert_allclose(motion.root, [[1, 2, 3]])
    wanted = matrix("x", 10) @ matrix("y", 20) @ matrix("z", 30)
    turned = rot.rotate(motion.rotations[0, 0].astype(float), np.eye(3)).T
    np.testing.assert_allclose(turned, wanted, atol=1e-6)


def test_the_rate_is_120_with_a_warning(take):
    path = take(HEAD + block(1) + block(2))
    motion = ml.load(path)
    assert motion.fps == 120.0
    assert any("no frame rate, so 120 fps is assumed" in text for text in motion.origin.warnings)
    answer = ml.load(path, fps=60)
    assert answer.fps == 60.0
    assert not any("frame rate" in text for text in answer.origin.warnings)


def test_cmu_length_unit(take):
    motion = ml.load(take(HEAD + block(1)))
    assert motion.origin.unit_m == pytest.approx(0.0254 / 0.45)
    assert "length 0.45" in motion.origin.unit_reason
    other = ml.load(take(HEAD + block(1), ASF.replace("length 0.45", "length 1.0")))
    assert "guessed" in other.origin.unit_reason


def test_missing_frames_are_interpolated_and_recorded(take):
    amc = HEAD + block(7, root=(0, 0, 0, 0, 0, 0)) + block(10, root=(3, 6, 9, 0, 60, 0))
    motion = ml.load(take(amc + block(11)), unit=1.0)
    assert len(motion) == 5
    np.testing.assert_allclose(motion.root[:4], [[0, 0, 0], [1, 2, 3], [2, 4, 6], [3, 6, 9]])
    angles = np.degrees(rot.angle_between(motion.rotations[:4, 0], rot.IDENTITY))
    np.testing.assert_allclose(angles, [0, 20, 40, 60], atol=1e-3)
    assert motion.repairs == ("2 missing frames were interpolated, up to 2 in a row",)
    with pytest.raises(MotionFormatError, match="strict mode: 2 missing frames"):
        ml.load(take(amc + block(11)), strict=True)


def test_long_gaps_are_refused(take):
    amc = HEAD + "".join(block(n) for n in range(1, 90)) + block(160)
    with pytest.raises(
        MotionFormatError, match="70 frames are missing, up to 70 in a row; at most 60"
    ):
        ml.load(take(amc))
    assert len(ml.load(take(amc), format=FormatOptions(max_gap=1.0))) == 160
    with pytest.raises(MotionFormatError, match="999999999998 frames are missing"):
        ml.load(take(HEAD + block(1) + block(10**12)), format=FormatOptions(max_gap=1e12))


def test_a_bone_missing_in_some_frames_is_filled_in(take):
    lost = "\n".join(line for line in block(2).splitlines() if "shin" not in line) + "\n"
    amc = HEAD + block(1, shin=(0, 0)) + lost + block(3, shin=(0, 40))
    motion = ml.load(take(amc), unit=1.0)
    angles = np.degrees(rot.angle_between(motion.rotations[:, 2], rot.IDENTITY))
    np.testing.assert_allclose(angles, [0, 20, 40], atol=1e-3)
    assert motion.repairs == ("bone 'shin' was missing in 1 frames and was interpolated",)


def test_a_bone_that_never_moves_stays_at_rest(take):
    amc = HEAD + "1\nroot 0 0 0 0 0 0\nthigh 1 2 3\n"
    motion = ml.load(take(amc))
    np.testing.assert_array_equal(motion.rotations[0, 2], rot.IDENTITY)
    assert motion.repairs == ("no frame has values for shin; the rest pose is used",)


@pytest.mark.parametrize(
    ("stem", "skeleton"),
    [("01_02", "01_02"), ("01_02", "01"), ("HDM_bd_0001", "HDM_bd"), ("A_x_y", "a"), ("q", "z")],
)
def test_the_skeleton_is_found_next_to_the_take(take, stem, skeleton):
    assert len(ml.load(take(HEAD + block(1), stem=stem, skeleton=skeleton))) == 1


def test_a_skeleton_that_is_ambiguous_must_be_given(take, tmp_path):
    path = take(HEAD + block(1), stem="05_01", skeleton="08")
    take(HEAD + block(1), stem="05_01", skeleton="09")
    with pytest.raises(
        MotionFormatError,
        match=r"05_01.asf in the same folder; .* this folder: 08.asf, 09.asf.*skeleton",
    ):
        ml.load(path)
    assert len(ml.load(path, skeleton=tmp_path / "09.asf")) == 1
    with pytest.raises(MotionFormatError, match="the skeleton .* does not exist"):
        ml.load(path, skeleton=tmp_path / "10.asf")
    with pytest.raises(MotionFormatError, match="contains only a skeleton; read its .amc"):
        ml.load(tmp_path / "09.asf")


@pytest.mark.parametrize(
    ("amc", "message"),
    [
        (HEAD, r"amc: the file has no frames"),
        (HEAD + block(1) + block(1), r"amc:8: frame 1 follows frame 1"),
        (
            HEAD + block(2) + block(1),
            r"amc:8: frame 1 follows frame 2, but frame numbers must increase",
        ),
        (HEAD + block(1) + "tail 1 2\n", r"amc:8: the skeleton has no bone called 'tail'"),
        (HEAD + block(1, thigh=(1, 2)), r"amc:6: bone 'thigh' needs 3 values.*found 2"),
        (HEAD + block(1) + "shin\n", r"amc:8: bone 'shin' needs 2 values, found none"),
        (HEAD + block(1) + "shin 1 2\n", r"amc:8: bone 'shin' occurs twice in one frame"),
        (HEAD + block(1) + "foot 1\n", r"amc:8: bone 'foot' needs 0 values.*found 1"),
        (HEAD + block(1).replace("25", "nan"), r"amc:7: expected a number, found 'nan'"),
        (HEAD + block(1).replace("25", "-1.#IND"), r"amc:7: expected a number"),
        (
            HEAD + block(1).replace("25", "1e30"),
            r"amc:4: bone 'shin' has the implausible value 1e\+30",
        ),
        (
            HEAD + "root 1 2 3 4 5 6\n" + block(1),
            r"amc:4: a line for a bone comes before the first frame",
        ),
        (HEAD + block(1) + "1.5\nroot 1 2 3 4 5 6\n", r"amc:8: expected a frame number"),
        (HEAD + "1\nthigh 1 2 3\n", r"amc: no frame has a line for the root"),
    ],
)
def test_reports_errors_in_a_take(take, amc, message):
    with pytest.raises(MotionFormatError, match=message):
        ml.load(take(amc))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            ":hierarchy",
            ":tree",
            r"01.asf: this is not an ASF skeleton, because it has no section :hierarchy",
        ),
        ("angle deg", "angle gon", r"asf:7: angle must be deg or rad, found 'gon'"),
        ("length 8", "length -8", r"asf:16: bone 'thigh' has no valid direction"),
        ("direction 0 -1 0\n", "direction 0 -1\n", r"asf:19: expected 3 numbers for direction"),
        (
            "axis 10 20 30 ZXY",
            "axis 10 20 30 ZXX",
            r"asf:32: expected a rotation order such as XYZ",
        ),
        ("dof rz rx", "dof rz qx", r"asf:33: a degree of freedom of .* must be one of rx ry rz"),
        ("dof rz rx", "dof rz rz", r"asf:33: a degree of freedom of 'shin' is listed twice"),
        ("thigh shin\n", "thigh shank\n", r"asf:47: the hierarchy names the bone 'shank'"),
        ("shin foot\n", "foot shin\n", r"asf:48: 'shin' has two parents"),
        ("shin foot\n", "\n", r"asf:37: bone 'foot' is not connected to the root"),
        ("name shin", "name thigh", r"asf:27: two bones are called 'thigh'"),
        ("name shin", "", r"asf:27: a bone has no name"),
        (":root", ":units\n:root", r"asf:10: the section :units occurs twice"),
        (":version", "hello\n:version", r"asf:2: expected a section"),
    ],
)
def test_reports_errors_in_a_skeleton(take, old, new, message):
    asf = ASF.replace(old, new)
    assert asf != ASF
    with pytest.raises(MotionFormatError, match=message):
        ml.load(take(HEAD + block(1), asf))


def test_repairs_of_the_skeleton_are_reported(take):
    asf = ASF.replace("direction 0 0 1", "direction 0 0 2")
    motion = ml.load(take(HEAD + block(1), asf), unit=1.0)
    np.testing.assert_allclose(motion.skeleton.end_offsets, [[0, 0, 2.5]])
    assert motion.repairs == (
        "01.asf, line 37: directions that were not unit vectors were normalized",
    )


def test_a_stretching_bone_is_refused(take):
    asf = ASF.replace("dof rz rx", "dof rz l")
    assert len(ml.load(take(HEAD + block(1, shin=(25, 0)), asf))) == 1
    with pytest.raises(MotionFormatError, match="bone 'shin' has values for 'l'"):
        ml.load(take(HEAD + block(1), asf))


def test_many_bones_in_many_empty_frames_are_refused(take):
    bone = "begin\nname b{0}\ndirection 0 1 0\nlength 1\naxis 0 0 0 XYZ\n{1}\nend\n"
    names = " ".join(f"b{k}" for k in range(1500))
    amc = HEAD + "".join(f"{n}\nroot 0 0 0 0 0 0\n" for n in range(1, 7001))
    for dof, message in (("dof rx", "no lines for most bones"), ("", "almost none of its")):
        bones = "".join(bone.format(k, dof) for k in range(1500))
        asf = f":root\n:bonedata\n{bones}:hierarchy\nbegin\nroot {names}\nend\n"
        with pytest.raises(MotionFormatError, match=message):
            ml.load(take(amc, asf))


def test_wrong_options_are_named(take):
    path = take(HEAD + block(1))
    with pytest.raises(InvalidInput, match="fps must be positive"):
        ml.load(path, fps=0)
    with pytest.raises(InvalidInput, match="max_gap must be a number of seconds"):
        ml.load(path, format=FormatOptions(max_gap=-1))
    with pytest.raises(
        InvalidInput, match="Acclaim has no option 'tpose'; its options are skeleton"
    ):
        ml.load(path, format=FormatOptions(tpose=True))


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_line_ends_do_not_matter(take, newline):
    plain = ml.load(take(HEAD + block(1) + block(2)))
    other = ml.load(
        take((HEAD + block(1) + block(2)).replace("\n", newline), ASF.replace("\n", newline))
    )
    np.testing.assert_array_equal(plain.rotations, other.rotations)


WORDS = ["root", "thigh", "begin", "end", ":root", ":units", "dof", "axis", "XYZ", "1e400", "nan",
         "-", "9" * 30, "#", "(", "\x00", "\xff", ":DEGREES", "1", "-3", ""]  # fmt: skip


@settings(
    max_examples=300, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(data=st.data())
def test_mutated_files_are_read_or_refused(take, data):
    texts = [ASF, HEAD + "".join(block(n) for n in range(1, 5))]
    which = data.draw(st.integers(0, 1))
    text = texts[which]
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 12)))
        text = text[:start] + data.draw(st.sampled_from(WORDS)) + text[end:]
    texts[which] = text
    path = take(texts[1], texts[0])
    try:
        motion = ml.load(path)
    except MotionFormatError as error:
        assert str(error).startswith(str(path.parent))
    else:
        assert np.isfinite(motion.positions(end_sites=True)).all()
    assert len(list(path.parent.iterdir())) == 2


@pytest.mark.cmu
def test_agrees_with_its_twin_from_another_converter(cmu_raw):
    """The twin drops the bones of the thorax and the wrists; all else is the same."""
    ours = ml.load(cmu_raw / "fairmotion_01_01.amc")
    twin = ml.load(cmu_raw / "fairmotion_01_01.bvh")
    assert len(ours) == len(twin) and ours.fps == twin.fps
    legs = [f"{side}_{part}" for side in ("left", "right") for part in ("hip", "ankle", "toe")]
    roles = ["hips", "spine", "chest", *legs]
    apart = np.linalg.norm(ours.role_positions(roles) - twin.role_positions(roles), axis=-1)
    assert apart.max() < 1e-5  # meters; the twin's numbers have five decimals
    dropped = {"lowerneck", "lclavicle", "rclavicle", "lhand", "lthumb", "rhand", "rthumb"}
    kept = [[float(name not in dropped)] for name in ours.skeleton.names]
    skeleton = replace(ours.skeleton, offsets=ours.skeleton.offsets * kept)
    likened = replace(ours, skeleton=skeleton)
    apart = likened.positions(end_sites=True) - twin.positions(end_sites=True)
    assert np.linalg.norm(apart, axis=-1).max() < 1e-5
