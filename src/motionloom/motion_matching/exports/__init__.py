"""Matching databases as files of other programs."""

from motionloom.motion_matching.exports.export import FORMATS, export_database

__all__ = ["FORMATS", "export_database"]
