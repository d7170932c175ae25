"""``motionloom label``: labels of motions and segments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from motionloom.cli.command import Argument, Option
from motionloom.cli.options import JSON, LIB, open_library, writes
from motionloom.cli.terminal import counted, print_json, remark
from motionloom.errors import InvalidInput
from motionloom.motion.segment import split_segment


def label(
    library: Annotated[Path, LIB],
    motion: Annotated[
        str | None,
        Argument(
            "A motion, or a range of frames or seconds (1s-3s).", metavar="MOTION[:START-END]"
        ),
    ] = None,
    labels: Annotated[list[str] | None, Argument("Labels to add.", metavar="LABEL")] = None,
    remove: Annotated[
        bool, Option("Remove the labels instead of adding them.", "--remove")
    ] = False,
    from_file: Annotated[
        Path | None,
        Option("Add the labels of a .csv, .eaf (ELAN) or .json file.", "--import", metavar="FILE"),
    ] = None,
    to_file: Annotated[
        Path | None,
        Option(
            "Write all labels, or the labels of MOTION, to a .csv, .eaf or .json file.",
            "--export",
            metavar="FILE",
            check=writes(".csv", ".eaf", ".json"),
        ),
    ] = None,
    captions: Annotated[
        bool, Option("Print automatic captions: events found by fixed rules.", "--captions")
    ] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Add labels to a library motion or to a range of its frames, or remove labels.

    Without labels, print the existing ones and the measured gait: stand, walk, jog or run.
    """
    from motionloom.library import gait_segments

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
                + (f"; {skipped} rows do not match any motion of the library" if skipped else "")
            )
        return
    if to_file is not None:
        count = lib.labels.write(to_file, only=motion)
        print_json({"file": str(to_file), "labels": count}) if json else remark(
            f"{counted(count, 'label')} written to {to_file}"
        )
        return
    if motion is None:
        raise InvalidInput("name a motion of the library, or use --import or --export")
    if labels:
        (lib.labels.remove if remove else lib.labels.add)(motion, *labels)
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
                 "text": e.text, "count": e.count, "confidence": e.confidence}
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
