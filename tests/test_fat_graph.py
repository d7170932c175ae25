"""Fat graphs: base poses, fat edges, and a steerable player."""

import numpy as np
import pytest
from naive.base_poses import base_pose_rows
from scipy.spatial.distance import cdist

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.fat_graph import FatGraphSettings, base_poses, fat_graph
from motionloom.fat_graph.gait_transitions import Strides, gait_transition
from motionloom.features.feature_sets import feature_set
from motionloom.motion import Motion, Provenance
from motionloom.ragged import Ragged

KINDS = ("walk", "walk_slow", "walk_fast", "walk_left", "walk_right", "walk_left_tight",
         "walk_right_tight")  # fmt: skip


@pytest.fixture(scope="module")
def walks():
    return [ml.demo.clip(kind) for kind in KINDS]


@pytest.fixture(scope="module")
def graph(walks):
    return fat_graph(walks, FatGraphSettings(examples=8))


def test_base_poses_are_those_of_the_quadratic_construction(walks):
    features = feature_set("e15x3")
    rows = [features.prepare(walk)[::2] for walk in walks[:4]]
    bases = base_poses(Ragged.from_rows(rows), radius=0.3, apart=0, most=6, least=1)
    assert bases.rows.tolist() == base_pose_rows(np.concatenate(rows).tolist(), 0.3, 6)


@pytest.mark.parametrize("k", [None, 6])
def test_random_rows_agree_with_the_quadratic_construction(k):
    rng = np.random.default_rng(4)
    for _ in range(5):
        table = rng.normal(size=(90, 3)).astype(np.float32)
        bases = base_poses(Ragged(table, [0, 40, 90]), radius=0.8, apart=0, k=k, most=5, least=1)
        assert bases.rows.tolist() == base_pose_rows(table.tolist(), 0.8, 5, k or 90)
        assert bases.counts.max() > 6 if k is None else np.all(bases.counts <= k)


def test_with_our_rules_base_poses_are_apart_and_passed_several_times(walks):
    """Without `apart` and `least` it is the paper's construction; each changes the poses."""
    features = feature_set("e15x3")
    rows = Ragged.from_rows(features.prepare(walk)[::2] for walk in walks[:4])
    paper = base_poses(rows, radius=0.3, apart=0, most=99, least=1)
    apart = base_poses(rows, radius=0.3, apart=5, most=99, least=1)
    often = base_poses(rows, radius=0.3, apart=0, most=99, least=3)
    near = cdist(rows.values, rows.values) <= 0.3
    assert paper.rows[0] == apart.rows[0] == often.rows[0] == np.argmax(near.sum(axis=1))

    def gaps(bases):
        """Least number of rows from a base pose to the neighbors of those before it."""
        motion = rows.row_of(np.arange(len(rows.values)))
        for n, row in enumerate(bases.rows[1:], start=1):
            others = np.flatnonzero(near[bases.rows[:n]].any(axis=0))
            yield np.min(np.abs(others[motion[others] == motion[row]] - row), initial=99)

    def passes(bases):
        return [
            len(np.split(m, np.flatnonzero(np.diff(m) > 1) + 1)) for m in map(members, bases.rows)
        ]

    def members(row):
        return np.flatnonzero(near[row])

    assert min(gaps(paper)) <= 5 < min(gaps(apart))
    assert min(passes(paper)) < 3 <= min(passes(often))


@pytest.mark.cmu
@pytest.mark.parametrize("features", ["e15", "e15x3"])
def test_on_captured_walks_counts_have_no_limit(cmu30, features):
    """All walks and runs of subject 35; with the limit 256 most frames had 256 neighbors."""
    measure = feature_set(features)
    takes = sorted((cmu30 / "035").glob("*.bvh"))
    rows = Ragged.from_rows(measure.prepare(ml.load(take)) for take in takes)
    radius = 0.07 / measure.scale
    near = cdist(rows.values, rows.values) <= radius
    counts = near.sum(axis=1)
    assert np.mean(counts > 256) > 0.5
    free, expected = np.ones(len(near), bool), []
    while free.any() and len(expected) < 8:
        expected.append(int(np.argmax(np.where(free, counts, -1))))
        free &= ~near[expected[-1]]
    bases = base_poses(rows, radius=radius, apart=0, most=8, least=1)
    assert bases.rows.tolist() == expected
    assert bases.counts.tolist() == counts[expected].tolist()
    limited = base_poses(rows, radius=radius, apart=0, k=256, most=8, least=1)
    assert limited.rows[0] != expected[0]


