"""glTF files, ``.glb`` and ``.gltf``."""

from motionloom.formats.gltf.reader import read
from motionloom.formats.gltf.writer import write

__all__ = ["read", "write"]
