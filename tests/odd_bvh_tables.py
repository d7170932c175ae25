"""Odd but readable: numbers, frame counts, rows and trees of unusual shape."""

from __future__ import annotations

from dataclasses import replace

from odd_bvh_dialects import FIRST_ROW, LINES, ROWS, TRUTH, edited, with_values
from odd_bvh_model import (
    MAN,
    POSITIONS,
    ZXY,
    Bone,
    Odd,
    bvh_lines,
    encoded,
    hierarchy_lines,
    is_either,
    is_read,
    motion_lines,
    reading,
    rows_of,
)


def numbers() -> list[Odd]:
    # Columns: 0-2 root position, 3-5 root rotation, then three per joint.
    return [
        is_read("frame_time_without_zero", encoded(bvh_lines(MAN, ROWS, time=".0083333")),
                TRUTH, False),
        is_read("frame_time_tab", encoded(edited("Time: ", "Time:\t")), TRUTH, False),
        is_read("frame_time_without_space", encoded(edited("Time: ", "Time:")), TRUTH),
        is_read("frame_time_exponent", encoded(bvh_lines(MAN, ROWS, time="8.3333E-003")),
                TRUTH, False),
        # 0.0333 is what people write for 30 Hz; exact or nominal rate, both are right.
        is_read("frame_time_rounded", encoded(bvh_lines(MAN, ROWS, time="0.0333")),
                reading(MAN, ROWS, fps=30.0, fps_tolerance=2e-3), None),
        is_read("frame_time_one_second", encoded(bvh_lines(MAN, ROWS, time="1")),
                reading(MAN, ROWS, fps=1.0), None),
        # NTSC rates are rates of their own.
        is_read("frame_time_ntsc", encoded(bvh_lines(MAN, ROWS, time="0.0333667")),
                reading(MAN, ROWS, fps=30000 / 1001), False),
        with_values("exponents", {
            (0, 3): ("1e-05", 1e-5), (0, 4): ("1.5E+001", 15.0), (1, 0): ("3.1e0", 3.1),
            (1, 7): ("-2.5e+01", -25.0), (2, 8): ("4.0E-003", 0.004)}, repair=False),
        with_values("leading_plus", {(0, 3): ("+1.5", 1.5), (3, 9): ("+20", 20.0)}, repair=None),
        with_values("bare_points", {(0, 3): ("1.", 1.0), (1, 4): (".5", 0.5),
                                    (2, 5): ("-.5", -0.5)}, repair=False),
        with_values("leading_zeros", {(0, 3): ("00012.5", 12.5), (1, 4): ("-007", -7.0)},
                    repair=False),
        with_values("underflow", {(0, 3): ("1e-400", 0.0), (1, 4): ("-4.9e-324", 0.0)},
                    repair=None),
        with_values("integers", {(0, 3): ("10", 10.0), (1, 4): ("-7", -7.0)}, repair=False),
        with_values("negative_zero", {(0, 3): ("-0.0", 0.0), (1, 4): ("-0", 0.0),
                                      (2, 5): ("-0.0000e+00", 0.0)}, repair=False),
        with_values("many_digits", {(0, 3): ("12.345678901234567890123456789", 12.345678901234568),
                                    (1, 4): ("0." + "0" * 60 + "1", 0.0)}, repair=False),
        # Angles are not wrapped by every exporter.
        with_values("angles_over_360", {(0, 3): ("725.5", 725.5), (1, 7): ("-1090.25", -1090.25),
                                        (2, 8): ("36010", 36010.0)}, repair=False),
        # Far away from the origin, but a place.
        with_values("far_away", {(2, 0): ("123456.75", 123456.75)}, repair=None),
        # A Fortran program's exponent.
        replace(with_values("exponent_d", {(1, 3): ("1.25D+01", 12.5)}, repair=True),
                verdict="either", lines=(FIRST_ROW + 2,)),
        # Fixed-width output ran two columns together: a minus can only start a number.
        with_values("values_without_space",
                    {(1, 3): ("0.0-7.509", 0.0), (1, 4): ("", -7.509)}, repair=True),
        with_values("values_without_space_behind_exponent",
                    {(1, 3): ("1e-05-7.509", 1e-5), (1, 4): ("", -7.509)}, repair=True),
    ]  # fmt: skip


