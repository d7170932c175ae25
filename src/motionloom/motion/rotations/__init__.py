"""Rotations: quaternion arrays, scalar kernels and planar transforms."""
