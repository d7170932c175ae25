"""Searches for the mirrored query too: a right kick finds left ones, and says so."""

import json

import numpy as np
import pytest
from commands import ran

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.search import METHODS

KICKS = ("kick_front_high_right", "kick_front_high_left")
QUERY = "kick_front_high_right_p0:10-40"


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    lib = ml.Library.create(tmp_path_factory.mktemp("mirror") / "kicks.loom")
    for action in (*KICKS, "walk", "punch_mid_left"):
        for performer in (0, 1):
            lib.add_motion(ml.demo.clip(action, performer=performer), labels=[action])
    return lib


@pytest.mark.parametrize("options", [{}, {"method": "lazy"}, {"method": ml.Dtw(weights="moving")}])
def test_both_sides_are_found_and_distinguished(lib, options):
    alone = lib.search(QUERY, max=4, **options)
    assert not any(hit.mirrored for hit in alone)
    assert not any(hit.motion.startswith(KICKS[1]) for hit in alone[:2])
    both = lib.search(QUERY, max=4, mirror=True, **options)
    assert {hit.motion for hit in both} == {f"{kick}_p{p}" for kick in KICKS for p in (0, 1)}
    for hit in both:
        assert hit.mirrored == hit.motion.startswith(KICKS[1]) == hit.as_dict()["mirrored"]
        assert hit.alignment[0, 0] >= 0 and hit.alignment[-1, 0] < 30
    assert [hit.distance for hit in both] == sorted(hit.distance for hit in both)


def test_the_mirrored_matches_are_those_of_the_mirrored_query(lib):
    other = lib.clip(QUERY).mirror()
    by_hand = {
        hit.text: hit.distance for hit in lib.search(other, max=2, method=ml.Dtw(rank="distance"))
    }
    matches = lib.search(QUERY, max=4, mirror=True, method=ml.Dtw(rank="distance"))
    mirrored = {hit.text: hit.distance for hit in matches if hit.mirrored}
    assert mirrored.keys() == by_hand.keys()
    assert list(mirrored.values()) == pytest.approx(list(by_hand.values()), abs=2e-3)


def test_frames_of_the_query_are_excluded_on_both_sides(lib):
    walk = lib.search("walk_p0:20-60", mirror=True, exclude_query=True, max=None)
    assert any(hit.mirrored for hit in walk)
    assert all(
        hit.end_frame <= 20 or hit.start_frame >= 60 for hit in walk if hit.motion == "walk_p0"
    )


@pytest.mark.parametrize("method", ["statistics", "emd", "dtw-clip"])
def test_whole_clips_have_one_side_each(lib, method):
    matches = lib.search(f"{KICKS[0]}_p0", method=METHODS[method](k=4), mirror=True)
    assert {hit.motion: hit.mirrored for hit in matches} == {
        f"{kick}_p{p}": kick == KICKS[1] for kick in KICKS for p in (0, 1)
    }
    everything = lib.search(f"{KICKS[0]}_p0", method=method, mirror=True)
    assert sorted(hit.motion for hit in everything) == sorted(lib.names)


def test_other_rigs_and_rates_are_mirrored_too(lib):
    quick = ml.demo.clip(KICKS[0], performer=1, fps=120.0)
    matches = lib.search(quick[40:160].transform(yaw=1.0), mirror=True, max=4)
    assert {hit.motion: hit.mirrored for hit in matches} == {
        f"{kick}_p{p}": kick == KICKS[1] for kick in KICKS for p in (0, 1)
    }


def test_the_command_prints_and_draws_the_side(lib, tmp_path):
    words = ["search", lib.path, QUERY, "--mirror", "--max", "4"]
    hits = json.loads(ran(*words, "--json").stdout)
    assert [hit["mirrored"] for hit in hits].count(True) == 2
    sheet = tmp_path / "kicks.html"
    assert "mirrored" in ran(*words, "--sheet", sheet).stdout
    assert sheet.read_text(encoding="utf-8").count("· mirrored") >= 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tiers": "all"}, r"mirror requires a search without query expansion \(tiers 1\)"),
        ({"method": "web"}, "mirror does not work with a match web, which cannot search"),
    ],
)
def test_what_cannot_be_mirrored_is_refused(lib, options, message):
    with pytest.raises(InvalidInput, match=message):
        lib.search(QUERY, ml.SearchSettings.of({"mirror": True, **options}))
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    done = ran("search", lib.path, QUERY, "--mirror", *words)
    assert done.returncode == 2 and message[:12] in done.stderr


def test_a_mirror_image_is_as_near_as_the_motion_itself(lib):
    """Exactly symmetric data: the mirrored copy is at distance zero, up to rounding."""
    kick = lib[f"{KICKS[0]}_p0"]
    lib2 = ml.Library.create(lib.path.parent / "copy.loom")
    lib2.add_motion(kick.mirror(), name="copy")
    (hit, *_) = lib2.search(kick[10:40], mirror=True)
    assert hit.mirrored and hit.start_frame == 10 and np.isclose(hit.distance, 0.0, atol=0.02)
