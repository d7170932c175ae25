"""``import``, ``export``, ``find``, ``clusters``, ``label``, ``undo``, ``studio``: libraries."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from motionloom.cli.options import EXPORT, JSON, LIB, TO, export_clips, open_library
from motionloom.cli.settings_options import settings_options
from motionloom.cli.terminal import counted, print_json, progress, remark
from motionloom.cli.wording import worded
from motionloom.errors import InvalidInput
from motionloom.library.settings import ClusterSettings, FindSettings, ImportSettings
from motionloom.motion.segment import split_segment
from motionloom.settings import MotionChoice, motion_choice

if TYPE_CHECKING:
    from motionloom.library import ImportReport, Library, TextMatch


_SHOWN_FAILURES = 50


@settings_options
def import_(
    library: Annotated[
        Path, typer.Argument(metavar="LIB", help="The library, a folder; created if new.")
    ],
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Motion files and folders.")
    ],
    settings: ImportSettings,
    store: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="For a new library: object store for frames and artifacts, s3://bucket/prefix, "
            "gs://..., file://... [default: in LIB]",
        ),
    ] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Import motion files into a library.

    Folders are searched recursively. Files that the library has already are skipped: run the same
    command again to resume an interrupted import or to import what has changed. Files that cannot
    be read are listed at the end, with the reason; the exit code is then 1.
    """
    from motionloom.library import Library

    count = len(Library.find_files(*paths))  # raises before an empty library is created
    lib = Library.create(library, fps=settings.fps, store=store, exist_ok=True)
    with progress("importing", count) as advance:
        report = lib.add(*paths, **settings.arguments(), progress=advance)
    if json:
        print_json(_as_dict(report, lib))
    else:
        _print_report(report, lib)
    if report.failed:
        raise typer.Exit(1)


