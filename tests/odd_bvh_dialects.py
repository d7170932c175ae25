"""Odd but readable: how exporters of the field spell, space and encode BVH."""

from __future__ import annotations

import re
from dataclasses import replace

from odd_bvh_model import (
    MAN,
    Bone,
    Odd,
    bones_of,
    bvh_lines,
    encoded,
    is_either,
    is_read,
    number,
    reading,
    rows_of,
)

ROWS = rows_of(MAN)
LINES = bvh_lines(MAN, ROWS)
TRUTH = reading(MAN, ROWS)
HEAD = LINES[: LINES.index("MOTION")]
FIRST_ROW = LINES.index("MOTION") + 3  # index of the first row of values


def edited(old: str, new: str, count: int = 1) -> list[str]:
    """The plain file with the first `count` occurrences of `old` replaced (all: -1)."""
    text = "\n".join(LINES)
    assert old in text
    return text.replace(old, new, count).split("\n")


def renamed(old: str, new: str) -> Bone:
    """The plain skeleton with one joint called differently."""

    def walk(bone: Bone) -> Bone:
        name = new if bone.name == old else bone.name
        return replace(bone, name=name, children=tuple(walk(c) for c in bone.children))

    return walk(MAN)


def named(case: str, old: str, new: str, repair=None, encoding="utf-8", names=True) -> Odd:
    bone = renamed(old, new)
    wanted = reading(bone, ROWS)
    if not names:
        wanted = replace(wanted, names=None)
    return is_read(case, encoded(bvh_lines(bone, ROWS), encoding), wanted, repair)


def with_values(case: str, values: dict[tuple[int, int], tuple[str, float]], **options) -> Odd:
    """The plain file with some values spelled as given: (row, column) -> (text, value)."""
    rows = [list(row) for row in ROWS]
    texts = [[number(v) for v in row] for row in rows]
    for (t, c), (text, value) in values.items():
        texts[t][c], rows[t][c] = text, value
    lines = LINES[:FIRST_ROW] + [" ".join(row) for row in texts]
    return is_read(case, encoded(lines), reading(MAN, rows), **options)


def line_ends() -> list[Odd]:
    text = "\n".join(LINES)
    return [
        # The reference file itself: nothing odd, so nothing may be "repaired".
        is_read("plain", encoded(LINES), TRUTH, False),
        # All of CMU's conversion has CRLF; the format never said which line end.
        is_read("crlf", ("\r\n".join(LINES) + "\r\n").encode(), TRUTH, False),
        # Classic Mac line ends: lines are still lines.
        is_read("cr_only", ("\r".join(LINES) + "\r").encode(), TRUTH),
        # CRLF put through a second conversion: every other line is blank.
        is_read("cr_cr_lf", ("\r\r\n".join(LINES) + "\r\r\n").encode(), TRUTH),
        # Header edited on one system, rows appended on another.
        is_read("mixed_line_ends", text.replace("\n", "\r\n", 12).encode() + b"\n", TRUTH),
        # Editors strip the last line end; the last row is complete all the same.
        is_read("no_trailing_newline", text.encode(), TRUTH, False),
        # A few empty lines at the end mean nothing.
        is_read("blank_lines_at_the_end", encoded([*LINES, "", "  ", "", ""]), TRUTH, False),
        # Each row followed by an empty line: rows are what has numbers in it.
        is_read(
            "blank_lines_between_rows",
            encoded(LINES[:FIRST_ROW] + [x for row in LINES[FIRST_ROW:] for x in (row, "")]),
            TRUTH,
        ),
        # A blank line after every line of the hierarchy.
        is_read("blank_lines_in_hierarchy", text.replace("\n", "\n\n", 20).encode(), TRUTH),
        # Most exporters leave a space at each row's end.
        is_read("trailing_spaces", encoded([line + "  " for line in LINES]), TRUTH, False),
        # Tabs and runs of spaces are white space like any other.
        is_read(
            "tabs_between_values",
            encoded([*HEAD, *(line.replace(" ", "\t") for line in LINES[FIRST_ROW - 3 :])])
            .replace(b"Frame\tTime", b"Frame Time"),
            TRUTH,
        ),
        is_read("runs_of_spaces", text.replace(" ", "    ").replace("Frame    Time", "Frame Time")
                .replace("End    Site", "End Site").encode(), TRUTH),
        # Indentation is for people.
        is_read("no_indentation", encoded([line.strip() for line in LINES]), TRUTH, False),
        # Rows set in from the margin.
        is_read("rows_indented", encoded([*LINES[:FIRST_ROW], *(
            " \t " + row for row in LINES[FIRST_ROW:])]), TRUTH, False),
        # The file starts a few lines late.
        is_read("blank_lines_at_the_start", b"\n \n\t\n" + encoded(LINES), TRUTH),
        is_read("blank_lines_behind_motion", encoded(edited("MOTION\n", "MOTION\n\n \n")), TRUTH),
        # Tabs wherever the hierarchy has a space.
        is_read("tabs_in_hierarchy", "\n".join(
            [*(x.replace(" ", "\t").replace("End\tSite", "End Site") for x in HEAD),
             *LINES[len(HEAD):]]).encode(), TRUTH),
        # Form feeds and vertical tabs are also whitespace.
        is_read("form_feeds", encoded(LINES).replace(b"MOTION", b"\x0cMOTION")
                .replace(b"\n3.2", b"\n\x0b3.2"), TRUTH),
        # A space that Unicode calls unbreakable: white space, or no BVH.
        is_either("no_break_spaces", encoded([*LINES[:FIRST_ROW], *(
            row.replace(" ", "\u00a0", 3) for row in LINES[FIRST_ROW:])]), TRUTH,
            lines=FIRST_ROW + 1),
        # MS-DOS editors end text files with Ctrl-Z.
        is_read("ctrl_z_at_the_end", encoded(LINES) + b"\x1a", TRUTH, None),
        # Padding to a disk block: the rows are whole, the rest is nothing.
        is_read("nuls_at_the_end", encoded(LINES) + b"\0" * 512, TRUTH, True),
    ]  # fmt: skip


