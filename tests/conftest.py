"""Shared fixtures."""

from __future__ import annotations

import os
import shutil
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parents[1]

# No deadline: a first call may compile a kernel. Derandomized: a red run is red again.
settings.register_profile(
    "motionloom", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("motionloom")


def _data_folder() -> Path | None:
    """Folder of the CMU data set: MOTIONLOOM_DATA, or shared/data next to the checkout."""
    places = [os.environ.get("MOTIONLOOM_DATA"), *(p / "shared/data" for p in ROOT.parents)]
    for place in places:
        if place and (Path(place) / "cmu30.tar.xz").exists():
            return Path(place)
    return None


def _unpacked(archive: str) -> Path:
    """Folder with the files of an archive, unpacked once to the user's cache."""
    data = _data_folder()
    if data is None:
        pytest.skip("the CMU data set is not here (set MOTIONLOOM_DATA to its folder)")
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "motionloom-tests"
    target = cache / archive.removesuffix(".tar.xz")
    if not target.exists():
        scratch = cache / f"unpacking-{os.getpid()}-{archive}"
        scratch.mkdir(parents=True)
        with tarfile.open(data / archive) as tar:
            safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # 3.11.4
            tar.extractall(scratch, **safely)
        inner = list(scratch.iterdir())
        source = inner[0] if len(inner) == 1 and inner[0].is_dir() else scratch
        try:
            source.rename(target)
        except OSError:  # another test process was quicker
            if not target.exists():
                raise
        shutil.rmtree(scratch, ignore_errors=True)
    return target


@pytest.fixture(scope="session", autouse=True)
def local_copies(tmp_path_factory):
    """A separate cache of object stores, so that tests do not use that of the user."""
    with pytest.MonkeyPatch.context() as surroundings:
        surroundings.setenv("MOTIONLOOM_CACHE", str(tmp_path_factory.mktemp("copies")))
        surroundings.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("configuration")))
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(2004)


@pytest.fixture
def takes(tmp_path) -> Path:
    """Folder of twelve small takes, in subfolders by action."""
    from small_takes import write_takes

    return write_takes(tmp_path / "takes", 12)


@pytest.fixture
def lib(tmp_path):
    """An empty library."""
    from motionloom import Library

    return Library.create(tmp_path / "takes.loom")


@pytest.fixture
def registries():
    """Registries of formats, distances, methods and parameters, restored after the test."""
    from motionloom.features import DISTANCES, FEATURES
    from motionloom.formats import FORMATS
    from motionloom.parametric.parameter_text import KINDS
    from motionloom.search.methods import METHODS

    registries = (FORMATS, DISTANCES, FEATURES, METHODS, KINDS)
    copies = [(registry, dict(registry)) for registry in registries]
    yield
    for registry, before in copies:
        registry.clear()
        registry.update(before)
    sys.modules.pop("motion_json", None)


@dataclass(frozen=True)
class DemoFolder:
    """The folder that ``make demo`` leaves, and the output of the command."""

    path: Path
    output: str
    log: str


@pytest.fixture(scope="session")
def demo_folder(tmp_path_factory) -> DemoFolder:
    """Take the tour once, for all workers. The documentation is written for readers who are in its
    folder."""
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared
    folder, output, log = (shared / name for name in ("demo", "demo.json", "demo.log"))
    with FileLock(shared / "demo.lock"):
        if not output.exists():
            from click.testing import CliRunner

            from motionloom.cli import app

            result = CliRunner().invoke(app, ["demo", str(folder), "--json"])
            assert result.exit_code == 0, result.output
            log.write_text(result.stderr, encoding="utf-8")
            output.write_text(result.stdout, encoding="utf-8")
    return DemoFolder(folder, output.read_text(encoding="utf-8"), log.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def cmu_data() -> Path:
    """Folder of the data set itself: tables, labels, queries, archives."""
    data = _data_folder()
    if data is None:
        pytest.skip("the CMU data set is not here (set MOTIONLOOM_DATA to its folder)")
    return data


@pytest.fixture(scope="session")
def cmu30() -> Path:
    """Folder of all CMU takes at 30 Hz, one subfolder per subject."""
    return _unpacked("cmu30.tar.xz")


@pytest.fixture(scope="session")
def cmu_raw() -> Path:
    """Folder of a few original CMU files at 60 and 120 Hz."""
    return _unpacked("raw.tar.xz")


@pytest.fixture(scope="session")
def cmu_clips() -> Path:
    """Folder of 115 labeled single-action clips."""
    return _unpacked("cmu-clips.tar.xz")


@pytest.fixture(scope="session")
def bandai() -> Path:
    """Folder of 280 clips of Bandai-Namco's second set, and ``labels.csv``."""
    return _unpacked("bandai.tar.xz")


@pytest.fixture(scope="session")
def dask_cluster(tmp_path_factory):
    """A Dask cluster on this machine: a scheduler and two worker processes."""
    from motionloom.parallel import local_cluster

    with pytest.MonkeyPatch.context() as surroundings:
        # Workers cache files from stores here.
        surroundings.setenv("MOTIONLOOM_CACHE", str(tmp_path_factory.mktemp("workers")))
        cluster = local_cluster(2)
    with cluster:
        yield cluster


def pytest_sessionfinish():
    """Append the kernels that were compiled to MOTIONLOOM_KERNEL_LIST, if set (CONTRIBUTING.md)."""
    if place := os.environ.get("MOTIONLOOM_KERNEL_LIST"):
        from motionloom.kernels import compiled_signatures

        with Path(place).open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in compiled_signatures())
