"""Gait measured from the motion, and labels on segments that graphs and timelines use."""

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

import motionloom as ml
from motionloom.cli import app
from motionloom.errors import InvalidInput
from motionloom.motion.feet.gait import gait_segments, gaits, label_gaits
from motionloom.motion_graph import TransitionSettings, WalkSettings, motion_graph
from motionloom.motion_graph.settings import TransitionRules


@pytest.mark.parametrize(
    ("clip", "gait"),
    [("walk", "walk"), ("walk_fast", "walk"), ("walk_left", "walk"), ("jog", "jog")],
)
def test_the_gait_of_the_built_in_clips_is_measured(clip, gait):
    result = gaits(ml.demo.clip(clip))
    assert (result == gait).mean() > 0.9


@pytest.mark.parametrize("size", [0.6, 1.0, 1.3])
@pytest.mark.parametrize("clip", ["walk", "jog"])
def test_the_gait_does_not_depend_on_body_size(clip, size):
    """Dynamically similar: lengths by a factor, speeds by its square root (equal Froude number)."""
    motion = ml.demo.clip(clip)
    scaled = replace(
        motion,
        skeleton=motion.skeleton.scaled(size),
        root=motion.root * np.float32(size),
        fps=motion.fps / size**0.5,
    )
    assert (gaits(scaled) == gaits(motion)).mean() > 0.9


def test_a_take_that_walks_then_jogs_has_both_in_order():
    order = [gait for gait, a, b in gait_segments(ml.demo.clip("take_locomotion")) if b - a > 100]
    assert order[:2] == ["walk", "jog"]


def test_a_motion_without_legs_has_no_gait():
    skeleton = ml.Skeleton(["hips"], [-1], [[0, 0, 0]])
    still = ml.Motion(skeleton, np.tile([1.0, 0, 0, 0], (40, 1, 1)), np.zeros((40, 3)), fps=30)
    assert set(gaits(still)) == {""}


@pytest.mark.parametrize(
    ("label", "meant"),
    [
        ("run/jog", ("jog", "run")),
        ("Slow Walking", ("walk",)),
        ("walk, then run", ()),
        ("runway", ()),
    ],
)
def test_labels_that_name_a_gait_are_understood(label, meant):
    assert label_gaits(label) == meant


# --- labels on segments -----------------------------------------------------------------------


@pytest.fixture
def lib(tmp_path):
    library = ml.Library.create(tmp_path / "takes.loom")
    library.add_motion(ml.demo.clip("take_locomotion")[:600], name="take", labels=["run"])
    return library


def test_segments_are_labeled_and_found(lib):
    before = lib.store.digest()
    lib.labels.add("take:0-100", "start", "calm")
    lib.labels.add("take:2s-4s", "calm")
    parts = [(str(part), label) for part, label in lib.labels.segments("take")]
    assert parts == [("take:0-100", "calm"), ("take:0-100", "start"), ("take:60-120", "calm")]
    assert lib.labels.motions("calm") == ("take",) == lib.find("calm").motions
    assert lib.labels.counts() == {"calm": 1, "run": 1, "start": 1}
    assert lib.labels["take"] == ("run",) and lib.store.digest() != before
    lib.labels.remove("take:0-100", "start", "calm")
    assert [str(part) for part, _ in lib.labels.segments("take")] == ["take:60-120"]
    lib.remove("take")
    assert lib.store.names_with_segments() == ()


def test_segments_beyond_a_replaced_take_are_dropped(lib):
    lib.labels.add("take:0-50", "start")
    lib.labels.add("take:500-600", "end")
    lib.add_motion(lib["take"][:300], name="take", replace=True)
    assert [label for _, label in lib.labels.segments("take")] == ["start"]


def test_reports_errors_in_a_segment(lib):
    with pytest.raises(InvalidInput, match="must lie within the motion's 600 frames"):
        lib.labels.add("take:500-700", "end")


def test_the_command_labels_segments_and_prints_gaits(lib):
    def run(*words):
        done = CliRunner().invoke(app, ["label", str(lib.path), *words, "--json"])
        assert done.exit_code == 0
        return json.loads(done.stdout)

    assert run("take:268-421", "fast")["segments"] == [{"segment": "take:268-421", "label": "fast"}]
    shown = run("take")
    assert shown["labels"] == ["run"] and {g["gait"] for g in shown["gaits"]} >= {"walk", "jog"}


