"""Artifacts: everything derived from motions and kept with a library."""

from motionloom.store.artifacts.artifacts import Artifact, ArtifactInfo, Artifacts

__all__ = ["Artifact", "ArtifactInfo", "Artifacts"]
