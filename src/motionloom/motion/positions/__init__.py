"""Motions from joint positions: layouts of the points, and the solver for skeleton and rotations.

Pose estimators and generators of motion return the positions of joints, not rotations.
`motionloom.motion.positions.layouts` lists the layouts they use, and
`motionloom.motion.positions.solver` turns positions into a motion.
"""
