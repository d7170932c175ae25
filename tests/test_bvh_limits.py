"""Hostile sizes: bounded memory, no hang, a clear refusal.

Files are read in a process of their own, with a limit on its memory.
"""

from __future__ import annotations

import gzip
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from odd_bvh_model import MAN, bvh_lines, encoded, line_of, rows_of

import motionloom as ml
from motionloom.errors import MotionFormatError

MEGABYTE = 1 << 20
LIMIT = 2560 * MEGABYTE
LINES = bvh_lines(MAN, rows_of(MAN))
HEAD = encoded(LINES[: LINES.index("MOTION")])
# Reads the named files, one JSON line each, also for unexpected errors.
SCRIPT = """
import json, sys, traceback
import motionloom as ml
from motionloom.errors import MotionFormatError
for file in sys.argv[1:]:
    try:
        motion = ml.load(file)
        answer = {"verdict": "read", "frames": len(motion), "repairs": motion.repairs}
    except ml.MotionFormatError as error:
        answer = {"verdict": "refused", "line": error.line, "message": str(error)}
    except BaseException:
        answer = {"verdict": "crashed", "message": traceback.format_exc()[-3000:]}
    motion = None
    print(json.dumps(answer), flush=True)
"""
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89"


def outcomes(files: list[Path], seconds: int) -> dict[Path, dict]:
    """Outcome for each file, in one process with little memory and `seconds` of CPU time."""
    source = Path(__file__).parents[1] / "src"

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))  # the same under load

    printed = subprocess.run(
        [sys.executable, "-c", SCRIPT, *map(str, files)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(source), "OPENBLAS_NUM_THREADS": "1"},
        preexec_fn=limit,
    ).stdout
    answers = [json.loads(line) for line in printed.splitlines()]
    silent = {"verdict": f"no answer within {seconds} s of CPU time, or killed"}
    answers += [silent] * (len(files) - len(answers))
    return dict(zip(files, answers, strict=True))


def check(answer: dict, file: Path, *, may_be_read: bool) -> None:
    allowed = {"refused", "read"} if may_be_read else {"refused"}
    assert answer["verdict"] in allowed, answer
    if answer["verdict"] == "refused":
        assert answer["message"].startswith(str(file))
        assert len(answer["message"]) < 1000 + len(str(file)), "a message is for people"


