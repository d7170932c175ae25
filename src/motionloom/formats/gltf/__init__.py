"""glTF files, ``.glb`` and ``.gltf``."""
