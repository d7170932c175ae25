"""Damaged files: what has no one sensible reading is refused, with the line to blame."""

from __future__ import annotations

import gzip
from dataclasses import replace

from odd_bvh_dialects import FIRST_ROW, HEAD, LINES, ROWS, TRUTH, edited, with_values
from odd_bvh_model import (
    MAN,
    Bone,
    Odd,
    bvh_lines,
    encoded,
    hierarchy_lines,
    is_either,
    is_read,
    is_refused,
    line_of,
    motion_lines,
    reading,
    rows_of,
)

SPINE_OFFSET = "OFFSET 0.0000 20.0000 -1.5000"
SPINE_OFFSET_LINE = line_of(LINES, SPINE_OFFSET)


def structure() -> list[Odd]:
    leg = line_of(LINES, "RightLeg")
    no_end = [*HEAD[:-1], *LINES[len(HEAD) :]]
    early = list(LINES)
    early.insert(line_of(LINES, "JOINT LeftUpLeg") - 1, "}")
    unclosed = list(LINES)
    unclosed.pop(line_of(LINES, "JOINT LeftUpLeg") - 2)  # Spine is never closed
    no_offset = [x for x in LINES if SPINE_OFFSET not in x]
    straight = replace(
        MAN, children=(replace(MAN.children[0], offset=(0, 0, 0)), *MAN.children[1:])
    )
    unopened = list(LINES)
    unopened.pop(line_of(LINES, "JOINT Spine"))
    second = Bone("Sword", (0, 0, 0), MAN.channels, end=(0, 0, 80))
    pair = [["HIERARCHY", *hierarchy_lines(MAN), *hierarchy_lines(second)], []]
    pair[1] = motion_lines([a + b for a, b in zip(ROWS, rows_of(second), strict=True)])
    end = line_of(LINES, "End Site")
    return [
        is_refused("empty", b""),
        is_refused("white_space_only", b" \r\n\t\n \n"),
        is_refused("not_bvh_at_all", b"time,x,y,z\n0,1,2,3\n", lines=1),
        is_refused("html_error_page", b"<!DOCTYPE html>\n<html><body>404</body></html>\n", lines=1),
        is_refused("gzip", gzip.compress(encoded(LINES))),
        is_refused("end_of_file_in_hierarchy", encoded(LINES[:20]), lines=(20, 21)),
        is_refused("end_of_file_in_offset", encoded(LINES[:8])[:-12], lines=(8, 9)),
        is_refused("hierarchy_alone", encoded(HEAD), "MOTION"),
        is_refused("motion_alone", encoded(LINES[len(HEAD) :]), lines=1),
        is_refused("header_without_rows", encoded(LINES[:FIRST_ROW])),
        # MOTION can only come when every block is closed, but a forgotten last brace harms nobody.
        is_either("last_brace_missing", encoded(no_end), TRUTH),
        # In the middle it does: was LeftUpLeg meant to hang under Spine?
        is_refused("brace_missing_in_the_middle", encoded(unclosed)),
        is_either("one_brace_too_many_at_the_end", encoded([*HEAD, "}", *LINES[len(HEAD) :]]),
                  TRUTH, lines=len(HEAD) + 1),
        # The root is closed early: whose children are the legs?
        is_refused("one_brace_too_many_in_the_middle", encoded(early),
                   lines=tuple(range(line_of(early, "}", 3), len(HEAD) + 2))),
        is_either("opening_brace_missing", encoded(unopened), TRUTH,
                  lines=(line_of(LINES, "JOINT Spine"), line_of(LINES, "JOINT Spine") + 1)),
        is_either("root_keyword_missing", encoded(edited("ROOT Hips", "JOINT Hips")), TRUTH,
                  "ROOT"),
        is_refused("joint_keyword_unknown", encoded(edited("JOINT RightLeg", "BONE RightLeg")),
                   "BONE", lines=leg),
        is_either("offset_missing", encoded(no_offset), reading(straight, ROWS), "OFFSET"),
        is_refused("offset_of_two", encoded(edited(SPINE_OFFSET, "OFFSET 0.0 20.0")),
                   lines=(SPINE_OFFSET_LINE, SPINE_OFFSET_LINE + 1)),
        is_refused("offset_of_four", encoded(edited(SPINE_OFFSET, SPINE_OFFSET + " 7.0")),
                   lines=SPINE_OFFSET_LINE),
        # NVIDIA's SOMA files: place and angles of the rest pose. Channels do not add to either.
        is_read("offset_of_six", encoded(edited(SPINE_OFFSET, SPINE_OFFSET + " 90.0 0.5 -3")),
                TRUTH, True),
        is_refused("offset_of_seven", encoded(edited(SPINE_OFFSET, SPINE_OFFSET + " 1 2 3 4")),
                   "found 7", lines=SPINE_OFFSET_LINE),
        is_refused("offset_no_number", encoded(edited(SPINE_OFFSET, "OFFSET 0 twenty 0")), "twenty",
                   lines=SPINE_OFFSET_LINE),
        is_refused("offset_nan", encoded(edited(SPINE_OFFSET, "OFFSET 0 nan 0")),
                   lines=SPINE_OFFSET_LINE),
        is_refused("offset_infinite", encoded(edited(SPINE_OFFSET, "OFFSET 0 1e400 0")),
                   lines=SPINE_OFFSET_LINE),
        is_refused("offset_given_twice", encoded(edited(
                       SPINE_OFFSET, SPINE_OFFSET + "\n\t\tOFFSET 1.0 2.0 3.0")),
                   "OFFSET", lines=SPINE_OFFSET_LINE + 1),
        # An end without a place.
        is_either("end_site_without_offset", encoded(edited(
                  "\t\t\t\tOFFSET 0.0000 15.0000 0.0000\n", "")),
                  replace(TRUTH, ends=None), lines=(14, 15, 16)),
        # No channels is what an end site has; saying so is odd, not wrong.
        is_either("end_site_with_0_channels", encoded(edited("OFFSET 0.0000 15.0000 0.0000",
                  "OFFSET 0.0000 15.0000 0.0000\n\t\t\t\tCHANNELS 0")), TRUTH, lines=17),
        is_refused("end_site_with_channels", encoded(edited("OFFSET 0.0000 15.0000 0.0000",
                   "OFFSET 0.0000 15.0000 0.0000\n\t\t\t\tCHANNELS 1 Xrotation")),
                   lines=(17, FIRST_ROW + 2)),
        is_either("offset_with_commas", encoded(edited(
                      SPINE_OFFSET, "OFFSET 0.0000, 20.0000, -1.5000")), TRUTH,
                  lines=SPINE_OFFSET_LINE),
        is_refused("joint_in_end_site", encoded([*LINES[: end + 1], *hierarchy_lines(
                       replace(second, name="Odd"), "JOINT"), *LINES[end + 1 :]]),
                   lines=tuple(range(end, end + 9))),
        # Two skeletons in one file: a motion has one. Choose with root=, or keep both apart.
        is_either("two_roots", encoded([*pair[0], *pair[1]]), None, "root"),
        is_read("two_roots_the_first", encoded([*pair[0], *pair[1]]), TRUTH, None, skeleton="Hips"),
        is_read("two_roots_the_second", encoded([*pair[0], *pair[1]]),
                reading(second, rows_of(second)), None, skeleton="Sword"),
        is_refused("two_roots_neither", encoded([*pair[0], *pair[1]]), "Hips", "Sword",
                   skeleton="Shield"),
        # A file appended to itself.
        is_either("file_twice", encoded([*LINES, *LINES]), TRUTH, lines=len(LINES) + 1),
        is_either("text_behind_the_rows", encoded([*LINES, "END"]), TRUTH, lines=len(LINES) + 1),
    ]  # fmt: skip