def rows() -> list[Odd]:
    body = LINES[FIRST_ROW:]
    start = LINES[:FIRST_ROW]
    wrapped = [" ".join(row.split()[k : k + 7]) for row in body for k in range(0, 24, 7)]
    first = rows_of(MAN, 1)
    return [
        # Assimp's Boxing_Toes declares 3069 and holds 3070: the rows are there.
        is_read("frames_declared_one_less", encoded(bvh_lines(MAN, ROWS, frames=3)), TRUTH, True),
        is_read("frames_declared_one_more", encoded(bvh_lines(MAN, ROWS, frames=5)), TRUTH, True),
        # Far off: a cut copy or a stale header. Not a thing to pass over in silence.
        is_either("frames_declared_far_more", encoded(bvh_lines(MAN, ROWS, frames=4000)), TRUTH,
                  "4000"),
        is_either("frames_declared_far_less", encoded(bvh_lines(MAN, rows_of(MAN, 40), frames=2)),
                  reading(MAN, rows_of(MAN, 40)), "40"),
        is_either("frames_negative", encoded(bvh_lines(MAN, ROWS, frames=-4)), TRUTH,
                  lines=FIRST_ROW - 1),
        is_either("frames_no_number", encoded(bvh_lines(MAN, ROWS, frames="many")), TRUTH,
                  lines=FIRST_ROW - 1),
        is_read("one_frame", encoded(bvh_lines(MAN, first)), reading(MAN, first), False),
        # A skeleton without motion: an empty motion or a refusal, as long as it is clear.
        is_either("zero_frames", encoded(bvh_lines(MAN, [])), reading(MAN, []), repair=None),
        # 24 values over four lines: whole frames come out.
        is_read("rows_wrapped", encoded(start + wrapped), TRUTH, True),
        is_read("rows_all_on_one_line", encoded([*start, " ".join(body)]), TRUTH, True),
        is_read("one_value_per_line", encoded([*start, *" ".join(body).split()]), TRUTH, True),
        # A stream of values, ten to the line, whatever the frames are: the count decides.
        is_either("rows_as_a_stream", encoded([*start, *(
            " ".join(" ".join(body).split()[k : k + 10]) for k in range(0, 96, 10))]), TRUTH,
            lines=FIRST_ROW + 1),
        # Two frames per line.
        is_read("two_rows_per_line", encoded([*start, " ".join(body[:2]), " ".join(body[2:])]),
                TRUTH, True),
        # Spreadsheets put commas between columns.
        is_either("rows_comma_separated", encoded([*start, *(r.replace(" ", ",") for r in body)]),
                  TRUTH, lines=FIRST_ROW + 1),
        is_either("rows_comma_and_space", encoded([*start, *(r.replace(" ", ", ") for r in body)]),
                  TRUTH, lines=FIRST_ROW + 1),
        # German or French exporters: a comma between digits can only be the point.
        is_either("decimal_commas", encoded([*start, *(r.replace(".", ",") for r in body)]), TRUTH,
                  lines=FIRST_ROW + 1),
        is_either("decimal_comma_in_frame_time", encoded(bvh_lines(MAN, ROWS, time="0,0083333")),
                  TRUTH, lines=FIRST_ROW),
    ]  # fmt: skip


def large() -> list[Odd]:
    """Trees of unusual shape."""

    def hand(side: int) -> Bone:
        def finger(f: int) -> Bone:
            bone = Bone(f"s{side}_f{f}_2", (2, 0, 0), end=(1.5, 0, 0))
            for k in (1, 0):
                bone = Bone(f"s{side}_f{f}_{k}", (2 + k, 0.1 * f, 0), children=(bone,))
            return bone

        return Bone(
            f"hand{side}", (12.0 * side, 5, 0), children=tuple(finger(f) for f in range(16))
        )

    rig = Bone("reference", (0, 0, 0), POSITIONS + ZXY, tuple(hand(s) for s in range(1, 11)))
    rig_rows = rows_of(rig, 3)
    chain = Bone("c60", (0, 1, 0), end=(0, 1, 0))
    for k in range(59, 0, -1):
        chain = Bone(f"c{k}", (0.2, 1, 0), children=(chain,))
    chain = Bone("c0", (0, 0, 0), POSITIONS + ZXY, (chain,))
    chain_rows = [[v * 0.1 for v in row] for row in rows_of(chain, 2)]
    chain_rows = [[round(v, 4) for v in row] for row in chain_rows]
    lone = Bone("camera", (0, 0, 0), POSITIONS + ZXY, end=(0, 0, 10))
    two_tips = bvh_lines(MAN, ROWS)
    two_tips[13:13] = two_tips[13:17]  # the head's End Site, twice
    tip_first = [x for x in hierarchy_lines(replace(MAN, end=(0, 5, 5)))]
    tips = tip_first[-5:-1]  # the root's own End Site, moved before its children
    both = ["HIERARCHY", *tip_first[:4], *tips, *tip_first[4:-5], "}", *motion_lines(ROWS)]
    return [
        # An exporter that keeps every helper of the rig: 500 joints and more.
        is_read("rig_of_500_joints", encoded(bvh_lines(rig, rig_rows)), reading(rig, rig_rows),
                False),
        is_read("chain_of_61_joints", encoded(bvh_lines(chain, chain_rows)),
                reading(chain, chain_rows), False),
        # A prop or a camera: one joint.
        is_read("a_single_joint", encoded(bvh_lines(lone, rows_of(lone))),
                reading(lone, rows_of(lone)), False),
        # A hand may have two tips.
        is_read("two_end_sites", encoded(two_tips), replace(reading(MAN, ROWS), ends=None)),
        # A tip and children under one joint, the tip first.
        is_read("end_site_before_children", encoded(both),
                replace(reading(MAN, ROWS), ends=None)),
    ]  # fmt: skip


def tables() -> list[Odd]:
    return [*numbers(), *rows(), *large()]
