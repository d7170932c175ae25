"""Acclaim files: skeletons (``.asf``) and their motions (``.amc``)."""

from motionloom.formats.acclaim.reader import read

__all__ = ["read"]
