"""``motionloom import`` and ``export``: read files into a library, and write them back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from click.exceptions import Exit

from motionloom.cli.command import Argument, Option
from motionloom.cli.options import JSON, LIB, check_suffix, open_library
from motionloom.cli.terminal import counted, print_json, progress, remark
from motionloom.cli.tools.cluster import on_clusters
from motionloom.errors import InvalidInput
from motionloom.formats.settings import GameSettings
from motionloom.settings import MotionChoice, motion_choice
from motionloom.store.settings import ImportSettings, TrainingSet

if TYPE_CHECKING:
    from motionloom.library import ImportReport, Library

_SHOWN_FAILURES = 50
_EXTRA = "pip install 'motionloom["  # in the message of `MissingExtra`


@on_clusters
def import_(
    library: Annotated[
        Path, Argument("Folder of the library; created if it does not exist.", metavar="LIB")
    ],
    paths: Annotated[list[Path], Argument("Motion files and folders.", metavar="PATH...")],
    settings: ImportSettings,
    store: Annotated[
        str | None,
        Option(
            "For a new library: object store for frames and artifacts, such as "
            "s3://bucket/prefix, gs://... or file://... [in LIB]",
            metavar="ADDRESS",
        ),
    ] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Import motion files into a library.

    Folders are searched recursively. Unchanged files that the library already contains are skipped,
    so run the same command again to resume an interrupted import or to import changes. Files that
    cannot be read are listed at the end with the reason; the exit code is then 1.
    """
    from motionloom.library import Library, find_sources, labeling

    swapped = next((path for path in paths if path.suffix == ".loom"), None)
    if swapped is not None and library.suffix != ".loom":
        raise InvalidInput(
            f"the library comes first: motionloom import {swapped} {library}; {swapped} cannot be "
            "imported as a motion"
        )
    # These raise before an empty library is created.
    settings.reader_options()
    sources, _ = find_sources(paths)
    labeling(settings.labels, sources, columns=settings.label_columns)
    count = len(sources)
    lib = Library.create(library, fps=settings.fps, store=store, exist_ok=True)
    with progress("importing", count) as advance:
        report = lib.add(*paths, settings=settings, progress=advance)
    if json:
        print_json(_as_dict(report, lib))
    else:
        _print_report(report, lib)
        _remark_times(lib, settings.labels)
    if report.failed:
        raise Exit(1)


def _check_target(to: str) -> None:
    from motionloom.library.dataset import WHOLE_LIBRARY

    if to not in WHOLE_LIBRARY:
        check_suffix(to, WHOLE_LIBRARY)


