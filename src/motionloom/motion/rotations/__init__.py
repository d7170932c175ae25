"""Rotations: quaternions on arrays, scalar kernels, planar transforms."""
