"""Files in and out: one module per format, `read` and `write` side by side, chosen by suffix.

What differs from our conventions (units, axes, angles, names) is converted here and
nowhere else.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from motionloom.errors import InvalidInput, MotionFormatError

if TYPE_CHECKING:
    from motionloom.motion import Motion

# Suffix -> module with `read(path, **options)` and `write(motion, path, **options)`.
FORMATS = {".bvh": "motionloom.formats.bvh"}


def load(path: str | Path, **options) -> Motion:
    """Read one motion from a file; the format follows the suffix.

    Parameters
    ----------
    path : str or Path
        For example ``kick.bvh``.
    **options
        Passed to the format's reader, for example ``unit="cm"``, ``fps=120``,
        ``strict=True``, ``roles="map.json"`` for BVH.

    Returns
    -------
    motion : Motion
        In metres, y up; ``motion.repairs`` lists what was mended on the way in.

    Raises
    ------
    MotionFormatError
        If the file has no one sensible reading; the message names file and line.

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = ml.demo.clip("walk").save(f"{folder}/walk.bvh")
    ...     len(ml.load(file)) == len(ml.demo.clip("walk"))
    True
    """
    return _module_for(path, "read").read(Path(path), **options)


def save(motion: Motion, path: str | Path, **options) -> Path:
    """Write one motion to a file; the format follows the suffix. Returns the path.

    The file appears whole or not at all: it is written under a temporary name and renamed.
    """
    path = Path(path)
    _module_for(path, "write").write(motion, path, **options)
    return path


def is_motion_file(path: Path) -> bool:
    """Whether the suffix is one we read."""
    return path.suffix.lower() in FORMATS


def _module_for(path: str | Path, verb: str):
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        known = ", ".join(sorted(FORMATS))
        if verb == "write":
            raise InvalidInput(f"cannot write {path}: the suffix must be one of {known}")
        raise MotionFormatError(f"unknown suffix {suffix!r}; one of {known} expected", path=path)
    return importlib.import_module(FORMATS[suffix])
