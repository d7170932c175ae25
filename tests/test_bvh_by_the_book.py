"""The reader against a simple one: files read without repairs follow the specification."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from naive import bvh as book
from odd_bvh_model import POSITIONS, Bone, Odd, Reading, bones_of, bvh_lines, encoded, reading
from test_fuzz_bvh import mutated
from test_odd_bvh import check_reading

import motionloom as ml
from motionloom.formats.settings import FormatOptions

MANY = settings(
    max_examples=80,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@st.composite
def bones(draw, name: str = "root", depth: int = 0) -> Bone:
    rotations = draw(st.permutations(["Xrotation", "Yrotation", "Zrotation"]))
    rotations = rotations[: draw(st.sampled_from([3, 3, 3, 3, 2, 1, 0]))]
    placed = draw(st.booleans()) if depth else draw(st.integers(0, 4)) > 0
    channels = draw(st.permutations(POSITIONS)) if placed else []
    channels = [*channels, *rotations] if draw(st.booleans()) else [*rotations, *channels]
    offset = draw(st.tuples(*[st.integers(-500, 500).map(lambda n: n / 10)] * 3))
    count = draw(st.integers(0, 3 if depth < 4 else 0))
    children = tuple(draw(bones(f"{name}.{k}", depth + 1)) for k in range(count))
    end = draw(st.tuples(*[st.integers(-99, 99).map(float)] * 3)) if not children else None
    return Bone(name, offset, tuple(channels), children, end)


@st.composite
def files(draw) -> tuple[bytes, Reading]:
    """A well-formed file of any shape, its numbers spelled in any way, and its reading."""
    bone = draw(bones().filter(lambda b: sum(len(x.channels) for x in bones_of(b)) > 0))
    rng = random.Random(draw(st.integers(0, 2**32)))
    width = sum(len(b.channels) for b in bones_of(bone))
    rows, lines = [], []
    for _ in range(draw(st.integers(1, 5))):
        spelled = [
            rng.choice(["%.4f", "%.6f", "%g", "%.7e", "%+.3f", "%.10f"])
            % (rng.choice([1, 10, 180, 400]) * rng.uniform(-1, 1))
            for _ in range(width)
        ]
        rows.append([float(word) for word in spelled])
        lines.append(rng.choice([" ", "\t", "  "]).join(spelled) + rng.choice(["", " ", "\t"]))
    head = bvh_lines(bone, rows)
    text = encoded([*head[: len(head) - len(rows)], *lines])
    if rng.random() < 0.3:
        text = text.replace(b"\n", b"\r\n")
    return text, reading(bone, rows)


@MANY
@given(file=files())
def test_any_well_formed_file_is_read_as_the_definition_says(file, tmp_path):
    data, wanted = file
    path = tmp_path / "any.bvh"
    path.write_bytes(data)
    motion = ml.load(path, unit="cm", up="y", format=FormatOptions(tpose=False))
    check_reading(motion, wanted)


@settings(MANY, max_examples=400)
@given(data=mutated())
def test_a_mutated_file_is_never_silently_misread(data, tmp_path):
    path = tmp_path / "mutated.bvh"
    path.write_bytes(data)
    try:
        motion = ml.load(path, unit="cm", up="y", format=FormatOptions(tpose=False), strict=True)
        wanted = book.read(data.decode("utf-8").replace("\r\n", "\n"))
    except (ValueError, StopIteration, IndexError):
        return  # refused, or beyond the book
    check_reading(motion, wanted)


def test_the_specification_agrees_with_the_corpus(corpus_readings):
    answer = Counter()
    for odd, wanted in corpus_readings:
        try:
            loaded = book.read(odd.data.decode("utf-8").replace("\r\n", "\n"))
        except (ValueError, StopIteration, IndexError):
            answer["beyond the book"] += 1
            continue
        answer["read"] += 1
        np.testing.assert_allclose(loaded.positions, wanted.positions, atol=1e-9)
    assert answer["read"] >= 40


@pytest.fixture
def corpus_readings() -> list[tuple[Odd, Reading]]:
    from odd_bvh import CORPUS

    return [(o, o.reading) for o in CORPUS if o.reading and o.repair is False and not o.options]
