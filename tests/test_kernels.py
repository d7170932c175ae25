"""Kernels: compiled at the first call, cached by content, and their equals without Numba."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import motionloom.kernels
from motionloom.alignment import dtw
from motionloom.demo import clip
from motionloom.features.earth_mover import earth_mover_distance
from motionloom.formats import load
from motionloom.formats.bvh import reader
from motionloom.formats.number_rows import _scan, number_rows
from motionloom.kernels import kernel, kernels, listed, listed_types
from motionloom.motion.kinematics import forward


def scanned(function, text):
    """Output and return value of a tokenizer."""
    data = np.frombuffer(text, np.uint8)
    values = np.zeros(len(data) + 2)
    starts, numbers = np.zeros(len(data) + 3, np.int32), np.zeros(len(data) + 2, np.int32)
    long = np.zeros((len(data) + 1, 3), np.int32)
    count, lines, n_long, glued, stopped = function(
        data, motionloom.formats.number_rows._POWERS, values, starts, numbers, long
    )
    for number, first, last in long[:n_long].tolist():
        values[number] = float(text[first:last])
    return (
        values[:count].view(np.int64).tolist(),
        starts[: lines + 1].tolist(),
        numbers[:lines].tolist(),
        (glued, stopped),
    )


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\n\n  \n",
        b"1 -2.5e1\r\n\n.5 5. +3\t-0\n-0.0 0e99 1E-5",
        b"1.7976931348623157e308 5e-324 1e23 9007199254740993 123456789012345678901234567890",
        b"-2.2204460492503131e-16 0.1 0.30000000000000004 1e22 1e-22 1e999 0.000000000000000000001",
        b"1 2 x 3",
        b"1 nan inf 3",
        b"1_000 2",
        b"0.0-7.509 1 -2",
        b"1e 2",
        b". 2",
        b"1\n2 +-3",
    ],
)
def test_text_is_read_to_the_same_numbers_with_and_without_numba(text):
    assert scanned(_scan.numpy, text) == scanned(_scan.compiled, text)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=20))
def test_every_float_is_read_as_python_reads_it(values):
    text = (
        " ".join(map(repr, values)).encode() + b"\n" + " ".join(f"{v:.6f}" for v in values).encode()
    )
    rows = number_rows(np.frombuffer(text, np.uint8))
    expected = np.array([*values, *(float(f"{v:.6f}") for v in values)])
    np.testing.assert_array_equal(rows.values.view(np.int64), expected.view(np.int64))


def test_rotations_have_the_same_bits_with_and_without_numba(rng):
    table = np.concatenate(
        [
            rng.uniform(-720, 720, (50, 12)),
            np.repeat(np.arange(-720.0, 721.0, 45.0)[:, None], 12, 1),
        ]
    )
    columns = np.array([[0, 1, 2], [3, 4, 5], [6, 7, -1], [8, -1, -1], [-1, -1, -1], [9, 10, 11]])
    axes = np.array([[2, 0, 1], [0, 1, 2], [1, 2, 0], [2, 0, 0], [0, 0, 0], [2, 0, 1]])
    results = []
    for function in (reader._rotations.numpy, reader._rotations.compiled):
        results.append(np.empty((len(table), len(columns), 4), np.float32))
        function(table, columns, axes, results[-1])
    np.testing.assert_array_equal(*(each.view(np.int32) for each in results))


@pytest.mark.parametrize("stretched", [False, True])
def test_kinematics_have_the_same_bits_with_and_without_numba(stretched, rng):
    q = rng.normal(size=(70, 5, 4)).astype(np.float32)
    root = rng.normal(size=(70, 3)).astype(np.float32)
    parents = np.array([-1, 0, 1, 0, 3, 2, 4, 4], np.int32)  # the last three are end sites
    offsets = rng.normal(size=(8, 3)).astype(np.float32)
    moved = rng.normal(size=(70 if stretched else 0, 5, 3)).astype(np.float32)
    places = [np.empty((70, 8, 3), np.float32) for _ in range(2)]
    turns = [np.empty((70, 5, 4), np.float32) for _ in range(2)]
    for way, place, turn in zip(("numpy", "compiled"), places, turns, strict=True):
        getattr(forward._positions, way)(q, root, parents, offsets, moved, place)
        getattr(forward._global_rotations, way)(q, parents[:5], turn)
    np.testing.assert_array_equal(*(each.view(np.int32) for each in places))
    np.testing.assert_array_equal(*(each.view(np.int32) for each in turns))


def test_small_work_does_not_load_numba_and_large_work_does(tmp_path):
    path = clip("walk").save(tmp_path / "walk.bvh")
    program = f"""
        import sys
        import motionloom as ml
        from motionloom import kernels
        small = ml.load({str(path)!r}).positions()
        assert "numba" not in sys.modules, "a small file loaded Numba"
        kernels.SMALL = 1000
        large = ml.load({str(path)!r}).positions()
        assert "numba" in sys.modules, "large work was done without Numba"
        assert small.tobytes() == large.tobytes()
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True)
    assert load(path).origin.format == "bvh"


TABLES = (np.arange(2000.0), 1)


def test_the_digest_distinguishes_constants_in_tuples_and_closures(monkeypatch):
    def digest(factor):
        @kernel
        def scaled(value):
            return value * factor + TABLES[0][1000] + TABLES[1]

        del kernels[f"{scaled.__module__}.{scaled.__qualname__}"]
        return scaled.content

    assert digest(2.0) == digest(2.0)
    assert digest(2.0) != digest(3.0)
    before = digest(2.0)
    table = np.arange(2000.0)
    table[1000] = -1.0  # in the part that repr omits
    monkeypatch.setitem(globals(), "TABLES", (table, 1))
    assert digest(2.0) != before


