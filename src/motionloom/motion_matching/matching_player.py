"""Motion matching player: a character that follows controls and paths.

The state consists of a frame of the database and the position of the root on the floor. A few
times a second, and when controls change, a search finds the frame that best matches the current
pose and the desired trajectory. If this frame is better than the next frame of the current take,
playback jumps to it. At a jump, the offset of the pose fades
(`motionloom.blending.inertialization`), and feet in contact stay in place
(`motionloom.motion.feet.streaming`). If the takes turn less than desired, the root is turned a
little more, up to a limit. The controls of ``steer`` are:

``velocity``
    Desired velocity (x, z), in m/s.
``facing``
    Direction that the body faces, in radians from +Z toward +X; None means the direction of travel.
``strafe``
    If True, the current facing is kept for any velocity. If False, the body faces the direction of
    travel again.
``gait``
    One or more tags (gaits or labels). Frames must have at least one of them; None allows any gait.
``path``
    Floor positions x, z to walk along, shape (n, 2); None means to follow the velocity.
``speed``
    Speed on the path, in m/s.
"""

from __future__ import annotations

import cmath
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motionloom.blending.inertialization import Inertializer
from motionloom.blending.player import FrameBlock, Player
from motionloom.errors import InvalidInput
from motionloom.motion import Motion, Source
from motionloom.motion.diagnostics.quality import PathFit, QualityReport, TakesUsed, quality_report
from motionloom.motion.feet.streaming import StreamingFootLock
from motionloom.motion.provenance import merged
from motionloom.motion.rotations.planar_transform import PlanarTransform
from motionloom.motion_graph.walks.paths import hips_path, sampled_path
from motionloom.motion_matching.features import POSE, TRAJECTORY, xz
from motionloom.motion_matching.seams import SEEN, estimated_seams, rehearsed_seam
from motionloom.motion_matching.simulation import (
    Dynamics,
    PathFollower,
    Simulation,
    desired_facing,
)

if TYPE_CHECKING:
    from motionloom.motion_matching.database import MatchingDatabase

_SEARCH_SECONDS = 0.1
_STAY_SECONDS = 0.3  # seconds without a search after a jump
_STUCK_SECONDS = 1.0  # seconds without a search after a jump if the character makes no progress
_WATCHED_SECONDS = 1.5  # seconds in which a character must make progress
_GETS_ON = 0.3  # minimum share of the desired distance that counts as progress
_LEAST_WAY = 0.3  # m desired in that time; less is nearly standing and is not checked
_LAGS = 0.6  # if a smaller share of the desired distance is covered, the trajectory is scaled up
_MOST_EAGER = 2.0  # maximum factor by which the desired trajectory is scaled up
_WAITS_SECONDS = 0.5  # a character that stands still for this long may start in an arc
_WAITS_WAY, _WAITS_TURN = 0.05, 0.3  # m in that time, and rad/s: less counts as standing still
_ARC = np.pi / 4  # rad: in an arc, maximum angle between facing and desired trajectory
_JUMP_COST = 0.2  # m: a jump must cost less than staying in the take by this amount
_JUMP_SHARE = 0.9  # a jump must cost less than this multiple of staying in the take
_APART_SECONDS = 0.3  # frames closer than this to the current frame are not jump targets
_END_SECONDS = 0.3  # seconds before the end of a range in which any smooth jump is taken
_BEND = 2.0  # rad/s: maximum extra turn of the root while walking
_BEND_GAIN = 5.0  # 1/s
_DRIFT = 0.05  # maximum share of the speed by which the root is moved toward a path
_STILL = 0.15  # m/s of feet and hips: slower poses can be frozen
_REST_WAY, _REST_TURN = 0.1, 0.15  # m and rad in the next second: less counts as standing
_REST_LEAVES = 0.03  # m in the next third of a second: more means that the take starts to move
_ROUGH_SECONDS = 0.25
_CANDIDATES = 16  # number of best frames from which the one with the smoothest seam is chosen
_SEAM_COST = 0.3  # m: cost of a seam that is as rough as the roughest frames of the takes
_REHEARSED = 6  # maximum number of candidates that are rehearsed
_ROUGHEST = 1.2  # jumps with a rougher seam are postponed
_ASIDE = 0.1  # m: maximum shift of the root at a jump
_CHANGED = 0.3  # m/s or rad: larger changes of the desired velocity start a search at once
_MOST = 1e6  # largest value of a control, in m, m/s or rad
WALKING_SPEED = 1.3  # m/s: speed on a path if none is set