def timing() -> list[Odd]:
    line = FIRST_ROW  # number of the Frame Time line
    assert LINES[line - 1].startswith("Frame Time")
    without = [x for x in LINES if not x.startswith("Frame Time")]
    slow = replace(TRUTH, fps=60.0)

    def time(text) -> bytes:
        return encoded(bvh_lines(MAN, ROWS, time=text))

    return [
        # A rate cannot be guessed; the message should say how to give it.
        is_refused("frame_time_missing", encoded(without), "Frame Time"),
        is_either("frame_time_missing_but_given", encoded(without), slow, repair=None, fps=60),
        is_refused("frame_time_zero", time("0"), lines=line),
        is_either("frame_time_zero_but_given", time("0.000000"), slow, repair=None, fps=60),
        is_refused("frame_time_negative", time("-0.0083333"), lines=line),
        is_refused("frame_time_nan", time("nan"), lines=line),
        is_refused("frame_time_infinite", time("inf"), lines=line),
        is_refused("frame_time_no_number", time("fast"), lines=line),
        # The value belongs on the same line; the first row's first number is none.
        is_refused("frame_time_empty", time(""), lines=line),
        # The first row behind the frame time, without a line end.
        is_either(
            "row_on_the_frame_time_line",
            encoded(edited("0.0083333\n", "0.0083333 ")),
            TRUTH,
            lines=(line, line + 1),
        ),
        is_either(
            "frames_number_missing", encoded(edited("Frames: 4", "Frames:")), TRUTH, lines=line - 1
        ),
        is_read("frame_rate_overruled", time("0.0083333"), slow, False, fps=60),
    ]


