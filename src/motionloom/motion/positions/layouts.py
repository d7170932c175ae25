"""Layouts of joint positions: the order of the points, and which part of the body each one marks.

A *landmark* is a part of the body. Most landmarks are roles of joints (``left_knee``); others only
show how a joint is turned (``nose``, ``left_heel``, ``left_index``). A layout maps landmarks to one
point, or to several points whose mean marks them.

Arrays do not name their layout. It is recognized by the number of points. If several layouts have
the same number, the one is chosen whose bones have the most constant lengths and whose left and
right bones are equally long: these hold for a body, but not for points in the wrong order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.files import parse_json, parse_toml, read_regular_text

Array = NDArray[np.float64]

_TRUNK = ("hips", "spine", "spine1", "chest", "neck", "head", "head_top", "nose")
_PAIRED = (
    "collar", "shoulder", "elbow", "wrist", "hand", "thumb", "index", "pinky",
    "hip", "knee", "ankle", "heel", "foot", "toe", "small_toe", "eye", "ear",
)  # fmt: skip
LANDMARKS = _TRUNK + tuple(f"{side}_{part}" for side in ("left", "right") for part in _PAIRED)
NEEDED = tuple(
    f"{side}_{part}"
    for side in ("left", "right")
    for part in ("shoulder", "elbow", "wrist", "hip", "knee", "ankle")
)


@dataclass(frozen=True)
class PointLayout:
    """Order and meaning of the points in an array.

    Attributes
    ----------
    name : str
        Name for the option ``layout``.
    points : tuple of str
        Name of each point, in order.
    landmarks : mapping of str to tuple of str
        Landmark to the names of the points whose mean marks it.
    anatomical : bool
        True if the points are the joints of a rigid skeleton, as in SMPL. Then all bones of the
        trunk have a fixed length as well.
    fps, unit, up : float, str, str, optional
        Properties of files with this layout that the files do not state.
    """

    name: str
    points: tuple[str, ...]
    landmarks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    anatomical: bool = False
    fps: float | None = None
    unit: str | None = None
    up: str | None = None

    def __post_init__(self) -> None:
        if not self.landmarks:
            own = {point: (point,) for point in self.points if point in LANDMARKS}
            object.__setattr__(self, "landmarks", own)

    def to_json(self) -> dict[str, Any]:
        """Return the layout as plain data, which `layout_named` accepts."""
        return {
            "points": list(self.points),
            "landmarks": {key: list(names) for key, names in self.landmarks.items()},
            **{key: getattr(self, key) for key in ("fps", "unit", "up") if getattr(self, key)},
        }

    def columns(self) -> dict[str, list[int]]:
        """Return the indices of the points of each landmark."""
        index = {point: number for number, point in enumerate(self.points)}
        return {key: [index[name] for name in names] for key, names in self.landmarks.items()}

    def landmark_positions(self, points: Array) -> dict[str, Array]:
        """Return the path (T, 3) of each landmark from the positions of the points (T, P, 3)."""
        return {key: points[:, index].mean(axis=1) for key, index in self.columns().items()}


def _sided(text: str) -> tuple[str, ...]:
    """Expand ``l_`` and ``r_`` to sides, in a list of names that is separated by spaces."""
    short = {"l_": "left_", "r_": "right_"}
    return tuple(short.get(name[:2], name[:2]) + name[2:] for name in text.split())


_SMPL = _sided(
    "hips l_hip r_hip spine l_knee r_knee spine1 l_ankle r_ankle chest l_foot r_foot neck"
    " l_collar r_collar head l_shoulder r_shoulder l_elbow r_elbow l_wrist r_wrist"
)
_FACE = _sided("nose l_eye r_eye l_ear r_ear")
_COCO_BODY = _sided(
    "l_shoulder r_shoulder l_elbow r_elbow l_wrist r_wrist l_hip r_hip l_knee r_knee"
    " l_ankle r_ankle"
)
_HALPE = (
    *_FACE, *_COCO_BODY,
    *_sided("head_top neck hips l_toe r_toe l_small_toe r_small_toe l_heel r_heel"),
)  # fmt: skip

LAYOUTS: dict[str, PointLayout] = {
    layout.name: layout
    for layout in (
        PointLayout("humanml3d", _SMPL, anatomical=True, fps=20.0, unit="m", up="y"),
        PointLayout("smpl", (*_SMPL, "left_hand", "right_hand"), anatomical=True),
        PointLayout(
            "h36m",
            _sided(
                "hips r_hip r_knee r_ankle l_hip l_knee l_ankle spine neck head head_top"
                " l_shoulder l_elbow l_wrist r_shoulder r_elbow r_wrist"
            ),
            fps=50.0,
        ),
        PointLayout("coco", (*_FACE, *_COCO_BODY)),
        PointLayout(
            "openpose",
            _sided(
                "nose neck r_shoulder r_elbow r_wrist l_shoulder l_elbow l_wrist hips r_hip r_knee"
                " r_ankle l_hip l_knee l_ankle r_eye l_eye r_ear l_ear l_toe l_small_toe l_heel"
                " r_toe r_small_toe r_heel"
            ),
        ),
        PointLayout("halpe", _HALPE),
        PointLayout(
            "kinect",
            _sided(
                "hips spine neck_mid head l_shoulder l_elbow l_wrist l_hand r_shoulder r_elbow"
                " r_wrist r_hand l_hip l_knee l_ankle l_foot r_hip r_knee r_ankle r_foot neck"
                " l_hand_tip l_thumb r_hand_tip r_thumb"
            ),
            fps=30.0,
            unit="m",
        ),
        PointLayout(
            "mediapipe",
            _sided(
                "nose l_eye_inner l_eye l_eye_outer r_eye_inner r_eye r_eye_outer l_ear r_ear"
                " l_mouth r_mouth l_shoulder r_shoulder l_elbow r_elbow l_wrist r_wrist l_pinky"
                " r_pinky l_index r_index l_thumb r_thumb l_hip r_hip l_knee r_knee l_ankle"
                " r_ankle l_heel r_heel l_toe r_toe"
            ),
        ),
    )
}


# --- names of points ----------------------------------------------------------------------

_SIDE = {"l": "left", "left": "left", "r": "right", "right": "right"}
# Words of a label, joined, to the landmark without its side.
_PARTS = {
    "hip": "hip", "hips": "hips", "midhip": "hips", "pelvis": "hips", "spinebase": "hips",
    "hipcenter": "hips", "hjc": "hip", "upleg": "hip", "upperleg": "hip", "thigh": "hip",
    "spine": "spine", "spinemid": "spine", "torso": "spine", "belly": "spine",
    "spinenaval": "spine",
    "spine1": "spine1", "spine2": "spine1", "chest": "chest", "spine3": "chest",
    "neck": "neck", "thorax": "neck", "spineshoulder": "neck", "shouldercenter": "neck",
    "head": "head", "headtop": "head_top", "topofhead": "head_top", "vertex": "head_top",
    "nose": "nose", "eye": "eye", "ear": "ear",
    "collar": "collar", "clavicle": "collar", "shoulder": "shoulder", "sjc": "shoulder",
    "elbow": "elbow", "ejc": "elbow", "wrist": "wrist", "wjc": "wrist", "hand": "hand",
    "knuckle": "hand", "index": "index", "pinky": "pinky", "thumb": "thumb",
    "knee": "knee", "kjc": "knee", "ankle": "ankle", "ajc": "ankle", "heel": "heel",
    "calc": "heel", "foot": "foot", "ball": "foot", "toebase": "foot", "toe": "toe",
    "toes": "toe", "bigtoe": "toe", "footindex": "toe", "smalltoe": "small_toe",
    # Joints of OpenSim models; the calcaneus is "calcn" there.
    "acromial": "shoulder", "radiushand": "wrist", "walkerknee": "knee", "mtp": "foot",
    "groundpelvis": "hips",
}  # fmt: skip
# Other meanings in rigs whose forearm is called ForeArm (HumanIK, Mixamo) or LowerArm (Unity).
_RIG = {
    "shoulder": "collar", "arm": "shoulder", "upperarm": "shoulder", "forearm": "elbow",
    "lowerarm": "elbow", "hand": "wrist", "upleg": "hip", "upperleg": "hip", "thigh": "hip",
    "leg": "knee", "lowerleg": "knee", "calf": "knee", "foot": "ankle", "toebase": "foot",
    "toes": "foot", "ball": "foot",
}  # fmt: skip
# Origins of the bodies of OpenSim models.
_BONES = {
    "femur": "hip", "tibia": "knee", "talus": "ankle", "calcn": "heel", "toes": "foot",
    "humerus": "shoulder", "ulna": "elbow", "hand": "wrist", "torso": "spine",
}  # fmt: skip
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_FIRST_SIDE = re.compile(r"^([LR])([A-Z][A-Za-z]+)$")  # RBigToe


def landmarks_in(labels: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the landmarks that labels of points name, each with its label.

    Examples
    --------
    >>> landmarks_in(["RHip", "LBigToe", "nose", "T8"])
    {'right_hip': ('RHip',), 'left_toe': ('LBigToe',), 'nose': ('nose',)}
    """
    parsed = [_parsed(label) for label in labels]
    names = {part for _, part in parsed}
    other = _RIG if names & {"forearm", "lowerarm"} else {}
    other = _BONES if {"femur", "humerus"} <= names else other
    result: dict[str, tuple[str, ...]] = {}
    for label, (side, part) in zip(labels, parsed, strict=True):
        landmark = other.get(part) or _PARTS.get(part)
        if landmark == "hip" and not side:
            landmark = "hips"
        if landmark is None or (landmark in _PAIRED) != bool(side):
            continue
        result.setdefault(f"{side}_{landmark}" if side else landmark, (label,))
    if "nose" in result and "left_ear" not in result and "head_top" not in result:
        head = result.pop("head", None)  # in HALPE, which pose2sim uses, it is the top of the head
        result |= {"head_top": head} if head else {}
    return result


