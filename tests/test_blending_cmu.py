"""Blends of captured motion, of several performers, found by search."""

import numpy as np
import pytest

import motionloom as ml
from motionloom.blending import Blend, register
from motionloom.motion.diagnostics.quality import foot_slide, joint_accelerations
from motionloom.motion.feet.contacts import SIDES
from motionloom.motion.feet.foot_lock import ground_under

# Query -> takes to search, how alike members are, in meters per cell.
FAMILIES = {
    "144_06:215-249": (["144_05", "144_06", "86_01", "135_03"], 0.10),  # front kicks
    "144_15:60-100": (["144_15", "144_16", "144_22"], 0.08),  # punches
    "16_15:20-58": (["16_15", "16_16", "07_01", "08_01", "35_01", "12_01"], 0.06),  # walks
    "16_17:20-70": (["16_17", "16_18", "16_11", "16_13", "69_07", "69_08"], 0.08),  # turns
}


@pytest.fixture(scope="module")
def takes(cmu30, tmp_path_factory):
    lib = ml.Library.create(tmp_path_factory.mktemp("cmu") / "takes.loom")
    for names, _ in FAMILIES.values():
        for name in names:
            path = cmu30 / name.split("_")[0].zfill(3) / f"{name}.bvh"
            if name not in lib.names and path.exists():
                lib.add_motion(ml.load(path), name=name)
    return lib


@pytest.fixture(scope="module")
def blends(takes):
    made = {}

    def of(query):
        if query not in made:
            names, near = FAMILIES[query]
            family = takes.family(
                query, max=15, only=names, expansion=ml.Expansion(join_distance=near)
            )
            made[query] = Blend(register(takes, family, drop_unmatched=True))
        return made[query]

    return of


def depth(motion, contacts):
    """How far a ball is below the ground of its nearest contacts, at most, in meters."""
    deepest = 0.0
    for side in SIDES:
        plants = contacts.plants.get(f"{side}_ball", ())
        if plants:
            levels = np.array([plant.height for plant in plants])
            ball = motion.role_positions([f"{side}_foot"])[:, 0, 1]
            deepest = max(deepest, float((ground_under(plants, levels, len(motion)) - ball).max()))
    return deepest


@pytest.mark.cmu
@pytest.mark.parametrize("query", FAMILIES)
def test_captured_families_blend_without_visible_flaws(blends, query):
    blend = blends(query)
    assert len(blend) >= 5
    rng = np.random.default_rng(0)
    most = max(joint_accelerations(e.motion).max() for e in blend.registration.examples)
    slides, depths, jerks = [], [], []
    for _ in range(12):
        weights = np.zeros(len(blend))
        weights[rng.choice(len(blend), 4, replace=False)] = rng.dirichlet(np.full(4, 0.6))
        made, contacts = blend(weights), blend.contacts(weights)
        slides.append(foot_slide(made, contacts).per_contact_m)
        depths.append(depth(made, contacts))
        jerks.append(joint_accelerations(made).max() / most)
    assert np.mean(slides) < 0.01
    assert max(depths) < 0.01
    assert max(jerks) < 1.5


@pytest.mark.cmu
@pytest.mark.parametrize("query", FAMILIES)
def test_one_example_alone_is_that_example(blends, query):
    blend = blends(query)
    for n in range(len(blend)):
        made, example = blend(np.eye(len(blend))[n]), blend.registration.placed(n)
        assert np.abs(made.positions() - example.positions()).max() < 1e-3