def repeated(start: bytes, unit: bytes, size: int, end: bytes = b""):
    return lambda: start + unit * (size // len(unit)) + end


def nested(depth: int, *, same_name: bool) -> bytes:
    joints = [
        b"JOINT %s { OFFSET 0 1 0 CHANNELS 3 Zrotation Xrotation Yrotation"
        % (b"a" if same_name else b"a%d" % k)
        for k in range(depth)
    ]
    channels = b"CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation"
    root = b"HIERARCHY\nROOT r\n{\nOFFSET 0 0 0\n" + channels + b"\n"
    row = b" ".join([b"0.5"] * (6 + 3 * depth))
    end = b"End Site { OFFSET 0 1 0 }\n" + b"}\n" * (depth + 1)
    return (
        root + b"\n".join(joints) + b"\n" + end
        + b"MOTION\nFrames: 2\nFrame Time: 0.01\n" + row + b"\n" + row + b"\n"
    )  # fmt: skip


def siblings(count: int) -> bytes:
    """A flat tree in which every joint has the same name."""
    joint = b"JOINT a { OFFSET 0 1 0 CHANNELS 1 Zrotation }\n"
    return (
        b"HIERARCHY\nROOT r\n{\nOFFSET 0 0 0\nCHANNELS 1 Yposition\n" + joint * count
        + b"}\nMOTION\nFrames: 1\nFrame Time: 0.01\n" + b"0.5 " * (count + 1) + b"\n"
    )  # fmt: skip


SMALL = {
    "frames_declared_a_trillion": lambda: encoded(LINES).replace(
        b"Frames: 4", b"Frames: 999999999999"),
    "frames_declared_with_400_digits": lambda: encoded(LINES).replace(
        b"Frames: 4", b"Frames: " + b"9" * 400),
    "frames_declared_1e300": lambda: encoded(LINES).replace(b"Frames: 4", b"Frames: 1e300"),
    "a_million_channels_declared": lambda: encoded(LINES).replace(
        b"CHANNELS 3", b"CHANNELS 1000000", 1),
    "a_trillion_channels_declared": lambda: encoded(LINES).replace(
        b"CHANNELS 3", b"CHANNELS 999999999999", 1),
    "a_million_channels_named": lambda: encoded(LINES).replace(
        b"CHANNELS 3", b"CHANNELS 1000000 " + b"Xrotation " * 1_000_000, 1),
    "offset_of_1e400": lambda: encoded(LINES).replace(b"OFFSET 0.0000 20", b"OFFSET 1e400 20", 1),
    "offset_of_1e39": lambda: encoded(LINES).replace(b"OFFSET 0.0000 20", b"OFFSET 1e39 20", 1),
    "value_of_1e39": lambda: encoded(LINES).replace(b"\n3.2000 ", b"\n1e39 ", 1),
    "number_of_a_million_digits": lambda: encoded(LINES).replace(
        b"\n3.2000 ", b"\n0." + b"1" * 1_000_000 + b" ", 1),
    "name_of_ten_megabytes": lambda: encoded(LINES).replace(
        b"JOINT Spine", b"JOINT " + b"n" * 10**7),
    "a_million_closing_braces": lambda: HEAD + b"}" * 1_000_000,
    "gzip": lambda: gzip.compress(encoded(LINES)),
    "png": lambda: PNG + bytes(range(256)) * 40,
    "elf": lambda: Path(sys.executable).resolve().read_bytes()[: 2 * MEGABYTE],
    "empty": lambda: b"",
    "blank_lines": repeated(b"", b"\n", 2 * MEGABYTE),
    "two_thousand_nested_joints": lambda: nested(2000, same_name=False),
    "twenty_thousand_nested_joints": lambda: nested(20_000, same_name=False),
    "twenty_thousand_nested_joints_of_one_name": lambda: nested(20_000, same_name=True),
    "twenty_thousand_siblings_of_one_name": lambda: siblings(20_000),
    "nested_braces": repeated(HEAD[:-2], b"{ ", 2 * MEGABYTE),
    "ten_megabytes_of_open_joints": repeated(
        b"HIERARCHY\nROOT a\n{\n", b"JOINT a { ", 10 * MEGABYTE),
}  # fmt: skip
# Files that may also be read: complete and well-formed, only large.
READABLE = {
    "name_of_ten_megabytes", "two_thousand_nested_joints", "twenty_thousand_nested_joints",
    "twenty_thousand_nested_joints_of_one_name", "twenty_thousand_siblings_of_one_name",
    "number_of_a_million_digits", "a_million_channels_declared", "a_trillion_channels_declared",
}  # fmt: skip

HUNDRED = 100 * MEGABYTE
MOTION = HEAD + b"MOTION\nFrames: 4\nFrame Time: 0.01\n"
LARGE = {
    "one_line_of_a": repeated(b"", b"a", HUNDRED),
    "one_line_of_digits": repeated(b"", b"7", HUNDRED),
    "one_line_of_zeros": repeated(b"", b"0 ", HUNDRED),
    "one_line_of_braces": repeated(b"", b"{", HUNDRED),
    "one_line_of_joints": repeated(b"", b"JOINT a { ", HUNDRED),
    "one_line_of_joints_in_a_hierarchy": repeated(
        b"HIERARCHY\nROOT a\n{\n", b"JOINT a { OFFSET 0 0 0 ", HUNDRED),
    "one_line_of_motion": repeated(b"", b"MOTION ", HUNDRED),
    "one_row_of_digits": repeated(MOTION, b"7", HUNDRED),
    "one_row_of_a": repeated(MOTION, b"a", HUNDRED),
    "one_row_of_zeros": repeated(MOTION, b"0 ", HUNDRED - HUNDRED % 48 + 2),
    "one_row_of_commas": repeated(MOTION, b"0,", HUNDRED),
    "one_row_of_minuses": repeated(MOTION, b"-", HUNDRED),
    "rows_of_one_value": repeated(MOTION, b"0\n", HUNDRED - HUNDRED % 48 + 2),
    "frame_time_of_digits": repeated(HEAD + b"MOTION\nFrames: 4\nFrame Time: ", b"1", HUNDRED),
    "frames_of_digits": repeated(HEAD + b"MOTION\nFrames: ", b"1", HUNDRED),
    "nuls": repeated(b"", b"\0", 50 * MEGABYTE),
    "nuls_behind_a_file": repeated(encoded(LINES), b"\0", 50 * MEGABYTE),
    "white_space_before_motion": repeated(HEAD, b" \n", HUNDRED, b"MOTION\n"),
    "blank_lines": repeated(b"", b"\n", HUNDRED),
    "carriage_returns": repeated(b"", b"\r", HUNDRED),
    "byte_order_marks": repeated(b"\xff\xfe", b"\xff\xfe", HUNDRED),
}  # fmt: skip
LARGE_READABLE = {"nuls_behind_a_file", "frames_of_digits"}


@pytest.fixture(scope="module")
def small_answers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    files = {name: folder / f"{name}.bvh" for name in SMALL}
    for name, file in files.items():
        file.write_bytes(SMALL[name]())
    (folder / "folder.bvh").mkdir()
    files["folder"] = folder / "folder.bvh"
    answers = outcomes(list(files.values()), seconds=240)
    assert sorted(folder.iterdir()) == sorted(files.values()), "no file left behind"
    return {name: (answers[file], file) for name, file in files.items()}


@pytest.mark.parametrize("name", [*SMALL, "folder"])
def test_a_hostile_file_is_refused_or_read_in_bounds(name, small_answers):
    check(*small_answers[name], may_be_read=name in READABLE)


def test_the_error_about_a_trillion_declared_frames_names_the_line(small_answers):
    answer, _ = small_answers["frames_declared_a_trillion"]
    # Either the count is to blame, or the place where the rows ran out.
    assert answer["line"] in {line_of(LINES, "Frames:"), len(LINES), len(LINES) + 1}


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_a_huge_file_is_refused_in_bounds(name, tmp_path):
    file = tmp_path / f"{name}.bvh"
    file.write_bytes(LARGE[name]())
    answer = outcomes([file], seconds=120)[file]
    file.unlink()
    check(answer, file, may_be_read=name in LARGE_READABLE)


def test_a_missing_file_is_named_in_the_error():
    with pytest.raises((FileNotFoundError, ml.MotionFormatError), match="nowhere"):
        ml.load("nowhere.bvh")


def test_the_suffix_may_be_upper_case(tmp_path):
    file = tmp_path / "TAKE.BVH"
    file.write_bytes(encoded(LINES))
    assert len(ml.load(file)) == 4


def test_joints_without_channels_do_not_multiply_the_frames(tmp_path, monkeypatch):
    """A file of 0.4 MB with 2,000 joints and 50,000 frames of one joint took 1.7 GB."""
    monkeypatch.setattr("motionloom.formats.bvh.reader._ROOM", 1000)
    joint = "JOINT j{0}\n{{\nOFFSET 0 1 0\nCHANNELS 0\nEnd Site\n{{\nOFFSET 0 1 0\n}}\n}}\n"
    path = tmp_path / "a.bvh"
    path.write_text(
        "HIERARCHY\nROOT r\n{\nOFFSET 0 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\n"
        + "".join(joint.format(number) for number in range(300))
        + "}\nMOTION\nFrames: 3000\nFrame Time: 0.01\n"
        + "0 0 0\n" * 3000
    )
    with pytest.raises(MotionFormatError, match="almost none of the 301 joints have channels"):
        ml.load(path)
