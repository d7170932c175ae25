"""Solver that turns the positions of landmarks into a skeleton and rotations.

The skeleton stands in a T-pose, faces +Z, and has bones of constant length, the median over the
take. Rotations follow from the directions of the bones:

- *Hips and chest* have a frame: left and right hip or shoulder give its x axis, and the trunk
  gives its y axis.
- *Limbs* have elbows and knees, which are hinges. The normal of the plane in which they bend gives
  the twist of the limb. It is undefined while the limb is straight, so its angle is the smoothest
  curve that agrees with the frames in which the limb is bent. Near a straight limb, the side to
  which it bends may flip through noise or hyperextension; there, the axis of the surrounding
  bent frames decides.
- *Head, hands and feet* are turned by the points on them, such as ears, knuckles and heels, and
  otherwise follow the bone before them.

The distances from hips to chest, from chest to shoulders and from chest to head are not constant,
since spine and collar bones bend in between. Most layouts do not show these joints. Each of these
links becomes two bones with a joint between them that bends as much as the distance requires.
Thus all points are reached although every bone has a constant length.

In many layouts, spine and neck are not straight when a person stands upright: in SMPL, the head
is 38 degrees in front of the neck. Their bones therefore rest in their usual direction, the median
over the take relative to hips and chest, so that an upright person has no rotations there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput
from motionloom.motion.motion import Motion
from motionloom.motion.positions.layouts import LANDMARKS, NEEDED
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.rotations.directions import perpendicular, unit
from motionloom.motion.skeleton import Skeleton

Array = NDArray[np.float64]

X, Y, Z = np.eye(3)
SIDES = (("left", 1.0), ("right", -1.0))
_SLACK = (
    1.01  # length of a bending link over its largest distance, which keeps it from straightening
)
_STIFF = 0.0005  # meters; a link whose distance varies less is straight
_RIGID = 0.001  # meters; points of a rigid body stay closer to their mean position in its frame
_BENT = np.sin(np.radians(20.0))  # the side to which a limb is bent is certain
_TURN = 0.1  # radians per frame at 30 fps that the plane of a limb typically turns
_SURE = 0.002  # radians; uncertainty of the direction of a bone without noise
_PRIOR = 1e-3  # weight of the anatomical hinge axis
_FOOT = np.array([0.0, -0.4, 0.9]) / np.hypot(0.4, 0.9)  # from the ankle to the ball at rest
_ASSUMED_FOOT, _ASSUMED_HAND, _ASSUMED_HEAD = 0.27, 0.35, 0.5  # times shin, forearm, shoulder width
# Joints of a bending link: one at its start, and one in its middle.
_LINKS = {
    "spine": ("lower_back", ""),
    "chest": ("lower_back", "spine"),
    "head": ("upper_chest", "neck"),
}
_FACE = ("nose", "left_eye", "right_eye", "left_ear", "right_ear", "head_top")
_MIN_LENGTH = 1e-4  # meters
_MOST_LEAN = np.radians(50.0)  # of spine and neck at rest


def solve_positions(
    landmarks: Mapping[str, Array],
    *,
    fps: float,
    anatomical: bool = False,
    noise: float = 0.0,
    name: str = "",
) -> Motion:
    """Return the motion whose joints are at the given positions.

    The positions are used as they are; see `motionloom.motion.denoising` for noise and gaps.

    Parameters
    ----------
    landmarks : mapping of str to ndarray, shape (T, 3)
        Path of each landmark, in meters with y up and without gaps. Shoulders, elbows, wrists,
        hips, knees and ankles are required; see `motionloom.motion.positions.layouts.LANDMARKS`.
    fps : float
        Frames per second.
    anatomical : bool
        True if spine, chest and collars are joints of a rigid skeleton, as in SMPL.
    noise : float
        Standard deviation of the noise in meters, for the twist of nearly straight limbs.
    name : str
        Name of the motion.

    Returns
    -------
    motion : Motion
        Motion with roles for all joints.

    Raises
    ------
    InvalidInput
        If a landmark is missing, is unknown or has gaps, or if there are no frames.

    Examples
    --------
    >>> import motionloom as ml
    >>> from motionloom.motion.positions.layouts import NEEDED
    >>> walk = ml.demo.clip("walk")
    >>> paths = {role: walk.role_positions([role])[:, 0].astype(float) for role in NEEDED}
    >>> solved = solve_positions(paths, fps=walk.fps)
    >>> error = solved.role_positions(NEEDED) - walk.role_positions(NEEDED)
    >>> bool(abs(error).max() < 0.001)
    True
    """
    seen = _checked(landmarks)
    body = _Body(seen, fps, noise)
    body.trunk(anatomical)
    for side, sign in SIDES:
        body.arm(side, sign)
        body.leg(side, sign)
    body.head()
    return body.motion(name)


def _checked(landmarks: Mapping[str, Array]) -> dict[str, Array]:
    missing = [key for key in NEEDED if key not in landmarks]
    if missing:
        raise InvalidInput(f"the positions lack {', '.join(missing)}")
    seen: dict[str, Array] = {}
    frames = len(landmarks[NEEDED[0]])
    for key, path in landmarks.items():
        path = np.asarray(path, np.float64)
        if key not in LANDMARKS:
            raise InvalidInput(f"there is no landmark {key!r}")
        if path.shape != (frames, 3) or not frames:
            raise InvalidInput(f"{key} must have shape (frames, 3); got {path.shape}")
        if np.isfinite(path).all():
            seen[key] = path
        elif key in NEEDED:
            raise InvalidInput(f"{key} has gaps or is never visible")
    return seen


@dataclass
class _Joint:
    """A joint of the skeleton, or an end site if it has no rotation."""

    name: str
    parent: str
    offset: Array
    world: Array | None  # rotations (T, 4)


@dataclass
class _Body:
    """Skeleton under construction: joints with their rest offsets, world rotations and paths."""

    seen: dict[str, Array]
    fps: float
    noise: float
    joints: list[_Joint] = field(default_factory=list)
    path: dict[str, Array] = field(default_factory=dict)

    def add(self, name: str, parent: str, offset: Array, world: Array | None) -> None:
        """Add a joint at a rest offset from its parent; its path follows from the parent."""
        if parent:
            turned = rot.rotate(self.world(parent), np.broadcast_to(offset, (self.frames, 3)))
            self.path[name] = self.path[parent] + turned
        self.joints.append(_Joint(name, parent, np.asarray(offset, np.float64), world))

    def world(self, name: str) -> Array:
        """Return the world rotations (T, 4) of a joint."""
        joint = next(joint for joint in self.joints if joint.name == name)
        assert joint.world is not None
        return joint.world

    def axis(self, name: str, axis: Array) -> Array:
        """Return an axis of a joint's frame in the world (T, 3)."""
        return rot.rotate(self.world(name), np.broadcast_to(axis, (self.frames, 3)))

    @property
    def frames(self) -> int:
        return len(self.seen["left_hip"])

    # --- trunk ----------------------------------------------------------------------------

    def trunk(self, anatomical: bool) -> None:
        """Add the joints from the hips to the chest and the collars."""
        seen = self.seen
        middle = 0.5 * (seen["left_hip"] + seen["right_hip"])
        top = seen.get("neck", 0.5 * (seen["left_shoulder"] + seen["right_shoulder"]))
        self.path["hips"] = seen.get("hips", middle)
        across = seen["left_hip"] - seen["right_hip"]
        upward = top - middle
        if anatomical:  # the pelvis is rigid, so its own points show how it is tilted
            rigid = (seen["hips"] - middle) + (seen["spine"] - middle)
            if np.median(_length(perpendicular(rigid, across))) > 0.03:
                upward = rigid
        self.add("hips", "", np.zeros(3), _frames(across, upward, X, Y))
        if anatomical:
            self._anatomical_trunk()
        else:
            self._bending_trunk(top)

    def _anatomical_trunk(self) -> None:
        seen = self.seen
        line = [key for key in ("spine", "spine1", "chest") if key in seen]
        collars = seen["left_collar"] - seen["right_collar"]
        if np.median(_length(collars)) < 0.04:
            collars = seen["left_shoulder"] - seen["right_shoulder"]
        upward = seen["neck"] - seen["chest"]
        if np.median(_length(perpendicular(upward, collars))) < 0.02:
            upward = seen["chest"] - seen[line[-2] if len(line) > 1 else "hips"]
        if np.median(_length(perpendicular(upward, collars))) < 0.02:
            upward = seen["chest"] - self.path["hips"]
        chest = _frames(collars, upward, X, Y)
        before = "hips"
        for number, key in enumerate(line):
            if key == "chest":
                self._rigid(key, before, chest)
                break
            share = (number + 1) / len(line)
            lateral = unit(self.axis("hips", X)) * (1.0 - share) + unit(collars) * share
            self.path[key] = self._rigid_path(key, before)
            bone = seen[line[number + 1]] - self.path[key]
            between = rot.slerp(self.world("hips"), chest, share)
            world = _frames(bone, lateral, _usual(bone, between), X, like=self.world(before))
            self._rigid(key, before, world)
            before = key
        for side, sign in SIDES:
            shoulder = seen[f"{side}_shoulder"]
            self.path[f"{side}_collar"] = self._rigid_path(f"{side}_collar", "chest")
            bone = shoulder - self.path[f"{side}_collar"]
            world = _frames(bone, self.axis("chest", Y), sign * X, Y, like=chest)
            self._rigid(f"{side}_collar", "chest", world)
        below = "chest"
        away = _length(seen["neck"] - self._rigid_path("neck", "chest"))
        if away.max() > max(_RIGID, 3.0 * self.noise):  # there is a joint between chest and neck
            bone = seen["neck"] - self.path["chest"]
            world = _frames(bone, self.axis("chest", X), Y, X, like=chest)
            self.add("lower_neck", "chest", np.zeros(3), world)
            below = "lower_neck"
        self.path["neck"] = self._rigid_path("neck", below)
        if "head" in seen:
            bone = seen["head"] - self.path["neck"]
            world = _frames(bone, self.axis("chest", X), _usual(bone, chest), X, like=chest)
        else:
            world = chest
        self._rigid("neck", below, world)

    def _rigid_offset(self, key: str, parent: str) -> Array:
        """Return the median position of a landmark in the frame of a joint."""
        away = self.seen[key] - self.path[parent]
        return np.median(rot.rotate(rot.inverse(self.world(parent)), away), axis=0)

    def _rigid_path(self, key: str, parent: str) -> Array:
        offset = np.broadcast_to(self._rigid_offset(key, parent), (self.frames, 3))
        return self.path[parent] + rot.rotate(self.world(parent), offset)

    def _rigid(self, key: str, parent: str, world: Array | None) -> None:
        self.add(key, parent, self._rigid_offset(key, parent), world)

    def _bending_trunk(self, top: Array) -> None:
        seen = self.seen
        shoulders = seen["left_shoulder"] - seen["right_shoulder"]
        hips = self.axis("hips", X)
        back = -self.axis("hips", Z)
        lateral = unit(hips) + unit(shoulders)
        if "spine" in seen:
            self._bend("spine", "hips", seen["spine"], Y, hips, back)
            self._bend("chest", "spine", top, Y, lateral, back)
        else:
            self._bend("chest", "hips", top, Y, lateral, back)
        below = self.seen.get("spine", self.path["hips"])
        chest = _frames(shoulders, top - below, X, Y)
        self.joints[-1].world = chest
        for side, sign in SIDES:
            target = seen[f"{side}_shoulder"]
            up = self.axis("chest", Y)
            self._bend(f"{side}_shoulder", "chest", target, sign * X, up, up)

    def _bend(
        self, key: str, parent: str, target: Array, rest: Array, second: Array, pole: Array
    ) -> None:
        """Add two bones that reach from a joint to a path at a varying distance.

        The first bone starts at the position of `parent`. The last joint added is the one at the
        target, and its rotation is set by the caller.
        """
        first, middle = _LINKS.get(key, (key.replace("shoulder", "collar"), ""))
        if key == "chest" and "spine" in self.seen:
            first, middle = "upper_back", ""
        middle = middle or f"{first}1"
        start = self.path[parent]
        way = target - start
        distance = _length(way)
        low, high = np.quantile(distance, [0.01, 0.999]) if self.noise else _range(distance)
        length = float(np.median(distance) if high - low < _STIFF else _SLACK * high)
        half = 0.5 * max(length, _MIN_LENGTH)
        rise = np.sqrt(np.maximum(half * half - 0.25 * distance * distance, 0.0))
        aside = unit(perpendicular(pole, way))
        knee = start + 0.5 * way + (rise if length > high else 0.0 * rise)[:, None] * aside
        like = self.world(parent)
        axis = X if abs(rest @ Y) > 0.5 else Y
        self.add(first, parent, np.zeros(3), _frames(knee - start, second, rest, axis, like=like))
        self.path[middle] = self.path[first] + half * unit(knee - start)
        world = _frames(target - self.path[middle], second, rest, axis, like=like)
        self.add(middle, first, half * rest, world)
        self.add(key, middle, half * rest, world)

    # --- limbs ----------------------------------------------------------------------------

    def arm(self, side: str, sign: float) -> None:
        """Add shoulder, elbow and wrist, and the hand if the layout shows it."""
        seen, base, rest = self.seen, f"{side}_collar", sign * X
        shoulder, elbow, wrist = (f"{side}_{part}" for part in ("shoulder", "elbow", "wrist"))
        trunk = self.world("chest")
        if shoulder not in self.path:  # an anatomical collar
            length = np.median(_length(seen[shoulder] - self.path[base]))
            self.add(shoulder, base, length * rest, trunk)
        hinge = self._limb((shoulder, elbow, wrist), rest, -sign * Y, trunk)
        knuckles = [f"{side}_{part}" for part in ("index", "pinky") if f"{side}_{part}" in seen]
        hand = f"{side}_hand"
        if len(knuckles) == 2:
            index, pinky = (seen[key] for key in knuckles)
            along = 0.5 * (index + pinky) - self.path[wrist]
            self.joints[-1].world = _frames(along, index - pinky, rest, Z, like=self.world(elbow))
        elif hand in seen:
            along = seen[hand] - self.path[wrist]
            thumb = seen.get(f"{side}_thumb")
            second, axis = (hinge, -sign * Y) if thumb is None else (thumb - self.path[wrist], Z)
            self.joints[-1].world = _frames(along, second, rest, axis, like=self.world(elbow))
        ends = [key for key in (hand, *knuckles, f"{side}_thumb") if key in seen]
        for key in ends:
            self._rigid(key, wrist, None)
        if hand not in ends:
            if len(knuckles) == 2:
                seen[hand] = 0.5 * (seen[knuckles[0]] + seen[knuckles[1]])
                self._rigid(hand, wrist, None)
            else:
                forearm = self._bone(wrist)
                self.add(hand, wrist, _ASSUMED_HAND * forearm * rest, None)

    def leg(self, side: str, sign: float) -> None:
        """Add hip, knee and ankle, and the foot."""
        seen = self.seen
        hip, knee, ankle = (f"{side}_{part}" for part in ("hip", "knee", "ankle"))
        pelvis = self.world("hips")
        self._rigid(hip, "hips", pelvis)
        hinge = self._limb((hip, knee, ankle), -Y, X, pelvis)
        heel, foot = f"{side}_heel", f"{side}_foot"
        front = foot if foot in seen else f"{side}_toe"
        tips = [f"{side}_{part}" for part in ("foot", "heel", "toe", "small_toe")]
        shown = [key for key in tips if key in seen]
        if heel in seen and front in seen:
            ahead = seen[front] - seen[heel]
            above = self.path[ankle] - seen[heel]
            world = _frames(ahead, above, Z, Y, like=self.world(knee))
            if f"{side}_small_toe" in seen:  # toes show how the foot rolls better than the ankle
                outward = sign * (seen[f"{side}_small_toe"] - seen[front])
                world = _frames(ahead, outward, Z, X, like=self.world(knee))
            self.joints[-1].world = world
        elif front in seen:
            bone = seen[front] - self.path[ankle]
            self.joints[-1].world = _frames(bone, hinge, _FOOT, X, like=self.world(knee))
        for key in shown:
            self._rigid(key, ankle, None)
        if front not in seen:
            self.add(foot, ankle, _ASSUMED_FOOT * self._bone(ankle) * _FOOT / _FOOT[2], None)

    def _bone(self, name: str) -> float:
        return float(np.linalg.norm(next(j for j in self.joints if j.name == name).offset))

    def _limb(self, chain: tuple[str, str, str], rest: Array, hinge: Array, trunk: Array) -> Array:
        """Set the rotation of the first joint of a limb, and add the other two joints.

        Returns the hinge axis (T, 3). The last joint follows the bone before it.
        """
        first, middle, last = chain
        start = self.path[first]
        lengths = [
            max(float(np.median(_length(self.seen[b] - self.seen[a]))), _MIN_LENGTH)
            for a, b in ((first, middle), (middle, last))
        ]
        upper = unit(self.seen[middle] - start)
        joint = start + lengths[0] * upper
        lower = unit(self.seen[last] - joint)
        swing = rot.between(rot.rotate(trunk, np.broadcast_to(rest, upper.shape)), upper)
        prior = rot.rotate(rot.multiply(swing, trunk), np.broadcast_to(hinge, upper.shape))
        sure = max(self.noise / min(lengths), _SURE)
        axes = _hinge_axes(upper, lower, prior, sure, self.fps)
        self.joints[[j.name for j in self.joints].index(first)].world = _frames(
            upper, axes, rest, hinge
        )
        below = _frames(lower, axes, rest, hinge)
        self.add(middle, first, lengths[0] * rest, below)
        self.add(last, middle, lengths[1] * rest, below)
        return axes

    # --- head -----------------------------------------------------------------------------

    def head(self) -> None:
        """Add the neck and the head, with the points of the face as end sites."""
        seen = self.seen
        pairs = [(f"left_{part}", f"right_{part}") for part in ("ear", "eye")]
        pair = next((pair for pair in pairs if pair[0] in seen and pair[1] in seen), None)
        chest = self.world("chest")
        width = np.median(_length(self.seen["left_shoulder"] - self.seen["right_shoulder"]))
        anchors = [key for key in ("head",) if key in seen] or list(pair or ())
        anchors = anchors or [key for key in ("nose", "head_top") if key in seen]
        if not anchors:
            if "neck" not in self.path:
                self.add("neck", "chest", 0.3 * _ASSUMED_HEAD * width * Y, chest)
            self.add("head", "neck", 0.7 * _ASSUMED_HEAD * width * Y, None)
            return
        center = np.mean([seen[key] for key in anchors], axis=0)
        lateral = self.axis("chest", X)
        if "neck" in self.path:  # anatomical
            bone = center - self.path["neck"]
            rest = float(np.median(_length(bone))) * _usual(bone, chest)
            self.add("head", "neck", rest, self.world("neck"))
        else:
            rest = _usual(center - self.path["chest"], chest)
            self._bend("head", "chest", center, rest, lateral, -self.axis("chest", Z))
        here = self.path["head"]
        if pair is not None and "nose" in seen:
            across, ahead = seen[pair[0]] - seen[pair[1]], seen["nose"] - here
            if pair[0].endswith("eye") and np.median(_length(perpendicular(ahead, across))) < 0.03:
                ahead = seen["nose"] - self.path["chest"]
            self.joints[-1].world = _frames(across, ahead, X, Z, like=chest)
        elif "nose" in seen and "head_top" in seen:
            above, ahead = seen["head_top"] - here, seen["nose"] - seen["head_top"]
            forward = perpendicular(ahead, above)
            if np.median(_length(forward)) > 0.03:
                self.joints[-1].world = _frames(above, ahead, Y, Z, like=chest)
            else:  # the points lie on a line
                self.joints[-1].world = _frames(above, lateral, Y, X, like=chest)
        elif "head_top" in seen:
            above = seen["head_top"] - here
            self.joints[-1].world = _frames(above, lateral, Y, X, like=chest)
        for key in _FACE:
            if key in seen:
                self._rigid(key, "head", None)
        if "head_top" not in seen:
            self.add("head_top", "head", _ASSUMED_HEAD * width * Y, None)

    # --- result ---------------------------------------------------------------------------

    def motion(self, name: str) -> Motion:
        """Return the motion of all joints added so far."""
        joints = [joint for joint in self.joints if joint.world is not None]
        ends = [joint for joint in self.joints if joint.world is None]
        number = {joint.name: k for k, joint in enumerate(joints)}
        parents = np.array([number.get(joint.parent, -1) for joint in joints])
        world = np.stack([_of(joint) for joint in joints], axis=1)
        local = world.copy()
        local[:, 1:] = rot.multiply(rot.inverse(world[:, parents[1:]]), world[:, 1:])
        skeleton = Skeleton(
            tuple(joint.name for joint in joints),
            parents,
            np.array([joint.offset for joint in joints]),
            tuple(joint.name for joint in ends),
            np.array([number[joint.parent] for joint in ends], dtype=np.int32),
            np.array([joint.offset for joint in ends]).reshape(-1, 3),
            role_map=_roles({*number, *(joint.name for joint in ends)}),
        )
        return Motion(skeleton, rot.unroll(rot.normalize(local)), self.path["hips"], self.fps, name)


