"""The BVH reader's decisions: units, axes, T-poses, rates, figures, options."""

import numpy as np
import numpy.testing as npt
import pytest

import motionloom as ml
from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.formats.inference import UNITS, infer_unit
from motionloom.formats.settings import FormatOptions
from motionloom.motion.kinematics.body import body_height

PERSON = """HIERARCHY
ROOT Hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation
  JOINT Spine
  {
    OFFSET 0 20 0
    CHANNELS 3 Zrotation Yrotation Xrotation
    JOINT Chest
    {
      OFFSET 0 20 0
      CHANNELS 3 Zrotation Yrotation Xrotation
      JOINT Neck
      {
        OFFSET 0 15 0
        CHANNELS 3 Zrotation Yrotation Xrotation
        JOINT Head
        {
          OFFSET 0 10 0
          CHANNELS 3 Zrotation Yrotation Xrotation
          End Site
          {
            OFFSET 0 18 0
          }
        }
      }
      %(arms)s
    }
  }
  %(legs)s
}
MOTION
Frames: %(frames)d
Frame Time: 0.0333333
%(rows)s
"""


def _chain(names, offsets, end):
    text = ""
    for name, offset in zip(names, offsets, strict=True):
        text += f"JOINT {name}\n{{\nOFFSET {offset}\nCHANNELS 3 Zrotation Yrotation Xrotation\n"
    return text + f"End Site\n{{\nOFFSET {end}\n}}\n" + "}\n" * len(names)


def person(rows):
    """A figure 1.75 m tall in centimeters, T-pose at zero; 18 joints, 57 columns."""
    arms = legs = ""
    for side, x in (("Left", 1), ("Right", -1)):
        arms += _chain(
            [f"{side}Arm", f"{side}ForeArm", f"{side}Hand"],
            [f"{18 * x} 10 0", f"{28 * x} 0 0", f"{26 * x} 0 0"],
            f"{10 * x} 0 0",
        )
        legs += _chain(
            [f"{side}UpLeg", f"{side}Leg", f"{side}Foot", f"{side}ToeBase"],
            [f"{10 * x} -5 0", "0 -42 0", "0 -42 0", "0 -6 13"],
            "0 0 6",
        )
    lines = "\n".join(" ".join(f"{value:g}" for value in row) for row in rows)
    return PERSON % {"arms": arms, "legs": legs, "frames": len(rows), "rows": lines}


WIDTH = 3 + 3 * 19


def standing(frames, seed=1, amount=5.0):
    """Rows of someone who stands with the arms down and fidgets smoothly."""
    rng = np.random.default_rng(seed)
    time = np.linspace(0.0, 1.0, frames)[:, None]
    rows = amount * np.sin(time * rng.uniform(1, 3, WIDTH) + rng.uniform(0, 6, WIDTH))
    rows[:, :3] = [0.0, 95.0, 0.0]
    rows[:, 18] -= 75.0  # LeftArm Zrotation
    rows[:, 27] += 75.0  # RightArm Zrotation
    return rows


