"""Table of file formats, from which `load`, `load_markers` and `save` choose by file extension."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from motionloom.errors import InvalidInput, MotionFormatError, MotionloomError
from motionloom.files import check_regular
from motionloom.formats.settings import LoadMarkersSettings, LoadSettings, SaveSettings
from motionloom.motion.segment import plausible_rate
from motionloom.settings import takes

if TYPE_CHECKING:
    from motionloom.formats.takes import FileTake
    from motionloom.motion import Markers, Motion, Scene
    from motionloom.settings import Settings


@dataclass(frozen=True)
class Format:
    """A file format.

    Attributes
    ----------
    name : str
        Common name of the format.
    module : str
        Module with ``read`` and, if the format can be written, ``write``. Their keyword arguments
        are the options of the format.
    reads : {"motion", "markers"}
        Content of a file. `load` reads motions, and `load_markers` reads markers.
    writes : tuple of str
        Kinds of content that `save` accepts (``"motion"``, ``"markers"``, ``"scene"``). Empty for
        read-only formats.
    extra : str
        Optional dependency that the format needs, as in ``pip install motionloom[usd]``.
    extra_writes : bool
        True if writing also needs the extra.
    listed : bool
        True if an import of a folder includes files with this suffix.
    """

    name: str
    module: str
    reads: str = "motion"
    writes: tuple[str, ...] = ("motion",)
    extra: str = ""
    extra_writes: bool = True
    listed: bool = True


_DEFAULTS = LoadSettings()
_POINTS = ("motion", "markers")
_SCENES = ("motion", "scene")
FORMATS = {
    ".bvh": Format("BVH", "motionloom.formats.bvh"),
    ".amc": Format("Acclaim", "motionloom.formats.acclaim", writes=()),
    ".c3d": Format("C3D", "motionloom.formats.c3d", "markers", (*_POINTS, "scene")),
    ".npz": Format("NPZ", "motionloom.formats.npz"),
    ".npy": Format("NPY", "motionloom.formats.positions"),
    ".json": Format("JSON", "motionloom.formats.positions", writes=(), listed=False),
    ".glb": Format("binary glTF", "motionloom.formats.gltf", writes=_SCENES),
    ".gltf": Format("glTF", "motionloom.formats.gltf", writes=_SCENES),
    ".vrm": Format("VRM", "motionloom.formats.gltf.reader", writes=()),
    ".vrma": Format("VRM Animation", "motionloom.formats.gltf.vrma"),
    ".fbx": Format(
        "FBX", "motionloom.formats.fbx", writes=_SCENES, extra="fbx", extra_writes=False
    ),
    ".mvnx": Format("Xsens", "motionloom.formats.mvnx", writes=()),
    ".usd": Format("USD", "motionloom.formats.usd", writes=_SCENES, extra="usd"),
    ".usda": Format("USD text", "motionloom.formats.usd", writes=_SCENES, extra="usd"),
    ".usdc": Format("USD crate", "motionloom.formats.usd", writes=_SCENES, extra="usd"),
    ".trc": Format("TRC", "motionloom.formats.trc", "markers", _POINTS),
    ".csv": Format("CSV", "motionloom.formats.tables", "markers", _POINTS),
    ".parquet": Format("Parquet", "motionloom.formats.tables", "markers", _POINTS, "parquet"),
    **dict.fromkeys(
        (".mp4", ".mov", ".m4v", ".webm", ".mkv", ".avi"),
        Format("film", "motionloom.formats.video", writes=(), extra="video", listed=False),
    ),
}

_ROBOT = Format("robot file", "motionloom.formats.robot.files")
ROBOT_SUFFIXES = (".csv", ".npz", ".pkl")
_STREAM = Format("VMC stream", "motionloom.formats.vmc")

_BLENDER = 'blender -b {start}--python-expr "import bpy; {steps}bpy.ops.export_scene.gltf({glb})"'
# Formats without a reader that Blender can convert to GLB, with the steps before the export.
_CONVERTED = {
    ".blend": ("{path} ", ""),
}
# Motion capture files that an import skips, and the advice for each.
LEFT_OUT = {
    ".c3d": "markers without a skeleton; convert them to motions with "
    "motionloom reconstruct LIB FILE -o OUT.bvh, then import the motions",
    ".blend": "not supported; convert to GLB with Blender (motionloom info FILE shows how)",
    ".trc": "markers whose labels do not name joints; set --layout to a file that maps joints to "
    "markers, and name the files",
}


def way_out(path: Path) -> str | None:
    """Return instructions for converting a file that has no reader, or None if there are none.

    Examples
    --------
    >>> way_out(Path("walk.doc")) is None
    True
    >>> way_out(Path("walk.blend"))[:64]
    'BLEND files cannot be read. Convert the file to GLB with Blender'
    """
    suffix = path.suffix.lower()
    if suffix not in _CONVERTED:
        return None
    start, steps = (part.format(path=str(path)) for part in _CONVERTED[suffix])
    glb = f"filepath={str(path.with_suffix('.glb'))!r}"
    command = _BLENDER.format(start=start, steps=steps, glb=glb)
    kind = suffix[1:].upper()
    return f"{kind} files cannot be read. Convert the file to GLB with Blender:\n{command}"


def instead_of(path: Path) -> str:
    """Return the end of a message: advice on a format that only other programs can write.

    Examples
    --------
    >>> instead_of(Path("walk.blend"))
    '. To get a BLEND file, write .glb, import it into Blender and export it from there'
    """
    suffix = path.suffix.lower()
    if suffix not in _CONVERTED:
        return ""
    kind = suffix[1:].upper()
    return f". To get a {kind} file, write .glb, import it into Blender and export it from there"


MOTION_SUFFIXES = tuple(suffix for suffix in FORMATS if FORMATS[suffix].reads == "motion")
MARKER_SUFFIXES = tuple(suffix for suffix in FORMATS if FORMATS[suffix].reads == "markers")


@takes(LoadSettings)
def load(path: str | Path, settings: LoadSettings | None = None, **options: Any) -> Motion:
    """Read one motion from a file. The suffix selects the format.

    Parameters
    ----------
    path : str or Path
        File to read, for example ``kick.bvh``, ``kick.glb`` or ``01_01.amc`` (whose ``.asf`` file
        is found automatically), a take of a file (``knight.glb/Run``), or joint positions
        (``sample.npy``).
    settings : LoadSettings, optional
        Settings object. Single settings can also be passed as keyword arguments.

    Returns
    -------
    motion : Motion
        Motion in meters with y up. ``motion.repairs`` lists the repairs made while reading.

    Raises
    ------
    MotionFormatError
        If the file cannot be read unambiguously (the message names file and line), or contains
        markers (see `load_markers`).
    InvalidInput
        If the format does not have one of the options.

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = ml.demo.clip("walk").save(f"{folder}/walk.bvh")
    ...     len(ml.load(file)) == len(ml.demo.clip("walk"))
    True
    """
    from motionloom.motion.kinematics.missing_feet import with_feet
    from motionloom.motion.kinematics.root_carrier import hips_as_root

    given = LoadSettings.given(settings, options) if settings or options else _DEFAULTS
    file, take = split_take(Path(path))
    chosen = replace(given, keep_carrier=False) if given.keep_carrier else given
    if take:
        chosen = replace(chosen, **_selection(file, take))
    motion = with_feet(_read(file, "motion", chosen))
    if take:
        motion = replace(motion, name=f"{file.name}/{take}")
    return motion if given.keep_carrier else hips_as_root(motion)


def load_takes(path: str | Path, **options: Any) -> Iterator[tuple[str, Motion | MotionloomError]]:
    """Read all takes of a file: every animation, of every skeleton that it moves.

    Parameters
    ----------
    path : str or Path
        File to read.
    **options
        Settings of `load`, without ``animation`` and ``skeleton``.

    Yields
    ------
    name : str
        Name of the take in the file (see `motionloom.formats.takes`), or an empty string if the
        file has only one.
    motion : Motion or MotionloomError
        The motion, or the reason why this take cannot be read.

    Raises
    ------
    MotionFormatError
        If the file cannot be read at all.

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = ml.demo.clip("walk").save(f"{folder}/walk.bvh")
    ...     [(name, len(motion)) for name, motion in load_takes(file)]
    [('', 138)]
    """
    from motionloom.motion.kinematics.missing_feet import with_feet
    from motionloom.motion.kinematics.root_carrier import hips_as_root

    path, settings = Path(path), LoadSettings.given(None, options)
    chosen = settings.animation is not None or settings.skeleton is not None
    readable = path.is_file() and path.suffix.lower() in FORMATS
    module: Any = _reader(path, settings) if readable else None
    if module and settings.layout is not None and "layout" not in _option_names(module.read):
        settings = replace(settings, layout=None)  # of other files in the same import
    if chosen or not hasattr(module, "read_takes"):
        yield "", load(path, settings)
        return
    from motionloom.formats.takes import TakeLimit

    plain = replace(settings, keep_carrier=False)
    given = _options(module.read, plain, f"reading {path.suffix}")
    check_regular(path)
    empty, limit = True, TakeLimit(path)
    for take, motion in _guarded(path, module.read_takes(path, **given)):
        empty = False
        if isinstance(motion, MotionloomError):
            yield take.name, motion
            continue
        _check_rate(motion.fps, path)
        motion = with_feet(motion)
        if take.name:
            limit.add(len(motion.skeleton), len(motion))
            motion = replace(motion, name=f"{path.name}/{take.name}")
        if take.scene:
            motion = replace(motion, origin=replace(motion.origin, scene=_scene(path, take)))
        yield take.name, motion if settings.keep_carrier else hips_as_root(motion)
    if empty:
        raise MotionFormatError("the file contains no motion", path=path)


def takes_in(path: str | Path) -> list[FileTake]:
    """List the takes of a motion file, with the `load` options that select each.

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = ml.demo.clip("walk").save(f"{folder}/walk.glb")
    ...     len(takes_in(file))
    1
    """
    from motionloom.formats.takes import FileTake

    path = Path(path)
    supported = path.suffix.lower() in FORMATS
    if not path.is_file() or not supported or not hasattr(_reader(path), "takes"):
        return [FileTake()]
    check_regular(path)
    with _one_type_of_error(path):
        return _reader(path).takes(path)


def split_take(path: Path) -> tuple[Path, str]:
    """Split the address of a take, as in ``knight.glb/Run``, into the file and the take.

    The take is empty if `path` is a file, or if no part of it is a motion file.
    """
    if path.suffix.lower() in FORMATS and path.parent.suffix.lower() not in FORMATS:
        return path, ""  # most files, without asking the disk
    if not path.exists():
        for parent in path.parents:
            if parent.is_file() and parent.suffix.lower() in FORMATS:
                return parent, path.relative_to(parent).as_posix()
    return path, ""


def _selection(file: Path, take: str) -> dict[str, Any]:
    """Return the `load` options that select a take of a file."""
    listed = takes_in(file)
    for each in listed:
        if each.name == take:
            return {"animation": each.animation, "skeleton": each.skeleton}
    names = ", ".join(each.name for each in listed[:20] if each.name)
    raise MotionFormatError(
        f"there is no take {take!r}. Takes in the file: {names}"
        if names
        else f"there is no take {take!r}, because the file has only one take",
        path=file,
    )


def _reader(path: Path, settings: Settings = _DEFAULTS, kind: str = "motion") -> Any:
    """Return the module that reads motions, or markers, from a file."""
    format = _read_format(path, kind, settings)
    if kind == "motion" and format.reads == "markers":
        return importlib.import_module("motionloom.formats.positions.marker_joints")
    return importlib.import_module(format.module)


def _scene(path: Path, take: FileTake) -> str:
    """Return the name that the people in one recording share."""
    return path.name if take.animation is None else f"{path.name}/{take.animation}"


def _guarded(path: Path, results: Iterator[Any]) -> Iterator[Any]:
    while True:
        with _one_type_of_error(path):
            result = next(results, None)
        if result is None:
            return
        yield result


@takes(LoadMarkersSettings)
def load_markers(
    path: str | Path, settings: LoadMarkersSettings | None = None, **options: Any
) -> Markers:
    """Read markers without a skeleton from a C3D file or a table.

    Parameters
    ----------
    path : str or Path
        File to read, with the suffix ``.c3d``, ``.csv`` or ``.parquet``.
    settings : LoadMarkersSettings, optional
        Settings object. Single settings can also be passed as keyword arguments.

    Returns
    -------
    markers : Markers
        Markers in meters with y up. Gaps are NaN.

    Raises
    ------
    MotionFormatError
        If the file cannot be read unambiguously, or contains a motion (see `load`).
    InvalidInput
        If the format does not have one of the options.

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
    """Write a motion, markers or a scene to a file. The suffix selects the format.

    The file is written under a temporary name and then renamed, so it is never incomplete. If the
    motion was read from a file of the same format, the joints above its hips are restored.

    Parameters
    ----------
    motion : Motion, Markers or Scene
        Content to write. Only C3D and tables support markers, and only glTF, USD, FBX and C3D
        support scenes.
    path : str or Path
        File to write, or the address of a program that receives motion in the VMC protocol:
        ``vmc://`` on this computer, or ``vmc://HOST:PORT``. A stream takes as long as the motion.
    settings : SaveSettings, optional
        Settings object. Single settings can also be passed as keyword arguments.

    Returns
    -------
    path : Path
        Path of the written file.

    Raises
    ------
    InvalidInput
        If the format cannot be written, or does not have one of the options.

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
    format = _ROBOT if _is_robot_motion(motion, path) else _written_format(path, kind)
    same_format = isinstance(motion, Motion) and format.module.endswith(f".{motion.origin.format}")
    if isinstance(motion, Motion) and same_format and not motion.origin.character:
        motion = with_carrier(motion)  # the source file has it
    write = importlib.import_module(format.module).write
    chosen = _options(write, given, f"writing {format.name}")
    if isinstance(motion, Motion) and motion.origin.character and given.mesh in ("body", True):
        from motionloom.formats.own_character import write as write_character

        if write_character(motion, path, **chosen):
            return path
    write(motion, path, **chosen)
    return path


def check_output(path: Path, kind: str = "motion") -> None:
    """Raise an error if `save` cannot write this suffix. Call it before a long computation.

    Parameters
    ----------
    path : Path
        File to write.
    kind : {"motion", "markers", "scene"}
        Content to write.

    Raises
    ------
    InvalidInput
        If the format is unknown or does not support this kind of content.
    MissingExtra
        If the format needs an extra that is not installed.
    """
    format = _written_format(path, kind)
    if format.extra and format.extra_writes:
        importlib.import_module(format.module).require_extra()


def is_motion_file(path: Path) -> bool:
    """Return whether a file contains a motion, by its suffix or, for tables, by its first line."""
    format = FORMATS.get(path.suffix.lower())
    return format is not None and (format.reads == "motion" or _is_robot_table(path))


def holds_motion(path: Path) -> bool:
    """Return whether `load` can probably read a file, from its suffix and its first bytes.

    Marker files do if their labels name joints, and arrays if their shape is that of positions.

    Examples
    --------
    >>> holds_motion(Path("walk.bvh")), holds_motion(Path("notes.txt"))
    (True, False)
    """
    format = FORMATS.get(path.suffix.lower())
    if format is None:
        return False
    if format.reads == "markers" and not _is_robot_table(path):
        from motionloom.formats.positions.marker_joints import holds_joints

        return path.is_file() and holds_joints(path)
    if path.suffix.lower() == ".npy":
        from motionloom.formats.positions.point_files import holds_points

        return holds_points(path)
    return format.listed


def is_marker_file(path: Path) -> bool:
    """Return whether files with this suffix contain markers."""
    format = FORMATS.get(path.suffix.lower())
    return format is not None and format.reads == "markers" and not _is_robot_table(path)


def _is_robot_table(path: Path) -> bool:
    """Return whether an existing file is a robot file."""
    if path.suffix.lower() not in ROBOT_SUFFIXES or not path.is_file():
        return False
    from motionloom.formats.robot.files import is_robot_file

    return is_robot_file(path)


def _read_format(path: Path, kind: str, settings: Settings) -> Format:
    """Return the format of a file that is read, which depends on the content for tables."""
    from motionloom.formats.robot import is_robot_model

    suffix = path.suffix.lower()
    if kind == "motion" and suffix in ROBOT_SUFFIXES:
        model = getattr(settings, "skeleton", None)
        if (
            suffix == ".pkl"
            or _is_robot_table(path)
            or (isinstance(model, str | Path) and is_robot_model(model))
        ):
            return _ROBOT
    return FORMATS[suffix]


def _is_robot_motion(motion: Motion | Markers | Scene, path: Path) -> bool:
    """Return whether a motion is a robot's and the suffix is that of a robot file."""
    from motionloom.formats.robot import is_robot_model

    character = getattr(getattr(motion, "origin", None), "character", None)
    return path.suffix.lower() in ROBOT_SUFFIXES and bool(character and is_robot_model(character))


