"""``motionloom import``: files and folders into a library."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from motionloom.cli.options import JSON, ROLES, UNIT, UP, WORKERS
from motionloom.cli.terminal import counted, print_json, progress, remark

if TYPE_CHECKING:
    from motionloom.library import Library
    from motionloom.store import ImportReport

_SHOWN_FAILURES = 50


def import_(
    library: Annotated[
        Path, typer.Argument(metavar="LIB", help="The library, a folder; made if new.")
    ],
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Motion files and folders.")
    ],
    labels: Annotated[
        list[str] | None,
        typer.Option(
            help="Where labels come from: 'folder', 'pattern:REGEX' with a group (?P<label>...) "
            "on the file name, or a CSV file with columns file and label. May be repeated.",
            metavar="RULE",
        ),
    ] = None,
    label_column: Annotated[
        list[str] | None,
        typer.Option(help="Column of the CSV file with the label. May be repeated."),
    ] = None,
    fps: Annotated[
        float | None, typer.Option(help="Keep the whole library at this frame rate.")
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="For a new library: frames and what is computed from them go to this object "
            "store, s3://bucket/prefix, gs://..., file://... [default: into LIB]",
        ),
    ] = None,
    unit: Annotated[str | None, UNIT] = None,
    up: Annotated[str | None, UP] = None,
    roles: Annotated[Path | None, ROLES] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Read files again even if they are unchanged.")
    ] = False,
    workers: Annotated[int | None, WORKERS] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Import motion files into a library.

    Folders are walked to the bottom. Files that the library has already are skipped: run
    the same command again to go on after an interruption or to bring in what has changed.
    Bad files are listed at the end, with the reason; the exit code is then 1.
    """
    from motionloom.library import Library
    from motionloom.store.ingest.sources import find_sources

    count = len(find_sources(paths)[0])  # complains before an empty library is made
    lib = Library.create(library, fps=fps, store=store, exist_ok=True)
    with progress("importing", count) as advance:
        report = lib.add(
            *paths,
            labels=labels or None,
            label_columns=label_column or None,
            fps=fps,
            unit=unit,
            up=up,
            roles=roles,
            force=force,
            workers=workers,
            progress=advance,
        )
    if json:
        print_json(_as_dict(report, lib))
    else:
        _tell(report, lib)
    if report.failed:
        raise typer.Exit(1)


def _as_dict(report: ImportReport, lib: Library) -> dict:
    return {
        "added": report.added,
        "replaced": report.replaced,
        "skipped": report.skipped,
        "failed": [{"file": bad.file, "reason": bad.reason} for bad in report.failed],
        "frames": report.frames,
        "seconds": report.seconds,
        "elapsed_seconds": round(report.elapsed_seconds, 3),
        "labels_without_file": len(report.unmatched_labels),
        "library": {
            "path": str(lib.path),
            "motions": len(lib),
            "frames": lib.frames,
            "seconds": lib.seconds,
            "fps": lib.fps,
            "store": lib.files.address if lib.files.remote else None,
        },
    }


def _tell(report: ImportReport, lib: Library) -> None:
    for bad in report.failed[:_SHOWN_FAILURES]:
        remark(f"failed   {bad.file}: {bad.reason}")
    if len(report.failed) > _SHOWN_FAILURES:
        remark(f"         ... and {len(report.failed) - _SHOWN_FAILURES} more (see --json)")
    if report.unmatched_labels:
        some = ", ".join(report.unmatched_labels[:3])
        remark(f"labels   {len(report.unmatched_labels)} rows name no file here: {some} ...")
    changed = f", {report.replaced} of them changed" if report.replaced else ""
    remark(f"added    {report.added}{changed} ({report.frames} frames)")
    remark(f"skipped  {report.skipped} unchanged")
    remark(f"failed   {len(report.failed)}")
    remark(
        f"library  {lib.path}: {counted(len(lib), 'motion')}, {_spell(lib.seconds)}, "
        f"in {report.elapsed_seconds:.1f} s"
    )
    if lib.files.remote:
        remark(f"store    {lib.files.address}")


def _spell(seconds: float) -> str:
    if seconds < 120.0:
        return f"{seconds:.1f} s of motion"
    if seconds < 7200.0:
        return f"{seconds / 60.0:.1f} min of motion"
    return f"{seconds / 3600.0:.2f} h of motion"