@pytest.fixture
def write(tmp_path):
    def to_file(text, name="take.bvh"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return to_file


@pytest.mark.parametrize("unit", ["m", "dm", "cm", "mm", "inch", "foot", "cmu"])
def test_infers_the_unit_from_the_size_of_a_person(write, tmp_path, unit):
    motion = ml.load(write(person(standing(3))))
    again = ml.load(motion.save(tmp_path / "other.bvh", unit=unit))
    assert motion.origin.unit_m == UNITS["cm"]
    assert again.origin.unit_m == UNITS[unit]
    assert "m tall" in again.origin.unit_reason
    npt.assert_allclose(again.positions(), motion.positions(), atol=1e-4)


def test_a_given_unit_overrides_the_inferred_one(write):
    path = write(person(standing(3)))
    inferred, given = ml.load(path), ml.load(path, unit="inch")
    npt.assert_allclose(given.root, inferred.root * 2.54, rtol=1e-6)
    with pytest.raises(InvalidInput, match="unit must be one of m, dm, cm.*got 'furlong'"):
        ml.load(path, unit="furlong")


def test_a_giant_is_read_with_a_warning(write):
    text = person(standing(3)).replace("0 -42 0", "0 -142 0")
    assert any("no common unit" in w for w in ml.load(write(text)).origin.warnings)


@pytest.mark.parametrize("meters", [0.85, 0.95, 1.05, 1.3])
def test_a_child_in_centimeters_is_not_a_giant_in_inches(write, meters):
    grown = ml.load(write(person(standing(3)))).skeleton
    child = infer_unit(grown.scaled(100.0 * meters / body_height(grown)))
    assert child.meters == UNITS["cm"]
    assert "no common unit" in child.warning


def test_a_skeleton_that_is_not_a_person_gets_a_guessed_unit_and_a_warning(write):
    text = """HIERARCHY
ROOT cart
{
OFFSET 0 0 0
CHANNELS 3 Xposition Yposition Zposition
End Site
{
OFFSET 0 0 120
}
}
MOTION
Frames: 2
Frame Time: 0.04
0 0 0
0 0 5
"""
    cart = ml.load(write(text))
    assert cart.origin.unit_m == 0.01
    assert cart.fps == 25.0
    assert any("unit cm was guessed" in warning for warning in cart.origin.warnings)


def test_a_tpose_in_front_becomes_the_rest_pose(write):
    rows = standing(20)
    tpose = np.zeros((1, WIDTH))
    tpose[0, :3] = rows[0, :3]
    motion = ml.load(write(person(np.concatenate([tpose, rows]))))
    assert len(motion) == 20
    assert motion.origin.tpose_frame == 0
    assert motion.skeleton.rest is not None
    rest = motion.rest_pose().role_positions(["left_shoulder", "left_wrist"])[0]
    npt.assert_allclose(rest[0, 1], rest[1, 1], atol=1e-6)  # the arm is level
    assert (
        len(
            ml.load(write(person(np.concatenate([tpose, rows]))), format=FormatOptions(tpose=False))
        )
        == 21
    )


def test_a_take_that_starts_in_a_tpose_keeps_its_first_frame(write):
    rows = standing(40)
    share = np.linspace(0.0, 1.0, 40)[:, None] ** 2
    moving = rows * share  # leaves the T-pose smoothly
    moving[:, :3] = rows[:, :3]
    motion = ml.load(write(person(moving)))
    assert len(motion) == 40
    assert motion.origin.tpose_frame is None


def test_a_file_with_z_up_is_turned(write):
    rows = standing(10)
    upright = ml.load(write(person(rows)))
    # The same take in a program with z up: x stays, y becomes z, z becomes -y.
    path = write(_z_up(person(rows)), "z.bvh")
    turned = ml.load(path)
    assert turned.origin.up == "z"
    npt.assert_allclose(turned.positions(), upright.positions(), atol=1e-4)
    assert turned.rest_pose().role_positions(["head"])[0, 0, 1] > 1.4


def _z_up(text):
    import re

    def offset(match):
        x, y, z = map(float, match[1].split())
        return f"OFFSET {x} {-z} {y}"

    text = re.sub(r"OFFSET ([^\n]*)", offset, text)
    # Z Y X about the old axes are Y, -Z and X about the new: negate the columns of old z.
    text = text.replace("Zrotation Yrotation Xrotation", "Yrotation Zrotation Xrotation")
    head, rows = text.split("Frame Time: 0.0333333\n")
    out = []
    for line in rows.strip().splitlines():
        values = np.array(line.split(), float)
        values[:3] = [values[0], -values[2], values[1]]
        values[3::3] *= -1.0
        out.append(" ".join(f"{value:.9g}" for value in values))
    return head + "Frame Time: 0.0333333\n" + "\n".join(out) + "\n"


def test_a_person_lying_down_is_not_rotated_upright(write):
    rows = standing(10)
    rows[:, 5] = 90.0  # the whole take on the back
    motion = ml.load(write(person(rows)))
    assert motion.origin.up == "y"
    assert any("lying down" in warning for warning in motion.origin.warnings)
    assert ml.load(write(person(rows)), up="z").origin.up == "z"
    with pytest.raises(InvalidInput, match="up must be one of y, z, x.*got 'w'"):
        ml.load(write(person(rows)), up="w")


def test_shows_the_nominal_rate_and_keeps_the_exact_one(write, tmp_path):
    motion = ml.load(write(person(standing(3)).replace("0.0333333", ".0083333")))
    assert motion.fps == 120.0
    assert motion.origin.frame_time == 0.0083333
    assert "Frame Time: 0.0083333\n" in motion.save(tmp_path / "x.bvh").read_text()
    assert (
        "Frame Time: 0.033333333333\n" in motion.resample(30).save(tmp_path / "y.bvh").read_text()
    )


def test_a_given_rate_overrides_the_file(write):
    path = write(person(standing(3)).replace("0.0333333", "0"))
    with pytest.raises(MotionFormatError, match=r"take.bvh:\d+: Frame Time must be.*with fps"):
        ml.load(path)
    assert ml.load(path, fps=60).fps == 60.0
    with pytest.raises(InvalidInput, match="fps must be positive; got -1"):
        ml.load(path, fps=-1)


def test_refuses_a_frame_time_in_milliseconds(write):
    path = write(person(standing(3)).replace("0.0333333", "33.3333"))
    with pytest.raises(MotionFormatError, match=r"found '33.3333'. If the file means milliseconds"):
        ml.load(path)
    assert ml.load(path, fps=30).fps == 30.0


def test_reads_one_of_several_figures_by_name(write):
    first = person(standing(4, seed=1))
    other = person(standing(4, seed=2)).replace("ROOT Hips", "ROOT Hips2")
    heads = [text.split("MOTION")[0].removeprefix("HIERARCHY\n") for text in (first, other)]
    rows = [text.split("0.0333333\n")[1].strip().splitlines() for text in (first, other)]
    both = "\n".join(f"{a} {b}" for a, b in zip(*rows, strict=True))
    text = f"HIERARCHY\n{heads[0]}{heads[1]}MOTION\nFrames: 4\nFrame Time: 0.0333333\n{both}\n"
    path = write(text)
    with pytest.raises(
        MotionFormatError,
        match="2 figures, with roots 'Hips', 'Hips2'.*choose one with the option skeleton",
    ):
        ml.load(path)
    second = ml.load(path, skeleton="Hips2")
    npt.assert_allclose(second.positions(), ml.load(write(other, "o.bvh")).positions(), atol=1e-6)
    with pytest.raises(MotionFormatError, match="no ROOT is called 'Bob'"):
        ml.load(path, skeleton="Bob")


def test_a_truncated_file_is_refused_unless_partial(write):
    text = person(standing(10))
    cut = text[: text.rstrip().rfind(" ") - 200]
    with pytest.raises(MotionFormatError, match=r"take.bvh:\d+: .*cut off.*set partial"):
        ml.load(write(cut))
    motion = ml.load(write(cut), partial=True)
    assert 1 <= len(motion) < 10
    assert motion.repairs


def test_a_role_map_file_is_used(write, tmp_path):
    path = write(person(standing(3)).replace("LeftFoot", "Knochel_li"))
    (tmp_path / "map.toml").write_text('left_ankle = "Knochel_li"  # the ankle\n')
    assert ml.load(path, roles=tmp_path / "map.toml").skeleton.roles["left_ankle"] == "Knochel_li"
    assert ml.load(path, roles={"left_ankle": "Knochel_li"}).skeleton.roles["left_ankle"]


def test_strict_reading_refuses_repairs(write):
    path = write(person(standing(3)).replace("Frames: 3", "frames: 3"))
    assert ml.load(path).repairs
    with pytest.raises(
        MotionFormatError, match=r"take.bvh:\d+: this is an error in strict mode: .*not spelled"
    ):
        ml.load(path, strict=True)


def test_unknown_suffixes_and_folders_are_refused(tmp_path):
    with pytest.raises(
        MotionFormatError, match=r"x.doc: unknown suffix '.doc'; expected one of .*\.bvh"
    ):
        ml.load(tmp_path / "x.doc")
    (tmp_path / "y.bvh").mkdir()
    with pytest.raises(MotionFormatError, match="y.bvh: expected a file; found a folder"):
        ml.load(tmp_path / "y.bvh")
    with pytest.raises(FileNotFoundError):
        ml.load(tmp_path / "none.bvh")


@pytest.mark.cmu
def test_the_originals_of_cmu_have_their_tpose_recognized(cmu_raw):
    for path in sorted(cmu_raw.glob("[0-9]*.bvh")):
        motion = ml.load(path)
        declared = int(path.read_bytes().split(b"Frames:")[1].split()[0])
        assert motion.origin.tpose_frame == 0, path
        assert len(motion) == declared - 1, path
        assert motion.fps in (60.0, 120.0), path
        assert not motion.skeleton.role_assignment.missing


@pytest.mark.cmu
@pytest.mark.slow
def test_all_of_cmu_loads_with_roles_and_a_likely_height(cmu30):
    paths = sorted(cmu30.glob("*/*.bvh"))
    assert len(paths) == 2425
    odd = []
    for path in paths:
        motion = ml.load(path)
        assert not motion.skeleton.role_assignment.missing, path
        assert motion.origin.tpose_frame is None, path
        assert motion.origin.up == "y", path
        if not 1.4 <= body_height(motion.skeleton) <= 2.1:
            odd.append(path.stem)
    assert len(odd) <= 24, odd


@pytest.mark.parametrize(
    ("start", "claim"), [(b"\xff\xfe", "UTF-16"), (b"\xff\xfe\x00\x00", "UTF-32")]
)
def test_a_byte_order_mark_that_lies_is_reported(tmp_path, start, claim):
    file = tmp_path / "a.bvh"
    file.write_bytes(start + b"\x00\xdc\x00")
    with pytest.raises(MotionFormatError, match=f"the file claims to be {claim} but is not"):
        ml.load(file)
