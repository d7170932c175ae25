"""Motions on the rigs of game packs, made from motions of the built-in corpus."""

import numpy as np

import motionloom as ml
from motionloom.motion.rotations import quaternions as rot


def rerigged(motion, rows, name=""):
    """The motion on another tree of joints: rows of (joint, parent, role).

    A joint without a role stands still at the origin. Joints keep their world transforms, so
    joints with another parent than in a body move relative to it.
    """
    body = motion.skeleton
    places, turns = motion.positions(end_sites=True), motion.global_rotations()
    turns = np.concatenate([turns, turns[:, body.end_parents]], axis=1)
    world = {}
    for joint, _, role in rows:
        if role is None:
            world[joint] = (np.zeros((len(motion), 3)), np.tile(rot.IDENTITY, (len(motion), 1)))
        else:
            point = int(body.point(role))
            world[joint] = (places[:, point].astype(float), turns[:, point].astype(float))
    rotations = np.empty((len(motion), len(rows), 4))
    steps = np.zeros((len(motion), len(rows), 3))
    for number, (joint, parent, _) in enumerate(rows):
        place, turn = world[joint]
        if parent is None:
            rotations[:, number] = turn
            continue
        above, back = world[parent][0], rot.inverse(world[parent][1])
        rotations[:, number] = rot.multiply(back, turn)
        steps[:, number] = rot.rotate(back, place - above)
    names = [row[0] for row in rows]
    parents = [-1 if row[1] is None else names.index(row[1]) for row in rows]
    offsets = np.median(steps, axis=0)
    moves = np.abs(steps - offsets).max() > 1e-5
    skeleton = ml.Skeleton(names, parents, offsets)
    root = world[names[0]][0]
    return ml.Motion(
        skeleton, rotations, root, motion.fps, name or motion.name, steps if moves else None
    )


def _limb(side, names, parents, roles):
    long = {"L": "left", "R": "right"}[side]
    rows = []
    for name, parent, role in zip(names, parents, roles, strict=True):
        above = f"{parent[1:]}.{side}" if parent.startswith("+") else parent
        rows.append((f"{name}.{side}", above, f"{long}_{role}"))
    return rows


_TRUNK = [
    ("Bone", None, None), ("Body", "Bone", "hips"), ("Hips", "Body", "hips"),
    ("Abdomen", "Hips", "spine"), ("Torso", "Abdomen", "chest"), ("Neck", "Torso", "neck"),
    ("Head", "Neck", "head"),
]  # fmt: skip
_ARM = (("Shoulder", "UpperArm", "LowerArm", "Palm"), ("Torso", "+Shoulder", "+UpperArm",
        "+LowerArm"), ("collar", "shoulder", "elbow", "wrist"))  # fmt: skip
_LEG = (("UpperLeg", "LowerLeg"), ("Body", "+UpperLeg"), ("hip", "knee"))
# The rig of Quaternius' characters: the feet hang on the root, and there are no toes.
QUATERNIUS = [
    *_TRUNK,
    *(row for side in "LR" for row in _limb(side, *_ARM)),
    *(row for side in "LR" for row in _limb(side, *_LEG)),
    *(row for side in "LR" for row in _limb(side, ["Foot"], ["Bone"], ["ankle"])),
]
_KAY_ARM = (("upperarm", "lowerarm", "wrist", "hand"), ("chest", "+upperarm", "+lowerarm",
            "+wrist"), ("shoulder", "elbow", "wrist", "hand"))  # fmt: skip
_KAY_LEG = (("upperleg", "lowerleg", "foot", "toes"), ("hips", "+upperleg", "+lowerleg", "+foot"),
            ("hip", "knee", "ankle", "foot"))  # fmt: skip
# The rig of KayKit's characters.
KAYKIT = [
    ("root", None, None), ("hips", "root", "hips"), ("spine", "hips", "spine"),
    ("chest", "spine", "chest"), ("head", "chest", "head"),
    *((name.lower(), parent.lower(), role) for side in "LR"
      for name, parent, role in [*_limb(side, *_KAY_ARM), *_limb(side, *_KAY_LEG)]),
]  # fmt: skip
