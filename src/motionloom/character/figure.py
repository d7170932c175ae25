"""Shape of the neutral figure, whose body parts are lofts around the joints of a skeleton.

Lengths follow the skeleton, and thicknesses follow the size of the whole body. The half widths
below describe a person who is 1.75 m tall and of no particular sex or age. They are means of adult
measurements and are scaled to the size of the body. Parts that a skeleton lacks (a collar, a toe,
the top of the head) are placed where they would be on a human body.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from motionloom.character.implicit_surface import Loft
from motionloom.motion.skeleton import BodyTree

if TYPE_CHECKING:
    from motionloom.character.skinned_mesh import BindPose
    from motionloom.motion import Skeleton

Array = NDArray[np.float64]

LEFT, UP, AHEAD = np.eye(3)
SIDES = (("left", 1.0), ("right", -1.0))
REQUIRED = (
    "hips",
    *(f"{side}_{part}" for side, _ in SIDES for part in ("hip", "knee", "ankle")),
    *(f"{side}_{part}" for side, _ in SIDES for part in ("shoulder", "elbow", "wrist")),
)
# Total length of the legs (hip to ankle) and trunk (hips to neck) of a person who is 1.75 m tall.
_REFERENCE = 1.36
_HAND, _HEAD = 0.185, 0.232  # lengths of a hand and a head in meters
_NEGLIGIBLE = 0.95

# Rows: parameter along the part, half width, half depth, offset sideways, offset in depth. The
# trunk runs from the crotch (below 0) over hips (0) and waist to the neck (1).
_TRUNK = [
    (0.02, 0.168, 0.116, 0, -0.010), (0.10, 0.168, 0.114, 0, -0.006),
    (0.22, 0.154, 0.104, 0, 0.000), (0.40, 0.136, 0.094, 0, 0.004),
    (0.60, 0.151, 0.107, 0, 0.001), (0.76, 0.161, 0.108, 0, -0.002),
    (0.88, 0.152, 0.096, 0, -0.008), (0.97, 0.112, 0.074, 0, -0.014),
    (1.03, 0.064, 0.054, 0, -0.014),
]  # fmt: skip
_NECK = [(-0.2, 0.064, 0.064, 0, 0.0), (0.4, 0.055, 0.057, 0, 0.0), (1.2, 0.054, 0.058, 0, 0.0)]
# From the chin to the crown; offsets in depth place the chin in front of the neck.
_SKULL = [
    (0.11, 0.034, 0.033, 0, 0.054), (0.19, 0.047, 0.052, 0, 0.041),
    (0.30, 0.060, 0.074, 0, 0.024), (0.46, 0.071, 0.090, 0, 0.011),
    (0.60, 0.0755, 0.098, 0, 0.003), (0.68, 0.076, 0.098, 0, 0.001),
]  # fmt: skip
_UPPER_ARM = [
    (0.0, 0.046, 0.050, 0, 0), (0.15, 0.048, 0.052, 0, 0), (0.45, 0.045, 0.048, 0, 0),
    (0.75, 0.040, 0.042, 0, 0), (1.0, 0.036, 0.037, 0, 0),
]  # fmt: skip
_FOREARM = [
    (0.0, 0.035, 0.037, 0, 0), (0.22, 0.043, 0.042, 0, 0), (0.60, 0.034, 0.032, 0, 0),
    (0.90, 0.027, 0.022, 0, 0), (1.0, 0.026, 0.020, 0, 0),
]  # fmt: skip
_PALM = [
    (0.05, 0.024, 0.018, 0, 0), (0.20, 0.036, 0.019, 0, 0), (0.45, 0.042, 0.0175, 0, 0),
    (0.70, 0.040, 0.014, 0, -0.003), (0.86, 0.035, 0.012, 0, -0.008),
    (0.93, 0.028, 0.011, 0, -0.012),
]  # fmt: skip
_THIGH = [
    (0.0, 0.074, 0.082, 0, 0), (0.14, 0.082, 0.090, 0, 0), (0.45, 0.073, 0.079, 0, 0),
    (0.80, 0.053, 0.059, 0, 0), (1.0, 0.046, 0.050, 0, 0.002),
]  # fmt: skip
_SHANK = [
    (0.0, 0.045, 0.050, 0, 0.002), (0.10, 0.046, 0.050, 0, -0.002), (0.30, 0.054, 0.058, 0, -0.012),
    (0.60, 0.042, 0.046, 0, -0.008), (0.86, 0.030, 0.034, 0, -0.002), (1.0, 0.028, 0.034, 0, 0),
]  # fmt: skip
_FOOT = [
    (0.13, 0.032, 0.034, 0, -0.004), (0.25, 0.034, 0.042, 0, 0.003),
    (0.45, 0.038, 0.039, 0, 0.002), (0.66, 0.045, 0.028, 0, -0.010),
    (0.84, 0.043, 0.021, 0, -0.017), (0.92, 0.036, 0.018, 0, -0.020),
]  # fmt: skip


def body_parts(skeleton: Skeleton, bind: BindPose, *, thinnest: float = 0.0) -> list[Loft]:
    """Return the parts of the figure in a bind pose that stands upright and faces +Z.

    Parts are at least `thinnest` meters thick from axis to surface, so that a coarse grid captures
    them. Smaller parts, such as ears, are skipped.
    """
    figure = _Figure(skeleton, bind)
    parts = figure.parts()
    if thinnest > 0.0:
        parts = [part for part in parts if part.sections[:, 1:3].max() > _NEGLIGIBLE * thinnest]
        parts = [replace(part, sections=_thickened(part.sections, thinnest)) for part in parts]
    return parts


def _thickened(sections: Array, thinnest: float) -> Array:
    rows = sections.copy()
    rows[:, 1:3] = np.maximum(rows[:, 1:3], thinnest)
    return rows


class _Figure:
    def __init__(self, skeleton: Skeleton, bind: BindPose) -> None:
        self.skeleton, self.tree, self.bind = skeleton, BodyTree(skeleton), bind
        points = skeleton.point_names
        self.at = {role: points.index(name) for role, name in skeleton.roles.items()}
        self.place = {role: bind.positions[point] for role, point in self.at.items()}
        self.floor = float(bind.positions[:, 1].min())
        self.pelvis = 0.5 * (self.place["left_hip"] + self.place["right_hip"])
        shoulders = 0.5 * (self.place["left_shoulder"] + self.place["right_shoulder"])
        leg = np.mean(
            [
                sum(
                    np.linalg.norm(self.place[f"{side}_{a}"] - self.place[f"{side}_{b}"])
                    for a, b in (("hip", "knee"), ("knee", "ankle"))
                )
                for side, _ in SIDES
            ]
        )
        neck = self.place.get("neck")
        high = shoulders + [0.0, 0.04 * leg, 0.0]  # the base of the neck, above the shoulders
        if neck is None or not 0.0 < neck[1] - shoulders[1] < 0.16 * leg:
            neck = np.array([high[0], high[1], shoulders[2] if neck is None else neck[2]])
        self.neck = neck
        self.size = float(leg + (neck - self.pelvis)[1]) / _REFERENCE
        self.half_shoulders = 0.5 * float(
            np.linalg.norm(self.place["left_shoulder"] - self.place["right_shoulder"])
        )
        self.half_hips = 0.5 * float(
            np.linalg.norm(self.place["left_hip"] - self.place["right_hip"])
        )

    def parts(self) -> list[Loft]:
        parts = [self.trunk(), *self.head()]
        for side, sign in SIDES:
            parts += [*self.leg(side, sign), *self.arm(side, sign)]
        return parts

    def sections(self, rows, *, wide: float = 1.0, deep: float = 1.0) -> Array:
        table = np.array(rows, np.float64)
        table[:, 1:] *= self.size
        table[:, 1] *= wide
        table[:, 2] *= deep
        return table

    def trunk(self) -> Loft:
        rows = self.sections(_TRUNK)
        # The figure has the same hip and shoulder width as the skeleton.
        hips = np.clip((self.half_hips + 0.078 * self.size) / (0.172 * self.size), 0.85, 1.2)
        chest = np.clip((self.half_shoulders - 0.022 * self.size) / (0.160 * self.size), 0.8, 1.2)
        share = np.clip((rows[:, 0] - 0.1) / 0.6, 0.0, 1.0)
        rows[:, 1] *= hips * (1.0 - share) + chest * share
        return Loft(self.pelvis, self.neck, LEFT, rows, self.spine_joints(), 0.03 * self.size)

    def spine_joints(self) -> tuple[int, ...]:
        top = self.at.get("neck", self.at.get("head", self.at["left_shoulder"]))
        spine = self.tree.path_up(top)[::-1]
        spine = spine[spine.index(self.at["hips"]) :] if self.at["hips"] in spine else spine
        collars = [
            joint
            for side, _ in SIDES
            for joint in self.tree.between(self.at["hips"], self.at[f"{side}_shoulder"])[:-1]
        ]
        return self.joints([*spine, *collars])

    def joints(self, points) -> tuple[int, ...]:
        """Return the points that are joints and not end sites, without duplicates."""
        return tuple(dict.fromkeys(p for p in points if p < len(self.skeleton)))

    def head(self) -> list[Loft]:
        size, neck = self.size, self.neck
        base = self.place.get("head", neck)
        rise = float(np.clip(base[1] - neck[1], 0.06 * size, 0.14 * size))
        lean = float(np.clip(base[2] - neck[2], -0.01 * size, 0.05 * size))
        base = neck + [0.0, rise, max(lean, 0.018 * size)]
        joint = self.at.get("head", self.at.get("neck", self.spine_joints()[-1]))
        joint = self.tree.parents[joint] if joint >= len(self.skeleton) else joint
        chin = base + size * np.array([0.0, -0.028, 0.0])
        crown = chin + [0.0, _HEAD * size, 0.0]
        skull = Loft(chin, crown, LEFT, self.sections(_SKULL), (joint,), 0.022 * size)
        throat = (*self.joints(self.tree.path_up(joint)[:2][::-1]),)
        rows = self.sections(_NECK)
        stem = Loft(neck, base, LEFT, rows, throat, 0.05 * size)
        tip = chin + size * np.array([0.0, 0.090, 0.107])
        bridge = chin + size * np.array([0.0, 0.128, 0.092])
        nose = self.sections([(0.0, 0.007, 0.008, 0, 0), (1.0, 0.0125, 0.011, 0, 0)])
        parts = [stem, skull, Loft(bridge, tip, LEFT, nose, (joint,), 0.012 * size)]
        for _, sign in SIDES:
            ear = chin + size * np.array([0.075 * sign, 0.090, -0.002])
            rows = self.sections([(0.0, 0.010, 0.007, 0, 0), (1.0, 0.016, 0.008, 0, 0)])
            top = ear + size * np.array([0.006 * sign, 0.036, -0.008])
            parts.append(Loft(ear, top, AHEAD, rows, (joint,), 0.008 * size))
        return parts

    def arm(self, side: str, sign: float) -> list[Loft]:
        size = self.size
        shoulder, elbow, wrist = (
            self.place[f"{side}_{part}"] for part in ("shoulder", "elbow", "wrist")
        )
        upper = self.chain(f"{side}_shoulder", f"{side}_elbow")
        lower = self.chain(f"{side}_elbow", f"{side}_wrist")
        # Trapezius and deltoid join the arm to the trunk, from the neck to the shoulder.
        inner = self.neck + size * np.array([0.045 * sign, -0.030, -0.012])
        rows = self.sections(
            [(0.0, 0.050, 0.040, 0, 0), (0.6, 0.048, 0.038, 0, 0), (1.0, 0.046, 0.038, 0, 0)]
        )
        collar = self.tree.path_up(self.at[f"{side}_shoulder"])[1:2]
        cap = Loft(inner, shoulder, AHEAD, rows, self.joints([*collar, *upper]), 0.05 * size)
        parts = [
            cap,
            Loft(shoulder, elbow, AHEAD, self.sections(_UPPER_ARM), upper, 0.045 * size),
            Loft(elbow, wrist, AHEAD, self.sections(_FOREARM), lower, 0.02 * size),
        ]
        along = (wrist - elbow) / np.linalg.norm(wrist - elbow)
        return [*parts, *self.hand(side, sign, wrist, along)]

    def hand(self, side: str, sign: float, wrist: Array, along: Array) -> list[Loft]:
        size = self.size
        beyond = self.place.get(f"{side}_hand")
        if beyond is not None and np.linalg.norm(beyond - wrist) > 0.03 * size:
            straight = (beyond - wrist) / np.linalg.norm(beyond - wrist)
            along = straight if straight @ along > 0.7 else along
        joints = self.finger_joints(side, wrist, along)
        whole = joints[:1]  # the thumb follows the palm
        rows = self.sections(_PALM)
        rows[:, 4] *= sign  # fingers bend toward the palm
        palm = Loft(wrist, wrist + _HAND * size * along, AHEAD, rows, joints, 0.016 * size)
        forward = palm.frame[1]
        root = wrist + size * (0.030 * along + 0.022 * forward)
        tip = wrist + size * (0.098 * along + 0.066 * forward)
        rows = self.sections(
            [(0.0, 0.016, 0.015, 0, 0), (0.6, 0.0125, 0.012, 0, 0), (1, 0.011, 0.0105, 0, 0)]
        )
        return [palm, Loft(root, tip, forward, rows, whole, 0.014 * size)]

    def finger_joints(self, side: str, wrist: Array, along: Array) -> tuple[int, ...]:
        """Return the wrist and the joints of the middle finger, from the wrist outward.

        If several joints are at the same position, as in CMU files, the last joint rotates the
        hand.
        """
        hand = self.at[f"{side}_wrist"]
        if hand >= len(self.skeleton):
            return self.chain(f"{side}_elbow", f"{side}_wrist")
        straight: list[int] = []
        best = 0.0
        for tip in self.tree.below(hand):
            line = self.bind.positions[tip] - wrist
            ahead = float(line @ along)
            score = ahead - 2.0 * float(np.linalg.norm(line - ahead * along))
            if score > best + 1e-6:
                best, straight = score, self.tree.between(hand, tip)
        chain = [hand, *straight]
        near = [p for p in chain if np.linalg.norm(self.bind.positions[p] - wrist) < 0.01]
        return self.joints(chain[chain.index(near[-1]) :] if near else chain) or (hand,)

    def leg(self, side: str, sign: float) -> list[Loft]:
        size = self.size
        hip, knee, ankle = (self.place[f"{side}_{part}"] for part in ("hip", "knee", "ankle"))
        upper = self.chain(f"{side}_hip", f"{side}_knee")
        lower = self.chain(f"{side}_knee", f"{side}_ankle")
        # The hips of a skeleton may be closer together than the thickness of the thighs.
        aside = max(0.082 * size - self.half_hips, 0.0)
        top = hip + [sign * aside, 0.0, 0.0]
        back = self.sections([(0.0, 0.060, 0.060, 0, 0), (1.0, 0.066, 0.066, 0, 0)])
        high = top + size * np.array([0.0, 0.045, -0.052])
        low = top + size * np.array([0.0, -0.030, -0.048])
        return [
            Loft(high, low, LEFT, back, self.joints([self.at["hips"], *upper]), 0.06 * size),
            Loft(top, knee, LEFT, self.sections(_THIGH), upper, 0.035 * size),
            Loft(knee, ankle, LEFT, self.sections(_SHANK), lower, 0.016 * size),
            self.foot(side, ankle),
        ]

    def foot(self, side: str, ankle: Array) -> Loft:
        size = self.size
        ball = self.place.get(f"{side}_foot")
        length = 0.262 * size
        ahead = AHEAD.copy()
        if ball is not None:
            flat = (ball - ankle) * [1.0, 0.0, 1.0]
            if np.linalg.norm(flat) > 0.04 * size and flat[2] > 0.0:
                ahead = flat / np.linalg.norm(flat)
                length = float(np.clip(np.linalg.norm(flat) / 0.50, 0.8 * length, 1.15 * length))
        sole = ankle[1] - float(np.clip(ankle[1] - self.floor, 0.055 * size, 0.095 * size))
        heel = ankle - 0.24 * length * ahead
        heel[1] = sole + 0.036 * size
        across = np.cross(UP, ahead)
        joints = [self.at[f"{side}_ankle"]]
        if ball is not None and np.linalg.norm(ball - ankle) > 0.03 * size:
            joints.append(self.at[f"{side}_foot"])
        return Loft(
            heel,
            heel + length * ahead,
            -across,
            self.sections(_FOOT),
            self.joints(joints) or self.chain(f"{side}_knee", f"{side}_ankle"),
            0.03 * size,
            sole,
        )

    def chain(self, first: str, last: str) -> tuple[int, ...]:
        """Return the joints from one role (inclusive) to the next (exclusive)."""
        start, end = self.at[first], self.at[last]
        return self.joints([start, *self.tree.between(start, end)[:-1]])
