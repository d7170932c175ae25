"""Motion matching: features, exact search, and a character that follows controls."""

import json
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from commands import error_lines, ran
from naive import motion_matching as naive

import motionloom as ml
from motionloom.errors import InvalidInput, LibraryError, RoleError
from motionloom.motion import Motion, Skeleton
from motionloom.motion.diagnostics.quality.measures import joint_accelerations
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion_matching import (
    MatchingDatabase,
    MatchingSettings,
    matching_database,
    run_course,
)
from motionloom.motion_matching.artifact import open_database, save_database
from motionloom.motion_matching.features import RootMotion, matching_features
from motionloom.motion_matching.generated_takes import MADE
from motionloom.motion_matching.seams import _slide
from motionloom.motion_matching.settings import MatchingWeights
from motionloom.motion_matching.simulation import PathFollower, Simulation
from motionloom.motion_matching.steering_courses import course_path, response_times

KINDS = ("walk", "walk_left", "walk_right", "jog")


@pytest.fixture(scope="module")
def walks():
    return [ml.demo.clip(kind) for kind in KINDS]


@pytest.fixture(scope="module")
def database(walks):
    return matching_database(walks, MatchingSettings())


def test_features_match_a_loop_over_frames(walks):
    for walk in walks[1:2]:
        root = RootMotion.of(walk)
        left, right, hips = np.moveaxis(
            walk.role_positions(["left_ankle", "right_ankle", "hips"]).astype(np.float64), 1, 0
        )
        floor = np.column_stack([root.floor.imag, root.floor.real])
        expected = naive.features(floor, root.facing, left, right, hips, walk.fps)
        np.testing.assert_allclose(matching_features(walk, root), expected, atol=2e-6)


def test_features_do_not_depend_on_place_and_heading(walks):
    moved = walks[1].transform(yaw=2.0, shift=(3.0, 0.0, -1.0))
    np.testing.assert_allclose(matching_features(moved), matching_features(walks[1]), atol=1e-4)


def test_root_motion_continues_beyond_the_ends_of_a_take(walks):
    root = RootMotion.of(walks[0])
    speed = np.abs(np.diff(root.floor)) * walks[0].fps
    assert speed.min() > 0.7 * np.median(speed)


def test_search_is_exact(database, rng):
    allowed = database.allowed()
    for _ in range(20):
        query = database.features[rng.integers(len(database))] + rng.normal(0.0, 0.2, 27)
        point = database.normalization.apply(query)
        frames, cost = database.nearest(query, allowed=allowed)
        best, least = naive.nearest(database.rows, point, allowed)
        assert frames[0] == best and cost[0] == pytest.approx(least, rel=1e-5)


def test_ends_of_takes_are_never_found(database):
    for part in database.ranges:
        frames, _ = database.nearest(database.features[part.stop - 1])
        assert database.range_of(int(frames[0])).stop - frames[0] > 0.3 * database.fps


def test_weights_are_meters():
    walk = [ml.demo.clip("walk")]
    plain = matching_database(
        walk, MatchingSettings(mirror=False, weights=MatchingWeights(trajectory_position=1.0))
    )
    double = matching_database(
        walk, MatchingSettings(mirror=False, weights=MatchingWeights(trajectory_position=2.0))
    )
    shifted = plain.features[20].copy()
    shifted[15] += 0.1
    off = [
        np.linalg.norm(variant.normalization.apply(shifted) - variant.rows[20])
        for variant in (plain, double)
    ]
    np.testing.assert_allclose(off, [0.1, 0.2], rtol=1e-3)


def test_spread_divides_by_the_deviation_of_each_group(walks):
    settings = MatchingSettings(
        weights=MatchingWeights(normalize="spread", foot_position=1.0, trajectory_facing=1.0)
    )
    rows = matching_database(walks, settings).rows
    for part in (slice(0, 3), slice(21, 27)):
        assert rows[:, part].std(axis=0).mean() == pytest.approx(1.0, rel=1e-3)