@settings_options
def export(
    lib: Annotated[Path, LIB],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new or empty folder.")],
    choice: MotionChoice,
    to: Annotated[
        str, typer.Option(metavar="SUFFIX", help="Format of the motion files, one per motion.")
    ] = "bvh",
    parquet: Annotated[
        bool,
        typer.Option(
            "--parquet", help="Tables of frames, motions, labels and skeletons with a data card."
        ),
    ] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Write the motions and labels of a library into a folder.

    One file per motion and labels.csv, or, with --parquet, tables that pandas, Polars and
    datasets.load_dataset read.
    """
    library = open_library(lib)
    chosen = motion_choice(choice)
    count = len(library.select(**chosen))
    with progress("exporting", count) as advance:
        written = library.export(
            folder, to="parquet" if parquet else to, **chosen, progress=advance
        )
    if json:
        print_json({"folder": str(written), "motions": count})
    else:
        remark(f"{counted(count, 'motion')} written to {written}")


def _as_dict(report: ImportReport, lib: Library) -> dict:
    return {
        "added": report.added,
        "replaced": report.replaced,
        "skipped": report.skipped,
        "failed": [{"file": bad.file, "reason": worded(bad.reason)} for bad in report.failed],
        "frames": report.frames,
        "seconds": report.seconds,
        "elapsed_seconds": round(report.elapsed_seconds, 3),
        "labels_without_file": len(report.unmatched_labels),
        "left_out": dict(report.left_out),
        "carriers": dict(report.carriers),
        "library": {
            "path": str(lib.path),
            "motions": len(lib),
            "frames": lib.frames,
            "seconds": lib.seconds,
            "fps": lib.fps,
            "store": lib.files.address if lib.files.remote else None,
        },
    }


def _print_report(report: ImportReport, lib: Library) -> None:
    from motionloom.library import left_out_lines

    for bad in report.failed[:_SHOWN_FAILURES]:
        remark(f"failed   {bad.file}: {bad.reason}")
    if len(report.failed) > _SHOWN_FAILURES:
        remark(f"         ... and {len(report.failed) - _SHOWN_FAILURES} more (see --json)")
    if report.unmatched_labels:
        some = ", ".join(report.unmatched_labels[:3])
        remark(f"labels   {len(report.unmatched_labels)} rows name no file: {some} ...")
    for line in left_out_lines(report.left_out):
        remark(f"left out {line}")
    for names, count in report.carriers.items():
        remark(f"root     the hips; {names} above them in {counted(count, 'file')}")
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


@settings_options
def find(
    library: Annotated[Path, LIB],
    words: Annotated[list[str], typer.Argument(metavar="TEXT", help="What to look for.")],
    settings: FindSettings,
    *,
    export: Annotated[Path | None, EXPORT] = None,
    to: Annotated[str, TO] = "bvh",
    json: Annotated[bool, JSON] = False,
) -> None:
    """Find motions by describing them: "right foot kicks high, then turns left".

    Motions whose name or labels contain all words come first; the others are found by what they
    show, and by words that motions like them are called. The segment with the events is printed.
    """
    lib = open_library(library)
    if not len(lib):
        raise InvalidInput(f"{library}: the library is empty; import motions first")
    text = " ".join(words)
    with progress("describing", len(lib), quiet=json) as advance:
        found = lib.find(text, **settings.arguments(), progress=advance)
    if not found and found.unknown:
        unknown = ", ".join(repr(word) for word in found.unknown)
        raise InvalidInput(
            f"no motion is described by {unknown}; texts are English, or words of your own labels"
        )
    # Motions in which nothing of the text was found are ranked as well, last.
    shown = [each for each in found if each.sources] or list(found)
    # Of a motion that is neither called so nor shows it anywhere there is nothing to cut out.
    clips = [each for each in shown if not each.whole or {"name", "label"} & set(each.sources)]
    export_clips(lib, clips, export, to, quiet=json)
    if json:
        print_json([_found(lib, each) for each in shown])
        return
    for each in shown:
        place = each.motion if each.whole else str(each)
        print("  ".join([place, each.text or ", ".join(lib.labels[each.motion])]).rstrip())
    for word, near in found.unknown.items():
        remark(f"no motion is described by {word!r}" + (f"; {near!r} was looked for" * bool(near)))
    remark(f"{counted(len(shown), 'result')} of {counted(len(lib), 'motion')}")


def _found(lib: Library, each: TextMatch) -> dict:
    return {
        "motion": each.motion,
        "labels": list(lib.labels[each.motion]),
        "start_frame": each.start_frame,
        "end_frame": each.end_frame,
        "start": round(each.start, 3),
        "end": round(each.end, 3),
        "score": round(each.score, 3),
        "text": each.text,
        "words": list(each.words),
        "sources": list(each.sources),
    }


def label(
    library: Annotated[Path, LIB],
    motion: Annotated[
        str | None,
        typer.Argument(
            metavar="MOTION[:START-END]", help="A motion, or frames (1s-3s: seconds) of it."
        ),
    ] = None,
    labels: Annotated[
        list[str] | None, typer.Argument(metavar="LABEL", help="Labels to add.")
    ] = None,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove the labels instead of adding them.")
    ] = False,
    from_file: Annotated[
        Path | None,
        typer.Option(
            "--import", metavar="FILE", help="Add the labels of a .csv, .eaf (ELAN) or .json file."
        ),
    ] = None,
    to_file: Annotated[
        Path | None,
        typer.Option(
            "--export", metavar="FILE", help="Write all labels, or those of MOTION, to such a file."
        ),
    ] = None,
    captions: Annotated[
        bool, typer.Option("--captions", help="Print what the motion shows, found by rule.")
    ] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Add labels to a motion of a library, or to some frames of it, or remove them.

    Without labels, print those it has, and the gait that was measured: stand, walk, jog, run.
    """
    lib = open_library(library)
    if from_file is not None:
        report = lib.labels.read(from_file)
        if json:
            print_json(report)
        else:
            skipped = report["unmatched"]
            remark(
                f"added {counted(report['labels'], 'label')} to "
                f"{counted(report['motions'], 'motion')}"
                + (f"; {skipped} rows name no motion of the library" if skipped else "")
            )
        return
    if to_file is not None:
        count = lib.labels.write(to_file, only=motion)
        print_json({"file": str(to_file), "labels": count}) if json else remark(
            f"{counted(count, 'label')} written to {to_file}"
        )
        return
    if motion is None:
        raise InvalidInput("name a motion of the library, or give --import or --export")
    if labels:
        lib.labels.remove(motion, *labels)
    name = lib.store.entry(motion if motion in lib else split_segment(motion)[0]).name
    segments = [{"segment": str(part), "label": text} for part, text in lib.labels.segments(name)]
    gaits = (
        []
        if labels
        else [{"gait": g, "start": a, "end": b} for g, a, b in gait_segments(lib[name])]
    )
    shown = lib.captions[name] if captions else []
    if json:
        measured: dict = {} if labels else {"gaits": gaits}
        if captions:
            measured["captions"] = [
                {"start": round(e.start, 3), "end": round(e.end, 3), "event": e.name,
                 "text": e.text, "count": e.count}
                for e in shown
            ]  # fmt: skip
        all_labels = {"labels": list(lib.labels[name]), "segments": segments}
        print_json({"motion": name, **all_labels, **measured})
        return
    print("  ".join([name, *lib.labels[name]]))
    for each in segments:
        print(f"{each['segment']}  {each['label']}")
    for event in shown:
        print(event)
    if gaits:
        measured_text = ", ".join(f"{g['gait']} {g['start']}-{g['end']}" for g in gaits)
        remark(f"gait measured: {measured_text}")


@settings_options
def clusters(
    library: Annotated[Path, LIB],
    settings: ClusterSettings,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Put takes that are alike into clusters, with a name for each from captions.

    For a first look at takes without labels. Prints the number of takes, the kind, whether there is
    a rhythm, the name, and the most typical takes of each cluster, the largest first.
    """
    lib = open_library(library)
    with progress("describing", len(lib), quiet=json) as advance:
        found = lib.clusters(**settings.arguments(), progress=advance)
    if json:
        print_json(
            [
                {
                    "name": one.name,
                    "kind": one.kind,
                    "motions": list(one.motions),
                    "seconds": round(one.seconds, 3),
                    "spread": round(one.spread, 3),
                    "rhythmic": one.rhythmic,
                }
                for one in found
            ]
        )
        return
    for one in found:
        some = ", ".join(one.motions[:3]) + (", ..." if len(one) > 3 else "")
        rhythm = "rhythm" if one.rhythmic else ""
        print(f"{len(one):5}  {one.kind:<11}{rhythm:<7}{one.name:<20}{some}")
    remark(f"{counted(len(found), 'cluster')} of {counted(sum(map(len, found)), 'motion')}")


def undo(
    library: Annotated[Path, LIB],
    redo: Annotated[bool, typer.Option("--redo", help="Do again what was undone last.")] = False,
    listed: Annotated[
        bool, typer.Option("--list", help="List what can be undone and redone; change nothing.")
    ] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Undo the latest change of a library: an import, labels, removed or renamed takes, beats.

    Call it again for the change before. The latest 100 changes can be undone, also those of the
    studio and of Python, until the trash of the library is emptied.
    """
    lib = open_library(library)
    if not listed:
        change = lib.redo() if redo else lib.undo()
        if json:
            print_json({"what": change.what, "names": list(change.names), "undone": change.undone})
        else:
            remark(f"{'redone' if redo else 'undone'}   {change}")
        return
    changes = lib.history()
    if json:
        print_json(
            [{"what": one.what, "names": list(one.names), "undone": one.undone} for one in changes]
        )
    for one in () if json else changes:
        print(f"{'redo' if one.undone else 'undo'}  {one}")


def studio(
    lib: Annotated[
        Path | None,
        typer.Argument(
            metavar="LIB",
            help="The library; a new name.loom is created. Without it the page begins with a "
            "choice: recent libraries, those of this folder, a new one.",
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0: any free port.")] = 8765,
    token: Annotated[
        str | None,
        typer.Option(envvar="MOTIONLOOM_TOKEN", help="Token of every request. [generated]"),
    ] = None,
    no_token: Annotated[
        bool,
        typer.Option("--no-token", help="Without a token: for every user of this machine."),
    ] = False,
    name: Annotated[
        list[str] | None, typer.Option(help="Further host name of the server; may be repeated.")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
) -> None:
    """Open the studio in a browser.

    On this machine, the page can also open your recent libraries and those of the current folder,
    and make new ones there. The printed address contains a token, without which no request is
    answered: other users of this machine can connect, too.
    """
    if no_token and token is not None:
        raise InvalidInput("--token and --no-token exclude each other")
    try:
        from motionloom.studio import serve
    except ModuleNotFoundError as missing:
        raise InvalidInput(
            f"the studio needs {missing.name}; install it with: pip install 'motionloom[studio]'"
        ) from None
    if lib is not None and lib.suffix == ".loom" and not lib.exists():
        from motionloom.library import Library

        Library.create(lib).close()
        remark(f"library  {lib}: created; drop takes on the page to import them")
    serve(
        lib,
        host=host,
        port=port,
        token=False if no_token else token,
        names=tuple(name or ()),
        open_browser=browser,
        report=lambda line: print(line, flush=True),
    )
    if any(not one.daemon for one in threading.enumerate() if one is not threading.main_thread()):
        # A response without a client is still being computed; files are written atomically.
        sys.stdout.flush()
        os._exit(0)
