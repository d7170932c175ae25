"""How near parametric motions come: the eight of the paper's table, and captured families."""

import numpy as np
import pytest
from naive.parameter_space import is_valid

import motionloom as ml
from benchmarks.table_one import ROWS, corpus_library, parametric_row, random_targets
from motionloom.blending import register
from motionloom.motion.diagnostics.quality import floor_penetration, foot_slide, joint_accelerations
from motionloom.parametric.parametric_motion import parametrize
from motionloom.parametric.settings import ParametrizeSettings

# Query -> takes to search, maximum distance of members, parameter.
CAPTURED = {
    "35_01:23-60": (None, 0.06, "final_root_position"),  # walks, as the paper's 96
    "144_06:215-249": (["144_05", "144_06", "86_01", "135_03"], 0.10, "right_ankle@230"),  # kicks
    "144_15:60-100": (["144_15", "144_16", "144_22"], 0.08, "right_wrist@66"),  # punches
}
WALKS = ("07", "08", "12", "16", "35")


@pytest.fixture(scope="module")
def corpus():
    with corpus_library(tuple({row.label for row in ROWS})) as library:
        yield library


def judged(motion, count):
    """Errors in the written motion's own parameters, slide, depth and acceleration ratios."""
    most = max(
        joint_accelerations(example.motion).max() for example in motion.registration.examples
    )
    rows = []
    for target in random_targets(motion, count, seed=1):
        result = motion.reach(target)
        assert is_valid(result.weights, motion.space.delta)
        made, contacts = result.motion, motion.contacts(result.weights)
        rows.append(
            (
                result.error,
                foot_slide(made, contacts).per_contact_m,
                floor_penetration(made, contacts),
                joint_accelerations(made).max() / most,
            )
        )
    return np.array(rows).T


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_eight_of_the_table_land_on_their_targets(corpus, row, capsys):
    motion = parametric_row(corpus, row)
    errors, slide, depth, ratio = judged(motion, 200)
    with capsys.disabled():
        print(
            f"\n{row.name}: {len(motion.examples)} examples, {len(motion.accessible)} samples, "
            f"off by {100 * np.median(errors):.2f} / {100 * np.percentile(errors, 95):.2f} cm, "
            f"slide {100 * slide.mean():.2f} cm, acceleration at most {ratio.max():.2f}"
        )
    assert np.median(errors) < 0.01 and np.percentile(errors, 95) < 0.03
    assert slide.mean() < 0.01 and depth.max() < 0.01 and ratio.max() < 1.5


@pytest.fixture(scope="module")
def takes(cmu30, tmp_path_factory):
    library = ml.Library.create(tmp_path_factory.mktemp("cmu") / "takes.loom")
    wanted = {name for names, _, _ in CAPTURED.values() for name in names or ()}
    for path in sorted(cmu30.rglob("*.bvh")):
        if path.stem in wanted or path.stem.split("_")[0] in WALKS:
            library.add_motion(ml.load(path), name=path.stem)
    return library


@pytest.mark.cmu
@pytest.mark.slow
@pytest.mark.parametrize("query", CAPTURED)
def test_captured_families_land_on_their_targets(takes, query, capsys):
    names, near, by = CAPTURED[query]
    family = takes.family(
        query, max=95, only=names, expansion=ml.Expansion(join_distance=near)
    )  # with the query: 96
    registration = register(takes, family, drop_unmatched=True)
    motion = parametrize(registration, by, ParametrizeSettings(seed=1))
    errors, slide, _, ratio = judged(motion, 100)
    fewer, fewest = (
        parametrize(
            registration,
            by,
            ParametrizeSettings.of({"samples": 0, "redundant": 0.00635, "redundant_by": rule}),
        )
        for rule in ("interpolated", "refined")
    )
    with capsys.disabled():
        print(
            f"\n{query} by {by}: {len(motion.examples)} examples, "
            f"{len(fewer.examples)} or {len(fewest.examples)} after a quarter of an inch, "
            f"off by {100 * np.median(errors):.2f} / {100 * np.percentile(errors, 95):.2f} cm, "
            f"slide {100 * slide.mean():.2f} cm, acceleration at most {ratio.max():.2f}"
        )
    assert np.median(errors) < 0.01 and np.percentile(errors, 95) < 0.03
    assert ratio.max() < 1.5
    assert len(fewest.examples) < len(fewer.examples) <= len(motion.examples)