def writer_options(path: Path) -> tuple[str, ...]:
    """Return the names of the `save` options for the format with this suffix.

    Examples
    --------
    >>> "unit" in writer_options(Path("walk.bvh")), "unit" in writer_options(Path("walk.glb"))
    (True, False)
    """
    suffix = path.suffix.lower()
    if is_stream(path):
        return ()
    if suffix not in FORMATS or not FORMATS[suffix].writes:
        suffixes = ", ".join(suffix for suffix in FORMATS if FORMATS[suffix].writes)
        raise InvalidInput(
            f"cannot write {path}: the suffix must be one of {suffixes}{instead_of(path)}"
        )
    return _option_names(importlib.import_module(FORMATS[suffix].module).write)


def _written_format(path: Path, kind: str) -> Format:
    if is_stream(path):
        if kind not in _STREAM.writes:
            raise InvalidInput(f"a VMC stream has one character; {kind} cannot be sent to {path}")
        return _STREAM
    format = FORMATS.get(path.suffix.lower())
    if format is None or kind not in format.writes:
        suffixes = ", ".join(suffix for suffix in FORMATS if kind in FORMATS[suffix].writes)
        way = (
            ". To turn markers into a motion, use motionloom reconstruct"
            if kind == "markers"
            else ""
        )
        way += instead_of(path)
        raise InvalidInput(
            f"cannot write {kind} to {path}: the suffix must be one of {suffixes}{way}"
        )
    return format


