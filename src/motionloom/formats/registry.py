"""The table of file formats; `load`, `load_markers` and `save` choose one by suffix."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from motionloom.errors import InvalidInput, MotionFormatError, MotionloomError
from motionloom.files import check_regular
from motionloom.formats.settings import LoadMarkersSettings, LoadSettings, SaveSettings
from motionloom.settings import takes

if TYPE_CHECKING:
    from motionloom.motion import Markers, Motion, Scene
    from motionloom.settings import Settings


@dataclass(frozen=True)
class Format:
    """A file format.

    Attributes
    ----------
    name : str
        Its usual name.
    module : str
        Module with ``read`` and, where the format can be written, ``write``; their keyword
        arguments are the options of the format.
    reads : {"motion", "markers"}
        What a file holds: `load` reads motions, `load_markers` reads markers.
    writes : tuple of str
        What `save` accepts: ``"motion"``, ``"markers"``, ``"scene"``; empty if the format is
        read only.
    extra : str
        The optional dependency it needs, as in ``pip install motionloom[usd]``.
    extra_writes : bool
        Whether writing needs it, too.
    """

    name: str
    module: str
    reads: str = "motion"
    writes: tuple[str, ...] = ("motion",)
    extra: str = ""
    extra_writes: bool = True


_POINTS = ("motion", "markers")
_SCENES = ("motion", "scene")
FORMATS = {
    ".bvh": Format("BVH", "motionloom.formats.bvh"),
    ".amc": Format("Acclaim", "motionloom.formats.acclaim", writes=()),
    ".c3d": Format("C3D", "motionloom.formats.c3d", "markers", (*_POINTS, "scene")),
    ".npz": Format("AMASS", "motionloom.formats.amass", writes=()),
    ".glb": Format("binary glTF", "motionloom.formats.gltf", writes=_SCENES),
    ".gltf": Format("glTF", "motionloom.formats.gltf", writes=_SCENES),
    ".vrma": Format("VRM Animation", "motionloom.formats.gltf.vrma"),
    ".fbx": Format(
        "FBX", "motionloom.formats.fbx", writes=_SCENES, extra="fbx", extra_writes=False
    ),
    ".usd": Format("USD", "motionloom.formats.usd", writes=_SCENES, extra="usd"),
    ".usda": Format("USD text", "motionloom.formats.usd", writes=_SCENES, extra="usd"),
    ".usdc": Format("USD crate", "motionloom.formats.usd", writes=_SCENES, extra="usd"),
    ".csv": Format("CSV", "motionloom.formats.tables", "markers", _POINTS),
    ".parquet": Format("Parquet", "motionloom.formats.tables", "markers", _POINTS, "parquet"),
}

_BLENDER = 'blender -b {start}--python-expr "import bpy; {steps}bpy.ops.export_scene.gltf({glb})"'
# Formats without a reader, whose motions Blender writes as GLB: what to do before the export.
_CONVERTED = {
    ".blend": ("{path} ", ""),
}
# Files of motion capture that an import leaves out, and what to do about them.
LEFT_OUT = {
    ".c3d": "markers without a skeleton; make motions of them with "
    "motionloom reconstruct LIB FILE -o OUT.bvh, and import those",
    ".blend": "no reader; convert to GLB with Blender (motionloom info FILE says how)",
    ".trc": "markers, no reader; export them as C3D",
}


def way_out(path: Path) -> str | None:
    """How to convert a file of a format without a reader; None if no way is known.

    Examples
    --------
    >>> way_out(Path("walk.doc")) is None
    True
    >>> way_out(Path("walk.blend"))[:58]
    'BLEND files cannot be read. Convert it to GLB with Blender'
    """
    suffix = path.suffix.lower()
    if suffix not in _CONVERTED:
        return None
    start, steps = (part.format(path=str(path)) for part in _CONVERTED[suffix])
    glb = f"filepath={str(path.with_suffix('.glb'))!r}"
    command = _BLENDER.format(start=start, steps=steps, glb=glb)
    kind = suffix[1:].upper()
    return f"{kind} files cannot be read. Convert it to GLB with Blender:\n{command}"


def instead_of(path: Path) -> str:
    """Advice for a format that only others write, as the end of a message; or nothing.

    Examples
    --------
    >>> instead_of(Path("walk.blend"))
    '. For BLEND write .glb, import it into Blender and export it from there'
    """
    suffix = path.suffix.lower()
    if suffix not in _CONVERTED:
        return ""
    kind = suffix[1:].upper()
    return f". For {kind} write .glb, import it into Blender and export it from there"


MOTION_SUFFIXES = tuple(suffix for suffix in FORMATS if FORMATS[suffix].reads == "motion")
MARKER_SUFFIXES = tuple(suffix for suffix in FORMATS if FORMATS[suffix].reads == "markers")


@takes(LoadSettings)
def load(path: str | Path, settings: LoadSettings | None = None, **options: Any) -> Motion:
    """Read one motion from a file; the suffix tells the format.

    Parameters
    ----------
    path : str or Path
        For example ``kick.bvh``, ``01_01.amc`` (its ``.asf`` is found), ``kick.glb``.
    settings : LoadSettings, optional

    Returns
    -------
    motion : Motion
        In meters, y up; ``motion.repairs`` lists what was repaired.

    Raises
    ------
    MotionFormatError
        If the file cannot be read unambiguously (the message names file and line), or holds
        markers (see `load_markers`).
    InvalidInput
        If the format has no such option.

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = ml.demo.clip("walk").save(f"{folder}/walk.bvh")
    ...     len(ml.load(file)) == len(ml.demo.clip("walk"))
    True
    """
    from motionloom.motion.kinematics.root_carrier import hips_as_root

    given = LoadSettings.given(settings, options)
    motion = _read(Path(path), "motion", replace(given, keep_carrier=False))
    return motion if given.keep_carrier else hips_as_root(motion)


@takes(LoadMarkersSettings)
def load_markers(
    path: str | Path, settings: LoadMarkersSettings | None = None, **options: Any
) -> Markers:
    """Read markers without a skeleton from a C3D file or a table.

    Parameters
    ----------
    path : str or Path
        ``.c3d``, ``.csv`` or ``.parquet``.
    settings : LoadMarkersSettings, optional

    Returns
    -------
    markers : Markers
        In meters, y up; gaps are NaN.

    Raises
    ------
    MotionFormatError
        If the file cannot be read unambiguously, or holds a motion (see `load`).
    InvalidInput
        If the format has no such option.

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = ml.demo.clip("walk").save(f"{folder}/walk.c3d")
    ...     ml.load_markers(file).fps
    30.0
    """
    return _read(Path(path), "markers", LoadMarkersSettings.given(settings, options))


@takes(SaveSettings)
def save(
    motion: Motion | Markers | Scene,
    path: str | Path,
    settings: SaveSettings | None = None,
    **options: Any,
) -> Path:
    """Write a motion, markers or a scene to a file; the suffix tells the format.

    The write is atomic: the file is written under a temporary name and renamed. A motion that was
    read from a file of the same format gets the joints above its hips back.

    Parameters
    ----------
    motion : Motion, Markers or Scene
        Only C3D and tables take markers; only glTF, USD, FBX and C3D take scenes.
    path : str or Path
    settings : SaveSettings, optional

    Returns
    -------
    path : Path

    Raises
    ------
    InvalidInput
        If the format cannot be written, or has no such option.

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(ml.save(ml.demo.clip("walk"), f"{folder}/walk.bvh").name)
    walk.bvh
    """
    from motionloom.motion import Markers, Motion, Scene
    from motionloom.motion.kinematics.root_carrier import with_carrier

    given = SaveSettings.given(settings, options)
    path = Path(path)
    kind = (
        "markers"
        if isinstance(motion, Markers)
        else "scene"
        if isinstance(motion, Scene)
        else "motion"
    )
    format = _written_format(path, kind)
    same_format = isinstance(motion, Motion) and format.module.endswith(f".{motion.origin.format}")
    if isinstance(motion, Motion) and same_format and not motion.origin.character:
        motion = with_carrier(motion)  # the file it was read from has it
    write = importlib.import_module(format.module).write
    chosen = _options(write, given, f"writing {format.name}")
    if isinstance(motion, Motion) and motion.origin.character and given.mesh in ("body", True):
        from motionloom.formats.own_character import write as write_character

        if write_character(motion, path, **chosen):
            return path
    write(motion, path, **chosen)
    return path


def check_output(path: Path, kind: str = "motion") -> None:
    """Raise if `save` could not write to this suffix: to be called before long work.

    Parameters
    ----------
    path : Path
    kind : {"motion", "markers", "scene"}

    Raises
    ------
    InvalidInput
        If the format is unknown or cannot hold this kind.
    MissingExtra
        If the format needs an extra that is not installed.
    """
    format = _written_format(path, kind)
    if format.extra and format.extra_writes:
        importlib.import_module(format.module).require_extra()


def is_motion_file(path: Path) -> bool:
    """Whether files of this suffix hold a motion."""
    format = FORMATS.get(path.suffix.lower())
    return format is not None and format.reads == "motion"


def is_marker_file(path: Path) -> bool:
    """Whether files of this suffix hold markers."""
    format = FORMATS.get(path.suffix.lower())
    return format is not None and format.reads == "markers"


def writer_options(path: Path) -> tuple[str, ...]:
    """Names of the options of `save` that the format of this suffix has.

    Examples
    --------
    >>> "unit" in writer_options(Path("walk.bvh")), "unit" in writer_options(Path("walk.glb"))
    (True, False)
    """
    suffix = path.suffix.lower()
    if suffix not in FORMATS or not FORMATS[suffix].writes:
        suffixes = ", ".join(suffix for suffix in FORMATS if FORMATS[suffix].writes)
        raise InvalidInput(
            f"cannot write {path}: the suffix must be one of {suffixes}{instead_of(path)}"
        )
    return _option_names(importlib.import_module(FORMATS[suffix].module).write)


def _written_format(path: Path, kind: str) -> Format:
    format = FORMATS.get(path.suffix.lower())
    if format is None or kind not in format.writes:
        suffixes = ", ".join(suffix for suffix in FORMATS if kind in FORMATS[suffix].writes)
        way = "; motionloom reconstruct makes a motion of them" if kind == "markers" else ""
        way += instead_of(path)
        raise InvalidInput(
            f"cannot write {kind} to {path}: the suffix must be one of {suffixes}{way}"
        )
    return format


def _read(path: Path, kind: str, settings: Settings) -> Any:
    suffix = path.suffix.lower()
    if suffix == ".asf":
        raise MotionFormatError(
            "an .asf file is a skeleton; read the .amc file beside it", path=path
        )
    if suffix not in FORMATS:
        suffixes = ", ".join(FORMATS)
        if advice := way_out(path):
            raise MotionFormatError(advice, path=path)
        raise MotionFormatError(f"unknown suffix {suffix!r}; one of {suffixes} expected", path=path)
    read = importlib.import_module(FORMATS[suffix].module).read
    options = _options(read, settings, f"reading {FORMATS[suffix].name}")
    if kind != FORMATS[suffix].reads and path.is_file():
        other = "load_markers" if kind == "motion" else "load"
        content = "markers without a skeleton" if kind == "motion" else "a motion, not markers"
        raise MotionFormatError(f"holds {content}; read it with {other}", path=path)
    if path.exists():
        check_regular(path)  # a pipe or a device would be waited for, or read for ever
    try:
        return read(path, **options)
    except (MotionloomError, OSError):
        raise
    except MemoryError:
        raise MotionFormatError("too large for the memory of this machine", path=path) from None
    except Exception as error:
        # A reader that meets what it does not expect. Files are not trusted: whatever is in them,
        # callers get one type of error.
        reason = (str(error).strip() or "no reason given").splitlines()[0][:200]
        raise MotionFormatError(
            f"damaged, or written in a way that is not known: {type(error).__name__}: {reason}",
            path=path,
        ) from error


def _options(function: Callable, settings: Settings, action: str) -> dict[str, Any]:
    """The settings that differ from their defaults, as arguments of a reader or writer."""
    names = _option_names(function)
    options = settings.changed()
    group = options.pop("format", None)
    if group is not None:
        options |= group.changed()
    for name in options:
        if name not in names:
            raise InvalidInput(
                f"{action} takes no option {name!r}; it takes {', '.join(names) or 'none'}"
            )
    return options


@lru_cache
def _option_names(function: Callable) -> tuple[str, ...]:
    return tuple(
        parameter.name
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    )
