"""Files in and out: one module per format, `read` and `write` side by side, chosen by suffix.

What differs from our conventions (units, axes, angles, names) is converted here and
nowhere else.
"""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from motionloom.errors import InvalidInput, MotionFormatError

if TYPE_CHECKING:
    from motionloom.motion import Markers, Motion


@dataclass(frozen=True)
class Format:
    """What a suffix stands for.

    Attributes
    ----------
    name : str
        What people call it.
    module : str
        Module with ``read(path, **options)`` and, where the format is written, too,
        ``write(motion, path, **options)``.
    reads : {"motion", "markers"}
        What `load` gives.
    writes : tuple of str
        What `save` takes: ``"motion"``, ``"markers"``; empty where it is only read.
    extra : str
        The optional dependency it needs, as in ``pip install motionloom[usd]``.
    """

    name: str
    module: str
    reads: str = "motion"
    writes: tuple[str, ...] = ("motion",)
    extra: str = ""


FORMATS = {
    ".bvh": Format("BVH", "motionloom.formats.bvh.reader"),
    ".amc": Format("Acclaim", "motionloom.formats.acclaim.reader", writes=()),
    ".c3d": Format("C3D", "motionloom.formats.c3d.reader", "markers", ("motion", "markers")),
    ".npz": Format("AMASS", "motionloom.formats.amass", writes=()),
    ".glb": Format("binary glTF", "motionloom.formats.gltf.reader"),
    ".gltf": Format("glTF", "motionloom.formats.gltf.reader"),
    ".usd": Format("USD", "motionloom.formats.usd.reader", extra="usd"),
    ".usda": Format("USD text", "motionloom.formats.usd.reader", extra="usd"),
    ".usdc": Format("USD crate", "motionloom.formats.usd.reader", extra="usd"),
    ".csv": Format("CSV", "motionloom.formats.tables", "markers", ("motion", "markers")),
    ".parquet": Format(
        "Parquet", "motionloom.formats.tables", "markers", ("motion", "markers"), "parquet"
    ),
}

MOTION_SUFFIXES = tuple(suffix for suffix in FORMATS if FORMATS[suffix].reads == "motion")


def load(path: str | Path, **options) -> Motion:
    """Read one motion from a file; the format follows the suffix.

    Parameters
    ----------
    path : str or Path
        For example ``kick.bvh``, ``01_01.amc`` (its ``.asf`` is found), ``kick.glb``.
    **options
        Passed to the format's reader, for example ``unit="cm"``, ``fps=120``,
        ``strict=True``, ``roles="map.json"`` for BVH.

    Returns
    -------
    motion : Motion
        `Markers` from a C3D file, which has no skeleton. In metres, y up;
        ``motion.repairs`` lists what was mended on the way in.

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
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".asf":
        raise MotionFormatError(
            "an .asf file is a skeleton; read the .amc file beside it", path=path
        )
    if suffix not in FORMATS:
        known = ", ".join(FORMATS)
        raise MotionFormatError(f"unknown suffix {suffix!r}; one of {known} expected", path=path)
    read = importlib.import_module(FORMATS[suffix].module).read
    _check_options(read, options, f"reading {FORMATS[suffix].name}")
    return read(path, **options)


def save(motion: Motion | Markers, path: str | Path, **options) -> Path:
    """Write one motion (or markers) to a file; the format follows the suffix.

    The file appears whole or not at all: it is written under a temporary name and renamed.

    Returns
    -------
    path : Path

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(ml.save(ml.demo.clip("walk"), f"{folder}/walk.bvh").name)
    walk.bvh
    """
    path = Path(path)
    kind = "markers" if hasattr(motion, "labels") else "motion"
    known = ", ".join(suffix for suffix in FORMATS if kind in FORMATS[suffix].writes)
    suffix = path.suffix.lower()
    if suffix not in FORMATS or kind not in FORMATS[suffix].writes:
        raise InvalidInput(f"cannot write {kind} to {path}: the suffix must be one of {known}")
    write = importlib.import_module(FORMATS[suffix].module).write
    _check_options(write, options, f"writing {FORMATS[suffix].name}")
    write(motion, path, **options)
    return path


def is_motion_file(path: Path) -> bool:
    """Whether the suffix is one that gives a motion (a C3D file gives markers)."""
    return path.suffix.lower() in MOTION_SUFFIXES


def writer_options(path: Path) -> tuple[str, ...]:
    """Names of the options that writing a file of this suffix takes.

    Examples
    --------
    >>> "unit" in writer_options(Path("walk.bvh")), "unit" in writer_options(Path("walk.glb"))
    (True, False)
    """
    suffix = path.suffix.lower()
    if suffix not in FORMATS or not FORMATS[suffix].writes:
        known = ", ".join(suffix for suffix in FORMATS if FORMATS[suffix].writes)
        raise InvalidInput(f"cannot write {path}: the suffix must be one of {known}")
    return _options_of(importlib.import_module(FORMATS[suffix].module).write)


@lru_cache
def _options_of(function) -> tuple[str, ...]:
    return tuple(
        parameter.name
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    )


def _check_options(function, options: dict[str, object], deed: str) -> None:
    known = _options_of(function)
    for name in options:
        if name not in known:
            raise InvalidInput(
                f"{deed} takes no option {name!r}; it takes {', '.join(known) or 'none'}"
            )