# --- labels in graphs -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def take():
    return replace(ml.demo.clip("take_locomotion")[:600], name="take")


def test_a_take_labeled_run_counts_as_run_only_where_it_runs(take):
    graph = motion_graph([take], labels={"take": ("run",)})
    (holds,) = graph.label_frames("run")
    np.testing.assert_array_equal(holds, np.isin(gaits(take), ["jog", "run"]))
    walk = graph.walk(labels="walk:3,run:2", seed=1)
    runs = np.isin(gaits(walk), ["jog", "run"])
    assert runs[:75].mean() < 0.1 and runs[100:140].mean() > 0.8
    assert not any("applies for only" in text for text in walk.quality.warnings)


def test_a_label_that_is_not_kept_is_reported(take):
    """The walks lead to the jog once, for less time than asked."""
    graph = motion_graph([take], labels={"take": ("run",)})
    alone = replace(graph, segments={"take": ((268, 280, "hop"),)})
    output = alone.walk(labels=[("walk", 1.0), ("hop", 4.0)], seed=1).quality.warnings
    assert any(
        "label 'hop' applies for only 0." in text and "requested 4.0 s" in text for text in output
    )


def test_labels_of_segments_hold_in_their_frames(tmp_path, take):
    lib = ml.Library.create(tmp_path / "takes.loom")
    lib.add_motion(take, name="take", labels=["walk"])
    lib.labels.add("take:300-400", "quick")
    graph = lib.motion_graph()
    (holds,) = graph.label_frames("quick")
    assert np.flatnonzero(holds).tolist() == list(range(300, 400))
    player = graph.player(seed=1)
    player.steer(label="quick")
    player.read(240)
    played = player.record(seconds=4)
    inside = [s for s in played.sources if s.start_frame >= 290 and s.end_frame <= 410]
    assert sum(s.end - s.start for s in inside) > 0.5 * len(played)


def test_a_gait_that_nobody_labeled_is_measured(take):
    graph = motion_graph([take])
    assert graph.label_frames("jog")[0].sum() > 60
    with pytest.raises(InvalidInput, match=r"label 'run', and none has that gait"):
        graph.label_frames("run")


def test_labels_of_motions_that_are_cut_off_are_explained(take):
    walk, jump = take[:200], replace(ml.demo.clip("jog")[:20], name="short")
    graph = motion_graph([walk, jump], labels={"take": ("calm",), "short": ("jog",)})
    assert graph.removed.motions == ("short",)
    with pytest.raises(
        InvalidInput, match=r"the motion that has it \(short\) is cut off \(.*only the motions with"
    ):
        graph.label_frames("jog")
    assert graph.unused["short"].startswith("cut off (")


def test_a_timeline_may_be_one_string():
    assert WalkSettings(labels="walk:4,jog:2.5").timeline() == [("walk", 4.0), ("jog", 2.5)]
    assert WalkSettings(labels=("walk, veer left:4",)).timeline() == [("walk, veer left", 4.0)]


# --- bridges ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_bridges_join_walks_and_jogs(take):
    """Cut from one take, so that nothing leads from the walks to the jog but a bridge."""
    walk, jog = replace(take[0:216], name="walk"), replace(take[290:410], name="jog")
    settings = TransitionSettings(per_minute=120.0)
    bridged = replace(settings, rules=TransitionRules(bridge=True))
    labels = {"walk": ("walk",), "jog": ("jog",)}
    apart = motion_graph([walk, jog], settings, labels=labels)
    assert len(apart.names) == 1
    joined = motion_graph([walk, jog], bridged, labels=labels)
    assert joined.names == ("walk", "jog")
    made = joined.walk(labels="walk:3,jog:3", seed=1)
    result = gaits(made)
    assert (result[:75] == "walk").mean() > 0.9 and (result[120:170] == "jog").mean() > 0.9
    assert made.quality.seam_acceleration_ratio < 1.5 and made.quality.foot_slide_m < 0.03