def test_takes_without_standing_get_a_start_and_a_stop(database):
    names = {part.name for part in database.ranges}
    assert set(MADE) <= names and set(database.takes) == {f"{kind}_p0" for kind in KINDS}
    still = database.motion(next(part for part in database.ranges if part.name == MADE[0]))
    feet = still.role_positions(["left_ankle", "right_ankle"])[0]
    assert abs(feet[0, 2] - feet[1, 2]) < 0.1
    speeds = database.speeds
    start = next(part for part in database.ranges if part.name == MADE[1])
    assert speeds[start.start] < 0.1 and speeds[start.stop - 3] > 0.9


def test_a_desired_velocity_is_followed(database):
    player = database.player(velocity=(0.0, 1.3))
    player.read(60)
    player.steer(velocity=(1.3, 0.0))
    player.read(60)
    x, z = player.state().velocity
    assert x > 0.7 and abs(z) < 0.5
    player.steer(velocity=(0.0, 0.0))
    player.read(90)
    assert np.hypot(*player.state().velocity) < 0.2


def test_a_standing_pose_is_held_until_controls_change(database):
    player = database.player()
    still = player.record(seconds=4)
    assert np.ptp(still.root, axis=0).max() < 0.1
    player.steer(velocity=(0.0, 1.3))
    player.read(60)
    assert player.state().velocity[1] > 0.8


@pytest.mark.parametrize("degrees", [-135, 90, 180])
def test_a_standing_character_that_cannot_turn_in_place_turns_in_an_arc(degrees):
    database = matching_database([ml.demo.clip("walk")], MatchingSettings())
    player = database.player()
    player.read(30)
    x, z = np.sin(np.radians(degrees)), np.cos(np.radians(degrees))
    player.steer(velocity=(1.3 * x, 1.3 * z))
    motion = player.record(seconds=4)
    assert motion.root[-1, 0] * x + motion.root[-1, 2] * z > 1.0
    assert np.dot(player.state().velocity, (x, z)) > 0.8


def test_the_body_keeps_its_facing_while_it_strafes(database):
    player = database.player(velocity=(0.0, 1.2), strafe=True)
    player.read(30)
    assert player.state().place[2] == pytest.approx(0.0, abs=0.3)
    player.steer(strafe=False, velocity=(1.2, 0.0))
    player.read(75)
    assert player.state().place[2] == pytest.approx(np.pi / 2, abs=0.5)


def test_only_frames_with_the_desired_tag_are_played(database):
    player = database.player(velocity=(0.0, 2.5), gait="walk")
    motion = player.record(seconds=3)
    assert not any(source.motion.startswith("jog") for source in motion.sources)
    with pytest.raises(
        InvalidInput, match="no frame has the tag 'crawl'; available tags: stand, walk"
    ):
        database.player(gait="crawl")


@pytest.mark.parametrize("dynamics", ["sprung", "clamped"])
def test_predicted_trajectories_match_the_simulation(dynamics):
    simulation = Simulation(velocity=1.0 + 0.5j, facing=0.3, dynamics=dynamics)
    places, facings = simulation.ahead(0.2 - 1.0j, -1.0)
    here, fps = 0j, 600
    for k in range(fps):
        before = simulation.velocity
        simulation.step(0.2 - 1.0j, -1.0, 1.0 / fps)
        here += 0.5 * (before + simulation.velocity) / fps
        for horizon, (place, facing) in enumerate(zip(places, facings, strict=True)):
            if k + 1 == round((horizon + 1) * fps / 3):
                assert abs(here - place) < 2e-3 and abs(simulation.facing - facing) < 2e-2


def test_a_path_follower_only_moves_forward_and_stops_at_the_end():
    path = PathFollower(np.linspace(0.0, 4.0, 81) + 0j, 1.5)
    for here in (0.5, 0.4 + 0.2j, 1.7):
        path.follow(here)
    assert path.along == pytest.approx(1.7) and not path.done
    path.along = 3.7
    places, _ = path.ahead(1.5)
    assert places.real.max() <= 4.0 + 1e-9 and places.real[-1] > 3.8