def _usual(bones: Array, frames: Array) -> Array:
    """Return the usual direction of a bone (T, 3) in moving frames (T, 4), within its y-z plane."""
    seen = np.median(rot.rotate(rot.inverse(frames), unit(bones)), axis=0)
    lean = np.clip(np.arctan2(seen[2], seen[1]), -_MOST_LEAN, _MOST_LEAN)
    return np.array([0.0, np.cos(lean), np.sin(lean)])


def _of(joint: _Joint) -> Array:
    assert joint.world is not None
    return joint.world


def _roles(names: set[str]) -> dict[str, str | None]:
    """Return the role of each joint and end site."""
    roles: dict[str, str | None] = {}
    for side, _ in SIDES:
        parts = ("collar", "shoulder", "elbow", "wrist", "hand", "hip", "knee", "ankle")
        roles |= {f"{side}_{part}": f"{side}_{part}" for part in parts if f"{side}_{part}" in names}
        front = f"{side}_foot" if f"{side}_foot" in names else f"{side}_toe"
        roles[f"{side}_foot"] = front
        roles[f"{side}_toe"] = f"{side}_toe" if f"{side}_toe" in names else front
    trunk = ("hips", "spine", "chest", "neck", "head", "head_top")
    roles |= {role: role for role in trunk if role in names}
    return roles


