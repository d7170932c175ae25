"""glTF files, ``.glb`` and ``.gltf``."""

from motionloom.formats.gltf import character, writer
from motionloom.formats.gltf.reader import read, read_takes, takes
from motionloom.formats.gltf.writer import write

__all__ = ["character", "read", "read_takes", "takes", "write", "writer"]
