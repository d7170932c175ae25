"""Properties of every format in the registry."""

from __future__ import annotations

import importlib
import inspect
import os
import random
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import motionloom as ml
from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.formats import FORMATS, MOTION_SUFFIXES, is_motion_file
from motionloom.formats.settings import LoadMarkersSettings, LoadSettings, SaveSettings
from motionloom.motion import Scene
from motionloom.motion.rotations import quaternions as rot
from motionloom.settings import described

ROOT = Path(__file__).parents[1]
NEEDS = {"usd": "pxr", "parquet": "pyarrow", "fbx": "ufbx", "video": "av"}


def cases(pairs):
    """Cases of a test; of USD's three suffixes, which one module reads, ``.usdc`` is not slow."""
    slow = [pytest.mark.slow]
    return [
        pytest.param(*pair, marks=slow if pair[0] in (".usd", ".usda") else [], id="-".join(pair))
        for pair in pairs
    ]


SUFFIXES = cases((suffix,) for suffix in FORMATS)
WRITTEN = cases((suffix, kind) for suffix, form in FORMATS.items() for kind in form.writes)


def read(path):
    marker_file = FORMATS[path.suffix].reads == "markers"
    return ml.load_markers(path) if marker_file else ml.load(path)


def skip_without(suffix):
    extra = FORMATS[suffix].extra
    if extra:
        pytest.importorskip(NEEDS[extra], reason=f"the extra {extra} is not installed")


def example(kind):
    walk = ml.demo.clip("walk")[:40]
    if kind == "motion":
        return walk
    if kind == "scene":
        return Scene([walk, ml.demo.clip("jog")[:30]], names=["walk", "jog"])
    return ml.Markers(walk.skeleton.names, walk.positions(), walk.fps, "walk")


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_module_matches_its_registry_entry(suffix):
    form = FORMATS[suffix]
    module = importlib.import_module(form.module)
    assert hasattr(module, "read") and form.reads in ("motion", "markers")
    shared = any(other.writes for other in FORMATS.values() if other.module == form.module)
    assert hasattr(module, "write") == shared
    assert is_motion_file(Path(f"a{suffix.upper()}")) == (form.reads == "motion")


def test_extras_exist():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {form.extra for form in FORMATS.values()} - {""}
    assert extras <= project["optional-dependencies"].keys()


def test_the_page_on_formats_names_them_all():
    page = (ROOT / "docs" / "reference" / "formats.md").read_text(encoding="utf-8")
    for suffix in FORMATS:
        assert f"`{suffix}`" in page


@pytest.mark.parametrize(("suffix", "kind"), WRITTEN)
def test_a_round_trip_is_exact_to_a_tenth_of_a_millimeter(tmp_path, suffix, kind):
    skip_without(suffix)
    given = example(kind)
    path = ml.save(given, tmp_path / f"walk{suffix}")
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert path.stat().st_mode & 0o777 == 0o666 & ~_umask()
    reads = FORMATS[suffix].reads
    again = read(path)
    if kind == "scene":
        _check_scene(given, path)
        return
    if suffix in (".npy", ".npz") and kind == "motion":
        return  # on another skeleton; see test_positions.py
    assert (len(again), again.fps, again.name) == (40, given.fps, "walk")
    points = again.positions(end_sites=True) if reads == "motion" else again.positions
    wanted = given.positions(end_sites=True) if kind == "motion" else given.positions
    assert np.abs(points - wanted).max() < 1e-4
    assert not again.repairs


def _check_scene(scene, path):
    """Both characters are in the file."""
    if path.suffix == ".c3d":
        points = [ml.load_markers(path, subject=name).positions for name in scene.names]
        assert np.isnan(points[1][30:]).all()
    else:
        points = [ml.load(path, skeleton=name).positions(end_sites=True) for name in scene.names]
    for result, motion in zip(points, scene, strict=True):
        assert np.abs(result[: len(motion)] - motion.positions(end_sites=True)).max() < 1e-4


SCENES = cases(
    (suffix,)
    for suffix, form in FORMATS.items()
    if form.writes and form.module.endswith(("gltf", "usd", "fbx"))
)