def test_every_base_pose_has_an_edge_and_reaches_every_other(graph):
    reached = {0}
    for _ in graph.edges:
        reached |= {edge.target for edge in graph.edges if edge.source in reached}
    assert reached == set(range(len(graph.poses)))
    assert all(graph.leaving(pose) for pose in range(len(graph.poses)))


@pytest.mark.parametrize(("direction", "speed"), [(1.2, 1.2), (-2.5, 1.0), (0.4, 1.4)])
def test_the_player_follows_direction_and_speed(graph, direction, speed):
    player = graph.player(direction=0.0, speed=1.2)
    player.record(seconds=2)
    player.steer(direction=direction, speed=speed)
    player.record(seconds=7)
    went = player.record(seconds=3).root[:, [0, 2]].astype(np.float64)
    x, z = went[-1] - went[0]
    off = np.angle(np.exp(1j * (np.arctan2(x, z) - direction)))
    assert abs(np.degrees(off)) < 8.0
    reached = np.linalg.norm(np.diff(went, axis=0), axis=1).mean() * graph.fps
    assert abs(reached - speed) < 0.15


def test_the_player_starts_at_the_origin_and_moves_along_z(graph):
    walk = graph.player(direction=0.0, speed=1.2).record(seconds=6)
    assert np.abs(walk.root[0, [0, 2]]).max() < 0.02
    assert walk.root[-1, 2] > 5.0
    assert abs(walk.root[-1, 0]) < 0.6


def test_a_randomly_steered_player_never_ends_slides_or_jerks(graph):
    player, rng = graph.player(), np.random.default_rng(0)
    parts = []
    for _ in range(40):
        player.steer(direction=rng.uniform(-np.pi, np.pi), speed=rng.uniform(0.0, 3.0))
        parts.append(player.read(int(rng.integers(1, 60))))
    sources = tuple(source for part in parts for source in part.sources)
    seams = tuple(seam for part in parts for seam in part.seams)
    made = Motion(
        graph.skeleton,
        np.concatenate([part.rotations for part in parts]),
        np.concatenate([part.root for part in parts]),
        graph.fps,
        provenance=Provenance(sources, seams),
    )
    assert np.isfinite(made.root).all()
    quality = graph.quality(made)
    assert quality.foot_slide_m < 0.015
    assert quality.seam_acceleration_ratio < 1.7  # 1.63 times the walks around the seam


def test_single_frames_and_blocks_give_the_same_motion(graph):
    block = graph.player(direction=0.7, speed=1.1).read(100)
    single = graph.player(direction=0.7, speed=1.1)
    poses = [pose for pose, _ in zip(single.frames(), range(100), strict=False)]
    assert np.allclose([pose.root for pose in poses], block.root, atol=1e-5)


def test_sources_name_frames_of_the_motions(graph, walks):
    lengths = {walk.name: len(walk) for walk in walks}
    walk = graph.player(speed=1.2).record(seconds=5)
    assert walk.provenance.sources
    for source in walk.provenance.sources:
        assert -0.5 <= source.start_frame < source.end_frame <= lengths[source.motion] + 0.5


