"""Order of tests, and what examples in docstrings may use: `ml`, `np`, a small library `lib`."""

from __future__ import annotations

import gc
import os
import shutil

import pytest

# Two workers share two cores. Read when NumPy is imported, here and in the processes tests start.
for _setting in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_setting, "1")

# Files that are run by the same worker: one browser at a time, one cluster for all.
_TOGETHER = {
    "tests/studio_page/": "browser",
    "tests/test_cluster.py": "cluster",
    "tests/test_object_store.py": "cluster",
    "tests/test_shards.py": "cluster",
}
# The slowest files run first and examples in docstrings last, so that no single worker has a lot
# left to do at the end.
_FIRST = (
    "tests/studio_page/",
    "tests/test_docs.py",
    "tests/test_cluster.py",
    "tests/test_cli_demo.py",
    "tests/test_import_faults.py",
    "tests/test_bench.py",
    "tests/test_formats.py",
    "tests/test_studio_",
    "tests/test_cli_",
    "tests/",
)

_MOTIONS = (
    "walk",
    "walk_fast",
    "jog",
    "kick_front_mid_right",
    "kick_front_high_right",
    "dance_groove",
)


# Examples in docstrings that take seconds: they build a graph, a choreography or a crowd.
_SLOW_EXAMPLES = (
    "blending.player.ScenePlayer",
    "crowd.built_in.",
    "crowd.couples.couple_steps",
    "crowd.footfalls.",
    "crowd.learned.learned_steps",
    "dance.dancing.dance.beats_on_time",
    "demo.waltz.march_takes",
    "evaluation.reconstruction.",
    "fat_graph.build.fat_graph",
    "fat_graph.graph.FatGraph.walk",
    "formats.own_character.load_character",
    "library.annotations.BeatCollection.edit",
    "library.collections.ParametricCollection",
    "library.dance_verbs.DanceVerbs.",
    "library.find_verbs.FindVerbs.clusters",
    "library.motion_verbs.MotionVerbs.",
    "motion_graph.graph.MotionGraph.walk",
    "parametric.artifact.save_parametric",
    "plots.figures.filmstrip.write_worst_second",
    "plots.matching_coverage.write_coverage",
    "plots.parametric.write_parameter_space",
)


def pytest_collection_modifyitems(items) -> None:
    """Sort by the place of the file in `_FIRST`, and mark slow examples."""
    items.sort(key=lambda item: _rank(item.nodeid))
    slow = tuple(f"::motionloom.{name}" for name in _SLOW_EXAMPLES)
    for item in items:
        if item.nodeid.startswith("src/") and any(name in item.nodeid for name in slow):
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    """Whatever was imported stays: the garbage collector need not look at it again."""
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Each file is run by one worker, so that its fixtures are made once.

    Groups (``--dist loadgroup``) do not serve: pytest-xdist 3.8 ignores them with pytest 9.2.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Files(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return next((to for name, to in _TOGETHER.items() if file.startswith(name)), file)

    config.option.loadscopereorder = False  # in the order of the collection
    return Files(config, log)


def _rank(nodeid: str) -> int:
    """Place of the file of a test in `_FIRST`."""
    return next((rank for rank, name in enumerate(_FIRST) if nodeid.startswith(name)), len(_FIRST))


@pytest.fixture(scope="session")
def _small_library(tmp_path_factory):
    import motionloom as ml

    library = ml.Library.create(tmp_path_factory.mktemp("examples") / "takes.loom")
    for name in _MOTIONS:
        library.add_motion(ml.demo.clip(name), name=name, labels=[name.split("_")[0]])
    return library


@pytest.fixture(autouse=True)
def _names(request, doctest_namespace):
    """Only for examples that speak of `lib`: the others need not wait for it."""
    import numpy as np

    import motionloom as ml

    doctest_namespace.update(ml=ml, np=np)
    example = getattr(request.node, "dtest", None)
    if example is not None and any("lib" in first.source for first in example.examples):
        lib = request.getfixturevalue("_small_library")
        if example.name.startswith("motionloom.store."):  # these change it
            copy = request.getfixturevalue("tmp_path") / "takes.loom"
            lib = ml.Library(shutil.copytree(lib.path, copy))
        doctest_namespace["lib"] = lib