def is_stream(path: Path) -> bool:
    """Return whether an output is the address of a live stream; check the address."""
    if not str(path).startswith("vmc:"):
        return False
    from motionloom.formats.vmc import address

    return address(path) is not None


def _read(path: Path, kind: str, settings: Settings) -> Any:
    suffix = path.suffix.lower()
    if suffix == ".asf":
        raise MotionFormatError(
            "an .asf file contains only a skeleton; read its .amc file instead", path=path
        )
    if suffix not in FORMATS and suffix not in ROBOT_SUFFIXES:
        suffixes = ", ".join(FORMATS)
        if advice := way_out(path):
            raise MotionFormatError(advice, path=path)
        raise MotionFormatError(f"unknown suffix {suffix!r}; expected one of {suffixes}", path=path)
    module = _reader(path, settings, kind)
    name = _read_format(path, kind, settings).name
    options = _options(module.read, settings, f"reading {name}")
    if kind == "markers" and is_motion_file(path) and path.is_file():
        raise MotionFormatError(
            "the file contains a motion, not markers; read it with load", path=path
        )
    with suppress(FileNotFoundError):
        check_regular(path)  # a pipe or a device could block or never end
    with _one_type_of_error(path):
        content = module.read(path, **options)
        _check_rate(content.fps, path)
        return content


