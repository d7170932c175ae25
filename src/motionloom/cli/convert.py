"""``motionloom convert``: files and folders into another format, for another program."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from motionloom.cli.arguments import check_targets, motion_from, motions_in
from motionloom.cli.options import JSON, ROLES_HELP
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
    roles: Annotated[
        Path | None, typer.Option("--roles", "--joints", metavar="MAP", help=ROLES_HELP)
    ] = None,
    onto: Annotated[
        str | None,
        typer.Option(metavar="SKELETON", help="Retarget onto the skeleton of this file."),
    ] = None,
    to: Annotated[
        str | None, typer.Option(help="Suffix of the files when OUT is a folder: glb, bvh, ...")
    ] = None,
    clean: Annotated[bool, typer.Option("--clean", help="Plant sliding feet first.")] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Convert motions to another format, program or character.

    OUT is a file, or a folder for several. Bad files are named at the end, the rest goes on.
    """
    if len(paths) < 2:
        raise InvalidInput("convert needs something to read and a place to write: IN... OUT")
    jobs, failed = _jobs(paths[:-1], Path(paths[-1]), to)
    check_targets(jobs)
    for out in {out.suffix: out for _, out in jobs}.values():
        _write_options(out, preset, unit, up)  # complains before anything is written
    target = motion_from(onto).skeleton if onto else None
    written = []
    with progress("converting", len(jobs), quiet=json) as advance:
        for source, out in jobs:
            try:
                motion = _read(source, roles)
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


def _jobs(
    sources: list[str], out: Path, suffix: str | None
) -> tuple[list[tuple[str, Path]], list[dict[str, str]]]:
    """What to read and where to write it, and what cannot be read; folders keep their shape."""
    from motionloom.formats import FORMATS

    found, failed = [], []
    for source in sources:
        if Path(source).is_dir():
            motions, unreadable = motions_in(Path(source), leaving=out)
            found += motions
            failed += unreadable
        else:
            found.append((source, _stem(source)))
    if not found:
        raise InvalidInput(f"no motions in {', '.join(sources)}")
    if out.suffix.lower() in FORMATS and not out.is_dir():
        if len(found) > 1:
            raise InvalidInput(
                f"{len(found)} motions do not fit into one file; OUT must be a folder"
            )
        return [(found[0][0], out)], failed
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
    return [(source, out / f"{stem}{ending}") for source, stem in found], failed


def _stem(source: str) -> str:
    """What to call a file, a motion of a library, or a part of either."""
    if Path(source).exists():
        return Path(source).stem
    from motionloom.motion.segment import split_segment

    whole, cut = split_segment(source)
    name = Path(whole).stem if Path(whole).exists() else whole.split(":", 1)[-1]
    return name if cut is None else f"{name}_{source.rsplit(':', 1)[-1]}"


def _read(source: str, roles: Path | None) -> Motion | Markers:
    from motionloom.formats import is_marker_file, load_markers

    if is_marker_file(Path(source)):
        return load_markers(source)
    return motion_from(source, **({"roles": roles} if roles else {}))


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
