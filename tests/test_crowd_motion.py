"""Crowds as bodies: on the beat, in hold, on the floor, clear of each other."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from motionloom.blending.inertialization import Inertializer
from motionloom.crowd.ballroom import ballroom, danced_blocks
from motionloom.crowd.built_in import cut_at_beats, detected_beats
from motionloom.crowd.hand_holds import Holds
from motionloom.crowd.march import march
from motionloom.crowd.settings import SWAY, Ballfloor, BallroomSettings, Formation, MarchSettings
from motionloom.dance.beat_clock import MusicClock
from motionloom.dance.choreography_file import choreography_from
from motionloom.dance.dancing.dance import beats_on_time
from motionloom.dance.dancing.dance_player import DancePlayer
from motionloom.dance.movements import warped_movement
from motionloom.demo.waltz import march_takes, waltz_take
from motionloom.errors import InvalidInput
from motionloom.motion.diagnostics.quality import floor_penetration, quality_report
from motionloom.motion.feet.streaming import StreamingFootLock
from motionloom.motion.kinematics.forward import global_rotations
from motionloom.motion.rotations import quaternions as rot

CORNERS = ((0, 0), (0, 8), (0, 16), (0, 24), (8, 24), (16, 24), (24, 24), (24, 32), (24, 40),
           (24, 48))  # fmt: skip


@pytest.fixture(scope="module")
def take():
    return waltz_take()


@pytest.fixture(scope="module")
def waltz(take):
    return cut_at_beats([take], meter=3, nodes=2, kind="waltz")


@pytest.fixture(scope="module")
def steps():
    return cut_at_beats(march_takes(), meter=2, most=1, kind="march")


@pytest.fixture(scope="module")
def danced(waltz):
    return ballroom(BallroomSettings(couples=8, tempo_bpm=90.0, seconds=20.0, seed=1), waltz)


@pytest.fixture(scope="module")
def marched(steps):
    return march(
        MarchSettings(points=CORNERS, tempo_bpm=96.0, formation=Formation(ranks=10, files=4)), steps
    )


def speed_minima(motions):
    """Moments, seconds, at which bodies are slower than before and after."""
    from scipy.ndimage import gaussian_filter1d

    speed = 0.0
    for motion in motions:
        path = gaussian_filter1d(motion.positions().astype(float), 1.5, axis=0)
        speed = speed + np.linalg.norm(np.gradient(path, axis=0), axis=-1).mean(axis=1)
    low = np.flatnonzero((speed[1:-1] < speed[:-2]) & (speed[1:-1] <= speed[2:])) + 1
    return low / motions[0].fps


def share_on_time(detected, music, motion):
    heard = music.beats[(music.beats > 0.5) & (music.beats < motion.duration - 0.5)]
    off = np.abs(detected[None] - heard[:, None]).min(axis=1)
    return float(np.mean(off <= 1.0 / motion.fps + 1e-6))


def test_feet_land_on_every_beat_and_analysis_of_couples_alone_finds_them(danced):
    total, within = danced.beats_on_time()
    assert within == total > 0
    counts = np.array([beats_on_time(agent, danced.music) for agent in danced.motions])
    assert counts[:, 1].sum() >= 0.94 * counts[:, 0].sum()
    slow = [share_on_time(speed_minima(agent), danced.music, agent[0]) for agent in danced.motions]
    assert np.mean(slow) > 0.95


def test_soldiers_are_all_in_step_through_both_corners(marched):
    assert marched.left_feet_in_step() == 1.0
    some = replace(marched, motions=marched.motions[::8])
    total, within = some.beats_on_time()
    assert within == total > 0
    counts = np.array([beats_on_time(agent, marched.music) for agent in some.motions])
    assert counts[:, 1].sum() >= 0.95 * counts[:, 0].sum()
    assert marched.misplacement().mean() < 0.1
    assert marched.misplacement().max() < 0.25
    assert marched.scene[0].provenance.sources[0].motion.startswith("march_")
    assert np.mean([quality_report(motion).foot_slide_m for motion in some.scene]) < 0.006


@pytest.mark.slow
def test_feet_stand_on_the_floor_and_seams_are_as_smooth_as_the_takes(danced, waltz):
    sources = [body for movement in waltz.movements for body in movement.bodies]
    reports = [quality_report(motion, sources=sources) for motion in danced.scene[:8]]
    assert np.mean([report.foot_slide_m for report in reports]) < 0.006
    assert np.mean([report.floor_penetration_m for report in reports]) < 0.001
    assert np.mean([report.seam_acceleration_ratio for report in reports]) < 1.4
    assert danced.quality().worst.worst_seam.ratio < 1.5
    lowest = min(motion.role_positions(["left_foot", "right_foot"])[..., 1].min()
                 for motion in danced.scene)  # fmt: skip
    assert lowest > 0.012  # balls stand at 18 to 19 mm


def test_no_foot_goes_into_the_floor_on_a_march(marched):
    assert np.mean([floor_penetration(motion) for motion in marched.scene[::8]]) < 0.001


def test_hands_stay_on_their_holds(danced, waltz):
    holds = Holds.of([movement.bodies for movement in waltz.movements])
    assert holds.mates.tolist() == [3, -1, -1, 0]
    for agent in danced.motions[:4]:
        worlds = [global_rotations(m.rotations, m.skeleton.parents).astype(float) for m in agent]
        places = [m.positions().astype(float) for m in agent]
        for arm, tip, candidate in zip(holds.arms, holds.tips, holds.anchors, strict=True):
            own, other = arm[0], 1 - arm[0]
            hand = places[own][:, arm[3]] + rot.rotate(worlds[own][:, arm[3]], tip)
            anchor = places[other][:, arm[4]] + rot.rotate(worlds[other][:, arm[4]], candidate)
            assert np.linalg.norm(hand - anchor, axis=1).max() < 0.01


def test_a_single_dancer_has_no_holds(steps):
    assert len(Holds.of([movement.bodies for movement in steps.movements])) == 0


@pytest.mark.parametrize("seed", range(3))
def test_bodies_stay_within_their_discs_in_a_crowded_room(waltz, seed):
    rng = np.random.default_rng(seed)
    room = tuple(rng.uniform(9.0, 13.0, 2))
    column = (float(rng.uniform(-2, 2)), float(rng.uniform(-2, 2)), 0.4)
    couples = int(0.36 * room[0] * room[1] / (np.pi * (0.5 + SWAY) ** 2))
    scene = BallroomSettings(
        couples=couples,
        tempo_bpm=96.0,
        seconds=10.0,
        seed=seed,
        floor=Ballfloor(room=room, columns=(column,)),
    )
    for block in danced_blocks(scene, waltz):
        middles = np.mean([root[..., [0, 2]] for root in block.root], axis=0, dtype=float)
        assert np.hypot(*(middles - block.centers).transpose(2, 0, 1)).max() < SWAY
    assert ballroom(scene, waltz).clearance() >= 0.0


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "couples"), [(0, 20), (1, 20), (2, 20), (3, 40)])
def test_ten_minutes_of_waltz_have_no_collisions(waltz, seed, couples):
    columns = ((-2.5, 0.0, 0.4), (2.5, 0.0, 0.4)) if seed else ()
    scene = BallroomSettings(
        couples=couples, tempo_bpm=90.0, seconds=600.0, seed=seed, floor=Ballfloor(columns=columns)
    )
    assert ballroom(scene, waltz).clearance() >= 0.0


def test_transitions_happen_while_feet_stand_and_legs_pass(waltz, steps):
    assert (
        0.1 <= waltz.transition_phase <= 0.4
    )  # after the landing, before the next foot lifts at 0.43
    assert 0.4 <= steps.transition_phase <= 0.75  # one knee up
    contacts = [node.contacts[:, :, 0].all(axis=(0, 1)) for node in waltz.dance_nodes]
    assert np.all(contacts)


def test_beats_of_a_movement_with_a_lead_match_its_clock(take):
    beats = detected_beats(take) * take.motions[0].fps
    made = warped_movement(take.motions, ("a", "b"), beats[3:8], 20, transition_phase=0.25)
    plain = warped_movement(take.motions, ("a", "b"), beats[3:7], 20)
    assert made.meter == plain.meter == 3 and len(made.motion) == len(plain.motion) == 61
    np.testing.assert_allclose(made.clock[:3], [-5.0, 15.0, 35.0])
    np.testing.assert_allclose(made.source_frames(made.clock), beats[3:8])
    # Frame 0 of one is frame 5 of the other.
    for a, b in zip(made.bodies, plain.bodies, strict=True):
        turn = np.abs(np.sum(a.rotations[0, 1:] * b.rotations[5, 1:], axis=-1))
        assert turn.min() > 1.0 - 1e-6


def test_a_lead_is_kept_with_the_choreography(take, waltz):
    motions = {motion.name: motion for motion in take.motions}
    data = json.loads(json.dumps(waltz.as_dict()))
    again = choreography_from(data, motions.__getitem__, Path("waltz.json"))
    assert again.transition_phase == waltz.transition_phase and again.meter == 3
    # Beats are kept to a ten thousandth of a frame.
    worst = max(
        np.abs(a.root - b.root).max()
        for movement, other in zip(again.movements, waltz.movements, strict=True)
        for a, b in zip(movement.bodies, other.bodies, strict=True)
    )
    assert worst < 1e-5


def test_a_player_starts_movements_at_their_lead(waltz):
    music = BallroomSettings(couples=1, tempo_bpm=90.0, seconds=20.0).loaded_music(3)
    player = DancePlayer(waltz, MusicClock(music))
    seams = player.read_all(200)[0].seams
    # Bars of 60 frames; movements begin a quarter of a beat after them.
    assert set(seams) == {5, 65, 125, 185}


def test_detected_beats_are_near_the_known_beats(take):
    off = (detected_beats(take) - take.beats) * take.motions[0].fps
    assert np.abs(off).max() <= 0.2 * 20.0 + 1e-6 and np.abs(np.median(off)) < 1.5


def test_takes_that_cannot_be_cut_are_reported(take):
    with pytest.raises(InvalidInput, match="takes must not be empty"):
        cut_at_beats([], meter=3)
    for options in ({"meter": 0}, {"meter": 3, "nodes": 0}, {"meter": 3, "most": 0}):
        with pytest.raises(InvalidInput, match=f"{list(options)[-1]} must be at least 1; got 0"):
            cut_at_beats([take], **options)
    with pytest.raises(InvalidInput, match="needs 1001 beats; ballroom_leader has 91"):
        cut_at_beats([take], meter=1000)


def test_couples_cannot_march(waltz):
    scene = MarchSettings(
        points=((0, 0), (0, 9)), tempo_bpm=96.0, seconds=2.0, formation=Formation(ranks=1, files=1)
    )
    with pytest.raises(InvalidInput, match="a march needs movements of one character"):
        march(scene, waltz)


def test_a_lead_of_a_beat_or_more_is_rejected(take):
    with pytest.raises(
        InvalidInput, match="transition_phase must be at least 0 and below 1 beat; got 1"
    ):
        cut_at_beats([take], meter=3, transition_phase=1.0)
    assert cut_at_beats([take], meter=3, nodes=2, transition_phase=0.0).transition_phase == 0.0


def test_many_characters_are_locked_and_inertialized_like_single_ones(steps, rng):
    bodies = [movement.motion for movement in steps.movements[:3]]
    skeleton, fps = bodies[0].skeleton, bodies[0].fps
    stands = [body.contacts().standing_parts() for body in bodies]
    slid = [body.root * np.float32([0.9, 1.0, 0.9]) for body in bodies]
    together = StreamingFootLock(skeleton, fps, characters=3).lock_all(
        np.stack([body.rotations for body in bodies]), np.stack(slid), np.stack(stands)
    )
    for n, body in enumerate(bodies):
        alone = StreamingFootLock(skeleton, fps).lock(body.rotations, slid[n], stands[n])
        assert np.array_equal(together[0][n], alone[0]) and np.array_equal(together[1][n], alone[1])
    first, second = (np.stack([item.rotations[k : k + 15] for item in bodies], axis=1)
                     for k in (0, 20))  # fmt: skip
    paths = [np.stack([item.root[k : k + 15] for item in bodies], axis=1) for k in (0, 20)]
    every = Inertializer(3 * len(skeleton), fps)
    every.apply(first.reshape(15, -1, 4), paths[0].reshape(15, -1))
    every.seam(second[:3].reshape(3, -1, 4), paths[1][:3].reshape(3, -1))
    turned, moved = every.apply(second.reshape(15, -1, 4), paths[1].reshape(15, -1))
    for n in range(3):
        item = Inertializer(len(skeleton), fps)
        item.apply(first[:, n], paths[0][:, n])
        item.seam(second[:3, n], paths[1][:3, n])
        alone = item.apply(second[:, n], paths[1][:, n])
        np.testing.assert_allclose(turned.reshape(15, 3, -1, 4)[:, n], alone[0], atol=1e-6)
        np.testing.assert_allclose(moved.reshape(15, 3, 3)[:, n], alone[1], atol=1e-6)


def test_a_limited_root_shift_still_locks_feet(rng):
    import motionloom as ml

    walk = ml.demo.clip("walk")
    stands = walk.contacts().standing_parts()
    slow = walk.root * np.float32([0.4, 1.0, 0.4])
    _, free = StreamingFootLock(walk.skeleton, walk.fps).lock(walk.rotations, slow, stands)
    _, locked = StreamingFootLock(walk.skeleton, walk.fps, max_root_shift=0.05).lock(
        walk.rotations, slow, stands
    )
    assert np.hypot(*(free - slow)[:, [0, 2]].T).max() > 0.06
    assert np.hypot(*(locked - slow)[:, [0, 2]].T).max() <= 0.05 + 1e-5


def test_the_foot_lock_reports_the_number_of_characters(steps):
    body = steps.movements[0].motion
    foot_lock = StreamingFootLock(body.skeleton, body.fps, characters=2)
    with pytest.raises(InvalidInput, match="for each of 2 characters"):
        foot_lock.lock(body.rotations, body.root, body.contacts().standing_parts())