@pytest.mark.parametrize("suffix", SCENES)
def test_scenes_keep_the_rest_pose_and_bones_that_move(tmp_path, rng, suffix):
    skip_without(suffix)
    walk = example("motion")
    rest = rot.exp(rng.normal(scale=0.5, size=(len(walk.skeleton), 3)))
    moved = walk.skeleton.offsets + rng.normal(scale=0.01, size=(40, len(walk.skeleton), 3))
    moved[:, 0] = 0.0
    motion = replace(walk, skeleton=replace(walk.skeleton, rest=rest), translations=moved)
    again = ml.load(motion.save(tmp_path / f"a{suffix}"))
    apart = motion.positions(end_sites=True) - again.positions(end_sites=True)
    assert np.linalg.norm(apart, axis=-1).max() < 1e-5
    assert rot.angle_between(again.skeleton.rest, rest).max() < 1e-6


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize(("suffix", "kind"), WRITTEN)
def test_a_failed_write_keeps_the_old_file(tmp_path, monkeypatch, suffix, kind):
    skip_without(suffix)
    path = tmp_path / f"walk{suffix}"
    path.write_bytes(b"old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        ml.save(example(kind), path)
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [(path.name, b"old")]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_random_bytes_are_refused_by_name(tmp_path, suffix):
    skip_without(suffix)
    path = tmp_path / f"noise{suffix}"
    dice = random.Random(suffix)
    for size in (0, 1, 100) if "usd" in suffix else (0, 1, 3, 20, 100, 700, 5000):
        path.write_bytes(dice.randbytes(size))
        with pytest.raises(MotionFormatError, match="noise") as caught:
            read(path)
        assert str(caught.value).startswith(str(path))
        assert len(str(caught.value)) < 400 + len(str(path))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_folders_and_missing_files_raise_different_errors(tmp_path, suffix):
    skip_without(suffix)
    folder = tmp_path / f"folder{suffix}"
    folder.mkdir()
    with pytest.raises(MotionFormatError, match="expected a file; found a folder"):
        read(folder)
    with pytest.raises(FileNotFoundError, match=f"missing{suffix}"):
        read(tmp_path / f"missing{suffix}")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_unknown_options_are_named(tmp_path, suffix):
    form = FORMATS[suffix]
    module = importlib.import_module(form.module)
    markers = form.reads == "markers"
    load = ml.load_markers if markers else ml.load
    settings, writing = LoadMarkersSettings if markers else LoadSettings, SaveSettings
    every_format = {"keep_carrier", "format"}  # the format at hand names its own
    for name in set(described(settings)) - _options(module.read) - every_format:
        with pytest.raises(InvalidInput, match=f"reading {form.name} has no option '{name}'"):
            load(tmp_path / f"a{suffix}", **{name: _other(settings, name)})
    for kind in form.writes:
        for name in set(described(writing)) - _options(module.write):
            with pytest.raises(InvalidInput, match=f"writing {form.name} has no option '{name}'"):
                ml.save(example(kind), tmp_path / f"a{suffix}", **{name: _other(writing, name)})
    assert not list(tmp_path.iterdir())


def _options(function):
    return set(inspect.signature(function).parameters)


def _other(settings, name):
    """A value of the right type that differs from the default."""
    default = getattr(settings(), name)
    return (
        not default
        if isinstance(default, bool)
        else 3
        if name == "decimals"
        else (1.0 if name in ("fps", "max_gap") else name == "tpose" or "x")
    )


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_motion_and_markers_are_read_by_their_own_function(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(b"")
    if FORMATS[suffix].reads == "motion":
        with pytest.raises(MotionFormatError, match="contains a motion, .* read it with load$"):
            ml.load_markers(path)
    elif suffix != ".parquet":
        ml.Markers(["LFHD", "RFHD"], np.zeros((3, 2, 3)), 30.0).save(path)
        with pytest.raises(MotionFormatError, match="contains markers .* read it with load_marker"):
            ml.load(path)


# A film has neither a unit nor an up axis; stating one is an error.
@pytest.mark.parametrize("suffix", [s for s in MOTION_SUFFIXES if FORMATS[s].name != "film"])
def test_every_motion_reader_accepts_the_options_that_a_library_passes_on(suffix):
    module = importlib.import_module(FORMATS[suffix].module)
    parameters = inspect.signature(module.read).parameters
    assert {"unit", "up", "roles", "fps", "strict"} <= parameters.keys()


def test_unsupported_output_is_reported(tmp_path):
    with pytest.raises(InvalidInput, match=r"cannot write motion to .*a.amc: .* one of .bvh, .c3d"):
        example("motion").save(tmp_path / "a.amc")
