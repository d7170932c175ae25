"""Artifacts: everything derived from motions and kept with a library."""