def encodings() -> list[Odd]:
    return [
        # Windows editors put a byte order mark in front of HIERARCHY.
        is_read("utf8_bom", b"\xef\xbb\xbf" + encoded(LINES), TRUTH, True),
        # "Unicode" in Windows' save dialogue; the mark says what it is.
        is_read("utf16_le_bom", encoded(LINES, "utf-16"), TRUTH, True),
        is_read("utf16_be_bom", b"\xfe\xff" + encoded(LINES, "utf-16-be"), TRUTH, True),
        # Without a mark it can still be recognized by its NULs; refusing is fine too.
        is_either("utf16_no_bom", encoded(LINES, "utf-16-le"), TRUTH),
        named("name_utf8", "Spine", "Rücken_背骨"),
        # Bytes over 127 that are not UTF-8: names are only labels, and the motion is intact.
        named("name_latin1", "Spine", "Rücken", True, encoding="latin-1"),
        # Japanese tools write Shift-JIS; which letters come out does not matter.
        named("name_shift_jis", "Spine", "背骨", True, encoding="shift-jis", names=False),
        # A line separator to Unicode, but not to the format.
        is_either(
            "name_with_u2028",
            encoded(bvh_lines(renamed("Spine", "Sp\u2028ine"), ROWS)),
            replace(reading(renamed("Spine", "Sp\u2028ine"), ROWS), names=None),
            repair=None,
        ),
    ]  # fmt: skip


