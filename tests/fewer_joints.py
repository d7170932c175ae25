"""Motions on skeletons that lack some joints."""

import motionloom as ml


def without_joints(motion, *roles):
    """The motion without the joints of some roles and their descendants."""
    skeleton = motion.skeleton
    gone = {skeleton.names.index(skeleton.roles[role]) for role in roles}
    for joint, parent in enumerate(skeleton.parents):
        if parent in gone:
            gone.add(joint)
    kept = [joint for joint in range(len(skeleton)) if joint not in gone]
    smaller = ml.Skeleton(
        [skeleton.names[j] for j in kept],
        [kept.index(skeleton.parents[j]) if skeleton.parents[j] >= 0 else -1 for j in kept],
        skeleton.offsets[kept],
    )
    return ml.Motion(smaller, motion.rotations[:, kept], motion.root, motion.fps, name="smaller")
