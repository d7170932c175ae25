"""FBX files, read with ufbx (the extra ``fbx``) and written without it."""

from motionloom.formats.fbx import reader, writer
from motionloom.formats.fbx.reader import read, read_takes, takes
from motionloom.formats.fbx.writer import write

__all__ = ["read", "read_takes", "reader", "takes", "write", "writer"]