def rows() -> list[Odd]:
    line = FIRST_ROW + 3  # number of the third row
    third = LINES[line - 1]
    values = third.split()

    def third_row(text: str) -> bytes:
        return encoded([*LINES[: line - 1], text, *LINES[line:]])

    def sixth(text: str) -> bytes:
        return third_row(" ".join([*values[:5], text, *values[6:]]))

    cut = replace(TRUTH, frames=3, positions=TRUTH.positions[:3], ends=TRUTH.ends[:3])
    whole = encoded(LINES)
    last = len(LINES)
    missing = replace(TRUTH, compare=(0, 1, 3))
    return [
        is_refused("row_one_value_short", third_row(" ".join(values[:-1])), lines=line),
        is_refused("row_one_value_long", third_row(third + " 1.5"), lines=line),
        is_refused("rows_all_one_value_long", encoded(
            [*LINES[:FIRST_ROW], *(row + " 0.5" for row in LINES[FIRST_ROW:])]),
            lines=FIRST_ROW + 1),
        # Frame numbers in front of every row.
        is_refused("rows_numbered", encoded([*LINES[:FIRST_ROW], *(
            f"{k} {row}" for k, row in enumerate(LINES[FIRST_ROW:]))]), lines=FIRST_ROW + 1),
        is_refused("rows_for_another_skeleton", encoded(
            [*LINES[:FIRST_ROW], *(row.rsplit(" ", 3)[0] for row in LINES[FIRST_ROW:])]),
            lines=FIRST_ROW + 1),
        # A value missing here and one too many there: the sum is right, the columns are not.
        is_refused("value_moved_to_the_next_row", encoded([
            *LINES[: line - 1], " ".join(values[:-1]), f"{values[-1]} {LINES[line]}"]), lines=line),
        is_refused("word_in_a_row", sixth("oops"), "oops", lines=line),
        # Python reads 1_000 and Arabic digits as numbers. The format does not.
        is_refused("underscore_in_a_number", third_row(" ".join(["1_000", *values[1:]])), "1_000",
                   lines=line),
        is_refused("arabic_digits", third_row(" ".join(["١٢", *values[1:]])), lines=line),
        is_refused("hexadecimal", third_row(" ".join(["0x1F", *values[1:]])), "0x1F", lines=line),
        is_refused("degree_sign", sixth("12.5°"), lines=line),
        is_refused("two_points", sixth("1.2.3"), "1.2.3", lines=line),
        is_refused("two_signs", sixth("--1.5"), "--1.5", lines=line),
        is_refused("sign_at_the_end", sixth("1.5-"), lines=line),
        is_refused("sign_alone", sixth("-"), lines=line),
        is_refused("exponent_alone", sixth("e5"), "e5", lines=line),
        is_refused("exponent_without_number", sixth("1.5e"), "1.5e", lines=line),
        is_refused("exponent_with_point", sixth("1e0.5"), lines=line),
        is_refused("number_in_quotes", sixth('"1.5"'), lines=line),
        is_refused("semicolon", sixth("1.5;"), lines=line),
        is_refused("infinite_value", sixth("inf"), lines=line),
        is_refused("infinity_spelled_out", sixth("-Infinity"), lines=line),
        is_refused("value_over_all_range", sixth("1e400"), lines=line),
        # More than single precision holds: no place on earth, no angle either.
        is_refused("value_beyond_single_precision", third_row(" ".join(["1e39", *values[1:]])),
                   lines=line),
        # A missing sample: refuse it, or fill it and say so; the other frames stay as they are.
        *(
            is_either(f"not_a_number_{k}", third_row(" ".join([*values[:8], nan, *values[9:]])),
                      missing, lines=line)
            for k, nan in enumerate(["NaN", "nan", "-1.#IND", "1.#QNAN"])
        ),
        # 1,234.5 is one number with a thousands mark, or one column too many.
        replace(with_values("thousands_mark", {(2, 0): ("1,234.5", 1234.5)}, repair=True),
                verdict="either", lines=(line,)),
        # The file ends inside a row: complete rows may be kept if this is reported.
        is_either("cut_between_values", encoded([*LINES[:-1], " ".join(LINES[-1].split()[:11])]),
                  cut, lines=last),
        is_either("cut_in_a_number", whole[: -len(LINES[-1]) // 2].rstrip(), cut, lines=last),
        is_either("cut_after_a_row", encoded(LINES[:-1]), cut),
        # On request the complete part is read, and the repair is reported.
        is_read("cut_between_values_partial",
                encoded([*LINES[:-1], " ".join(LINES[-1].split()[:11])]), cut, True, partial=True),
        is_read("cut_in_a_number_partial", whole[: -len(LINES[-1]) // 2].rstrip(), cut, True,
                partial=True),
        is_read("cut_behind_a_sign_partial",
                encoded([*LINES[:-1], " ".join(LINES[-1].split()[:11])])[:-1] + b" -", cut, True,
                partial=True),
        is_read("cut_long_ago_partial", encoded(bvh_lines(MAN, ROWS, frames=4000)), TRUTH, True,
                partial=True),
        is_either("cut_in_the_first_row", encoded([*LINES[:FIRST_ROW], "1.0 2.0 3.0"]), None,
                  lines=FIRST_ROW + 1),
    ]  # fmt: skip


def damaged() -> list[Odd]:
    return [*structure(), *timing(), *rows()]
