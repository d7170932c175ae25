"""``motionloom doctor``: the full examination of a file, or of a folder of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from motionloom.cli.arguments import motion_from
from motionloom.cli.info import motion_facts
from motionloom.cli.terminal import print_json, progress, remark
from motionloom.errors import InvalidInput, MotionloomError

if TYPE_CHECKING:
    from motionloom.motion import Motion

_SIGNS = {"fault": "[red]fault[/]", "doubt": "[yellow]doubt[/]", "note": "[dim]note[/]"}


def doctor(
    file: Annotated[str, typer.Argument(metavar="FILE|FOLDER|LIB:NAME", help="What to examine.")],
    unit: Annotated[str | None, typer.Option(help="Overrule the unit.")] = None,
    fps: Annotated[float | None, typer.Option(help="Overrule the frame rate.")] = None,
    up: Annotated[str | None, typer.Option(help="Overrule the up axis.")] = None,
    roles: Annotated[Path | None, typer.Option(help="Mapping file: role to joint.")] = None,
    fix: Annotated[
        Path | None,
        typer.Option(
            metavar="OUT", help="Write the repaired motion (for a folder: motions) there."
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="OUT.html", help="Write one self-contained page.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """Examine files: unit, axes, rate, sides, floor, flips.

    Says what looks wrong, how it knows, and what to do about it.
    """
    given: dict[str, Any] = {"unit": unit, "fps": fps, "up": up, "roles": roles}
    options = {key: value for key, value in given.items() if value is not None}
    patients = _patients(file)
    reports, failed, pages = [], [], []
    with progress("examining", len(patients), quiet=json or len(patients) == 1) as advance:
        for name in patients:
            try:
                motion = motion_from(name, **options)
            except MotionloomError as error:
                if len(patients) == 1:
                    raise
                failed.append({"file": name, "reason": str(error)})
                continue
            report = examination_report(motion, name)
            if fix is not None:
                report["fixed"] = _fix(motion, name, file, fix)
            if html is not None:
                pages.append((motion, report))
            reports.append(report)
            advance()
    if html is not None:
        from motionloom.plots.doctor_page import write_doctor_page

        write_doctor_page(pages, html)
        remark(f"wrote {html}")
    if json:
        print_json(reports[0] if Path(file).is_file() or ":" in file else
                   {"files": reports, "failed": failed})  # fmt: skip
    else:
        for report in reports:
            _print_report(report, brief=len(patients) > 1)
        for failure in failed:
            remark(f"motionloom: {failure['reason']}")
    if failed:
        raise typer.Exit(1)


def examination_report(motion: Motion, name: str) -> dict[str, Any]:
    """What `doctor --json` prints of one motion: the facts of `info`, and the findings."""
    from motionloom.motion.examination import Body, examine
    from motionloom.motion.quality import foot_slide

    facts = motion_facts(motion)
    findings = examine(motion)
    contacts = Body(motion).contacts
    alarms = [finding.message for finding in findings if finding.severity != "note"]
    return {
        "file": name,
        **facts,
        "floor_m": contacts.floor if contacts else None,
        "foot_slide_m": foot_slide(motion, contacts).per_contact_m if contacts else None,
        "warnings": alarms + [w for w in facts["warnings"] if w not in alarms],
        "findings": [vars(finding) for finding in findings],
    }


def _patients(text: str) -> list[str]:
    """The files to examine: one, or all motion files of a folder, in order."""
    from motionloom.formats import is_motion_file

    folder = Path(text)
    if not folder.is_dir():
        return [text]
    files = sorted(str(f) for f in folder.rglob("*") if f.is_file() and is_motion_file(f))
    if not files:
        raise InvalidInput(f"{text}: no motion files in this folder")
    return files


def _fix(motion: Motion, name: str, given: str, out: Path) -> dict[str, Any]:
    from motionloom.motion.mending import mend

    mended, done = mend(motion)
    target = out
    if Path(given).is_dir():
        target = out / Path(name).relative_to(given).with_suffix(".bvh")
    mended.save(target)
    return {"file": str(target), "done": [*motion.origin.repairs, *done]}


def _print_report(report: dict[str, Any], *, brief: bool) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    height = f"{report['height_m']:.2f} m" if report["height_m"] else "unknown height"
    console.print(
        f"[bold]{escape(report['file'])}[/]  {report['frames']} frames at {report['fps']:g} fps, "
        f"{height}, names by {report['role_scheme']}"
    )
    if not brief:
        console.print(f"  unit    1 = {report['unit_m']:g} m  ({escape(report['unit_reason'])})")
        console.print(
            f"  axes    up {report['up']}, at rest facing {report['facing'] or 'unknown'}"
        )
        if report["floor_m"] is not None:
            console.print(f"  floor   balls of the feet stand at {100 * report['floor_m']:.1f} cm")
            console.print(f"  feet    slide {100 * report['foot_slide_m']:.1f} cm per contact")
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for finding in report["findings"]:
        advice = f"\n[dim]{escape(finding['advice'])}[/]" if finding["advice"] else ""
        table.add_row("", _SIGNS[finding["severity"]], escape(finding["message"]) + advice)
    if report["findings"]:
        console.print(table)
    else:
        console.print("  [green]healthy[/]")
    if "fixed" in report:
        done = "; ".join(report["fixed"]["done"]) or "nothing to mend"
        console.print(f"  wrote {escape(report['fixed']['file'])}: {escape(done)}")
