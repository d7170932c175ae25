"""Marker sets of optical motion capture, and the joint centers inside the body.

Markers lie on the skin. A marker set is recognized by its labels, and each joint center follows
from the markers around it:

- *Hips* by a regression from the pelvis markers [1]_.
- *Knees and elbows* in the middle of a medial and a lateral marker. With a lateral marker only, the
  center is next to it on the hinge axis, which is perpendicular to the plane of the limb, as in the
  conventional gait model [2]_; see `_next_to`.
- *Ankles* in the middle of the malleoli, or next to the lateral one, parallel to the knee axis.
- *Shoulders* below the acromion, by 17 % of the distance between the shoulders [3]_.
- *Wrists* in the middle of the wrist markers.

Joint centers that the file contains (``LHJC``, or ``LFEP`` of Plug-in Gait) are preferred.

References
----------
.. [1] M. E. Harrington et al. J. Biomechanics 40(3), pages 595-602, 2007.
.. [2] R. B. Davis et al. A gait analysis data collection and reduction technique. Human Movement
   Science 10(5), 1991.
.. [3] G. Rab et al. A method for determination of upper extremity kinematics. Gait & Posture 15(2),
   2002.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motionloom.motion.denoising import denoise_positions
from motionloom.motion.positions.layouts import landmarks_in
from motionloom.motion.rotations import quaternions as rot
from motionloom.motion.rotations.directions import perpendicular, unit

Array = NDArray[np.float64]

# Anatomical place to labels, without case and punctuation; "*" stands for the letter of the side.
_SETS = {
    "Plug-in Gait": "asis:*ASI psis:*PSI sacrum:SACR knee:*KNE knee_in:*KNM,*MKNE,*KNEM ankle:*ANK"
    " ankle_in:*ANM,*MMA,*MED,*MANK,*ANKM heel:*HEE toe:*TOE acromion:*SHO elbow:*ELB"
    " elbow_in:*ELM,*MELB,*ELBM thumb_side:*WRA pinky_side:*WRB hand:*FIN front_head:*FHD"
    " back_head:*BHD c7:C7 t10:T10 clavicle:CLAV sternum:STRN",
    "CMU": "asis:*FWT psis:*BWT little_toe:*MT5",
    "Helen Hayes": "asis:*ASIS psis:*PSIS sacrum:VSACRAL,SACRAL,SACRUM knee:*KNEE,*KNEELAT,*LATKNEE"
    " knee_in:*KNEEMEDIAL,*KNEEMED,*MEDKNEE ankle:*ANKLE,*ANKLELAT,*LATANKLE"
    " ankle_in:*ANKLEMEDIAL,*ANKLEMED,*MEDANKLE heel:*HEEL toe:*TOE,*TOETIP acromion:*SHOULDER,"
    "*ACROMIUM,*ACROMION elbow:*ELBOW,*ELBOWLAT,*LATELBOW elbow_in:*ELBOWMEDIAL,*ELBOWMED,*MEDELBOW"
    " wrist:*WRIST thumb_side:*WRISTRADIUS,*RADIUS,*WRISTMEDIAL,*WRISTMED"
    " pinky_side:*WRISTULNA,*ULNA,*WRISTLATERAL,*WRISTLAT hand:*HAND,*FINGER"
    " top_head:TOPHEAD,HEADTOP nose:FRONTHEAD,HEADFRONT rear_head:REARHEAD,BACKHEAD,HEADREAR"
    " sternum:STERNUM",
    "Rizzoli": "asis:*ASIS,*IAS psis:*PSIS,*IPS knee:*LE,*FLE knee_in:*ME,*FME ankle:*LM,*FAL"
    " ankle_in:*MM,*TAM heel:*CA,*FCC toe:*SM,*FM2 great_toe:*FM,*FM1 little_toe:*VM,*FM5"
    " acromion:*A,*AC,*SAE,*SIA,*CAJ elbow:*HLE elbow_in:*HME thumb_side:*RSP,*RS"
    " pinky_side:*USP,*US hand:*HM2,*HM3 c7:C7,CV7 t10:T10,TV10 clavicle:IJ,SJN sternum:PX,SXS",
    "OpenSim": "knee:*LFC knee_in:*MFC ankle:*LMAL ankle_in:*MMAL heel:*CAL toe:*TOE"
    " little_toe:*MT5 acromion:*ACR elbow:*LEL elbow_in:*MEL thumb_side:*FARADIUS"
    " pinky_side:*FAULNA",
    "OptiTrack": "asis:WAIST*FRONT psis:WAIST*BACK knee:*KNEEOUT knee_in:*KNEEIN ankle:*ANKLEOUT"
    " ankle_in:*ANKLEIN heel:*HEEL great_toe:*TOEIN little_toe:*TOEOUT acromion:*SHOULDERTOP"
    " elbow:*ELBOWOUT elbow_in:*ELBOWIN thumb_side:*WRISTIN pinky_side:*WRISTOUT"
    " hand:*HANDIN,*HANDOUT top_head:HEADTOP nose:HEADFRONT c7:BACKTOP clavicle:CHEST",
}  # fmt: skip
# Origins and ends of the segments that Plug-in Gait computes.
_SEGMENTS = {
    "FEP": "hip", "FEO": "knee", "TIO": "ankle", "HUP": "shoulder", "HUO": "elbow", "RAO": "wrist",
}  # fmt: skip
_SIDES = {"L": "left", "R": "right"}
_LIMBS = ("knee", "ankle", "acromion", "elbow", "wrist")
_JOINTS = ("hip", "knee", "ankle", "shoulder", "elbow", "wrist")
_LEAST = 0.05  # fraction of the frames in which a marker must be visible
_WIDTH = 0.25  # meters between the front pelvis markers of an adult
# Distance from a lateral marker to the joint center, including the radius of the marker, relative
# to the length of the segment above. About the medians of five adults in Plug-in Gait files.
_KNEE, _ANKLE, _ELBOW = 0.16, 0.12, 0.165
_WRIST = 0.12  # the same for the bar of wrist markers, which is on the back of the wrist
_BENT = 0.25  # bend of a limb, relative to the segment above, from which its side is certain
_SHOULDER = 0.17  # times the distance between the acromia
_CROWN = 0.6  # height of the top of the head above a head band, relative to the depth of the band
_ROUNDS = 4  # of knee and ankle, which depend on each other


def _places() -> tuple[dict[str, str], dict[str, frozenset[str]]]:
    """Return the place of each label, and the labels of each set."""
    places: dict[str, str] = {}
    labels: dict[str, frozenset[str]] = {}
    for name, text in _SETS.items():
        own: set[str] = set()
        for entry in text.split():
            place, _, patterns = entry.partition(":")
            for pattern in patterns.split(","):
                for letter, side in _SIDES.items() if "*" in pattern else (("", ""),):
                    label = pattern.replace("*", letter)
                    places.setdefault(label, f"{side}_{place}" if side else place)
                    own.add(label)
        labels[name] = frozenset(own)
    return places, labels


_PLACES, _LABELS = _places()


@dataclass(frozen=True)
class MarkerSet:
    """Markers of a body.

    Attributes
    ----------
    name : str
        Name of the marker set whose labels fit best.
    places : dict of str to int
        Column of the marker at each anatomical place, such as ``left_knee_in`` (medial).
    centers : dict of str to int
        Column of each joint center that the file contains.
    missing : tuple of str
        Parts of the body without markers. The body can be solved if there are none.
    """

    name: str
    places: dict[str, int]
    centers: dict[str, int]
    missing: tuple[str, ...]

    @property
    def used(self) -> int:
        """Number of markers used."""
        return len({*self.places.values(), *self.centers.values()})


def marker_set(labels: Sequence[str]) -> MarkerSet | None:
    """Return the marker set of labels, or None if fewer than half of a body is recognized.

    Examples
    --------
    >>> marker_set(["LASI", "RASI", "LPSI", "RPSI", "LKNE", "LANK", "LTOE"]).missing[0]
    'left_shoulder'
    >>> marker_set(["stick1", "stick2"]) is None
    True
    """
    prefix = os.path.commonprefix(list(labels)) if len(labels) > 1 else ""
    prefix = prefix[: 1 + max(prefix.rfind("_"), prefix.rfind(":"), prefix.rfind(" "))]
    bare = [re.sub(r"[^A-Z0-9]", "", label[len(prefix) :].upper()) for label in labels]
    places: dict[str, int] = {}
    for column, label in enumerate(bare):
        if label in _PLACES:
            places.setdefault(_PLACES[label], column)
    named = landmarks_in([label for label in labels if re.search("[HKASEW]JC", label.upper())])
    centers = {key: list(labels).index(where[0]) for key, where in named.items()}
    for column, label in enumerate(bare):
        if label[:1] in _SIDES and label[1:] in _SEGMENTS:
            centers.setdefault(f"{_SIDES[label[0]]}_{_SEGMENTS[label[1:]]}", column)
    if len(places) + len(centers) < 7:
        return None
    own = frozenset(bare)
    name = max(_LABELS, key=lambda each: len(_LABELS[each] & own))
    if name == "Plug-in Gait" and {"LFWT", "RFWT"} <= own:
        name = "CMU"
    return MarkerSet(name, places, centers, _missing(places, centers))


def _missing(places: dict[str, int], centers: dict[str, int]) -> tuple[str, ...]:
    """Return the joints that neither a center nor markers show."""
    missing = []
    pelvis = sum(f"{side}_{end}" in places for side in _SIDES.values() for end in ("asis", "psis"))
    front = "left_asis" in places and "right_asis" in places
    if not (pelvis >= 3 or (front and "sacrum" in places)) and not (
        "left_hip" in centers and "right_hip" in centers
    ):
        missing.append("pelvis")
    for side in _SIDES.values():
        for place in _LIMBS:
            joint = "shoulder" if place == "acromion" else place
            others = ("thumb_side", "pinky_side") if place == "wrist" else ()
            shown = any(f"{side}_{each}" in places for each in (place, *others))
            if not shown and f"{side}_{joint}" not in centers:
                missing.append(f"{side}_{joint}")
    return tuple(missing)


@dataclass(frozen=True)
class JointCenters:
    """Paths (T, 3) of landmarks, the joints that are guesses, and repairs for a report."""

    landmarks: dict[str, Array]
    guesses: tuple[str, ...]
    repairs: tuple[str, ...]


def joint_centers(
    body_markers: MarkerSet, markers: Array, *, fps: float, meters: float | None = None
) -> JointCenters:
    """Return the joint centers of markers (T, M, 3) in which gaps are NaN.

    `meters` is the length of one unit, by default what makes the pelvis that of an adult.

    Raises
    ------
    ValueError
        If markers that the body needs are never visible. The message names the joints.
    """
    # Some programs write gaps as zeros. A marker on a body is never exactly at the origin.
    markers = np.where((markers == 0.0).all(axis=2, keepdims=True), np.nan, markers)
    shown = np.isfinite(markers).all(axis=2).mean(axis=0) >= _LEAST
    places = {key: column for key, column in body_markers.places.items() if shown[column]}
    centers = {key: column for key, column in body_markers.centers.items() if shown[column]}
    missing = _missing(places, centers)
    if missing:
        raise ValueError(", ".join(missing))
    columns = sorted({*places.values(), *centers.values()})
    seen = {column: number for number, column in enumerate(columns)}
    index = {key: seen[column] for key, column in places.items()}
    if meters is None:
        meters = _WIDTH / _width(places, centers, markers)
    points = markers[:, columns] * meters
    filled, repairs = _filled(points, index, fps)
    body = _Body(
        {key: filled[:, number] for key, number in index.items()},
        {key: filled[:, seen[column]] for key, column in centers.items()},
        [],
        body_markers.name in ("Plug-in Gait", "CMU"),
    )
    landmarks = {key: path / meters for key, path in body.solve().items()}
    return JointCenters(landmarks, tuple(dict.fromkeys(body.guesses)), repairs)


def _width(places: dict[str, int], centers: dict[str, int], markers: Array) -> float:
    pairs = [("left_asis", "right_asis", 1.0), ("left_psis", "right_psis", 0.4)]
    for left, right, share in pairs:
        if left in places and right in places:
            return _apart(markers[:, places[left]], markers[:, places[right]]) / share
    return _apart(markers[:, centers["left_hip"]], markers[:, centers["right_hip"]]) / 0.7


def _apart(first: Array, second: Array) -> float:
    away = np.linalg.norm(first - second, axis=1)
    away = away[np.isfinite(away)]
    return max(float(np.median(away)), 1e-9) if len(away) else 1.0


# --- gaps ---------------------------------------------------------------------------------

_RIGID = (
    ("left_asis", "right_asis", "left_psis", "right_psis", "sacrum"),
    ("left_front_head", "right_front_head", "left_back_head", "right_back_head"),
)


def _filled(points: Array, index: dict[str, int], fps: float) -> tuple[Array, tuple[str, ...]]:
    """Return markers without gaps: from the others on a rigid part, then by a smooth path."""
    points = points.copy()
    gaps = ~np.isfinite(points).all(axis=2)
    for part in _RIGID:
        columns = [index[key] for key in part if key in index]
        if len(columns) >= 4:
            points[:, columns] = _fill_rigid(points[:, columns])
    clean = denoise_positions(points, fps=fps, quiet=np.inf)
    repairs = []
    if gaps.any():
        repairs.append(f"gaps, {100 * gaps.mean():.1f} % of all markers, were filled")
    if clean.outliers.any():
        repairs.append(f"{int(clean.outliers.sum())} outliers among the markers were replaced")
    return clean.positions, tuple(repairs)


def _fill_rigid(points: Array) -> Array:
    """Return the points (T, M, 3) of a rigid body, with gaps filled where three others are seen."""
    seen: NDArray[np.bool_] = np.asarray(np.isfinite(points).all(axis=2))
    whole = np.flatnonzero(seen.all(axis=1))
    if not len(whole) or len(whole) == len(points):
        return points
    result = points.copy()
    for pattern in np.unique(seen[~seen.all(axis=1)], axis=0):
        if np.count_nonzero(pattern) < 3:
            continue
        frames = np.flatnonzero((seen == pattern).all(axis=1))
        model = points[whole[np.abs(whole[None] - frames[:, None]).argmin(axis=1)]]  # the nearest
        own, there = model[:, pattern], points[frames][:, pattern]
        middle, center = own.mean(axis=1, keepdims=True), there.mean(axis=1, keepdims=True)
        left, _, right = np.linalg.svd(np.swapaxes(own - middle, 1, 2) @ (there - center))
        flip = np.ones((len(frames), 3))
        flip[:, 2] = np.sign(np.linalg.det(left @ right))
        turn = (left * flip[:, None]) @ right
        moved = (model - middle) @ turn + center
        result[frames] = np.where(pattern[None, :, None], points[frames], moved)
    return result


# --- centers ------------------------------------------------------------------------------


@dataclass
class _Body:
    at: dict[str, Array]
    centers: dict[str, Array]
    guesses: list[str]
    bars: bool  # wrist markers on a bar

    def solve(self) -> dict[str, Array]:
        """Return the landmarks of the body."""
        joints = dict(self.centers)
        self._hips(joints)
        self._shoulders(joints)
        for side, sign in (("left", -1.0), ("right", 1.0)):
            self._leg(joints, side, sign)
            self._arm(joints, side, sign)
        joints = {
            f"{side}_{part}": joints[f"{side}_{part}"]
            for side in _SIDES.values()
            for part in _JOINTS
        }
        return joints | self._others()

    def _guess(self, joint: str) -> None:
        self.guesses.append(joint)

    def _hips(self, joints: dict[str, Array]) -> None:
        at = self.at
        if "left_hip" in joints and "right_hip" in joints:
            return
        for end, other in (("asis", "psis"), ("psis", "asis")):
            for side, across in (("left", "right"), ("right", "left")):
                if f"{side}_{end}" in at or (end == "psis" and "sacrum" in at):
                    continue
                normal = unit(at[f"left_{other}"] - at[f"right_{other}"])
                middle = 0.5 * (at[f"left_{other}"] + at[f"right_{other}"])
                there = at[f"{across}_{end}"]
                away = ((there - middle) * normal).sum(axis=1, keepdims=True)
                at[f"{side}_{end}"] = there - 2.0 * away * normal
                self.guesses += ["left_hip", "right_hip"]
        left, right = at["left_asis"], at["right_asis"]
        front = 0.5 * (left + right)
        pair = "left_psis" in at and "right_psis" in at
        back = 0.5 * (at["left_psis"] + at["right_psis"]) if pair else at["sacrum"]
        lateral = unit(left - right)
        upward = unit(rot.cross(front - back, lateral))
        forward = rot.cross(lateral, upward)
        width, depth = _apart(left, right), _apart(front, back)
        # Harrington et al. 2007, equations with the width and the depth of the pelvis, in meters.
        ahead, above, aside = -0.24 * depth - 0.0099, -0.30 * width - 0.0109, 0.33 * width + 0.0073
        for side, sign in (("left", 1.0), ("right", -1.0)):
            center = front + ahead * forward + above * upward + sign * aside * lateral
            joints.setdefault(f"{side}_hip", center)

    def _shoulders(self, joints: dict[str, Array]) -> None:
        at = self.at
        if "left_shoulder" in joints and "right_shoulder" in joints:
            return
        tops = {
            side: at.get(f"{side}_acromion", joints.get(f"{side}_shoulder"))
            for side in _SIDES.values()
        }
        left, right = tops["left"], tops["right"]
        assert left is not None and right is not None
        middle = 0.5 * (left + right)
        if {"c7", "clavicle", "t10", "sternum"} <= at.keys():
            upward = at["c7"] + at["clavicle"] - at["t10"] - at["sternum"]
        else:
            upward = middle - 0.5 * (joints["left_hip"] + joints["right_hip"])
        down = _SHOULDER * _apart(left, right) * unit(perpendicular(upward, left - right))
        for side, top in tops.items():
            assert top is not None
            joints.setdefault(f"{side}_shoulder", top - down)

    def _leg(self, joints: dict[str, Array], side: str, sign: float) -> None:
        at, knee, ankle = self.at, f"{side}_knee", f"{side}_ankle"
        hip = joints[f"{side}_hip"]
        for joint in (knee, ankle):
            if joint not in joints and f"{joint}_in" in at and joint in at:
                joints[joint] = 0.5 * (at[joint] + at[f"{joint}_in"])
        there = joints.get(ankle, at.get(ankle))
        center = joints.get(knee)
        assert there is not None
        for _ in range(_ROUNDS):
            if knee in joints:
                outward = at[knee] - at[f"{knee}_in"] if f"{knee}_in" in at and knee in at else None
            else:
                across = sign * (joints["right_hip"] - joints["left_hip"])
                center, outward = _next_to(hip, at[knee], there, _KNEE, sign, across)
            assert center is not None
            if ankle in joints:
                break
            shank = at[ankle] - center
            if outward is None:  # the plane of the leg, or sideways from the pelvis
                across = joints["right_hip"] - joints["left_hip"]
                outward = sign * across
            axis = unit(perpendicular(outward, shank))
            there = at[ankle] - _ANKLE * _apart(at[ankle], center) * axis
        if knee not in joints:
            self._guess(knee)
        if ankle not in joints:
            self._guess(ankle)
        assert center is not None
        joints[knee], joints[ankle] = center, there

    def _arm(self, joints: dict[str, Array], side: str, sign: float) -> None:
        at, elbow, wrist = self.at, f"{side}_elbow", f"{side}_wrist"
        if wrist not in joints:
            ends = [f"{side}_thumb_side", f"{side}_pinky_side"]
            shown = [key for key in ends if key in at]
            if len(shown) == 2:
                joints[wrist] = 0.5 * (at[ends[0]] + at[ends[1]])
            else:
                joints[wrist] = at[wrist] if wrist in at else at[shown[0]]
                self._guess(wrist)
        if elbow not in joints:
            if f"{elbow}_in" in at:
                joints[elbow] = 0.5 * (at[elbow] + at[f"{elbow}_in"])
            else:
                shoulder, there = joints[f"{side}_shoulder"], joints[wrist]
                for _ in range(_ROUNDS if f"{side}_thumb_side" in at else 1):
                    center, axis = _next_to(shoulder, at[elbow], there, _ELBOW, -sign)
                    if self.bars and len(ends) == 2 and ends[1] in at:
                        across = at[ends[0]] - at[ends[1]]
                        dorsal = sign * unit(rot.cross(joints[wrist] - center, across))
                        inner = _WRIST * _apart(joints[wrist], center)
                        there = joints[wrist] - inner * dorsal
                joints[elbow] = center
                self._guess(elbow)

    def _others(self) -> dict[str, Array]:
        """Return landmarks other than the joints of the limbs: feet, hands, trunk and head."""
        at, others = self.at, {}
        for side in _SIDES.values():
            balls = [f"{side}_great_toe", f"{side}_little_toe"]
            if f"{side}_toe" in at:
                others[f"{side}_foot"] = at[f"{side}_toe"]
            elif all(key in at for key in balls):
                others[f"{side}_foot"] = 0.5 * (at[balls[0]] + at[balls[1]])
            if f"{side}_heel" in at:
                others[f"{side}_heel"] = at[f"{side}_heel"]
            if f"{side}_hand" in at:
                others[f"{side}_hand"] = at[f"{side}_hand"]
            if f"{side}_thumb_side" in at and f"{side}_hand" in at:
                others[f"{side}_thumb"] = at[f"{side}_thumb_side"]
        if {"c7", "clavicle"} <= at.keys():
            others["neck"] = 0.5 * (at["c7"] + at["clavicle"])
        if {"t10", "sternum"} <= at.keys():
            others["spine"] = 0.5 * (at["t10"] + at["sternum"])
        bands = [f"{side}_{end}_head" for end in ("front", "back") for side in _SIDES.values()]
        if all(key in at for key in bands):
            front, back = (0.5 * (at[a] + at[b]) for a, b in (bands[:2], bands[2:]))
            others["head"], others["nose"] = 0.5 * (front + back), front
            above = unit(rot.cross(front - back, at[bands[0]] - at[bands[1]]))
            others["head_top"] = others["head"] + _CROWN * _apart(front, back) * above
            for side in _SIDES.values():
                others[f"{side}_ear"] = 0.5 * (at[f"{side}_front_head"] + at[f"{side}_back_head"])
        elif "nose" in at and "rear_head" in at and "top_head" in at:
            others["head"] = 0.5 * (at["nose"] + at["rear_head"])
            others["nose"], others["head_top"] = at["nose"], at["top_head"]
        elif "top_head" in at:
            others["head_top"] = at["top_head"]
        return others


def _next_to(
    start: Array, marker: Array, end: Array, share: float, sign: float, outward: Array | None = None
) -> tuple[Array, Array]:
    """Return the center (T, 3) of a hinge from a marker next to it, and the outward hinge axis.

    The axis is perpendicular to the plane of the limb, which contains `start`, `end` and the
    center. Let ``q`` lead from the line between `start` and `end` to the marker. The marker lies at
    the distance ``d`` from the plane, so the axis has the component ``d / |q|`` along ``q``. The
    rest is perpendicular to both, on the side given by `sign`, because a knee or an elbow bends to
    one side only. For a straight limb, the axis is the direction of ``q``. If it is hardly bent, or
    overextended, the direction `outward` decides instead of `sign`.
    """
    along = unit(end - start)
    away = perpendicular(marker - start, along)
    distance = np.linalg.norm(away, axis=1)
    offset = share * _apart(start, marker)
    # A straight limb shows the distance: the marker is never closer to the line.
    offset = min(offset, float(np.quantile(distance, 0.02)))
    cosine = np.clip(offset / np.maximum(distance, 1e-9), 0.0, 1.0)[:, None]
    toward = unit(away)
    aside = sign * rot.cross(along, toward)
    sine = np.sqrt(1.0 - cosine**2)
    if outward is not None:
        bent = sine[:, 0] * distance > _BENT * _apart(start, marker)
        agrees = (aside * outward).sum(axis=1) >= 0.0
        aside = np.where((bent | agrees)[:, None], aside, -aside)
    axis = cosine * toward + sine * aside
    return marker - offset * axis, axis
