"""C3D files: marker trajectories."""

from motionloom.formats.c3d.reader import labels_of, read
from motionloom.formats.c3d.writer import write

__all__ = ["labels_of", "read", "write"]
