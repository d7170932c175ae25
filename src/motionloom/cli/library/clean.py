"""``motionloom clean``: repair takes, and report the repairs and the slide of the feet."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
    repairs: list[dict[str, Any]]
    undone: list[str]  # repairs that did not help


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
    """Repair takes: swapped sides, gaps, flips, twisted joints, jitter, drift, floor and feet.

    Each repair is made only if the take needs it, and is printed with what it measures before and
    after. Takes of one rig in a folder or library show at which height its feet stand.
    """
    options = _options(settings)
    if Path(source).is_dir():
        rows, failed = _clean_all(Path(source), output, options, quiet=json)
    else:
        if not output.is_dir():
            writes("motion")(output)
        motion = motion_from(source)
        target = output / f"{motion.name}.bvh" if output.is_dir() else output
        check_targets([(source, target)])
        rows, failed = [_cleaned(motion, target, options)], []
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
        remark(f"no foot contacts found: {', '.join(bare)}")
    for row in failed:
        remark(f"failed   {row['file']}: {row['reason']}")
    if failed:
        raise Exit(1)


def _clean_all(
    place: Path, output: Path, options: dict[str, Any], *, quiet: bool
) -> tuple[list[Cleaned], list[dict[str, str]]]:
    """Clean every motion of a folder or library, and reproduce its structure below `output`."""
    if output.suffix and not output.is_dir():
        raise InvalidInput(f"{output}: {place} is a folder, so the output must also be a folder")
    from motionloom.motion.diagnostics.measurements import BallHeights, Measurements

    motions, failed = motions_in(place, exclude=output)
    jobs = [(source, output / f"{stem}{_suffix(source, place)}") for source, stem in motions]
    check_targets(jobs)
    heights = BallHeights()
    with progress("measuring", len(jobs), quiet=quiet) as advance:
        for source, _ in jobs:
            with suppress(MotionloomError, OSError):
                heights.add(Measurements(motion_from(source)))
            advance()
    rows = []
    with progress("cleaning", len(jobs), quiet=quiet) as advance:
        for source, target in jobs:
            try:
                motion = motion_from(source)
                own = options | {"ball_height": heights.of(motion)}
                rows.append(_cleaned(motion, target, own))
            except (MotionloomError, OSError) as error:
                failed.append({"file": source, "reason": str(error)})
            advance()
    return rows, failed


def _suffix(source: str, place: Path) -> str:
    """Return the suffix of the source if motionloom can write that format, otherwise ``.bvh``."""
    from motionloom.formats import FORMATS

    suffix = ".bvh" if is_library(place) else Path(source).suffix
    return suffix if "motion" in FORMATS[suffix.lower()].writes else ".bvh"


def _options(settings: CleanSettings) -> dict[str, Any]:
    """Return the options of `motionloom.motion.repairs.clean.clean`."""
    values = {each.name: getattr(settings, each.name) for each in fields(settings)}
    named = {
        name: [word.strip() for word in (values.pop(name) or "").split(",") if word.strip()]
        for name in ("repairs", "skip")
    }
    ease = values.pop("ease")
    return {
        "repairs": named["repairs"] or None,
        "skip": named["skip"],
        "contacts": lambda motion: motion.contacts(**values),
        "ease": ease,
    }


def _cleaned(motion: Motion, target: Path, options: dict[str, Any]) -> Cleaned:
    """Clean one motion and write it to `target`."""
    import numpy as np

    from motionloom.motion.diagnostics.quality import foot_slide
    from motionloom.motion.feet.clean import contact_speed
    from motionloom.motion.repairs.clean import clean

    repaired, report = clean(motion, **options)
    target.parent.mkdir(parents=True, exist_ok=True)
    repaired.save(target)
    contacts = report.contacts
    slides, speeds = [], []
    for each in (motion, repaired):
        planted = contacts if contacts is not None and any(contacts.plants.values()) else None
        slides.append(None if planted is None else foot_slide(each, planted).per_contact_m)
        speeds.append(None if planted is None else contact_speed(each, planted))
    plants = [] if contacts is None else [p for each in contacts.plants.values() for p in each]
    ends = [each.positions(end_sites=True) for each in (motion, repaired)]
    gap = np.linalg.norm(np.nan_to_num(ends[1] - ends[0]), axis=-1).max(axis=1, initial=0.0)
    return Cleaned(
        motion=motion.name,
        file=str(target),
        slide_before_cm=_centimeters(slides[0]),
        slide_after_cm=_centimeters(slides[1]),
        speed_before_cm_s=_centimeters(speeds[0]),
        speed_after_cm_s=_centimeters(speeds[1]),
        contacts=len(plants),
        skating_contacts=sum(plant.skating for plant in plants),
        frames=len(motion),
        frames_changed=int(np.count_nonzero(gap > 1e-3)),
        repairs=[asdict(step) for step in report.steps],
        undone=list(report.undone),
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
    table.add_column("repairs", overflow="fold")
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
        table.add_row(escape(r.motion), *figures([r]), _repairs(r), escape(r.file))
    if len(rows) > 1:
        table.add_row("[bold]mean[/]", *figures(rows), "", "")
    print_table(table)


def _repairs(row: Cleaned) -> str:
    steps = [f"{s['name']} {s['before']:.1f} to {s['after']:.1f} {s['unit']}" for s in row.repairs]
    return "; ".join(steps) or "nothing to repair"
