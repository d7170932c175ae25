"""``motionloom clean``: remove foot skate, and report how far the feet slide."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from click.exceptions import Exit

from motionloom.cli.arguments import check_targets, is_library, motion_from, motions_in
from motionloom.cli.command import Argument, Option
from motionloom.cli.options import JSON, writes
from motionloom.cli.terminal import print_json, print_table, progress, remark
from motionloom.errors import InvalidInput, MotionloomError
from motionloom.formats.settings import CleanSettings

if TYPE_CHECKING:
    from motionloom.motion import Motion


@dataclass(frozen=True)
class Cleaned:
    """Result for one motion: a table row, or an object in the JSON list."""

    motion: str
    file: str
    slide_before_cm: float | None  # None: no foot contact found
    slide_after_cm: float | None
    speed_before_cm_s: float | None
    speed_after_cm_s: float | None
    contacts: int
    skating_contacts: int
    frames: int
    frames_changed: int
    mean_angle_change_degrees: float
    max_angle_change_degrees: float


def clean(
    source: Annotated[
        str,
        Argument("File, folder, library or motion to clean.", metavar="FILE|FOLDER|LIB|LIB:NAME"),
    ],
    output: Annotated[
        Path,
        Option("Output file, or a folder for several motions.", "-o --output", metavar="OUT"),
    ],
    settings: CleanSettings,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Remove foot skate, and print how far the feet slide before and after, in centimeters."""
    if Path(source).is_dir():
        rows, failed = _clean_all(Path(source), output, settings, quiet=json)
    else:
        if not output.is_dir():
            writes("motion")(output)
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
    bare = [row.motion for row in rows if not row.contacts]
    if bare:
        remark(f"no foot contacts found, feet unchanged: {', '.join(bare)}")
    for row in failed:
        remark(f"failed   {row['file']}: {row['reason']}")
    if failed:
        raise Exit(1)


def _clean_all(
    place: Path, output: Path, settings: CleanSettings, *, quiet: bool
) -> tuple[list[Cleaned], list[dict[str, str]]]:
    """Clean every motion of a folder or library, and reproduce its structure below `output`."""
    if output.suffix and not output.is_dir():
        raise InvalidInput(f"{output}: {place} is a folder, so the output must also be a folder")
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
    """Return the suffix of the source if motionloom can write that format, otherwise ``.bvh``."""
    from motionloom.formats import FORMATS

    suffix = ".bvh" if is_library(place) else Path(source).suffix
    return suffix if "motion" in FORMATS[suffix.lower()].writes else ".bvh"


def _cleaned(motion: Motion, target: Path, settings: CleanSettings) -> Cleaned:
    """Clean one motion and write it to `target`."""
    import numpy as np

    from motionloom.motion.feet.clean import clean_feet

    thresholds = {each.name: getattr(settings, each.name) for each in fields(settings)}
    ease = thresholds.pop("ease")
    moved, report = clean_feet(motion, contacts=motion.contacts(**thresholds), ease=ease)
    target.parent.mkdir(parents=True, exist_ok=True)
    moved.save(target)
    plants = [plant for each in report.contacts.plants.values() for plant in each]
    return Cleaned(
        motion=motion.name,
        file=str(target),
        slide_before_cm=_centimeters(report.slide_before_m),
        slide_after_cm=_centimeters(report.slide_after_m),
        speed_before_cm_s=_centimeters(report.speed_before_m_s),
        speed_after_cm_s=_centimeters(report.speed_after_m_s),
        contacts=len(plants),
        skating_contacts=sum(plant.skating for plant in plants),
        frames=len(motion),
        frames_changed=report.frames_changed,
        mean_angle_change_degrees=float(np.degrees(report.mean_angle_change)),
        max_angle_change_degrees=float(np.degrees(report.max_angle_change)),
    )


def _centimeters(meters: float | None) -> float | None:
    return None if meters is None else 100.0 * meters


def _mean(values: list[float | None]) -> float | None:
    """Return the mean of the values that are not None, or None if there are none."""
    numbers = [value for value in values if value is not None]
    return sum(numbers) / len(numbers) if numbers else None


def _print_table(rows: list[Cleaned]) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("motion")
    for head in ("contacts", "skating", "slide before", "after", "foot speed before", "after"):
        table.add_column(head, justify="right")
    table.add_column("file", overflow="fold")

    def figures(of: list[Cleaned]) -> list[str]:
        keys = ("slide_before_cm", "slide_after_cm", "speed_before_cm_s", "speed_after_cm_s")
        means = [_mean([getattr(r, key) for r in of]) for key in keys]
        units = ("cm", "cm", "cm/s", "cm/s")
        cells = [
            "none found" if v is None else f"{v:.2f} {u}" for v, u in zip(means, units, strict=True)
        ]
        totals = [sum(r.contacts for r in of), sum(r.skating_contacts for r in of)]
        return [*map(str, totals), *cells]

    for r in rows:
        table.add_row(escape(r.motion), *figures([r]), escape(r.file))
    if len(rows) > 1:
        table.add_row("[bold]mean[/]", *figures(rows), "")
    print_table(table)
