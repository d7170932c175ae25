"""Whatever the bytes, a BVH file gives a Motion or a MotionFormatError, and leaves no trace."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from odd_bvh_model import MAN, POSITIONS, ZXY, bvh_lines, encoded, rows_of, with_channels

import motionloom as ml

# Derandomized: the same examples in every run, so a red test is never luck.
FUZZ = settings(
    max_examples=250,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
PLAIN = encoded(bvh_lines(MAN, rows_of(MAN)))
SIX = with_channels(MAN, POSITIONS + ZXY)
SOURCES = [PLAIN, encoded(bvh_lines(SIX, rows_of(SIX, 3))), PLAIN.replace(b"\n", b"\r\n")]
WORDS = [
    b"HIERARCHY", b"ROOT", b"JOINT", b"End Site", b"OFFSET", b"CHANNELS", b"{", b"}", b"MOTION",
    b"Frames:", b"Frame Time:", b"Zrotation", b"Xposition", b"NaN", b"-inf", b"1e400", b"1e38",
    b"-1.#IND", b"0", b"-", b"+", b".", b"e", b"1e", b"0x10", b"1_0", b",", b";", b"#", b"//",
    b"\x00", b"\x1a", b"\xff", b"\xef\xbb\xbf", b"\xe8\x83\x8c", b"\xc2\x85", b"\r", b"\n", b"\t",
    b"\x0b", b"\x0c", b"\xc2\xa0", b"3", b"-3", b"999999999999", b"9" * 400, b'"', b"%s", b"..",
]  # fmt: skip


@pytest.fixture
def check(tmp_path):
    """Load bytes as a file; whatever comes out must be whole or a clear refusal."""
    file = tmp_path / "fuzz.bvh"

    def loaded(data: bytes, **options) -> ml.Motion | ml.MotionFormatError:
        file.write_bytes(data)
        try:
            motion = ml.load(file, unit="cm", **options)
        except ml.MotionFormatError as error:
            assert str(error).startswith(str(file)), "the message names the file"
            assert len(str(error)) < 1000 + len(str(file))
            assert error.line is None or 1 <= error.line <= lines_in(data) + 1
            result: ml.Motion | ml.MotionFormatError = error
        else:
            check_whole(motion)
            result = motion
        assert [entry.name for entry in tmp_path.iterdir()] == [file.name], "no file left behind"
        return result

    return loaded


def lines_in(data: bytes) -> int:
    return max(data.count(b"\n"), data.count(b"\r")) + 1


def check_whole(motion: ml.Motion) -> None:
    joints = len(motion.skeleton)
    assert motion.rotations.shape == (len(motion), joints, 4)
    assert motion.root.shape == (len(motion), 3)
    points = motion.positions(end_sites=True)
    assert points.shape == (len(motion), len(motion.skeleton.point_names), 3)
    assert np.isfinite(points).all()
    assert np.allclose(np.linalg.norm(motion.rotations, axis=-1), 1.0, atol=1e-4)
    assert len(set(motion.skeleton.point_names)) == len(motion.skeleton.point_names)
    assert motion.fps > 0.0
    assert all(isinstance(sentence, str) for sentence in motion.repairs)


@st.composite
def mutated(draw, sources=SOURCES) -> bytes:
    """A valid file after one to four blows."""
    data = draw(st.sampled_from(sources))
    for _ in range(draw(st.integers(1, 4))):
        data = draw(st.sampled_from(BLOWS))(draw, data)
    return data


def _span(draw, data: bytes, longest: int) -> tuple[int, int]:
    start = draw(st.integers(0, len(data)))
    return start, min(len(data), start + draw(st.integers(0, longest)))


def delete_bytes(draw, data: bytes) -> bytes:
    start, end = _span(draw, data, 40)
    return data[:start] + data[end:]


def double_bytes(draw, data: bytes) -> bytes:
    start, end = _span(draw, data, 200)
    return data[:end] + data[start:]


def change_a_byte(draw, data: bytes) -> bytes:
    start, end = _span(draw, data, 1)
    return data[:start] + bytes([draw(st.integers(0, 255))]) * (end - start) + data[end:]


def insert_word(draw, data: bytes) -> bytes:
    start, _ = _span(draw, data, 0)
    space = draw(st.sampled_from([b"", b" ", b"\n"]))
    return data[:start] + space + draw(st.sampled_from(WORDS)) + space + data[start:]


def cut_off(draw, data: bytes) -> bytes:
    return data[: draw(st.integers(0, len(data)))]


def replace_token(draw, data: bytes) -> bytes:
    tokens = list(re.finditer(rb"\S+", data))
    if not tokens:
        return data
    token = draw(st.sampled_from(tokens))
    return data[: token.start()] + draw(st.sampled_from(WORDS)) + data[token.end() :]


def replace_number(draw, data: bytes) -> bytes:
    numbers = list(re.finditer(rb"-?\d+(\.\d+)?", data))
    if not numbers:
        return data
    number = draw(st.sampled_from(numbers))
    value = draw(st.floats(allow_nan=True, allow_infinity=True) | st.integers(-(10**18), 10**18))
    return data[: number.start()] + str(value).encode() + data[number.end() :]


def shuffle_lines(draw, data: bytes) -> bytes:
    lines = data.split(b"\n")
    a, b = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
    how = draw(st.sampled_from(["swap", "delete", "double", "move"]))
    if how == "swap":
        lines[a], lines[b] = lines[b], lines[a]
    elif how == "delete":
        del lines[a]
    elif how == "double":
        lines.insert(b, lines[a])
    else:
        lines.insert(b, lines.pop(a))
    return b"\n".join(lines)


def wrong_count(draw, data: bytes) -> bytes:
    key = draw(st.sampled_from([b"Frames:", b"CHANNELS", b"Frame Time:"]))
    count = draw(st.integers(-3, 10) | st.integers(0, 10**13))
    places = list(re.finditer(key + rb" *([0-9.]+)", data))
    if not places:
        return data
    place = draw(st.sampled_from(places))
    return data[: place.start(1)] + str(count).encode() + data[place.end(1) :]


BLOWS = [delete_bytes, double_bytes, change_a_byte, insert_word, cut_off, replace_token,
         replace_number, shuffle_lines, wrong_count]  # fmt: skip


@FUZZ
@given(data=mutated())
def test_a_mutated_file_is_read_or_refused(check, data):
    check(data)


@FUZZ
@given(data=mutated(), partial=st.booleans())
def test_strict_never_reads_files_that_are_refused_otherwise(check, data, partial):
    strict = check(data, strict=True, partial=partial)
    if isinstance(strict, ml.Motion):
        assert not strict.repairs
        tolerant = check(data, partial=partial)
        assert isinstance(tolerant, ml.Motion)
        np.testing.assert_array_equal(strict.positions(), tolerant.positions())


@FUZZ
@given(data=st.binary(max_size=2000))
def test_random_bytes_are_refused(check, data):
    assert isinstance(check(data), ml.MotionFormatError)


@FUZZ
@given(text=st.lists(st.sampled_from(WORDS), max_size=60))
def test_random_words_of_the_format_are_read_or_refused(check, text):
    check(b"HIERARCHY\nROOT a\n{\n" + b" ".join(text))


@pytest.mark.slow
@pytest.mark.parametrize("step", [1])
def test_a_file_cut_anywhere_is_refused_or_its_repair_is_reported(check, step):
    whole = check(PLAIN)
    assert isinstance(whole, ml.Motion)
    end = len(PLAIN.rstrip())
    last_number = len(re.search(rb"\S+$", PLAIN.rstrip())[0])
    for length in range(0, len(PLAIN), step):
        motion = check(PLAIN[:length])
        # A cut inside the very last number of the last row cannot be detected.
        if isinstance(motion, ml.Motion) and length <= end - last_number:
            assert motion.repairs, f"cut at byte {length} of {len(PLAIN)}, read in silence"


def test_partial_reads_the_whole_rows_of_a_cut_file(check):
    whole = check(PLAIN)
    lines = PLAIN.split(b"\n")
    for rows in (1, 2, 3):
        for rest in (b"", b"1.25 2.5 -", b"17.5 90.25 3.125 12."):
            head = b"\n".join(lines[: len(lines) - 1 - 4 + rows]) + b"\n"
            motion = check(head + rest, partial=True)
            assert isinstance(motion, ml.Motion)
            assert motion.repairs
            assert len(motion) == rows
            np.testing.assert_array_equal(motion.positions(), whole.positions()[:rows])


@pytest.mark.cmu
def test_mutated_real_takes_are_read_or_refused(check, cmu30, cmu_raw):
    rng = random.Random(1)
    takes = rng.sample(sorted(cmu30.glob("*/*.bvh")), 10) + sorted(cmu_raw.glob("*.bvh"))[:2]
    for take in takes:
        data = take.read_bytes()
        head = data.index(b"MOTION")
        data = data[: head + 60_000]
        for _ in range(12):
            broken = bytearray(data)
            for _ in range(rng.randint(1, 5)):
                # Half of the blows fall on the hierarchy, which is a small part of the file.
                place = rng.randrange(head if rng.random() < 0.5 else len(broken))
                blow = rng.choice(["flip", "cut", "insert", "drop"])
                if blow == "flip":
                    broken[place] = rng.randrange(256)
                elif blow == "cut" and rng.random() < 0.3:
                    del broken[max(place, 1) :]
                elif blow == "insert":
                    broken[place:place] = rng.choice(WORDS)
                else:
                    del broken[place : place + rng.randint(1, 60)]
                head = min(head, len(broken))
            check(bytes(broken), partial=rng.random() < 0.5)