def _hinge_axes(upper: Array, lower: Array, prior: Array, sure: float, fps: float) -> Array:
    """Return unit hinge axes (T, 3), perpendicular to `upper`, that vary smoothly.

    The normal of a limb that is bent by ``a`` has an uncertainty of ``sure / sin(a)``. In a frame
    that follows the upper bone without twist, it is a complex number, so angles need no unwrapping.
    """
    along, aside = _transported(upper)
    normal = rot.cross(upper, lower)
    sine = _length(normal)
    value = _complex(normal, along, aside)
    anatomical = _complex(prior, along, aside)
    anatomical = anatomical / np.maximum(np.abs(anatomical), 1e-9)
    stiffness = 1.0 / (_TURN * 30.0 / fps) ** 2
    # First only frames that are bent beyond doubt, to find the side to which the limb bends.
    weights = np.where(sine > _BENT, (sine / sure) ** 2, 0.0)
    rough = _smooth_complex(value / np.maximum(sine, 1e-9), weights, anatomical, stiffness)
    flipped = (sine <= _BENT) & ((value * rough.conj()).real < 0.0)
    phase = value * np.where(flipped, -1.0, 1.0) / np.maximum(sine, 1e-9)
    angle = _smooth_complex(phase, (sine / sure) ** 2, anatomical, stiffness)
    angle = angle / np.maximum(np.abs(angle), 1e-12)
    return angle.real[:, None] * along + angle.imag[:, None] * aside