@pytest.mark.slow
def test_courses_are_run(database):
    circle = run_course(database, "figure-eight")
    figures = circle.to_dict()
    assert circle.finished and figures["path_error_m"] < 0.15
    assert figures["foot_slide_m"] < 0.01 and figures["seam_acceleration_ratio"] < 1.5
    turn = run_course(database, "turn").to_dict()
    assert turn["response_s"] < 0.5 and turn["seam_acceleration_ratio"] < 1.5


@pytest.mark.slow
@pytest.mark.parametrize("name", ["circle", "zigzag", "stop-and-go", "sprint-to-stop"])
def test_all_courses_are_run(database, name):
    figures = run_course(database, name).to_dict()
    assert figures["finished"] and figures["path_error_m"] < 0.15
    assert figures["foot_slide_m"] < 0.01 and figures["seam_acceleration_ratio"] < 1.5


def test_a_rehearsal_predicts_how_rough_a_seam_will_be(database):
    player = database.player(velocity=(0.0, 1.3))
    predicted = []
    rehearsed = player._rehearsed

    def noted(frame):
        predicted.append((frame, rehearsed(frame)))
        return predicted[-1][1]

    player._rehearsed = noted
    motion = player.record(seconds=6)
    limit = player.database.acceleration
    checked = 0
    for seam in motion.provenance.seams:
        part = next(candidate for candidate in motion.sources if candidate.start == seam)
        start = next(
            candidate.start for candidate in database.ranges if candidate.name == part.motion
        )
        foretold = [ratio for frame, ratio in predicted if frame == start + part.start_frame]
        played = joint_accelerations(motion)[seam - 1 : seam + 4].max() / limit
        if foretold:
            assert played < max(foretold) + 0.35  # the path is also bent
            checked += 1
    assert checked and all(ratio >= 0.0 for _, ratio in predicted)


def test_a_character_without_progress_stays_longer_after_a_jump(database):
    player = database.player(velocity=(0.0, 1.3))
    player.read(30)
    assert player._stay_seconds() == pytest.approx(0.3)
    assert player._eagerness() == 1.0
    player._way = [player._place] * 60
    player._watch()
    assert player._stay_seconds() == pytest.approx(1.0)
    asked = abs(player._ahead()[0][-1])
    assert player._eagerness() == 2.0
    player._share = 1.0
    assert asked == pytest.approx(2.0 * abs(player._ahead()[0][-1]))


def test_a_character_without_progress_jumps_only_to_frames_that_lead_farther(database):
    player = database.player(velocity=(0.0, 1.3))
    player.read(30)
    moving = np.flatnonzero(database.speeds > 1.0)[:50]
    standing = np.flatnonzero(database.gaits == 1)[:50]
    assert player._leads(moving).min() > player._leads(standing).max()


def test_a_foot_that_would_slide_makes_a_seam_rough(database):
    part = next(candidate for candidate in database.ranges if candidate.name == "walk_p0")
    played = database.motion(part)
    slid = replace(
        played, root=played.root + np.linspace(0.0, 2.0, len(played))[:, None] * [1, 0, 0]
    )
    contacts = database.contacts[part.start : part.stop]
    window = slice(40, 50)
    assert _slide(played[window], contacts[window]) < 0.06 < _slide(slid[window], contacts[window])


def test_speeds_of_the_takes_exclude_generated_motions(database):
    made = np.zeros(len(database), bool)
    for part in database.ranges:
        made[part.start : part.stop] = part.take in MADE
    assert made.any() and database.speed_range[0] > 0.5
    assert np.any(made & (database.speeds > 0.3) & (database.speeds < 0.5))


def test_rough_ends_of_takes_are_not_played(database):
    rough = np.zeros_like(database.rough)
    part = database.ranges[0]
    rough[part.stop - 5] = True
    trimmed = replace(database, rough=rough)
    assert trimmed.last_frame(part.start) == part.stop - 5 - round(0.27 * database.fps)
    assert trimmed.last_frame(part.stop - 2) == part.stop - 1  # who is there goes on
    assert replace(database, rough=np.zeros_like(rough)).last_frame(part.start) == part.stop - 1


