"""``motionloom convert``: files and folders into another format, for another program."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from motionloom.cli.arguments import motion_from, split_range
from motionloom.cli.terminal import print_json, progress, remark
from motionloom.errors import InvalidInput, MotionloomError

if TYPE_CHECKING:
    from motionloom.motion import Markers, Motion, Skeleton


def convert(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="IN... OUT", help="Files, folders or LIB:NAME; then where to."),
    ],
    preset: Annotated[
        str | None, typer.Option(help="blender, unreal, unity or maya: unit, axis, names, root.")
    ] = None,
    fps: Annotated[float | None, typer.Option(help="Resample to this rate.")] = None,
    unit: Annotated[str | None, typer.Option(help="Unit of the written file.")] = None,
    up: Annotated[str | None, typer.Option(help="Up axis of the written file: y or z.")] = None,
    joints: Annotated[
        Path | None, typer.Option(metavar="MAP", help="Role map of the sources (JSON or TOML).")
    ] = None,
    onto: Annotated[
        str | None,
        typer.Option(metavar="SKELETON", help="Retarget onto the skeleton of this file."),
    ] = None,
    to: Annotated[
        str | None, typer.Option(help="Suffix of the files when OUT is a folder: glb, bvh, ...")
    ] = None,
    clean: Annotated[bool, typer.Option("--clean", help="Plant sliding feet first.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """Convert motions to another format, program or character.

    OUT is a file, or a folder for several. Bad files are named at the end, the rest goes on.
    """
    if len(paths) < 2:
        raise InvalidInput("convert needs something to read and a place to write: IN... OUT")
    jobs = _jobs(paths[:-1], Path(paths[-1]), to)
    _check(jobs, preset, unit, up)
    target = motion_from(onto).skeleton if onto else None
    written, failed = [], []
    with progress("converting", len(jobs), quiet=json) as advance:
        for source, out in jobs:
            try:
                motion = _read(source, joints)
                motion = _changed(motion, fps=fps, target=target, clean=clean, preset=preset)
                motion.save(out, **_write_options(out, preset, unit, up))
                written.append(str(out))
            except (MotionloomError, OSError) as error:
                if len(jobs) == 1:
                    raise
                failed.append({"file": source, "reason": str(error)})
            advance()
    if json:
        print_json({"files": written, "failed": failed})
    else:
        remark(f"wrote {written[0] if len(written) == 1 else f'{len(written)} files'}")
        for failure in failed:
            remark(f"motionloom: {failure['reason']}")
    if failed:
        raise typer.Exit(1)


def _jobs(sources: list[str], out: Path, suffix: str | None) -> list[tuple[str, Path]]:
    """What to read and where to write it; folders keep their shape."""
    from motionloom.formats import FORMATS

    found = [job for source in sources for job in _found(source)]
    if not found:
        raise InvalidInput(f"no motion files in {', '.join(sources)}")
    if out.suffix.lower() in FORMATS and not out.is_dir():
        if len(found) > 1:
            raise InvalidInput(
                f"{len(found)} motions do not fit into one file; OUT must be a folder"
            )
        return [(found[0][0], out)]
    if out.suffix and not out.is_dir() and suffix is None:
        # `walk.fbx` is meant as a file; a folder of that name would be a surprise.
        known = ", ".join(s for s, f in FORMATS.items() if f.writes)
        raise InvalidInput(
            f"cannot write {out}: the suffix must be one of {known}. If it is a folder, make it "
            "first or say --to"
        )
    ending = "." + (suffix or "bvh").lstrip(".").lower()
    if ending not in FORMATS or not FORMATS[ending].writes:
        known = ", ".join(s.lstrip(".") for s, f in FORMATS.items() if f.writes)
        raise InvalidInput(f"--to must be one of {known}; got {suffix!r}")
    return [(source, out / f"{stem}{ending}") for source, stem in found]


def _found(source: str) -> list[tuple[str, str]]:
    """What `source` names, each with what to call it: a path without suffix."""
    from motionloom.formats import is_motion_file

    place = Path(source)
    if place.is_dir() and (place / "catalogue.sqlite").exists():
        from motionloom.loom import Library

        return [(f"{source}:{name}", name) for name in Library(place).names]
    if place.is_dir():
        inside = sorted(f for f in place.rglob("*") if f.is_file() and is_motion_file(f))
        return [(str(f), str(f.relative_to(place).with_suffix(""))) for f in inside]
    if place.exists():
        return [(source, place.stem)]
    whole, cut = split_range(source)
    name = Path(whole).stem if Path(whole).exists() else whole.split(":", 1)[-1]
    return [(source, name if cut is None else f"{name}_{source.rsplit(':', 1)[-1]}")]


def _check(
    jobs: list[tuple[str, Path]], preset: str | None, unit: str | None, up: str | None
) -> None:
    """Refuse, before anything is written, what would fail or lose something for all."""
    sources: dict[Path, str] = {}
    for source, out in jobs:
        if out in sources:
            raise InvalidInput(
                f"{sources[out]} and {source} would both become {out}; convert them one by one"
            )
        if Path(source).exists() and out.exists() and out.samefile(source):
            raise InvalidInput(f"{out} would overwrite what is read; give another OUT")
        sources[out] = source
    for out in {out.suffix: out for _, out in jobs}.values():
        _write_options(out, preset, unit, up)


def _read(source: str, joints: Path | None) -> Motion | Markers:
    from motionloom.formats import FORMATS, load

    file = FORMATS.get(Path(source).suffix.lower())
    if file is not None and file.reads == "markers":
        return load(source)
    return motion_from(source, **({"roles": joints} if joints else {}))


def _changed(
    motion: Motion | Markers,
    *,
    fps: float | None,
    target: Skeleton | None,
    clean: bool,
    preset: str | None,
) -> Motion | Markers:
    from motionloom.motion import Motion

    if not isinstance(motion, Motion):
        if target or clean or preset:
            raise InvalidInput(f"{motion.name}: markers have no skeleton to clean or retarget")
        return motion if fps is None else motion.resample(fps)
    if clean:
        motion = motion.clean_feet()
    if target is not None:
        motion = motion.onto(target)
    if fps is not None:
        motion = motion.resample(fps)
    if preset:
        from motionloom.formats.presets import prepared

        motion = prepared(motion, preset)
    return motion


def _write_options(
    out: Path, preset: str | None, unit: str | None, up: str | None
) -> dict[str, Any]:
    """Options the format takes; what a format fixes (glTF: metres, y up) is not ours to give."""
    from motionloom.formats import writer_options
    from motionloom.formats.presets import preset as preset_called

    wanted: dict[str, Any] = {}
    if preset is not None:
        expected = preset_called(preset)
        wanted = {"unit": expected.unit, "up": expected.up}
    taken = writer_options(out)
    options = {key: value for key, value in wanted.items() if key in taken}
    for key, value in (("unit", unit), ("up", up)):
        if value is None:
            continue
        if key not in taken:
            raise InvalidInput(f"--{key}: {out.suffix} files leave no choice of {key}")
        options[key] = value
    return options
