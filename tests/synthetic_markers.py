"""Markers on the skin of a moving body, for tests: rigid on segments, at anatomical places.

The places are distances of adults from palpation guides, not those that the library assumes.
"""

import numpy as np

import motionloom as ml
from motionloom.motion.rotations import quaternions as rot

# Place: the joint whose rotation it follows, the joint it is near, and the offset in meters in a
# T-pose that faces +z, for the left side.
PLACES = {
    "asis": ("hips", "left_hip", (0.027, 0.088, 0.055)),
    "psis": ("hips", "left_hip", (-0.046, 0.098, -0.095)),
    "knee": ("left_hip", "left_knee", (0.056, 0.0, 0.004)),
    "knee_in": ("left_hip", "left_knee", (-0.05, 0.0, 0.004)),
    "ankle": ("left_knee", "left_ankle", (0.041, 0.0, -0.008)),
    "ankle_in": ("left_knee", "left_ankle", (-0.036, 0.01, 0.004)),
    "thigh": ("left_hip", "left_hip", (0.08, -0.25, 0.03)),
    "shank": ("left_knee", "left_knee", (0.06, -0.2, 0.0)),
    "heel": ("left_ankle", "left_ankle", (0.0, -0.045, -0.055)),
    "toe": ("left_ankle", "left_foot", (0.0, 0.03, 0.0)),
    "great_toe": ("left_ankle", "left_foot", (-0.035, 0.02, 0.005)),
    "little_toe": ("left_ankle", "left_foot", (0.045, 0.01, -0.02)),
    "acromion": ("left_collar", "left_shoulder", (-0.005, 0.056, 0.0)),
    "elbow": ("left_shoulder", "left_elbow", (0.0, 0.044, 0.0)),
    "elbow_in": ("left_shoulder", "left_elbow", (0.0, -0.036, 0.0)),
    "upper_arm": ("left_shoulder", "left_shoulder", (0.13, 0.05, 0.0)),
    "thumb_side": ("left_elbow", "left_wrist", (0.0, 0.015, 0.036)),
    "pinky_side": ("left_elbow", "left_wrist", (0.0, 0.012, -0.03)),
    "wrist": ("left_elbow", "left_wrist", (0.0, 0.028, 0.0)),
    "hand": ("left_wrist", "left_wrist", (0.08, 0.02, 0.01)),
    "front_head": ("head", "head", (0.075, 0.1, 0.09)),
    "back_head": ("head", "head", (0.07, 0.1, -0.08)),
    "c7": ("chest", "neck", (0.0, 0.0, -0.06)),
    "clavicle": ("chest", "neck", (0.0, -0.05, 0.07)),
    "t10": ("chest", "chest", (0.0, 0.02, -0.11)),
    "sternum": ("chest", "chest", (0.0, 0.04, 0.11)),
    "sacrum": ("hips", "hips", (0.0, 0.06, -0.1)),
    "top_head": ("head", "head", (0.0, 0.19, 0.0)),
    "nose": ("head", "head", (0.0, 0.1, 0.1)),
    "rear_head": ("head", "head", (0.0, 0.1, -0.09)),
}
_MIDDLE = {"c7", "clavicle", "t10", "sternum", "sacrum", "top_head", "nose", "rear_head"}

# Labels of each set; "*" is the letter of the side.
SETS = {
    "Plug-in Gait": "asis *ASI psis *PSI thigh *THI knee *KNE shank *TIB ankle *ANK heel *HEE"
    " toe *TOE acromion *SHO upper_arm *UPA elbow *ELB thumb_side *WRA pinky_side *WRB hand *FIN"
    " front_head *FHD back_head *BHD c7 C7 t10 T10 clavicle CLAV sternum STRN",
    "CMU": "asis *FWT psis *BWT thigh *THI knee *KNE shank *SHN ankle *ANK heel *HEE toe *TOE"
    " little_toe *MT5 acromion *SHO upper_arm *UPA elbow *ELB thumb_side *WRA pinky_side *WRB"
    " hand *FIN front_head *FHD back_head *BHD c7 C7 t10 T10 clavicle CLAV sternum STRN",
    "Helen Hayes": "asis *.ASIS sacrum V.Sacral thigh *.Thigh knee *.Knee knee_in *.Knee.Medial"
    " shank *.Shank ankle *.Ankle ankle_in *.Ankle.Medial heel *.Heel toe *.Toe acromion *.Shoulder"
    " elbow *.Elbow wrist *.Wrist top_head Top.Head nose Front.Head rear_head Rear.Head",
    "Rizzoli": "asis *_IAS psis *_IPS knee *_FLE knee_in *_FME ankle *_FAL ankle_in *_TAM"
    " heel *_FCC great_toe *_FM1 toe *_FM2 little_toe *_FM5 acromion *_SAE elbow *_HLE"
    " elbow_in *_HME thumb_side *_RSP pinky_side *_USP hand *_HM2 c7 CV7 t10 TV10 clavicle SJN"
    " sternum SXS front_head *_HEAD back_head *_HEADB",
    "OpenSim": "asis *ASI psis *PSI knee *LFC knee_in *MFC ankle *LMAL ankle_in *MMAL heel *CAL"
    " toe *TOE little_toe *MT5 acromion *ACR elbow *LEL elbow_in *MEL thumb_side *FAradius"
    " pinky_side *FAulna c7 C7 clavicle CLAV",
    "OptiTrack": "asis Waist*Front psis Waist*Back thigh *Thigh knee *KneeOut shank *Shin"
    " ankle *AnkleOut heel *Heel great_toe *ToeIn little_toe *ToeOut acromion *ShoulderTop"
    " elbow *ElbowOut thumb_side *WristIn pinky_side *WristOut hand *HandOut c7 BackTop"
    " clavicle Chest top_head HeadTop nose HeadFront",
}  # fmt: skip


def _rest(skeleton):
    """Positions of joints and end sites in the T-pose without rotations."""
    places = []
    for parent, offset in zip(skeleton.point_parents, skeleton.point_offsets, strict=True):
        places.append(np.array(offset, float) + (places[parent] if parent >= 0 else 0.0))
    return places


def marker(motion, place, side="left"):
    """The path (T, 3) of a marker."""
    turning, near, offset = PLACES[place]
    if side == "right":
        turning, near = (name.replace("left", "right") for name in (turning, near))
        offset = (-offset[0], *offset[1:])
    names, roles = list(motion.skeleton.point_names), motion.skeleton.roles
    rest = _rest(motion.skeleton)
    joint = names.index(roles[turning])
    there = rest[names.index(roles[near])] - rest[joint] + offset
    turns = motion.global_rotations()[:, joint].astype(float)
    start = motion.role_positions([turning])[:, 0].astype(float)
    return start + rot.rotate(turns, np.broadcast_to(there, start.shape))


def markers(motion, name, *, noise=0.0005, prefix="", seed=0):
    """The markers of a set on a body, with measurement noise."""
    labels, paths = [], []
    words = SETS[name].split()
    for place, label in zip(words[::2], words[1::2], strict=True):
        sides = {"": "left"} if place in _MIDDLE else {"L": "left", "R": "right"}
        for letter, side in sides.items():
            labels.append(prefix + label.replace("*", letter))
            paths.append(marker(motion, place, side))
    points = np.stack(paths, axis=1)
    points += np.random.default_rng(seed).normal(0.0, noise, points.shape)
    return ml.Markers(labels, points, motion.fps)
