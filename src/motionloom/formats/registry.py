"""The table of file formats; `load`, `load_markers` and `save` choose one by suffix."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from motionloom.errors import InvalidInput, MotionFormatError, MotionloomError
from motionloom.files import check_regular
from motionloom.formats.settings import LoadMarkersSettings, LoadSettings, SaveSettings

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


def load(
    path: str | Path,
    *,
    unit: str | float | None = None,
    fps: float | None = None,
    up: str | None = None,
    roles: str | Path | Mapping[str, str] | None = None,
    partial: bool = False,
    strict: bool = False,
    root: str | None = None,
    keep_carrier: bool = False,
    tpose: bool | None = None,
    asf: str | Path | None = None,
    max_gap: float | None = None,
    skin: str | int | None = None,
    animation: str | int | None = None,
    skeleton: str | None = None,
    timeout: float | None = None,
) -> Motion:
    """Read one motion from a file; the format follows the suffix.

    Parameters
    ----------
    path : str or Path
        For example ``kick.bvh``, ``01_01.amc`` (its ``.asf`` is found), ``kick.glb``.
    unit : str or float, optional
        Unit of the file: ``"m"``, ``"cm"``, ``"mm"``, ``"inch"``, ``"foot"``, ``"cmu"`` or
        meters per unit. Default: what the file says, else inferred from the body's size.
    fps : float, optional
        Frames per second. Default: that of the file.
    up : {"y", "z", "x", "-y", "-z", "-x"}, optional
        Up axis of the file. Default: what the file says, else inferred.
    roles : mapping or path of a mapping file, optional
        Role to joint name, in addition to the roles recognized from the names.
    partial : bool
        BVH: read the complete frames of a truncated file instead of refusing it.
    strict : bool
        Refuse everything that would otherwise be repaired.
    root : str, optional
        BVH: name of the ROOT to read, if the file has several figures. Default: the first.
    keep_carrier : bool
        Keep the joints above the hips (``root``, ``Armature``, ``Reference``). By default they are
        composed into the hips, which become the root, and remembered in ``motion.origin.carrier``
        (see `motionloom.motion.kinematics.root_carrier`).
    tpose : bool, optional
        BVH: whether frame 0 is an added T-pose. Default: detected.
    asf : str or Path, optional
        Acclaim: the skeleton file. Default: the one beside the ``.amc`` file.
    max_gap : float, optional
        Acclaim: longest run of missing frames to interpolate, in seconds. Default: 0.5.
    skin, animation : str or int, optional
        glTF: name or index of the skin and of the animation. Default: the first of each. FBX:
        `animation` is the take. Default: the first with keys.
    skeleton : str, optional
        USD: path of the skeleton. Default: the first. FBX: name of its root. Default: the largest.
    timeout : float, optional
        USD, FBX: time limit in seconds. Default: 600.

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

    settings = LoadSettings(
        unit=unit, fps=fps, up=up, roles=roles, partial=partial, strict=strict, root=root,
        keep_carrier=keep_carrier, tpose=tpose, asf=asf, max_gap=max_gap, skin=skin,
        animation=animation, skeleton=skeleton, timeout=timeout,
    )  # fmt: skip
    motion = _read(Path(path), "motion", replace(settings, keep_carrier=False))
    return motion if keep_carrier else hips_as_root(motion)


def load_markers(
    path: str | Path,
    *,
    unit: str | float | None = None,
    fps: float | None = None,
    up: str | None = None,
    partial: bool = False,
    strict: bool = False,
    subject: str | None = None,
    unlabelled: bool = False,
    zero_gaps: bool = False,
) -> Markers:
    """Read marker trajectories from a C3D file or a table; the format follows the suffix.

    Parameters
    ----------
    path : str or Path
        ``.c3d``, ``.csv`` or ``.parquet``.
    unit : str or float, optional
        Unit of the file, as for `load`. Default: what a C3D file says, else inferred; tables
        are in meters.
    fps : float, optional
        Frames per second. Default: that of the file.
    up : {"y", "z", "x", "-y", "-z", "-x"}, optional
        C3D: up axis of the file. Default: what the file says, else inferred.
    partial : bool
        C3D: read the complete frames of a truncated file instead of refusing it.
    strict : bool
        C3D: refuse everything that would otherwise be repaired.
    subject : str, optional
        C3D: read only the markers of this subject, whose labels are ``SUBJECT:LABEL``.
    unlabelled : bool
        C3D: also read points without a label.
    zero_gaps : bool
        C3D: treat points at exactly (0, 0, 0) as gaps.

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
    settings = LoadMarkersSettings(
        unit=unit, fps=fps, up=up, partial=partial, strict=strict, subject=subject,
        unlabelled=unlabelled, zero_gaps=zero_gaps,
    )  # fmt: skip
    return _read(Path(path), "markers", settings)


def save(
    motion: Motion | Markers | Scene,
    path: str | Path,
    *,
    unit: str | float | None = None,
    up: str | None = None,
    order: str | None = None,
    rest_frame: bool = False,
    mesh: bool | str = "body",
    compact: bool = False,
    decimals: int = 6,
) -> Path:
    """Write a motion, markers or a scene to a file; the format follows the suffix.

    The write is atomic: the file is written under a temporary name and renamed. A motion that was
    read from a file of the same format gets the joints above its hips back.

    Parameters
    ----------
    motion : Motion, Markers or Scene
        Only C3D and tables take markers; only glTF, USD, FBX and C3D take scenes.
    path : str or Path
    unit : str or float, optional
        BVH, C3D, FBX: unit of the file. Default: that of the source if it had the same format,
        else centimeters (BVH), millimeters (C3D); FBX: centimeters.
    up : {"y", "z", "x", "-y", "-z", "-x"}, optional
        BVH, C3D, FBX: up axis of the file. Default: y (BVH, FBX); that of the source if it was a
        C3D file, else z (C3D).
    order : str, optional
        BVH: order of the rotation channels. Default: that of the source, else ``"ZYX"``.
    rest_frame : bool
        BVH: write the rest pose as a first frame, as CMU's conversion does.
    mesh : {"body", "low", "sticks", "none"} or bool
        glTF, USD, FBX: the figure that shows the motion: a neutral body, one with few triangles, an
        octahedron per bone, or none. Skeletons without the roles of a body have sticks. True is
        ``"body"``, False is ``"none"``.
    compact : bool
        glTF: rotations in 16 bits instead of 32, and one key for joints that never turn.
    decimals : int
        CSV: digits after the decimal point.

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

    settings = SaveSettings(
        unit=unit, up=up, order=order, rest_frame=rest_frame, mesh=mesh, compact=compact,
        decimals=decimals,
    )  # fmt: skip
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
    options = _options(write, settings, f"writing {format.name}")
    if isinstance(motion, Motion) and motion.origin.character and mesh in ("body", True):
        from motionloom.formats.own_character import write as write_character

        if write_character(motion, path, **options):
            return path
    write(motion, path, **options)
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
    return path.suffix.lower() in MOTION_SUFFIXES


def is_marker_file(path: Path) -> bool:
    """Whether files of this suffix hold markers."""
    return path.suffix.lower() in MARKER_SUFFIXES


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
    defaults = type(settings)()
    names = _option_names(function)
    options = {}
    for name, value in settings.arguments().items():
        if value == getattr(defaults, name):
            continue
        if name not in names:
            raise InvalidInput(
                f"{action} takes no option {name!r}; it takes {', '.join(names) or 'none'}"
            )
        options[name] = value
    return options


@lru_cache
def _option_names(function: Callable) -> tuple[str, ...]:
    return tuple(
        parameter.name
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    )