def names() -> list[Odd]:
    spaced = renamed("LeftUpLeg", "Bip01 L Thigh")
    return [
        named("name_with_colon", "Hips", "mixamorig:Hips", False),
        named("name_with_dot", "LeftLeg", "shin.L", False),
        named("name_with_hyphen", "LeftLeg", "left-leg", False),
        # 3ds Max: the name is the rest of the line.
        named("name_with_spaces", "LeftUpLeg", "Bip01 L Thigh"),
        # ... up to the brace.
        is_read(
            "name_with_spaces_and_brace",
            "\n".join(bvh_lines(spaced, ROWS)).replace("Thigh\n\t{", "Thigh {").encode(),
            reading(spaced, ROWS),
        ),
        named("name_ends_in_end", "Head", "HeadEnd", False),
        named("name_is_end", "Head", "End", None),
        named("name_is_site", "Head", "Site", None),
        named("name_is_end_site", "Head", "End Site", None),
        named("name_starts_with_end", "LeftLeg", "EndEffector", False),
        named("name_is_joint", "Hips", "JOINT", None),
        named("name_is_motion", "Spine", "MOTION", None),
        named("name_contains_motion", "Spine", "EMOTION_MOTION", False),
        named("name_is_frames", "Spine", "Frames:", None),
        named("name_is_offset", "Spine", "OFFSET", None),
        named("name_is_a_number", "Spine", "12.5", None),
        # Quotes around a name: kept or taken off.
        is_either(
            "name_in_quotes",
            encoded(edited("JOINT Spine", 'JOINT "Spine"')),
            replace(TRUTH, names=None),
            repair=None,
            lines=6,
        ),
        # The name on a line of its own: the next word, or a fault.
        is_either(
            "name_on_the_next_line",
            encoded(edited("JOINT Spine", "JOINT\n\tSpine")),
            TRUTH,
            lines=(6, 7),
            repair=None,
        ),
        is_either(
            "name_missing_before_brace",
            encoded(edited("JOINT Spine\n\t{", "JOINT {")),
            replace(TRUTH, names=None),
            lines=(6, 7),
        ),
        # Full paths of the rig as names grow long.
        is_either(
            "name_of_300_characters",
            encoded(bvh_lines(b := renamed("Head", "group|" * 50), ROWS)),
            reading(b, ROWS),
            repair=None,
            lines=10,
        ),
        # Joint names may differ only in case: left and LEFT are two joints.
        is_read(
            "names_differ_in_case",
            encoded(bvh_lines(b := renamed("RightLeg", "LEFTLEG"), ROWS)),
            reading(b, ROWS),
            False,
        ),
        # Two joints of one name: the tree is clear, the second needs another name.
        is_either(
            "duplicate_names",
            encoded(bvh_lines(b := renamed("RightLeg", "LeftLeg"), ROWS)),
            replace(reading(b, ROWS), names=None),
            "LeftLeg",
        ),
        # A child called like its parent.
        is_either(
            "name_like_its_parent",
            encoded(bvh_lines(b := renamed("Head", "Spine"), ROWS)),
            replace(reading(b, ROWS), names=None),
            "Spine",
        ),
        # A joint without any name.
        is_either(
            "name_missing",
            encoded(edited("JOINT Spine", "JOINT")),
            replace(TRUTH, names=None),
            lines=tuple(range(6, 9)),
        ),
    ]


