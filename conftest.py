"""What examples in docstrings may use without making it: `ml`, `np`, and a small library `lib`."""

from __future__ import annotations

import pytest

_MOTIONS = (
    "walk",
    "walk_fast",
    "jog",
    "kick_front_mid_right",
    "kick_front_high_right",
    "dance_groove",
)


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
    if example is not None and any("lib" in one.source for one in example.examples):
        doctest_namespace["lib"] = request.getfixturevalue("_small_library")
