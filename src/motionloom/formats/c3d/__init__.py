"""C3D files of optical motion capture."""