def _smooth_complex(
    values: NDArray[np.complex128], weights: Array, prior: NDArray[np.complex128], stiffness: float
) -> NDArray[np.complex128]:
    """Minimize sum w |x - values|^2 + stiffness sum |x(t) - x(t-1)|^2 + a weak pull to `prior`."""
    from scipy.linalg import solveh_banded

    bands = np.zeros((2, len(values)))
    bands[1] = weights + _PRIOR
    bands[1, 1:] += stiffness
    bands[1, :-1] += stiffness
    bands[0, 1:] = -stiffness
    if len(values) == 1:
        return (weights * values + _PRIOR * prior) / bands[1]
    return np.asarray(solveh_banded(bands, weights * values + _PRIOR * prior))


def _transported(direction: Array) -> tuple[Array, Array]:
    """Return two axes (T, 3) that are perpendicular to a unit direction and never twist about it.

    The rotations from frame to frame are multiplied up in pairs, so that the number of steps is the
    logarithm of the number of frames.
    """
    turns = np.tile(rot.IDENTITY, (len(direction), 1))
    turns[1:] = rot.between(direction[:-1], direction[1:])
    step = 1
    while step < len(turns):
        turns[step:] = rot.normalize(rot.multiply(turns[step:], turns[:-step]))
        step *= 2
    start = np.eye(3)[int(np.argmin(np.abs(direction[0])))]
    along = unit(perpendicular(start[None], direction[:1]))[0]
    axes = rot.rotate(turns, np.broadcast_to(along, direction.shape))
    axes = unit(perpendicular(axes, direction))
    return axes, rot.cross(direction, axes)


