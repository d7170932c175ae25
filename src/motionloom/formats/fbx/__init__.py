"""FBX files, read with ufbx (the extra ``fbx``) and written without it."""

from motionloom.formats.fbx import reader, writer
from motionloom.formats.fbx.reader import read
from motionloom.formats.fbx.writer import write

__all__ = ["read", "reader", "write", "writer"]