@pytest.mark.slow
def test_a_library_builds_a_fat_graph(walks, tmp_path):
    lib = ml.Library.create(tmp_path / "takes.loom")
    for walk in walks[:4]:
        lib.add_motion(walk)
    made = lib.fat_graph(examples=3)
    assert made.player(speed=1.2).record(seconds=1).duration == 1.0
    paper = lib.fat_graph(ml.FatGraphSettings.kt10(examples=3))
    same = lib.fat_graph(examples=3, features="e15", bridge=False)
    assert paper.poses == same.poses != made.poses


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"radius": 0.0}, "radius must be greater than 0; got 0.0"),
        ({"examples": 1}, "examples must be at least 2; got 1"),
        ({"features": "e99"}, "e99"),
    ],
)
def test_invalid_settings_are_rejected(walks, wrong, message):
    with pytest.raises(InvalidInput, match=message):
        fat_graph(walks[:2], FatGraphSettings(**wrong))


def test_motions_that_do_not_repeat_form_no_graph():
    with pytest.raises(InvalidInput, match="no pose occurs|leads from any|at least one motion"):
        fat_graph([ml.demo.clip("kick_front_mid_right")])
    with pytest.raises(InvalidInput, match="at least one motion; got none"):
        fat_graph([])


def test_invalid_controls_are_rejected(graph):
    player = graph.player()
    with pytest.raises(InvalidInput, match="direction must be a finite number; got nan"):
        player.steer(direction=np.nan)
    with pytest.raises(InvalidInput, match="speed must be a finite, non-negative number; got -1"):
        player.steer(speed=-1)
    with pytest.raises(InvalidInput, match="no control 'mood'"):
        player.steer(mood="good")
    with pytest.raises(InvalidInput, match="start must be the number of a base pose, 0 to"):
        graph.player(start=99)


def test_speeds_within_reach_are_kept_and_others_give_warnings(graph):
    slow, fast = graph.speeds
    assert 0.6 < slow < fast < 2.0
    for speed in np.linspace(slow + 0.05, fast - 0.05, 3):
        walk = graph.walk(6.0, speed=float(speed))
        hips = walk.role_positions(["hips"])[45:, 0, [0, 2]]
        gone = np.linalg.norm(hips[-1] - hips[0]) / ((len(hips) - 1) / walk.fps)
        assert gone == pytest.approx(speed, abs=0.15)
        assert walk.quality.speeds_m_s == graph.speeds
        assert not any("was requested" in text for text in walk.quality.warnings)
    beyond = graph.walk(1.0, speed=fast + 1.0)
    assert any(
        f"allow {slow:.2f} to {fast:.2f} m/s. Add faster" in w for w in beyond.quality.warnings
    )


def test_speeds_are_those_of_whole_cycles(graph):
    """A fast edge is not a speed that can be kept: the whole cycle counts."""
    slow, fast = graph.speeds
    assert slow >= min(edge.speeds[0] for edge in graph.edges) - 1e-3
    assert fast <= max(edge.speeds[1] for edge in graph.edges)
    best = 0.0
    for length in range(1, 5):  # all rounds of up to four edges
        for pose in range(len(graph.poses)):
            best = max(best, _fastest_round(graph, pose, pose, length, 0.0, 0.0))
    assert fast >= best - 2e-3


def _fastest_round(graph, start, pose, left, meters, seconds):
    best = meters / seconds if pose == start and seconds else 0.0
    if left == 0:
        return best
    for number in graph.leaving(pose):
        edge = graph.edges[number]
        gone = meters + edge.speeds[1] * edge.seconds, seconds + edge.seconds
        best = max(best, _fastest_round(graph, start, edge.target, left - 1, *gone))
    return best


def test_a_walk_is_steered_by_time(graph):
    walk = graph.walk(8.0, direction=0.0, speed=1.2, steering=[(3.0, np.pi / 2, 1.1)])
    hips = walk.role_positions(["hips"])[:, 0].astype(float)
    first, last = hips[60] - hips[30], hips[-1] - hips[-45]
    assert abs(np.arctan2(first[0], first[2])) < 0.3
    assert abs(np.arctan2(last[0], last[2]) - np.pi / 2) < 0.3
    with pytest.raises(
        InvalidInput,
        match="steering changes must occur within the 2 s of the walk; got a change at 3 s",
    ):
        graph.walk(2.0, steering=[(3.0, 0.0, None)])