def _complex(vectors: Array, along: Array, aside: Array) -> NDArray[np.complex128]:
    return (vectors * along).sum(axis=1) + 1j * (vectors * aside).sum(axis=1)


def _frames(
    first: Array, second: Array, rest_first: Array, rest_second: Array, like: Array | None = None
) -> Array:
    """Return the rotations (T, 4) that turn two rest axes to two directions (T, 3).

    The first direction is reached exactly, the second as far as possible. Frames whose directions
    are parallel or zero are rotated as `like`, or as the frame before.
    """
    world, valid = _bases(first, second)
    rest, _ = _bases(rest_first[None], rest_second[None])
    turns = rot.from_matrix(world @ np.swapaxes(rest, 1, 2))
    if valid.all():
        return turns
    if like is not None:
        return np.where(valid[:, None], turns, like)
    last = np.maximum.accumulate(np.where(valid, np.arange(len(turns)), -1))
    return np.where((last >= 0)[:, None], turns[last], rot.IDENTITY)


def _bases(first: Array, second: Array) -> tuple[Array, NDArray[np.bool_]]:
    along = unit(first)
    normal = rot.cross(along, second)
    length = _length(normal)
    valid = (_length(first) > 1e-9) & (length > 1e-9)
    normal = normal / np.maximum(length, 1e-12)[:, None]
    basis = np.stack([along, rot.cross(normal, along), normal], axis=2)
    return np.where(valid[:, None, None], basis, np.eye(3)), valid


def _length(vectors: Array) -> Array:
    return np.sqrt((vectors * vectors).sum(axis=-1))


def _range(values: Array) -> tuple[float, float]:
    return float(values.min()), float(values.max())
