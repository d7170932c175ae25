"""File formats, each in a module or package with ``read`` and ``write`` functions.

Only these modules convert units, axes, angles and names that differ from motionloom's conventions.
"""

from motionloom.formats.registry import (
    FORMATS,
    LEFT_OUT,
    MARKER_SUFFIXES,
    MOTION_SUFFIXES,
    Format,
    check_output,
    holds_motion,
    is_marker_file,
    is_motion_file,
    is_stream,
    load,
    load_markers,
    load_takes,
    save,
    split_take,
    takes_in,
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
    "holds_motion",
    "is_marker_file",
    "is_motion_file",
    "is_stream",
    "load",
    "load_markers",
    "load_takes",
    "save",
    "split_take",
    "takes_in",
    "way_out",
    "writer_options",
]