def _parsed(label: str) -> tuple[str, str]:
    """Split a label into its side (or an empty string) and its other words, joined."""
    bare = label.rpartition(":")[2]
    first = _FIRST_SIDE.match(bare)
    if first:
        return _SIDE[first[1].lower()], "".join(_WORDS.findall(first[2])).lower()
    words = [word.lower() for word in _WORDS.findall(bare)]
    sides = [word for word in words if word in _SIDE]
    rest = [word for word in words if word not in _SIDE]
    return (_SIDE[sides[0]] if sides else ""), "".join(rest)


def labeled_layout(labels: Sequence[str], name: str = "labels") -> PointLayout | None:
    """Return the layout of points whose labels name the joints of a body, or None.

    Examples
    --------
    >>> labeled_layout(["LFHD", "RFHD", "C7"]) is None
    True
    """
    landmarks = landmarks_in(labels)
    if not set(NEEDED) <= landmarks.keys():
        return None
    trunk = {"spine", "chest", "neck", "left_collar", "right_collar", "hips"}
    return PointLayout(name, tuple(labels), landmarks, anatomical=trunk <= landmarks.keys())


# --- mapping files ------------------------------------------------------------------------


def layout_named(name: str | Path | Mapping[str, Any]) -> PointLayout:
    """Return a built-in layout, or read one from a mapping or a JSON or TOML file.

    A mapping has the name or number of a point for each landmark, or a list of them::

        points = 19                       # number of points, or a list with their names
        unit = "mm"                       # optional, as are up and fps
        [landmarks]
        left_hip = 3
        hips = [3, 7]                     # the mean of two points

    Raises
    ------
    InvalidInput, MotionFormatError
        If there is no such layout, or if the mapping is invalid.

    Examples
    --------
    >>> len(layout_named("mediapipe").points)
    33
    """
    if isinstance(name, Mapping):
        return layout_from(name, "layout")
    if str(name) in LAYOUTS:
        return LAYOUTS[str(name)]
    path = Path(name)
    if path.suffix.lower() not in (".json", ".toml"):
        raise InvalidInput(
            f"layout must be one of {', '.join(LAYOUTS)}, or a .json or .toml file; got {name!r}"
        )
    try:
        text = read_regular_text(path, encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it must be UTF-8 text"
        raise MotionFormatError(f"cannot read the layout: {reason}", path=path) from None
    try:
        entries = parse_toml(text) if path.suffix.lower() == ".toml" else parse_json(text)
    except ValueError as error:
        raise MotionFormatError(f"cannot read the layout: {error}", path=path) from None
    try:
        return layout_from(entries, path.stem)
    except InvalidInput as error:
        raise MotionFormatError(str(error), path=path) from None


def layout_from(entries: Any, name: str) -> PointLayout:
    """Return the layout that a mapping describes; see `layout_named`."""
    if not isinstance(entries, Mapping) or not isinstance(entries.get("landmarks"), Mapping):
        raise InvalidInput(
            "a layout must have a table 'landmarks' with the number or name of the point of each "
            "landmark"
        )
    points = _point_names(entries.get("points"), entries["landmarks"])
    landmarks: dict[str, tuple[str, ...]] = {}
    for landmark, given in entries["landmarks"].items():
        if landmark not in LANDMARKS:
            raise InvalidInput(
                f"there is no landmark {str(landmark)[:40]!r}; landmarks are {', '.join(LANDMARKS)}"
            )
        values = given if isinstance(given, Sequence) and not isinstance(given, str) else [given]
        names = [points[v] if _is_index(v, points) else str(v) for v in values]
        missing = [name for name in names if name not in points]
        if missing or not names:
            raise InvalidInput(
                f"{landmark} refers to the point {missing[:1] or given!r}, which does not exist; "
                f"the layout has {len(points)} points"
            )
        landmarks[landmark] = tuple(names)
    lacking = [landmark for landmark in NEEDED if landmark not in landmarks]
    if lacking:
        raise InvalidInput(f"the layout lacks {', '.join(lacking)}")
    trunk = {"spine", "chest", "neck", "left_collar", "right_collar", "hips"}
    unit, up, fps = entries.get("unit"), entries.get("up"), entries.get("fps")
    return PointLayout(
        name, points, landmarks, anatomical=trunk <= landmarks.keys(),
        fps=None if fps is None else float(fps), unit=None if unit is None else str(unit),
        up=None if up is None else str(up),
    )  # fmt: skip


def _is_index(value: Any, points: Sequence[str]) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(points)


def _point_names(given: Any, landmarks: Mapping[str, Any]) -> tuple[str, ...]:
    most = 10_000
    if isinstance(given, int) and not isinstance(given, bool) and 0 < given <= most:
        return tuple(f"point {number}" for number in range(given))
    if isinstance(given, Sequence) and not isinstance(given, str) and 0 < len(given) <= most:
        names = tuple(str(name) for name in given)
        if len(set(names)) == len(names):
            return names
    if given is None:  # names alone, for files whose points have labels
        flat: list[str] = []
        for value in landmarks.values():
            flat += [str(v) for v in value] if isinstance(value, (list, tuple)) else [str(value)]
        return tuple(dict.fromkeys(flat))
    raise InvalidInput(f"points must be their number or a list of unique names; got {given!r:.60}")


# --- recognition --------------------------------------------------------------------------

_LIMBS = (
    ("shoulder", "elbow"), ("elbow", "wrist"), ("hip", "knee"), ("knee", "ankle"),
)  # fmt: skip
_CLEAR = 1.5  # times the score of the next best layout


@dataclass(frozen=True)
class Recognized:
    """A layout, the evidence for it, and a warning if another one is about as plausible."""

    layout: PointLayout
    reason: str
    warning: str = ""


def recognize(points: Array) -> Recognized | None:
    """Recognize the layout of positions (T, P, 3), or return None if no layout has P points."""
    count = points.shape[1]
    # freemocap appends hands and face to the 33 points of the body.
    body = 33 if count in (75, 553, 543) else count
    choices = [layout for layout in LAYOUTS.values() if len(layout.points) == body]
    if not choices:
        return None
    if len(choices) == 1:
        return Recognized(choices[0], f"{choices[0].name}: the only layout with {body} points")
    scores = {layout.name: body_score(layout.landmark_positions(points)) for layout in choices}
    first, second = sorted(scores, key=lambda name: scores[name])[:2]
    reason = (
        f"{first}: in this order, limbs vary by {100 * scores[first]:.0f} % in length and between "
        f"sides ({second}: {100 * scores[second]:.0f} %)"
    )
    warning = ""
    if not scores[second] > _CLEAR * scores[first]:
        warning = (
            f"the layout may be {first} or {second}, since both have {count} points. "
            f"{first} is assumed; set layout to choose"
        )
    return Recognized(LAYOUTS[first], reason, warning)


def body_score(landmarks: Mapping[str, Array]) -> float:
    """Return how little landmarks look like a body: 0 for one with rigid and symmetric limbs.

    The mean over the limbs of the relative spread of their length, their difference between the
    sides, and the deviation of the thigh and the upper arm from the length of the next bone.
    """
    terms: list[float] = []
    for upper, lower in _LIMBS:
        lengths = []
        for side in ("left", "right"):
            bone = landmarks[f"{side}_{upper}"] - landmarks[f"{side}_{lower}"]
            length = np.linalg.norm(bone, axis=1)
            length = length[np.isfinite(length)]
            if not len(length):
                return np.inf
            low, middle, high = np.quantile(length, [0.1, 0.5, 0.9])
            terms.append(float((high - low) / max(middle, 1e-9)))
            lengths.append(float(middle))
        terms.append(abs(lengths[0] - lengths[1]) / max(*lengths, 1e-9))
    return float(np.mean(np.minimum(terms, 2.0)))


def listed(layouts: Iterable[PointLayout] = LAYOUTS.values()) -> str:
    """Return the numbers of points of all layouts, for an error message."""
    return ", ".join(f"{len(layout.points)} ({layout.name})" for layout in layouts)