def keywords() -> list[Odd]:
    lower = re.compile("|".join(["HIERARCHY", "ROOT", "JOINT", "OFFSET", "CHANNELS", "End Site",
                                 "MOTION", "Frames:", "Frame Time:"]))  # fmt: skip
    text = "\n".join(LINES) + "\n"
    return [
        is_read("keywords_lower", lower.sub(lambda m: m[0].lower(), text).encode(), TRUTH, True),
        is_read("keywords_title", lower.sub(lambda m: m[0].title(), text).encode(), TRUTH, True),
        is_read("keywords_upper", lower.sub(lambda m: m[0].upper(), text).encode(), TRUTH, True),
        is_read("end_site_lower", text.replace("End Site", "End site").encode(), TRUTH, True),
        # "XRotation": the letter case of channels is as harmless as that of keywords.
        is_read(
            "channels_other_case",
            text.replace("rotation", "Rotation").replace("Xposition", "XPOSITION").encode(),
            TRUTH,
            True,
        ),
        # A label for the tip; its offset is what counts.
        is_read("end_sites_named", text.replace("End Site", "End Site tip").encode(), TRUTH, True),
        # "End HeadTip" is the same thought, spelled shorter.
        is_either(
            "end_without_site", encoded(edited("End Site", "End HeadTip")), TRUTH, lines=18
        ),
        # A leaf may simply end.
        is_read(
            "end_sites_missing",
            encoded(bvh_lines(b := _without_ends(MAN), ROWS)),
            replace(reading(b, ROWS), ends=None),
        ),
        # A comment is not valid BVH, but it is harmless.
        is_either("comment_hash", encoded(["# made by hand", *LINES]), TRUTH, lines=1),
        is_either(
            "comment_slashes", encoded(edited("\tJOINT Spine", "\t// back\n\tJOINT Spine")), TRUTH,
            lines=6,
        ),
        is_either(
            "comment_behind_offset",
            encoded(edited("OFFSET 0.0000 20.0000 -1.5000",
                           "OFFSET 0.0000 20.0000 -1.5000 # up")),
            TRUTH, lines=8,
        ),
        # The first word is missing, everything else is there.
        is_either("hierarchy_keyword_missing", encoded(LINES[1:]), TRUTH, "HIERARCHY"),
        # "Frames:" can only follow the hierarchy.
        is_either(
            "motion_keyword_missing", encoded([x for x in LINES if x != "MOTION"]), TRUTH, "MOTION"
        ),
        # The rows can be counted.
        is_either(
            "frames_line_missing",
            encoded([x for x in LINES if not x.startswith("Frames:")]), TRUTH, "Frames",
        ),
        is_either("frames_without_colon", encoded(edited("Frames: 4", "Frames 4")), TRUTH),
        is_read("frames_without_space", encoded(edited("Frames: 4", "Frames:4")), TRUTH),
        is_read("frames_with_point", encoded(edited("Frames: 4", "Frames: 4.0")), TRUTH, True),
        is_read("frames_tab", encoded(edited("Frames: 4", "Frames:\t4")), TRUTH, False),
        is_read("frame_time_other_case", encoded(edited("Frame Time", "Frame time")), TRUTH, True),
        is_either("frame_time_as_one_word", encoded(edited("Frame Time", "FrameTime")), TRUTH),
        is_either("frame_time_with_unit", encoded(edited("0.0083333", "0.0083333 sec")), TRUTH,
                  lines=(FIRST_ROW, FIRST_ROW + 1)),
        # Words of one statement on several lines.
        is_read("offset_over_two_lines", encoded(edited("20.0000 -1.5000", "20.0000\n-1.5000")),
                TRUTH),
        is_read("channels_over_two_lines", encoded(edited("Zposition Z", "Zposition\n\tZ")), TRUTH),
        is_either("frame_time_first", encoded(_swapped()), TRUTH),
        is_either(
            "frames_and_time_on_one_line",
            encoded(edited("Frames: 4\nFrame", "Frames: 4 Frame")), TRUTH, repair=None,
        ),
        is_either("motion_and_frames_on_one_line",
                  encoded(edited("MOTION\n", "MOTION ")), TRUTH, repair=None),
        # Joint after joint, all on one line: the format is made of words, not of lines.
        is_read("hierarchy_on_one_line", encoded([" ".join(x.strip() for x in HEAD),
                                                  *LINES[len(HEAD):]]), TRUTH),
        is_read("brace_on_the_same_line", re.sub(r"\n\t*\{", " {", text).encode(), TRUTH),
        is_read("brace_without_space", re.sub(r"(JOINT \w+)\n\t*\{", r"\1{", text).encode(), TRUTH),
        is_read("closing_brace_behind_offset",
                re.sub(r"(OFFSET [^\n]*)\n\t*\}", r"\1 }", text).encode(), TRUTH),
        is_read("closing_braces_together", re.sub(r"\}\n\t*\}", "} }", text).encode(), TRUTH),
        # OFFSET behind CHANNELS says the same.
        is_read("channels_before_offset",
                re.sub(r"(\t*OFFSET [^\n]*\n)(\t*CHANNELS [^\n]*\n)", r"\2\1", text).encode(),
                TRUTH),
        # OFFSET behind the children still belongs to the joint around it.
        is_read("offset_behind_children", encoded(_offset_last()), TRUTH),
    ]  # fmt: skip


def _without_ends(bone: Bone) -> Bone:
    return replace(bone, end=None, children=tuple(_without_ends(c) for c in bone.children))


def _swapped() -> list[str]:
    lines = list(LINES)
    i = FIRST_ROW - 2
    lines[i], lines[i + 1] = lines[i + 1], lines[i]
    return lines


def _offset_last() -> list[str]:
    """The Spine's OFFSET line moved behind its child's block."""
    lines = list(LINES)
    offset = lines.pop(lines.index("\t\tOFFSET 0.0000 20.0000 -1.5000"))
    lines.insert(lines.index("\t}"), offset)
    return lines


def dialects() -> list[Odd]:
    assert len(bones_of(MAN)) == 7
    return [
        *line_ends(), *encodings(), *names(), *keywords(),
    ]  # fmt: skip