def export(
    lib: Annotated[Path, LIB],
    folder: Annotated[Path, Argument("New or empty output folder.", metavar="FOLDER")],
    choice: MotionChoice,
    game: GameSettings,
    training_set: TrainingSet,
    to: Annotated[
        str,
        Option(
            "Format of the motion files, one per motion; godot, unity or unreal; or "
            "training-set, a choice of takes with splits.",
            metavar="SUFFIX",
            check=_check_target,
        ),
    ] = "bvh",
    cut: Annotated[
        str | None,
        Option("Cut takes at labeled segments or at pauses.", metavar="labels|pauses"),
    ] = None,
    fps: Annotated[float | None, Option("Resample to this frame rate.")] = None,
    preset: Annotated[
        str | None,
        Option("Use the unit, up axis, joint names and root bone of a program.", metavar="PROGRAM"),
    ] = None,
    root: Annotated[
        str | None,
        Option(
            "Put the travel over the floor into a root bone, or remove it.",
            metavar="bone|in-place",
        ),
    ] = None,
    parquet: Annotated[
        bool,
        Option(
            "Write Parquet tables of frames, motions, labels and skeletons, with a data card.",
            "--parquet",
        ),
    ] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Write the motions and labels of a library into a folder.

    Writes one file per motion and labels.csv; for a game engine, one file with all takes, a
    manifest and instructions; with --parquet, tables for pandas, Polars and datasets.load_dataset.
    """
    library = open_library(lib)
    chosen: dict[str, Any] = motion_choice(choice)
    count = len(library.select(**chosen))
    target: Any = "parquet" if parquet else training_set if to == "training-set" else to
    with progress("exporting", count) as advance:
        files = library.export(
            folder, game=game, to=target, cut=cut, preset=preset,
            root=root, fps=fps, **chosen, progress=advance,
        )  # fmt: skip
    manifest = next((file for file in files if file.name == "takes.json"), None)
    if json:
        print_json({"folder": str(folder), "motions": count, "files": len(files)})
    elif manifest is not None:
        _print_game(manifest, files)
    elif to == "training-set":
        about = loads(next(f for f in files if f.name == "manifest.json").read_text("utf-8"))
        times = ", ".join(
            f"{name} {value / 60:.1f} min" for name, value in about["seconds"].items()
        )
        remark(
            f"{counted(len(about['takes']), 'take')} chosen, {len(about['excluded'])} excluded: "
            + times
        )
    else:
        parts = f" as {counted(len(files) - 1, 'part')}" if cut else ""  # without labels.csv
        remark(f"{counted(count, 'motion')} written to {folder}{parts}")


def _print_game(manifest: Path, files: list[Path]) -> None:
    """Print the size and error of an export to a game engine."""
    about = loads(manifest.read_text(encoding="utf-8"))
    size = sum(file.stat().st_size for file in files) / 1e6
    frames = sum(take["frames"] for take in about["takes"])
    remark(
        f"{counted(len(about['takes']), 'take')}, {frames} frames at {about['fps']:g} fps; "
        f"{size:.2f} MB; all joints within {about['error_mm']:.3f} mm"
    )
    remark(f"{counted(len(files), 'file')} written to {manifest.parent}; see README.md")


def _remark_times(lib: Library, rules: Any) -> None:
    """Say so if tables label segments of motions, because an import labels whole motions."""
    from motionloom.library.annotations import count_segment_rows

    for rule in rules if isinstance(rules, tuple | list) else [rules]:
        if timed := count_segment_rows(str(rule)):
            remark(
                f"labels   times in {counted(timed, 'row')} of {rule} were ignored; for labels of "
                f"segments, run motionloom label {lib.path} --import {rule}"
            )


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
        "left_out": dict(report.left_out),
        "carriers": dict(report.carriers),
        "unusual_heights": dict(report.unusual_heights),
        "library": {
            "path": str(lib.path),
            "motions": len(lib),
            "frames": lib.store.frames,
            "seconds": lib.store.seconds,
            "fps": lib.store.fps,
            "store": lib.store.files.address if lib.store.files.remote else None,
        },
    }


def _print_report(report: ImportReport, lib: Library) -> None:
    from motionloom.library import left_out_lines

    # A missing extra is the same problem for all files, and one installation solves it.
    extras = Counter(bad.reason for bad in report.failed if _EXTRA in bad.reason)
    for reason, count in extras.items():
        remark(f"failed   {counted(count, 'file')}: {reason}")
    failed = [bad for bad in report.failed if bad.reason not in extras]
    for bad in failed[:_SHOWN_FAILURES]:
        remark(f"failed   {bad.file}: {bad.reason}")
    if len(failed) > _SHOWN_FAILURES:
        remark(f"         ... and {len(failed) - _SHOWN_FAILURES} more (see --json)")
    if report.unmatched_labels:
        some = ", ".join(report.unmatched_labels[:3])
        remark(f"labels   {len(report.unmatched_labels)} rows do not match any file: {some} ...")
    for line in left_out_lines(report.left_out):
        remark(f"skipped  {line}")
    for names, count in report.carriers.items():
        remark(f"root     {names} merged into the hips in {counted(count, 'motion')}")
    for height, motions in _by_height(report.unusual_heights).items():
        remark(
            f"height   {height} m in {counted(len(motions), 'motion')} ({motions[0]}"
            f"{', ...' if len(motions) > 1 else ''}): if that is wrong, import again with --unit"
        )
    changed = f", {report.replaced} of them changed" if report.replaced else ""
    remark(f"added    {report.added}{changed} ({report.frames} frames)")
    remark(f"skipped  {report.skipped} unchanged")
    remark(f"failed   {len(report.failed)}")
    remark(
        f"library  {lib.path}: {counted(len(lib), 'motion')}, {_spell(lib.store.seconds)}, "
        f"in {report.elapsed_seconds:.1f} s"
    )
    if lib.store.files.remote:
        remark(f"store    {lib.store.files.address}")


def _by_height(heights: Mapping[str, float]) -> dict[str, list[str]]:
    """Group motions by height, rounded to two digits."""
    groups: dict[str, list[str]] = {}
    for name, height in sorted(heights.items()):
        groups.setdefault(f"{height:.2g}", []).append(name)
    return groups


def _spell(seconds: float) -> str:
    if seconds < 120.0:
        return f"{seconds:.1f} s of motion"
    if seconds < 7200.0:
        return f"{seconds / 60.0:.1f} min of motion"
    return f"{seconds / 3600.0:.2f} h of motion"
