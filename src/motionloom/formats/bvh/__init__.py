"""BVH files: reader, writer and incremental writer."""

from motionloom.formats.bvh.reader import read
from motionloom.formats.bvh.writer import write

__all__ = ["read", "write"]
