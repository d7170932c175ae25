"""File formats: one module or package each, with ``read`` and ``write``.

Units, axes, angles and names that differ from motionloom's conventions are converted here and
nowhere else.
"""

from motionloom.formats.registry import (
    FORMATS,
    LEFT_OUT,
    MARKER_SUFFIXES,
    MOTION_SUFFIXES,
    Format,
    check_output,
    is_marker_file,
    is_motion_file,
    load,
    load_markers,
    save,
    way_out,
    writer_options,
)

__all__ = [
    "FORMATS",
    "LEFT_OUT",
    "MARKER_SUFFIXES",
    "MOTION_SUFFIXES",
    "Format",
    "check_output",
    "is_marker_file",
    "is_motion_file",
    "load",
    "load_markers",
    "save",
    "way_out",
    "writer_options",
]