def test_response_is_the_time_to_half_of_the_turn(walks):
    walk = walks[0]
    turned = walk.transform(yaw=np.pi / 2)
    half, reached = response_times(turned, ((0.0, 0.0), (0.5, 90.0)))
    assert half == 0.0 and reached == 0.0
    with pytest.raises(InvalidInput, match="course must be one of circle, .*; got 'maze'"):
        course_path("maze")


def test_played_frames_have_their_provenance(database):
    walk = database.walk(seconds=4, steer=("2:90",))
    assert sum(source.end - source.start for source in walk.sources) == len(walk)
    for source in walk.sources:
        part = next(candidate for candidate in database.ranges if candidate.name == source.motion)
        assert 0 <= source.start_frame < source.end_frame <= part.stop - part.start
    assert walk.quality.takes.used and walk.quality.foot_slide_m < 0.01


# --- bad input -----------------------------------------------------------------------------


def test_takes_without_feet_are_refused():
    skeleton = Skeleton(["hips", "chest"], [-1, 0], [[0, 0, 0], [0, 0.5, 0]])
    still = Motion(
        skeleton, np.tile([1.0, 0, 0, 0], (60, 2, 1)), np.zeros((60, 3)), 30.0, name="box"
    )
    with pytest.raises(
        RoleError, match=re.escape("box: motion matching needs the roles hips, left_hip")
    ):
        matching_database([still], MatchingSettings())


def test_a_single_standing_pose_is_rejected(walks):
    pose = walks[0]
    still = replace(
        pose, rotations=np.repeat(pose.rotations[:1], 60, 0), root=np.repeat(pose.root[:1], 60, 0)
    )
    with pytest.raises(
        InvalidInput, match="needs takes that walk or run, but the take stays in place"
    ):
        matching_database([still], MatchingSettings())
    with pytest.raises(
        InvalidInput, match="takes that last at least 0.7 s; the longest of the 1 takes lasts 0.07"
    ):
        matching_database([still[:2]], MatchingSettings())
    with pytest.raises(InvalidInput, match="at least one motion, but no motions are selected"):
        matching_database([], MatchingSettings())


def test_takes_without_locomotion_are_refused():
    reach = ml.demo.clip("reach_front_high_right_p0")
    with pytest.raises(InvalidInput, match=r"the take stays in place \(moving at most 0\.\d+ m"):
        matching_database([reach], MatchingSettings())


def test_errors_of_a_library_are_one_line(lib, walks):
    """Takes without feet, one standing pose, no locomotion, tiny takes: exit code 2, one line."""
    bones = Skeleton(["hips", "chest"], [-1, 0], [[0, 0, 0], [0, 0.5, 0]])
    lib.add_motion(
        Motion(bones, np.tile([1.0, 0, 0, 0], (60, 2, 1)), np.zeros((60, 3)), 30.0, name="box")
    )
    still = replace(
        walks[0],
        rotations=np.repeat(walks[0].rotations[:1], 60, 0),
        root=np.repeat(walks[0].root[:1], 60, 0),
        name="still",
    )
    lib.add_motion(still)
    lib.add_motion(ml.demo.clip("reach_front_high_right_p0"), name="reach")
    lib.add_motion(replace(walks[0][:5], name="tiny"))
    for names, said in (
        ("box", "box: motion matching needs the roles"),
        ("still", "needs takes that walk or run, but the take stays in place"),
        ("still,reach", "needs takes that walk or run, but all 2 takes stay in place"),
        ("tiny", "takes that last at least 0.7 s; the longest of the 1 takes lasts 0.17 s"),
    ):
        done = ran("match", str(lib.path), "build", "--only", names)
        assert done.returncode == 2 and said in done.stderr
        assert len(error_lines(done.stderr)) == 1


def test_takes_of_other_bodies_are_retargeted_to_one_skeleton(walks):
    small = walks[1].retarget(walks[1].skeleton.scaled(0.7))
    both = matching_database([walks[0], small], MatchingSettings(mirror=False))
    assert both.takes == ("walk_p0", "walk_left_p0")
    assert both.skeleton == walks[0].skeleton
    part = next(candidate for candidate in both.ranges if candidate.name == "walk_left_p0")
    height = both.motion(part).role_positions(["hips"])[:, 0, 1].mean()
    assert height == pytest.approx(walks[0].role_positions(["hips"])[:, 0, 1].mean(), rel=0.05)


