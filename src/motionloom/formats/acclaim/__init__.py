"""Acclaim files: a skeleton (``.asf``) and its motions (``.amc``)."""

from motionloom.formats.acclaim.reader import read

__all__ = ["read"]
