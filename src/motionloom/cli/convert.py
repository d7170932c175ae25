"""``motionloom convert``: files and folders into another format, for another program."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from motionloom.cli.arguments import motion_from
from motionloom.cli.terminal import print_json, progress, remark
from motionloom.errors import InvalidInput, MotionloomError

if TYPE_CHECKING:
    from motionloom.motion import Motion


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
    target = motion_from(onto).skeleton if onto else None
    written, failed = [], []
    with progress("converting", len(jobs), quiet=json) as advance:
        for source, out in jobs:
            try:
                motion = motion_from(source, **({"roles": joints} if joints else {}))
                motion = _changed(motion, fps=fps, target=target, clean=clean, preset=preset)
                motion.save(out, **_write_options(out, preset, unit, up))
                written.append(str(out))
            except MotionloomError as error:
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
    from motionloom.formats import FORMATS, is_motion_file

    found: list[tuple[str, Path]] = []
    for source in sources:
        folder = Path(source)
        if folder.is_dir() and not (folder / "catalogue.sqlite").exists():
            inside = sorted(f for f in folder.rglob("*") if f.is_file() and is_motion_file(f))
            found += [(str(file), file.relative_to(folder)) for file in inside]
        elif folder.is_dir():
            from motionloom.loom import Library

            found += [(f"{source}:{name}", Path(f"{name}.x")) for name in Library(folder).names]
        else:
            name = source.rsplit(":", 1)[-1] if not folder.exists() else folder.name
            found.append((source, Path(name)))
    if not found:
        raise InvalidInput(f"no motion files in {', '.join(sources)}")
    if out.suffix.lower() in FORMATS and not out.is_dir():
        if len(found) > 1:
            raise InvalidInput(
                f"{len(found)} motions do not fit into one file; OUT must be a folder"
            )
        return [(found[0][0], out)]
    ending = "." + (suffix or "bvh").lstrip(".").lower()
    if ending not in FORMATS or not FORMATS[ending].writes:
        known = ", ".join(s.lstrip(".") for s, f in FORMATS.items() if f.writes)
        raise InvalidInput(f"--to must be one of {known}; got {suffix!r}")
    return [(source, (out / name).with_suffix(ending)) for source, name in found]


def _changed(motion: Motion, *, fps, target, clean, preset) -> Motion:
    from motionloom.motion import Motion

    if not isinstance(motion, Motion):
        if target or clean or preset:
            raise InvalidInput(f"{motion.name}: markers have no skeleton to clean or retarget")
        return motion.resample(fps) if fps else motion
    if clean:
        motion = motion.clean_feet()
    if target is not None:
        motion = motion.onto(target)
    if fps:
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
