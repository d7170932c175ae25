"""BVH files: reader, writer and incremental writer."""

from motionloom.formats.bvh.reader import read, read_takes, takes
from motionloom.formats.bvh.writer import write

__all__ = ["read", "read_takes", "takes", "write"]