def test_controls_are_checked(database):
    player = database.player()
    for controls, said in (
        ({"velocity": (1.0,)}, "velocity must be two numbers"),
        ({"velocity": (np.nan, 0.0)}, "velocity must be two numbers from"),
        ({"facing": np.inf}, "facing must be a number from -1e.06 to 1e.06"),
        ({"speed": -1.0}, "speed must be a number from 0 to 1e.06"),
        ({"path": [[0.0, 0.0]]}, "path must have shape"),
        ({"path": [[0.0, 0.0], [1e6, 1e6]]}, "path must be shorter than 20000 m"),
        ({"path": [[0.0, 0.0], [1e300, -1e308], [1e308, 0.0]]}, "path must be shorter"),
        ({"velocity": (1e308, 0.0)}, "velocity must be two numbers from"),
        ({"velocity": (10**400, 0.0)}, "velocity must be two numbers"),
        ({"facing": {}}, "facing must be a number from"),
        ({"speed": 10**400}, "speed must be a number from"),
        ({"gait": 3}, "gait must be one or more tags .gaits or labels.; got 3"),
        ({"gait": [["walk"]]}, "gait must be one or more tags .gaits or labels."),
    ):
        with pytest.raises(InvalidInput, match=said):
            player.steer(**controls)
    with pytest.raises(InvalidInput, match="weight"):
        MatchingSettings.of(dict.fromkeys(
            ("foot_position", "foot_velocity", "hip_velocity", "trajectory_position",
             "trajectory_facing"), 0.0,
        ))  # fmt: skip


# --- stored with a library -----------------------------------------------------------------


@pytest.fixture
def library(lib, walks):
    for walk in walks[:3]:
        lib.add_motion(walk)
    lib.labels.add("walk_p0", "slow")
    return lib


def test_a_stored_database_is_the_same(library):
    first, again = library.motion_matching(), library.motion_matching()
    assert isinstance(again.rotations, np.memmap)
    np.testing.assert_array_equal(first.features, again.features)
    a, b = (variant.walk(seconds=2).root for variant in (first, again))
    np.testing.assert_array_equal(a, b)
    assert "slow" in again.tags and again.tag("slow").sum() == 2 * len(library["walk_p0"])


def test_a_label_of_every_take_is_not_a_tag_to_select(library):
    """As that of a folder from which everything was imported."""
    for name in library.names:
        library.labels.add(name, "everything")
    database = library.motion_matching()
    assert "slow" in database.tags and "everything" not in database.tags
    assert database.tag("everything").sum() > database.tag("slow").sum()