def test_the_digest_distinguishes_modules(monkeypatch):
    """Compiled code imports the module it was compiled in, which may have moved since."""

    def digest(module):
        def doubled(value):
            return value * 2.0

        doubled.__module__ = module
        return kernel(doubled).content

    monkeypatch.setattr("motionloom.kernels.kernels", {})
    assert digest("motionloom.a") == digest("motionloom.a")
    assert digest("motionloom.a") != digest("motionloom.b")


def test_the_digest_of_every_kernel_can_be_computed():
    digests = {name: each.content for name, each in kernels.items()}
    assert len(digests) > 4
    assert len(set(digests.values())) == len(digests)


def test_commands_on_small_files_load_neither_numba_nor_scipy(tmp_path):
    path = clip("walk").save(tmp_path / "walk.bvh")
    commands = [
        ["--help"],
        ["info", path],
        ["doctor", path],
        ["convert", path, tmp_path / "copy.bvh"],  # GLB has a body, whose mesh needs SciPy
        ["import", tmp_path / "takes.loom", path],
        ["show", path, "-o", tmp_path / "walk.png"],
    ]
    program = (
        "import json, sys\n"
        "from motionloom.cli import main\n"
        "for words in json.loads(sys.argv[1]):\n"
        "    sys.argv[1:] = words\n"
        "    try:\n        main()\n"
        "    except SystemExit as end:\n        assert not end.code, words\n"
        "    heavy = {'numba', 'scipy', 'pydantic'} & sys.modules.keys()\n"
        "    assert not heavy, (words[0], heavy)\n"
    )
    given = json.dumps([[str(word) for word in words] for words in commands])
    subprocess.run([sys.executable, "-c", program, given], check=True)


def test_the_list_for_warming_up_covers_every_kernel_with_types_of_numba():
    from numba import types

    for module in pkgutil.walk_packages(motionloom.__path__, "motionloom."):
        importlib.import_module(module.name)
    lines = [line.partition(" ") for line in listed()]
    left = {name for name in kernels if name.startswith("motionloom.")}
    reached = [name for name, _, _ in lines]
    assert set(reached) <= left, "a kernel was renamed or removed: edit kernel_signatures.txt"
    while reached:
        name = reached.pop()
        if name in left:
            left.remove(name)
            callees = motionloom.kernels._callees(kernels[name].function)
            reached += [f"{callee.__module__}.{callee.__name__}" for _, callee in callees]
    assert left == set(), "not in kernel_signatures.txt; CONTRIBUTING.md says how to record them"
    for line in listed():
        name, kinds = listed_types(line)
        assert len(kinds) == kernels[name].function.__code__.co_argcount, name
        assert all(isinstance(kind, types.Type) for kind in kinds), name


def answers():
    """Results of a few kernels, as plain lists."""
    rng = np.random.default_rng(40)
    matrix = rng.random((7, 15))
    part = dtw.subsequence_alignment(matrix)
    whole = dtw.warp(matrix)
    q, root = rng.normal(size=(5, 3, 4)), rng.normal(size=(5, 3))
    places = np.empty((5, 3, 3), np.float32)
    forward._positions.compiled(
        q.astype(np.float32),
        root.astype(np.float32),
        np.array([-1, 0, 1], np.int32),
        rng.normal(size=(3, 3)).astype(np.float32),
        np.empty((0, 3, 3), np.float32),
        places,
    )
    return [
        [part.cost, part.path.tolist(), whole.cost, whole.path.tolist()],
        places.tolist(),
        scanned(_scan.compiled, b"1 -2.5e1\r\n.5 123456789012345678901234567890"),
        earth_mover_distance([[0.0], [4.0]], [1, 1], [[1.0], [4.0]], [1.5, 0.5]),
    ]


@pytest.mark.slow
def test_kernels_run_as_plain_python_where_numba_is_switched_off():
    program = (
        "import json, types, test_kernels as these\n"
        "assert isinstance(these._scan.compiled, types.FunctionType)\n"
        "print(json.dumps(these.answers()))"
    )
    surroundings = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=surroundings, check=True, capture_output=True
    )
    plain, compiled = json.loads(done.stdout), json.loads(json.dumps(answers()))
    assert plain[0][1::2] == compiled[0][1::2]  # paths
    assert plain[2] == compiled[2]
    np.testing.assert_allclose(plain[0][::2], compiled[0][::2], rtol=1e-12)
    np.testing.assert_allclose(plain[1], compiled[1], rtol=1e-6)
    assert plain[3] == pytest.approx(compiled[3])


COMMANDS = """
import sys
from motionloom.cli import main
for line in ("info walk.bvh", "convert walk.bvh out.glb", "convert walk.bvh out.npy",
             "show walk.bvh -o out.png", "show walk.bvh -o out.html"):
    sys.argv = ["motionloom", *line.split()]
    try:
        main()
    except SystemExit as end:
        assert not end.code
"""
WITHOUT_NUMBA = f"""
import sys, warnings
sys.modules["numba"] = sys.modules["llvmlite"] = None
warnings.simplefilter("error")
{COMMANDS}
from motionloom.kernels import kernel
half = kernel(lambda values: values / 2)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert half(4.0) == 2.0
assert "pip install numba" in str(caught[0].message)
"""


def test_files_are_read_converted_and_shown_without_numba(tmp_path):
    """With the same bytes as with Numba, and without a warning; other kernels run as Python."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for name, program in {"with": COMMANDS, "without": WITHOUT_NUMBA}.items():
        clip("walk").save(tmp_path / name / "walk.bvh")
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path / name, env=env, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    for name in ("out.glb", "out.npy", "out.png", "out.html"):
        assert (tmp_path / "with" / name).read_bytes() == (tmp_path / "without" / name).read_bytes()