@contextmanager
def _one_type_of_error(path: Path) -> Iterator[None]:
    """Turn any error of a reader into `MotionFormatError`, because files are not trusted."""
    try:
        yield
    except (MotionloomError, OSError):
        raise
    except MemoryError:
        raise MotionFormatError(
            "the file is too large for the memory of this machine", path=path
        ) from None
    except Exception as error:
        reason = (str(error).strip() or "no reason given").splitlines()[0][:200]
        raise MotionFormatError(
            f"the file is damaged or uses an unknown variant of its format: "
            f"{type(error).__name__}: {reason}",
            path=path,
        ) from error


def _check_rate(fps: float, path: Path) -> None:
    try:
        plausible_rate(fps)
    except InvalidInput as error:
        raise MotionFormatError(f"{error}; set the rate with fps", path=path) from None


def _options(function: Callable, settings: Settings, action: str) -> dict[str, Any]:
    """Return the settings that differ from their defaults, as reader or writer arguments."""
    names = _option_names(function)
    options = settings.changed()
    group = options.pop("format", None)
    if group is not None:
        options |= group.changed()
    for name in options:
        if name not in names:
            raise InvalidInput(
                f"{action} has no option {name!r}; its options are {', '.join(names) or 'none'}"
            )
    return options


@lru_cache
def _option_names(function: Callable) -> tuple[str, ...]:
    return tuple(
        parameter.name
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    )