def test_a_damaged_database_is_rejected_before_use(database, tmp_path):
    save_database(database, tmp_path)
    opened = open_database(tmp_path, MatchingSettings())
    assert opened.ranges == database.ranges
    np.save(tmp_path / "features.npy", np.zeros((5, 27), np.float32))
    with pytest.raises(
        LibraryError, match=r"features: expected float32 with shape \(\d+, 27\), got"
    ):
        open_database(tmp_path, MatchingSettings())
    about = json.loads((tmp_path / "about.json").read_text())
    about["ranges"][0][2] += 7
    (tmp_path / "about.json").write_text(json.dumps(about))
    with pytest.raises(LibraryError, match="ranges must start at frame 0"):
        open_database(tmp_path, MatchingSettings())


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("fps", 1e30, "got 1e\\+30 and"),
        ("fps", 0, "got 0 and"),
        ("acceleration", -1, "got .* and -1"),
        ("ranges", [["a", 0, "x", False]], "two frames; got 'a', 0, 'x'"),
        ("ranges", [], "index out of range"),
        ("ranges", 3, "not iterable"),
        ("labels", {"walk": [[0, 1 << 40]]}, "a label covers frames 0 to"),
        ("labels", [1], "has no attribute"),
        ("skipped", 7, "has no attribute"),
    ],
)
def test_an_impossible_description_is_rejected(database, tmp_path, key, value, message):
    save_database(database, tmp_path)
    about = json.loads((tmp_path / "about.json").read_text())
    (tmp_path / "about.json").write_text(json.dumps({**about, key: value}))
    with pytest.raises(LibraryError, match=f"damaged: .*{message}"):
        open_database(tmp_path, MatchingSettings())


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("root", np.nan, "root: expected values from -1e[+]06 to"),
        ("root", 1e35, "root: expected values from -1e[+]06 to"),
        ("rotations", np.inf, "rotations: expected values from -2 to 2"),
        ("places", np.nan, "places: expected values from"),
        ("features", 0.0, "features: trajectory directions must be unit"),
    ],
)
def test_numbers_that_kernels_cannot_use_are_rejected(database, tmp_path, name, value, message):
    """They divided by zero within kernels, frames later."""
    save_database(database, tmp_path)
    stored = np.load(tmp_path / f"{name}.npy")
    stored[len(stored) // 2] = value
    np.save(tmp_path / f"{name}.npy", stored)
    with pytest.raises(LibraryError, match=f"damaged: {message}"):
        open_database(tmp_path, MatchingSettings())


def test_the_command_builds_walks_and_measures(library, tmp_path):
    place = str(library.path)
    built = json.loads(ran("match", place, "build", "--json").stdout)
    assert built["takes"] == 3 and built["features"] == 27 and "walk" in built["tags"]
    out = tmp_path / "walk.bvh"
    walked = json.loads(
        ran("match", place, "walk", "--seconds", "3", "--steer", "1:90", "-o", out, "--json").stdout
    )
    assert walked["frames"] == 90 and walked["quality"]["foot_slide_m"] < 0.01
    assert ml.load(out).duration == pytest.approx(3.0)
    rows = json.loads(ran("match", place, "courses", "--course", "turn", "--json").stdout)
    assert rows["courses"][0]["course"] == "turn"


def test_the_command_exports_the_database_of_a_program(library, tmp_path):
    out = tmp_path / "unity"
    done = ran("match", str(library.path), "export", "--to", "unity", "-o", out, "--json")
    written = json.loads(done.stdout)["files"]
    files = [file for file in out.rglob("*") if file.is_file()]
    assert sorted(written) == sorted(map(str, files))
    assert {".mmskeleton", ".mmpose", ".mmfeatures"} <= {file.suffix for file in files}


# --- coverage --------------------------------------------------------------------------------


def test_coverage_reports_gaps_and_spare_takes(database, monkeypatch, tmp_path):
    from motionloom.motion_matching import coverage as module
    from motionloom.plots.matching_coverage import write_coverage

    monkeypatch.setattr(module, "COURSES", ("turn",))
    monkeypatch.setattr(module, "_SESSION_SECONDS", 4.0)
    report = database.coverage()
    straight = list(module.TURNS).index(0.0)
    walking, running = (list(module.SPEEDS).index(speed) for speed in (1.0, 5.0))
    assert report.gaps[walking, straight] < 0.2 < report.gaps[running, straight]
    moving = np.count_nonzero(database.gaits > 0) / database.fps
    assert report.seconds.sum() == pytest.approx(moving)
    assert report.starts == report.stops == 0 and report.gaits["stand"] == 0.0
    lines = "\n".join(report.sentences())
    assert "would help: takes that start from standing and stop" in lines
    assert set(report.spare).isdisjoint(report.played)
    page = write_coverage(report, tmp_path / "coverage.html").read_text()
    assert "data:image/png;base64," in page and "walk_left_p0" in page


def test_takes_that_are_never_needed_are_pruned(library, monkeypatch):
    spare = SimpleNamespace(spare=("walk_left_p0",))
    monkeypatch.setattr(MatchingDatabase, "coverage", lambda self: spare)
    done = ran("match", str(library.path), "build", "--prune", "--json")
    assert json.loads(done.stdout)["takes"] == 2
    assert "excluded, because they are never played: walk_left_p0" in done.stderr


# --- keyframes to motion -----------------------------------------------------------------------


def test_gaps_are_filled_better_than_by_interpolation(walks):
    truth, others = walks[0], walks[1:]
    mask = np.ones(len(truth), bool)
    mask[50:80] = False
    wrong = replace(truth, root=np.where(mask[:, None], truth.root, 9.0))
    filled = matching_database(others, MatchingSettings()).fill_gaps(wrong, mask)
    np.testing.assert_allclose(filled.positions()[mask], truth.positions()[mask], atol=1e-3)
    share = (np.arange(50, 80) - 49)[:, None] / 31.0
    straight = rot.slerp(truth.rotations[49][None], truth.rotations[80][None], share)
    root = (1.0 - share) * truth.root[49] + share * truth.root[80]
    plain = Motion(truth.skeleton, straight, root, truth.fps).positions()
    error = [
        np.linalg.norm(positions - truth.positions()[50:80], axis=2).mean()
        for positions in (filled.positions()[50:80], plain)
    ]
    assert error[0] < 0.5 * error[1]
    assert [(source.start, source.end) for source in filled.sources] == [(50, 80)]


def test_a_few_poses_are_enough(database, walks):
    truth = walks[1]
    mask = np.zeros(len(truth), bool)
    mask[[0, 30, 60, len(truth) - 1]] = True
    filled = database.fill_gaps(truth, mask)
    np.testing.assert_allclose(filled.positions()[mask], truth.positions()[mask], atol=1e-3)
    steps = np.linalg.norm(np.diff(filled.positions(), axis=0), axis=2)
    assert steps.max() < 0.25  # no joint jumps


def test_gaps_that_cannot_be_filled_are_rejected(database, walks):
    truth = walks[0]
    mask = np.ones(len(truth), bool)
    with pytest.raises(InvalidInput, match="one flag per frame"):
        database.fill_gaps(truth, mask[1:])
    with pytest.raises(InvalidInput, match="the frame rate of the database, 30 fps; got 60"):
        database.fill_gaps(truth.resample(60), np.ones(2 * len(truth) - 1, bool))
    mask[-1] = False
    with pytest.raises(InvalidInput, match="the first and the last frame must be known"):
        database.fill_gaps(truth, mask)


def test_the_command_fills_gaps(library, walks, tmp_path):
    file, out = tmp_path / "holes.bvh", tmp_path / "filled.bvh"
    walks[0].save(file)
    done = ran("match", str(library.path), "fill", file, "--gap", "40-59", "-o", out, "--json")
    assert json.loads(done.stdout)["sources"][0]["start"] == 40
    assert len(ml.load(out)) == len(walks[0])


def test_the_command_generates_a_motion_through_poses(library, walks, tmp_path):
    file, out = tmp_path / "pose.bvh", tmp_path / "through.bvh"
    walks[0].save(file)
    poses = ["--pose", f"{file}:20@0", "--pose", "walk_p0:50@1"]
    done = ran("match", str(library.path), "fill", *poses, "-o", out, "--json")
    assert json.loads(done.stdout)["frames"] == 31
    made = ml.load(out)
    for frame, own in ((0, 20), (30, 50)):
        np.testing.assert_allclose(made.positions()[frame], walks[0].positions()[own], atol=2e-3)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--pose", "walk_p0@x"], "--pose must be FILE[:FRAME]@SECOND; got walk_p0@x"),
        (
            ["--pose", "walk_p0:999@1", "--pose", "walk_p0@0"],
            "walk_p0 has frames 0 to 137; got 999",
        ),
        (["--pose", "walk_p0:9@1"], "keys must contain at least two poses; got 1"),
        (
            ["--pose", "walk_p0:9@1", "--pose", "walk_p0:3@1.001"],
            "at least one frame (0.033 s) apart",
        ),
        ([], "match fill needs a FILE and --gap, or at least two --pose options"),
    ],
)
def test_poses_that_cannot_be_reached_are_rejected(library, tmp_path, options, said):
    out = tmp_path / "through.bvh"
    done = ran("match", str(library.path), "fill", *options, "-o", out)
    assert done.returncode == 2 and said in done.stderr
    assert not out.exists()