@pytest.mark.slow
def test_the_command_describes_the_graph_and_writes_walks(tmp_path, walks):
    import json

    from click.testing import CliRunner

    from motionloom.cli import app

    lib = ml.Library.create(tmp_path / "takes.loom")
    for walk in walks[:5]:
        lib.add_motion(walk)

    def run(*words):
        return CliRunner().invoke(app, ["fat-graph", str(lib.path), "--examples", "4", *words])

    report = json.loads(run("--json").stdout)
    assert report["motions"] == 5 and report["edges"] and len(report["speeds"]) == 2
    assert "base poses" in run().stdout
    out = tmp_path / "walk.bvh"
    steer = ["--speed", "3", "--seconds", "2", "--steer", "1:90"]
    done = json.loads(run("-o", str(out), *steer, "--json").stdout)
    assert done["frames"] == 60 and len(ml.load(out)) == 60 and done["sources"]
    assert any("a speed of 3.00 m/s was requested" in text for text in done["quality"]["warnings"])
    with pytest.raises(InvalidInput, match=r"--steer must be SECOND:DEGREES or .* got 1"):
        CliRunner().invoke(
            app, ["fat-graph", str(lib.path), "-o", str(out), "--steer", "1"],
            catch_exceptions=False,
        )  # fmt: skip


# --- walks and jogs together -----------------------------------------------------------------


@pytest.fixture(scope="module")
def gaits(walks):
    jogs = [ml.demo.clip(kind) for kind in ("jog", "jog_fast", "jog_left", "jog_right")]
    return [*walks, *jogs]


@pytest.fixture(scope="module")
def both(gaits):
    return fat_graph(gaits, FatGraphSettings(examples=6))


def test_generated_transitions_connect_walks_and_jogs(both):
    walking, jogging = both.gait_speeds
    assert walking[1] < 1.9 and jogging[1] > 2.4
    assert both.speeds == (walking[0], jogging[1])
    bridges = [edge for edge in both.edges if edge.bridge]
    assert len(bridges) == 2 and both.info()["made"]
    assert {clip.motion for edge in bridges for clip in edge.clips} == set(both.info()["made"])


def test_a_walk_becomes_a_jog_and_a_walk_again(both):
    motion = both.walk(14.0, speed=1.2, steering=[(4.0, 0.0, 2.5), (9.0, 0.0, 1.2)])
    speed = np.linalg.norm(np.diff(motion.root[:, [0, 2]], axis=0), axis=1) * motion.fps
    means = [speed[int(a * motion.fps) : int(b * motion.fps)].mean() for a, b in ((2, 4), (7, 9))]
    assert abs(means[0] - 1.2) < 0.2 and abs(means[1] - 2.5) < 0.4
    assert speed[-30:].mean() < 1.5
    assert motion.quality.foot_slide_m < 0.01
    # 1.73 times the walks around the worst seam, below 1.5 times the jogs
    assert motion.quality.seam_acceleration_ratio < 1.8


@pytest.mark.slow
def test_without_bridges_the_smaller_part_is_dropped(gaits):
    alone = fat_graph(gaits, FatGraphSettings(examples=4, bridge=False))
    assert len(alone.gait_speeds) == 1 and not alone.made
    assert alone.speeds[1] < 2.0


def test_the_phase_counts_strides(walks):
    strides = Strides.of(walks[0])
    landings = [start for start, _ in walks[0].contacts().intervals("left_heel") if start > 0]
    phases = strides.phase[landings] % 1.0
    assert np.all(np.minimum(phases, 1.0 - phases) < 0.1)
    assert Strides.of(walks[0][:10]) is None


def test_a_transition_begins_and_ends_with_its_takes(gaits):
    walk, jog = Strides.of(gaits[0]), Strides.of(gaits[len(KINDS)])
    made = gait_transition(walk, 40, jog, 50)
    for frame, strides, own in ((0, walk, 40), (len(made) - 1, jog, 50)):
        ours = made.without_heading().positions()[frame]
        np.testing.assert_allclose(
            ours, strides.motion.without_heading().positions()[own], atol=0.06
        )
