"""Odd but readable: what channels say about where joints are."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

from odd_bvh_model import (
    MAN,
    POSITIONS,
    ZXY,
    Bone,
    Odd,
    bones_of,
    bvh_lines,
    encoded,
    is_either,
    is_read,
    is_refused,
    line_of,
    reading,
    rows_of,
    with_channels,
)

SCALES = ("Xscale", "Yscale", "Zscale")


def case(name: str, bone: Bone, rows=None, repair: bool | None = False) -> Odd:
    rows = rows_of(bone) if rows is None else rows
    return is_read(name, encoded(bvh_lines(bone, rows)), reading(bone, rows), repair)


def channels_of(bone: Bone) -> list[tuple[int, str]]:
    """Joint number and channel of every column."""
    return [(j, channel) for j, b in enumerate(bones_of(bone)) for channel in b.channels]


def changed(bone: Bone, value) -> list[list[float]]:
    """Rows with `value(t, j, axis, old)` in the position channels of joints but the root."""
    rows = rows_of(bone)
    for t, row in enumerate(rows):
        for column, (j, channel) in enumerate(channels_of(bone)):
            if j > 0 and channel.endswith("position"):
                axis = "XYZ".index(channel[0])
                row[column] = round(value(t, j, axis, row[column]), 4)
    return rows


def flattened(bone: Bone) -> Bone:
    """The same tree with all offsets zero."""
    return replace(bone, offset=(0, 0, 0), children=tuple(flattened(c) for c in bone.children))


def set_bone(bone: Bone, name: str, **what) -> Bone:
    if bone.name == name:
        return replace(bone, **what)
    return replace(bone, children=tuple(set_bone(c, name, **what) for c in bone.children))


def rotation_orders() -> list[Odd]:
    cases = []
    for order in itertools.permutations("XYZ"):
        rotations = tuple(f"{axis}rotation" for axis in order)
        bone = with_channels(MAN, rotations, root=POSITIONS + rotations)
        cases.append(case(f"order_{''.join(order)}", bone))
    orders = itertools.cycle(itertools.permutations(("Xrotation", "Yrotation", "Zrotation")))
    mixed = MAN
    for b in bones_of(MAN)[1:]:
        mixed = set_bone(mixed, b.name, channels=tuple(next(orders)))
    # Every joint has its own order; the file says which.
    cases.append(case("orders_mixed", mixed))
    first = with_channels(MAN, ZXY, root=ZXY + POSITIONS)
    # Columns follow the CHANNELS line, wherever positions stand in it.
    cases.append(case("root_rotations_before_positions", first))
    odd = ("Xposition", "Zrotation", "Zposition", "Xrotation", "Yrotation", "Yposition")
    cases.append(case("root_channels_interleaved", with_channels(MAN, ZXY, root=odd)))
    shuffled = ("Zposition", "Xposition", "Yposition", *ZXY)
    cases.append(case("root_positions_in_another_order", with_channels(MAN, ZXY, root=shuffled)))
    return cases


def position_channels() -> list[Odd]:
    six = with_channels(MAN, POSITIONS + ZXY)
    after = with_channels(MAN, ZXY + POSITIONS)
    dummy = Bone("joint_Root", (0, 0, 0), POSITIONS + ZXY, (with_channels(MAN, POSITIONS + ZXY),))
    still = rows_of(dummy)
    for t, row in enumerate(still):  # the dummy stands at the origin, the hips move
        row[:6] = [0.0] * 6
        row[6:9] = [3.0 + t, 91.5 - 0.25 * t, 2.0 + 1.5 * t]
    tail = Bone("t20", (0, 40, 0), POSITIONS + ZXY, end=(0, 40, 0))
    for k in range(19, 0, -1):
        tail = Bone(f"t{k}", (0, 40, 0), POSITIONS + ZXY, (tail,))
    tail = Bone("t0", (0, 0, 0), POSITIONS + ZXY, (tail,))
    shaken = changed(tail, lambda t, j, axis, old: old + (0.003 if axis == 1 and t == 2 else 0))
    lifted = Bone("Reference", (0, 0, 0), (), (MAN,))
    return [
        # Bandai-Namco, LAFAN exports: the offsets again in every row.
        case("six_channels_equal_to_offsets", six),
        case("six_channels_rotations_first", after),
        # Position channels replace the offset (Blender, MotionBuilder); they do not add.
        case("six_channels_constant_but_other", six,
             changed(six, lambda t, j, axis, old: 1.25 * old + 0.5 * axis), None),
        # Stretching bones and sliding props.
        case("six_channels_that_vary", six,
             changed(six, lambda t, j, axis, old: old + 3 * math.sin(0.7 * t + j + axis)), None),
        # FBX conversions: no offsets at all, everything in the channels.
        case("six_channels_zero_offsets", flattened(six), changed(
            six, lambda t, j, axis, old: old), None),
        case("six_channels_zero_offsets_that_vary", flattened(six), changed(
            six, lambda t, j, axis, old: old + 2 * math.cos(0.5 * t + j)), None),
        # One joint alone has position channels (a hip that a physics rig lets slide).
        case("six_channels_on_one_joint", set_bone(MAN, "LeftUpLeg", channels=POSITIONS + ZXY),
             None, None),
        # Bandai-Namco: a root that never moves; the motion is its child's.
        case("static_dummy_root", dummy, still, None),
        # Tiny movements add up along a chain: they are data all the same.
        case("six_channels_that_hardly_vary", tail, shaken, None),
        # The root goes places but never turns.
        case("root_with_positions_alone", with_channels(MAN, ZXY, root=POSITIONS), None, None),
        # A marker: a joint that has a place and no rotation.
        case("a_joint_with_positions_alone",
             set_bone(MAN, "Head", channels=POSITIONS), None, None),
        # A reference node without channels above the hips.
        case("dummy_root_without_channels", lifted, None, None),
        # Rokoko: the root has an offset too; its position channels replace it.
        case("root_offset_replaced", replace(MAN, offset=(5, 95, -3)), None, None),
        # Without position channels it is all there is.
        case("root_offset_used", replace(
            with_channels(MAN, ZXY), offset=(5, 95, -3)), None, None),
    ]  # fmt: skip


def zero_positions() -> list[Odd]:
    """Position channels that are zero although the offsets are not: displacements.

    Replacing would fold the body into one point, which nobody means.
    """
    six = with_channels(MAN, POSITIONS + ZXY)
    zero = changed(six, lambda t, j, axis, old: 0.0)
    rounded = changed(six, lambda t, j, axis, old: 0.0001)
    dummy = Bone("World", (0, 0, 0), POSITIONS + ZXY, (six,))
    walking = rows_of(dummy)
    wanted = rows_of(dummy)
    for t, (row, truth) in enumerate(zip(walking, wanted, strict=True)):
        for column, (j, channel) in enumerate(channels_of(dummy)):
            if j == 0:
                row[column] = truth[column] = 0.0
            elif channel.endswith("position"):
                place = (3.0, 91.5 - 0.25 * t, 2.0 + 1.5 * t)["XYZ".index(channel[0])]
                row[column] = place if j == 1 else 0.0
                truth[column] = place if j == 1 else truth[column]
    return [
        is_either("positions_all_zero", encoded(bvh_lines(six, zero)), reading(six, rows_of(six))),
        is_either("positions_all_zero_but_for_rounding",
                  encoded(bvh_lines(six, rounded)), reading(six, rows_of(six))),
        is_either("positions_all_zero_but_the_moving_child",
                  encoded(bvh_lines(dummy, walking)), reading(dummy, wanted)),
    ]  # fmt: skip


def rest_poses() -> list[Odd]:
    """A first frame without rotations is a frame, unless it clearly was put in front."""

    def limb(names: str, first, step, end) -> Bone:
        bone: Bone | None = None
        for k, name in reversed(list(enumerate(names.split()))):
            children, tip = ((bone,), None) if bone else ((), end)
            bone = Bone(name, first if k == 0 else step, ZXY, children, tip)
        assert bone is not None
        return bone

    def side(name: str, x: int) -> tuple[Bone, Bone]:
        arm = limb(
            f"{name}Shoulder {name}Arm {name}ForeArm {name}Hand",
            (3 * x, 22, 0),
            (24 * x, 0, 0),
            (9 * x, 0, 0),
        )
        leg = limb(f"{name}UpLeg {name}Leg {name}Foot", (9 * x, -4, 0), (0, -41, 0), (0, -6, 15))
        return arm, leg

    (left_arm, left_leg), (right_arm, right_leg) = side("Left", 1), side("Right", -1)
    head = limb("Neck Head", (0, 26, 0), (0, 10, 0), (0, 18, 0))
    spine = Bone("Spine", (0, 20, 0), ZXY, (head, left_arm, right_arm))
    body = Bone("Hips", (0, 0, 0), POSITIONS + ZXY, (spine, left_leg, right_leg))

    def frames(count: int, degrees: float) -> list[list[float]]:
        angles = range(len(channels_of(body)) - 3)
        return [
            [1.0, 90.0, 2.0 + t] + [round(degrees * t * math.sin(1 + 2.3 * k), 4) for k in angles]
            for t in range(count)
        ]

    return [
        # A movement that starts gently in the rest pose.
        case("starts_in_the_rest_pose", body, frames(12, 2.0)),
        # Rest pose and one pose: a hand-made file, with two frames.
        case("rest_pose_and_one_more", body, frames(2, 25.0)),
    ]  # fmt: skip


def channel_counts() -> list[Odd]:
    nine = with_channels(MAN, ZXY, root=POSITIONS + ZXY + SCALES)
    scaled = rows_of(nine)
    for row in scaled:
        row[6:9] = [2.0, 2.0, 2.0]
    varied = rows_of(nine)
    varied[2][7] = 1.5
    everywhere = with_channels(MAN, POSITIONS + ZXY + SCALES)
    proper = set_bone(MAN, "Spine", channels=("Zrotation", "Xrotation", "Zrotation"))
    height = with_channels(MAN, ZXY, root=("Yposition", *ZXY))
    lines = bvh_lines(MAN, rows_of(MAN))
    text = "\n".join(lines)
    spine = "CHANNELS 3 Zrotation Xrotation Yrotation"

    def counted(count: str) -> bytes:
        return text.replace(spine, spine.replace("3", count, 1), 1).encode()

    none = replace(set_bone(MAN, "Head", channels=()), name="Hips")
    none_lines = [x for x in bvh_lines(none, rows_of(none)) if not x.endswith("CHANNELS 0 ")]
    six_lines = bvh_lines(MAN, rows_of(MAN))
    return [
        case("a_joint_with_0_channels", set_bone(MAN, "Head", channels=()), None, None),
        case("a_joint_with_1_channel",
             set_bone(MAN, "LeftLeg", channels=("Xrotation",)), None, None),
        case("a_joint_with_2_channels",
             set_bone(MAN, "LeftLeg", channels=("Yrotation", "Xrotation")), None, None),
        # A root that only goes up and down; the other coordinates stay at the offset, zero.
        case("root_with_height_alone", height, None, None),
        # Z X Z is a rotation sequence like any other; a reader may also decline it.
        is_either("proper_euler_sequence", encoded(bvh_lines(proper, rows_of(proper))),
                  reading(proper, rows_of(proper)), repair=None,
                  lines=line_of(bvh_lines(proper, []), "Zrotation Xrotation Zrotation")),
        # Scale channels without an effect can be ignored.
        case("nine_channels_scale_one", nine, None, True),
        case("nine_channels_everywhere", everywhere, None, True),
        # Scale that says something has no place in a skeleton of fixed bones.
        is_refused("nine_channels_scale_two", encoded(bvh_lines(nine, scaled)), "scale"),
        is_refused("nine_channels_scale_varies", encoded(bvh_lines(nine, varied)), "scale"),
        # Six promised, three named, and the rows hold three: the names are right.
        is_either("channel_count_too_high", counted("6"), reading(MAN, rows_of(MAN)),
                  lines=line_of(lines, spine)),
        is_either("channel_count_too_low", counted("2"), reading(MAN, rows_of(MAN)),
                  lines=line_of(lines, spine)),
        # More digits than Python turns into a number.
        is_either("channel_count_of_5000_digits", counted("9" * 5000), reading(MAN, rows_of(MAN)),
                  lines=line_of(lines, spine)),
        # Neither the count nor the names fit the rows.
        is_refused("channel_count_fits_nothing",
                   text.replace(spine, "CHANNELS 4 Zrotation Xrotation", 1).encode(),
                   lines=(line_of(lines, spine), len(lines) - 3)),
        is_refused("channel_unknown", text.replace(spine, spine.replace("Xr", "Wr"), 1).encode(),
                   "Wrotation", lines=line_of(lines, spine)),
        is_refused("channel_twice", text.replace(
                       "Xposition Yposition Zposition", "Xposition Xposition Zposition").encode(),
                   "Xposition", lines=line_of(lines, "Xposition")),
        is_refused("channel_count_no_number", counted("three"), lines=line_of(lines, spine)),
        is_refused("channel_count_negative", counted("-3"), lines=line_of(lines, spine)),
        # Channels with commas between them.
        is_either("channels_with_commas", text.replace(spine, "CHANNELS 3 Zrotation, Xrotation, "
                  "Yrotation", 1).encode(), reading(MAN, rows_of(MAN)),
                  lines=line_of(lines, spine)),
        # A joint without a CHANNELS line cannot move; its rows have no values for it.
        is_either("channels_missing", encoded(none_lines), reading(none, rows_of(none))),
        # ... but here they do: the owner of a column is ambiguous.
        is_refused("channels_missing_values_there",
                   encoded([x for i, x in enumerate(six_lines, 1) if i != line_of(lines, spine)])),
        # Two CHANNELS lines for one joint.
        is_refused("channels_given_twice",
                   text.replace("\t\t" + spine, f"\t\t{spine}\n\t\t{spine}", 1).encode(),
                   lines=(line_of(lines, spine) + 1, len(lines) - 2)),
        # Rows cannot be dealt out when a joint names its channels behind its children's.
        is_either("channels_behind_children", encoded(_channels_last()),
                  reading(MAN, rows_of(MAN)), repair=None),
    ]  # fmt: skip


def _channels_last() -> list[str]:
    lines = bvh_lines(MAN, rows_of(MAN))
    row = lines.pop(line_of(lines, "CHANNELS 3") - 1)
    lines.insert(lines.index("\t}"), row)
    return lines


def channels() -> list[Odd]:
    return [*rotation_orders(), *position_channels(), *zero_positions(), *rest_poses(),
            *channel_counts()]  # fmt: skip