@dataclass(frozen=True)
class MatchState:
    """State of a player, for display."""

    take: str
    frame: int  # of the take
    mirrored: bool
    cost: float  # cost of the best frame in the last search, m
    going_on: float  # cost of continuing the take in the last search, m
    place: tuple[float, float, float]  # x, z, facing
    velocity: tuple[float, float]
    desired: tuple[float, float]
    trajectory: tuple[tuple[float, float, float], ...]  # desired x, z, facing at the horizons
    tag: str
    jumps: int


class MatchingPlayer(Player):
    """Player of a matching database; see `MatchingDatabase.player`.

    Parameters
    ----------
    database : MatchingDatabase
    velocity, facing, strafe, gait, path, speed
        Initial controls; see `steer`.
    dynamics : {"sprung", "clamped"}
        How the velocity approaches the desired velocity: like a spring, or with a limited
        acceleration.
    start : int, optional
        Frame of the database to start with. Default: a standing frame.
    lock_feet : bool

    Examples
    --------
    >>> import motionloom as ml
    >>> from motionloom.motion_matching import MatchingSettings, matching_database
    >>> walks = [ml.demo.clip(kind) for kind in ("walk", "walk_left", "walk_right")]
    >>> player = matching_database(walks, MatchingSettings()).player(velocity=(0.0, 1.3))
    >>> player.steer(velocity=(1.3, 0.0))
    >>> player.record(seconds=2)
    Motion(60 frames at 30 fps = 2.00 s, 21 joints)
    """

    controls = ("velocity", "facing", "strafe", "gait", "path", "speed")

    def __init__(
        self,
        database: MatchingDatabase,
        *,
        velocity: Sequence[float] = (0.0, 0.0),
        facing: float | None = None,
        strafe: bool = False,
        gait: str | Sequence[str] | None = None,
        path: Any = None,
        speed: float | None = None,
        dynamics: Dynamics = "sprung",
        start: int | None = None,
        lock_feet: bool = True,
    ) -> None:
        self.database, self.skeleton, self.fps = database, database.skeleton, database.fps
        self._inertializer = Inertializer(len(self.skeleton), self.fps)
        self._foot_lock = StreamingFootLock(self.skeleton, self.fps) if lock_feet else None
        if dynamics not in ("sprung", "clamped"):
            raise InvalidInput(f"dynamics must be sprung or clamped; got {dynamics!r}")
        self._simulation = Simulation(dynamics=dynamics)
        self._desired = 0j
        self._facing: float | None = None
        self._follower: PathFollower | None = None
        self._path: Any = None
        self._speed: float | None = None
        self._allowed = database.allowed()
        self._frame = self._first(start)
        self._place, self._heading = 0j, 0.0
        self._played = self.jumps = 0
        self._holds = False
        self._share = 1.0
        self._way: list[complex] = []  # positions of the last seconds, since the controls changed
        self._arcs = False  # whether the character turns by walking in an arc
        self._shown: NDArray[np.float64] | None = None  # joints of the last two frames
        self._cost = self._going_on = 0.0
        self._since_search = self._since_jump = 10_000
        self._steps = self._root_steps()
        self._steer(
            velocity=velocity, facing=facing, strafe=strafe, gait=gait, speed=speed, path=path
        )
        if start is None and self._desired_speed() > 0.0:
            self._begin_moving()

    # --- controls ---------------------------------------------------------------------------

    def _steer(self, **controls: Any) -> None:
        given = dict(controls)
        # Check all controls before applying any.
        if "gait" in given:
            tags = given["gait"]
            tags = () if tags is None else (tags,) if isinstance(tags, str) else tags
            if not (isinstance(tags, list | tuple) and all(isinstance(tag, str) for tag in tags)):
                raise InvalidInput(
                    f"gait must be one or more tags (gaits or labels); got {str(tags)[:80]}"
                )
            given["gait"] = self.database.allowed(tags)
        if "velocity" in given:
            given["velocity"] = _floor(given["velocity"], "velocity")
        if "facing" in given:
            given["facing"] = _number(given["facing"], "facing")
        if "speed" in given:
            given["speed"] = _number(given["speed"], "speed", least=0.0)
        path = given.get("path")
        sampled = None if path is None else sampled_path(path)
        self._apply(given, sampled)

    def _apply(self, given: dict[str, Any], sampled: NDArray[np.complex128] | None) -> None:
        """Apply controls that have already been checked."""
        if "gait" in given:
            self._allowed = given["gait"]
        if "velocity" in given:
            changed = abs(given["velocity"] - self._desired) > _CHANGED
            self._since_search = 10_000 if changed else self._since_search
            self._way = [] if changed else self._way
            self._desired = given["velocity"]
        if "facing" in given:
            self._facing = given["facing"]
        if "strafe" in given:
            if given["strafe"]:
                self._facing = self._heading if self._facing is None else self._facing
            elif "facing" not in given:
                self._facing = None
        if "speed" in given:
            self._way = [] if given["speed"] != self._speed else self._way
            self._speed = given["speed"]
            if self._follower is not None:
                self._follower.speed = self._along_speed()
        if "path" in given:
            self._path = given["path"]
            self._follower = None
        if sampled is not None:
            self._follower = PathFollower(sampled, self._along_speed())
            if self._played == 0:  # a new path is followed from its beginning
                self._place = complex(self._follower.points[0])
                self._heading = float(self._follower.direction(0.0))
                self._simulation.facing = self._heading
        if given.keys() & {"gait", "facing", "path"}:
            self._since_search = 10_000

    def _along_speed(self) -> float:
        return WALKING_SPEED if self._speed is None else self._speed

    def _desired_speed(self) -> float:
        return abs(self._desired) if self._follower is None else self._follower.speed

    @property
    def done(self) -> bool:
        """True if the end of the path is reached; always False without a path."""
        return self._follower is not None and self._follower.done

    @property
    def played(self) -> int:
        """Number of frames read so far."""
        return self._played

    @property
    def along(self) -> float:
        """Distance covered along the path, in meters; 0 if there is no path."""
        return 0.0 if self._follower is None else self._follower.along

    # --- frames ---------------------------------------------------------------------------

    def _read(self, count: int) -> FrameBlock:
        database = self.database
        frames = np.empty(count, np.int64)
        transforms = np.empty((count, 3))
        seams: list[int] = []
        rotations = np.empty((count, len(self.skeleton), 4), np.float32)
        root = np.empty((count, 3), np.float32)
        for n in range(count):
            if self._played + n > 0 and self._advance():
                seams.append(self._played + n)
                self._seam()
            frames[n] = self._frame
            transforms[n] = self._transform().to_array()
            pose = self._posed(self._frame, 1)
            pose = self._inertializer.apply(*pose)
            if self._foot_lock is not None:
                pose = self._foot_lock.lock(*pose, database.contacts[self._frame][None])
                shift = self._foot_lock.rebase()[0]
                self._inertializer.rebase(shift)
                self._place += complex(shift[2], shift[0])
            rotations[n], root[n] = pose[0][0], pose[1][0]
            self._show(*pose)
        contacts = database.contacts[frames]
        sources = self._sources(frames)
        block = FrameBlock(rotations, root, contacts, self._played, sources, tuple(seams))
        self._played += count
        return block

    def _show(self, rotations: NDArray[np.float32], root: NDArray[np.float32]) -> None:
        """Store the joint positions of the last two frames."""
        joints = Motion(self.skeleton, rotations, root, self.fps).positions().astype(np.float64)
        before = joints if self._shown is None else self._shown[1:]
        self._shown = np.concatenate([before, joints])

    def _advance(self) -> bool:
        """Advance to the next frame, and return whether the player jumped."""
        self._simulate()
        self._watch()
        self._since_search += 1
        self._since_jump += 1
        self._holds = self._may_hold()
        if self._holds:
            return False
        left = self.database.last_frame(self._frame) - self._frame
        ready = self._since_jump >= self._stay_seconds() * self.fps and not self._was_rough()
        jumped = False
        if left <= max(round(_END_SECONDS * self.fps), 1):
            jumped = (ready or left <= 1) and self._search(due=True, forced=left <= 1)
        elif ready and self._since_search >= _SEARCH_SECONDS * self.fps:
            jumped = self._search()
        if not jumped:
            self._frame += 1
        self._move()
        return jumped

    def _stay_seconds(self) -> float:
        """Return the time after a jump during which no search runs, in seconds.

        If no take matches the desired motion, the character can get stuck in a loop in which it
        plays a few frames and jumps back. A character that makes no progress therefore stays in a
        take longer.
        """
        return _STUCK_SECONDS if self._share < _GETS_ON else _STAY_SECONDS

    def _watch(self) -> None:
        """Update the fraction of the desired distance that was covered recently; it starts at 1."""
        here = self._place if self._follower is None else complex(self._follower.along)
        self._way.append(here)
        self._arcs = self._turns_in_arc()
        count = round(_WATCHED_SECONDS * self.fps)
        self._share = 1.0
        if len(self._way) <= count:
            return
        self._way = self._way[-count:]
        wanted = self._desired_speed() * count / self.fps
        gone = abs(here - self._way[0])
        if self._follower is not None:
            left = self._follower.length - self._follower.along
            wanted = min(wanted, gone + left)
        if wanted >= _LEAST_WAY:
            self._share = min(gone / wanted, 1.0)

    def _turns_in_arc(self) -> bool:
        """Return whether to request a trajectory that starts forward and bends.

        If no take turns in place, every frame that moves leads farther away from a position behind
        the character than standing does, so the character would stand forever.
        """
        if self._follower is not None or self._facing is not None:
            return False
        if abs(self._desired) * _WATCHED_SECONDS < _LEAST_WAY:
            return False
        if abs(cmath.phase(self._desired * cmath.exp(-1j * self._heading))) <= _ARC:
            return False
        count = round(_WAITS_SECONDS * self.fps)
        if self._arcs or len(self._way) <= count or self.database.gaits[self._frame] != 1:
            return self._arcs
        turns = abs(self._steps[self._frame, 1]) * self.fps > _WAITS_TURN
        return not turns and abs(self._way[-1] - self._way[-1 - count]) < _WAITS_WAY

    def _arc(
        self, places: NDArray[np.complex128], facings: NDArray[np.float64]
    ) -> tuple[NDArray[np.complex128], NDArray[np.float64]]:
        """Return the trajectory, turned and bent until it leads forward from the facing."""
        off = cmath.phase(complex(places[-1]) * cmath.exp(-1j * self._heading))
        back = float(np.clip(off, -_ARC, _ARC)) - off
        turns = np.angle(np.exp(1j * (facings - self._heading)))
        return places * cmath.exp(1j * back), self._heading + np.clip(turns, -_ARC, _ARC)

    def _eagerness(self) -> float:
        """Return the scale of the desired trajectory, which grows if the character lags behind."""
        return min(_MOST_EAGER, 1.0 / max(self._share, 1e-3)) if self._share < _LAGS else 1.0

    def _may_hold(self) -> bool:
        """Return whether to freeze the pose, so that a standing character does not move."""
        database, frame = self.database, self._frame
        features = database.features[frame]
        if database.gaits[frame] != 1 or np.abs(features[6:15]).max() > _STILL:
            return False
        places, facings = self._ahead()
        turn = np.angle(np.exp(1j * (facings[-1] - self._heading)))
        if np.abs(places).max() > _REST_WAY or abs(turn) > _REST_TURN:
            return False
        ends = frame + 1 >= database.range_of(frame).stop
        return ends or bool(np.abs(features[15:17]).max() > _REST_LEAVES)

    def _was_rough(self) -> bool:
        """Return whether recent frames were rough, which would look like a rough seam."""
        first = max(self._frame - round(_ROUGH_SECONDS * self.fps), 0)
        return bool(self.database.rough[first : self._frame + 1].any())

    def _simulate(self) -> None:
        """Advance the desired motion by one frame."""
        dt = 1.0 / self.fps
        if self._follower is None:
            facing = desired_facing(self._desired, self._facing, self._simulation.facing)
            self._simulation.step(self._desired, facing, dt)
        else:
            self._follower.follow(self._place)

    def _ahead(self) -> tuple[NDArray[np.complex128], NDArray[np.float64]]:
        """Return the desired positions, relative to the root, and facings at the horizons."""
        if self._follower is None:
            facing = desired_facing(self._desired, self._facing, self._simulation.facing)
            places, facings = self._simulation.ahead(self._desired, facing)
            if self._arcs:
                places, facings = self._arc(places, facings)
            return self._eagerness() * places, facings
        speed = float(abs(self._steps[self._frame, 0])) * self.fps
        places, directions = self._follower.ahead(speed, self._eagerness())
        if self._facing is not None:
            directions = np.full(len(directions), self._facing)
        return places - self._place, directions

    def _query(self) -> NDArray[np.float32]:
        """Return normalized features (1, 27) of the current pose and the desired trajectory."""
        places, facings = self._ahead()
        straight = cmath.exp(-1j * self._heading)
        wanted = np.empty(27)
        wanted[POSE] = self.database.features[self._frame, POSE]
        wanted[15:21] = xz(places * straight).ravel()
        wanted[21:27] = xz(np.exp(1j * facings) * straight).ravel()
        return self.database.normalization.apply(wanted)[None]

    def _search(self, *, due: bool = False, forced: bool = False) -> bool:
        """Jump to a better frame if there is one.

        If `due` is set, jump to any frame with a smooth seam. If `forced` is set, jump in any case.
        """
        database, frame = self.database, self._frame
        self._since_search = 0
        point = self._query()
        going_on = float(np.linalg.norm(point[0] - database.rows[frame]))
        self._going_on = going_on
        stands = database.gaits[frame] == 1  # a standing character can start at any time
        most = _JUMP_SHARE * going_on - (0.0 if stands else _JUMP_COST)
        most = np.inf if due else most
        if most <= 0.0:
            return False
        apart = round(_APART_SECONDS * self.fps)
        near = slice(max(frame - apart, 0), frame + apart + 1)
        allowed = self._allowed[near].copy()
        self._allowed[near] = False
        rows, costs = database.nearest_row(point, k=_CANDIDATES, radius=most, allowed=self._allowed)
        self._allowed[near] = allowed
        if self._share < _GETS_ON and not due:
            leads = self._leads(np.array([frame, *rows]))
            farther = leads[1:] > leads[0]
            rows, costs = rows[farther], costs[farther]
        if not len(rows) and forced:
            rows, costs = database.nearest_row(point, k=1)
        if not len(rows):
            return False
        best = self._smoothest(rows, costs, forced=forced)
        if best is None:
            return False
        self._cost = float(costs[best])
        self._frame = int(rows[best])
        self._place += self._step_aside(frame, self._frame)
        self._since_jump = 0
        self.jumps += 1
        return True

    def _leads(self, frames: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how far each frame travels in the desired direction within a second, in meters."""
        places, _ = self._ahead()
        wanted = complex(places[-1]) * cmath.exp(-1j * self._heading)
        x, z = self.database.features[frames, 19:21].T
        return np.asarray(((z + 1j * x) * np.conj(wanted)).real / max(abs(wanted), 1e-6))

    def _smoothest(
        self, rows: NDArray[np.int64], costs: NDArray[np.float64], *, forced: bool
    ) -> int | None:
        """Return the index of the best candidate whose rehearsed seam is smooth.

        If there is none, return None or, if `forced` is set, the smoothest candidate.
        """
        seams = estimated_seams(self.database, self._frame, rows)
        order = np.argsort(costs + _SEAM_COST * seams, kind="stable")
        rough: list[tuple[float, int]] = []
        for number in order[:_REHEARSED]:
            ratio = self._rehearsed(int(rows[number]))
            if ratio <= _ROUGHEST:
                return int(number)
            rough.append((ratio, int(number)))
        return min(rough)[1] if forced else None

    def _rehearsed(self, frame: int) -> float:
        """Return the largest acceleration after a jump to a frame, relative to the takes."""
        if self._shown is None:
            return 0.0
        step, turn = self._steps[frame]
        place = self._place + self._step_aside(self._frame, frame)
        place += step * cmath.exp(1j * self._heading)
        transform = self._from_take(frame, place, self._heading + turn.real)
        return rehearsed_seam(
            self.database, frame, transform, self._shown, self._inertializer, self._foot_lock
        )

    # --- the root ---------------------------------------------------------------------------

    def _root_steps(self) -> NDArray[np.complex128]:
        """Return the root's shift and turn (N, 2) to each frame, in the previous frame's axes."""
        places = self.database.places
        floor, facing = places[:, 1] + 1j * places[:, 0], places[:, 2]
        steps = np.zeros((len(places), 2), np.complex128)
        steps[1:, 0] = np.diff(floor) * np.exp(-1j * facing[:-1])
        steps[1:, 1] = np.diff(facing)
        starts = self.database.starts[:-1]
        steps[starts] = steps[np.minimum(starts + 1, len(steps) - 1)]
        return steps

    def _move(self) -> None:
        """Move the root by its step to the current frame, and bend its path."""
        if self._holds:
            return
        step, turn = self._steps[self._frame]
        self._place += step * cmath.exp(1j * self._heading)
        self._heading += turn.real
        speed = abs(step) * self.fps
        bend = _BEND * min(speed / 1.0, 1.0)
        places, facings = self._ahead()
        own = self.database.features[self._frame, TRAJECTORY]
        leads = complex(own[1], own[0])
        if abs(leads) > 0.1 and abs(places[0]) > 0.1 and self._facing is None:
            missing = cmath.phase(places[0] / (leads * cmath.exp(1j * self._heading)))
        else:
            missing = cmath.phase(
                cmath.exp(1j * (facings[0] - self._heading)) / complex(own[7], own[6])
            )
            bend = max(bend, 0.0)
        self._turn(float(np.clip(_BEND_GAIN * missing, -bend, bend)) / self.fps)
        if self._follower is not None:
            off = complex(self._follower.at(self._follower.along)) - self._place
            most = _DRIFT * abs(step)
            self._place += off if abs(off) <= most else off / abs(off) * most

    def _step_aside(self, before: int, after: int) -> complex:
        """Return the root shift that keeps feet in contact from moving at a jump."""
        features, contacts = self.database.features, self.database.contacts
        stand = (contacts[before] & contacts[after]).reshape(2, 2).any(axis=1)
        if not stand.any():
            return 0j
        off = (features[before, :6] - features[after, :6]).reshape(2, 3)[stand].mean(axis=0)
        aside = complex(off[2], off[0]) * cmath.exp(1j * self._heading)
        return aside if abs(aside) <= _ASIDE else aside / abs(aside) * _ASIDE

    def _turn(self, angle: float) -> None:
        """Rotate the root about the foot in contact, so that this foot does not slide."""
        left, right = self.database.contacts[self._frame].reshape(2, 2).any(axis=1)
        pivot = 0j
        if left or right:
            feet = self.database.features[self._frame]
            ankles = complex(feet[2], feet[0]), complex(feet[5], feet[3])
            pivot = 0.5 * sum(ankles) if left and right else ankles[0] if left else ankles[1]
        pivot *= cmath.exp(1j * self._heading)
        self._place += pivot - pivot * cmath.exp(1j * angle)
        self._heading += angle

    def _transform(self) -> PlanarTransform:
        """Return the transform from the take to the world at the current frame."""
        return self._from_take(self._frame, self._place, self._heading)

    def _from_take(self, frame: int, place: complex, heading: float) -> PlanarTransform:
        """Return the transform that moves the root of a frame to a position and heading."""
        x, z, facing = self.database.places[frame]
        yaw = heading - facing
        return PlanarTransform.from_complex(place - cmath.exp(1j * yaw) * complex(z, x), yaw)

    def _posed(self, frame: int, count: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        rows = slice(frame, frame + count)
        return self._transform().apply_to_poses(
            self.database.rotations[rows], self.database.root[rows]
        )

    def _seam(self) -> None:
        stop = self.database.range_of(self._frame).stop
        rows = np.minimum(np.arange(self._frame, self._frame + SEEN), stop - 1)
        rotations, root = self._transform().apply_to_poses(
            self.database.rotations[rows], self.database.root[rows]
        )
        self._inertializer.seam(rotations, root)

    # --- start ----------------------------------------------------------------------

    def _first(self, start: int | None) -> int:
        database = self.database
        if start is not None:
            if not 0 <= start < len(database):
                raise InvalidInput(
                    f"start must be a frame of the database, 0 to {len(database) - 1}; got {start}"
                )
            return int(start)
        return database.standing_frame

    def _begin_moving(self) -> None:
        """Start with the frame that best matches the desired trajectory, regardless of its pose."""
        if self._follower is None:
            self._simulation.velocity = self._desired
            self._heading = desired_facing(self._desired, self._facing, 0.0)
            self._simulation.facing = self._heading
        point = self._query()
        rows = self.database.rows
        allowed = np.flatnonzero(self._allowed)
        off = np.linalg.norm(rows[allowed, TRAJECTORY] - point[0, TRAJECTORY], axis=1)
        self._frame = int(allowed[np.argmin(off)])

    # --- reports ----------------------------------------------------------------------

    def _sources(self, frames: NDArray[np.int64]) -> tuple[Source, ...]:
        sources = []
        cuts = np.flatnonzero(np.diff(frames) != 1) + 1
        for first, last in zip([0, *cuts], [*cuts, len(frames)], strict=True):
            if first == last:
                continue
            part = self.database.range_of(int(frames[first]))
            low = int(frames[first]) - part.start
            sources.append(
                Source(
                    part.name, low, low + int(last - first),
                    self._played + int(first), self._played + int(last),
                )
            )  # fmt: skip
        return tuple(sources)

    def state(self) -> MatchState:
        """Return the current state: the frame played and the desired trajectory."""
        part = self.database.range_of(self._frame)
        places, facings = self._ahead()
        world = places + self._place
        step = self._steps[self._frame, 0] * cmath.exp(1j * self._heading) * self.fps
        desired = self._desired
        if self._follower is not None:
            ahead = cmath.rect(
                self._follower.speed, float(self._follower.direction(self._follower.along))
            )
            desired = ahead
        gait = int(self.database.gaits[self._frame])
        return MatchState(
            part.take,
            self._frame - part.start,
            part.mirrored,
            self._cost,
            self._going_on,
            (self._place.imag, self._place.real, self._heading),
            (step.imag, step.real),
            (desired.imag, desired.real),
            tuple((p.imag, p.real, float(f)) for p, f in zip(world, facings, strict=True)),
            ("", "stand", "walk", "jog", "run")[gait],
            self.jumps,
        )

    def quality(self, motion: Motion) -> QualityReport:
        """Return the quality of recorded frames, compared with the takes and the path."""
        report = quality_report(motion, usual=self.database.statistics)
        way = hips_path(motion)
        track = np.column_stack([way.imag, way.real])
        path = None if self._path is None else PathFit.of(track, path=self._path)
        takes = {part.take for part in self.database.ranges}
        sources = [
            replace(source, motion=source.motion.removesuffix("_mirrored"))
            for source in merged(motion.sources)
        ]
        used = {source.motion for source in sources}
        return report.with_parts(
            path=path,
            takes=TakesUsed.of(sources, self.fps, dict.fromkeys(takes - used, "not needed")),
        )


def _floor(value: Any, name: str) -> complex:
    try:
        x, z = (float(part) for part in value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(f"{name} must be two numbers, x and z in m/s; got {value!r}") from None
    if not (abs(x) <= _MOST and abs(z) <= _MOST):
        raise InvalidInput(
            f"{name} must be two numbers from {-_MOST:g} to {_MOST:g} m/s; got {value!r}"
        )
    return complex(z, x)


def _number(value: Any, name: str, least: float | None = None) -> float | None:
    if value is None:
        return None
    try:
        given = np.nan if isinstance(value, str) else float(value)
    except (TypeError, ValueError, OverflowError):
        given = np.nan
    if not abs(given) <= _MOST or (least is not None and given < least):
        low = -_MOST if least is None else least
        raise InvalidInput(f"{name} must be a number from {low:g} to {_MOST:g}; got {value!r}")
    return given
