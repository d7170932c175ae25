"""C3D files: marker trajectories."""

from motionloom.formats.c3d.reader import read
from motionloom.formats.c3d.writer import write

__all__ = ["read", "write"]
