"""``motionloom clean``: foot-skate removal, with the slide before and after."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from motionloom.cli.arguments import check_targets, is_library, motion_from, motions_in
from motionloom.cli.options import JSON
from motionloom.cli.settings_options import settings_options
from motionloom.cli.terminal import print_json, print_table, progress, remark
from motionloom.errors import InvalidInput, MotionloomError
from motionloom.formats.settings import CleanSettings

if TYPE_CHECKING:
    from motionloom.motion import Motion


@dataclass(frozen=True)
class Cleaned:
    """Result for one motion: a row of the table, an object of the JSON list."""

    motion: str
    file: str
    slide_before_cm: float
    slide_after_cm: float
    contacts: int
    frames: int
    frames_changed: int
    mean_angle_change_degrees: float
    max_angle_change_degrees: float


@settings_options
def clean(
    source: Annotated[
        str, typer.Argument(metavar="FILE|FOLDER|LIB|LIB:NAME", help="What to clean.")
    ],
    output: Annotated[
        Path,
        typer.Option("-o", "--output", help="File to write; a folder where many are read."),
    ],
    settings: CleanSettings,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Remove foot skate, and print the slide in centimetres before and after."""
    if Path(source).is_dir():
        rows, failed = _clean_all(Path(source), output, settings, quiet=json)
    else:
        motion = motion_from(source)
        target = output / f"{motion.name}.bvh" if output.is_dir() else output
        check_targets([(source, target)])
        rows, failed = [_cleaned(motion, target, settings)], []
    if json:
        whole = {
            "motions": [asdict(row) for row in rows],
            "failed": failed,
            "slide_before_cm": _mean([row.slide_before_cm for row in rows]),
            "slide_after_cm": _mean([row.slide_after_cm for row in rows]),
        }
        print_json(whole)
    else:
        _print_table(rows)
    for row in failed:
        remark(f"failed   {row['file']}: {row['reason']}")
    if failed:
        raise typer.Exit(1)


def _clean_all(
    place: Path, output: Path, settings: CleanSettings, *, quiet: bool
) -> tuple[list[Cleaned], list[dict[str, str]]]:
    """Clean every motion of a folder or library, into the same structure below `output`."""
    if output.suffix and not output.is_dir():
        raise InvalidInput(f"{output}: {place} is a folder, so the output must be one too")
    motions, failed = motions_in(place, exclude=output)
    jobs = [(source, output / f"{stem}{_suffix(source, place)}") for source, stem in motions]
    check_targets(jobs)
    rows = []
    with progress("cleaning", len(jobs), quiet=quiet) as advance:
        for source, target in jobs:
            try:
                rows.append(_cleaned(motion_from(source), target, settings))
            except (MotionloomError, OSError) as error:
                failed.append({"file": source, "reason": str(error)})
            advance()
    return rows, failed


def _suffix(source: str, place: Path) -> str:
    """The suffix of the source if that format can be written, else ``.bvh``."""
    from motionloom.formats import FORMATS

    suffix = ".bvh" if is_library(place) else Path(source).suffix
    return suffix if "motion" in FORMATS[suffix.lower()].writes else ".bvh"


def _cleaned(motion: Motion, target: Path, settings: CleanSettings) -> Cleaned:
    """Clean one motion and write it."""
    import numpy as np

    from motionloom.motion.feet.clean import clean_feet

    thresholds = settings.arguments()
    ease = thresholds.pop("ease")
    moved, report = clean_feet(motion, contacts=motion.contacts(**thresholds), ease=ease)
    target.parent.mkdir(parents=True, exist_ok=True)
    moved.save(target)
    return Cleaned(
        motion=motion.name,
        file=str(target),
        slide_before_cm=100.0 * report.slide_before_m,
        slide_after_cm=100.0 * report.slide_after_m,
        contacts=sum(len(plants) for plants in report.contacts.plants.values()),
        frames=len(motion),
        frames_changed=report.frames_changed,
        mean_angle_change_degrees=float(np.degrees(report.mean_angle_change)),
        max_angle_change_degrees=float(np.degrees(report.max_angle_change)),
    )


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _print_table(rows: list[Cleaned]) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("motion")
    for head in ("contacts", "slide before", "after", "angles changed", "file"):
        table.add_column(head, justify="left" if head == "file" else "right")

    def row(name: str, contacts: str, before: float, after: float, angle: str, file: str) -> None:
        table.add_row(name, contacts, f"{before:.2f} cm", f"{after:.2f} cm", angle, file)

    for r in rows:
        row(
            escape(r.motion),
            str(r.contacts),
            r.slide_before_cm,
            r.slide_after_cm,
            f"{r.mean_angle_change_degrees:.1f}°",
            escape(r.file),
        )
    if len(rows) > 1:
        before, after = (
            _mean([getattr(r, key) for r in rows]) for key in ("slide_before_cm", "slide_after_cm")
        )
        angle = _mean([r.mean_angle_change_degrees for r in rows])
        total = str(sum(r.contacts for r in rows))
        row("[bold]mean[/]", total, before, after, f"{angle:.1f}°", "")
    print_table(table)
