"""``motionloom doctor``: diagnostics of a file, folder or library."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from click.exceptions import Exit

from motionloom.cli.arguments import (
    check_targets,
    motion_from,
    motions_in,
    print_failure,
    print_left_out_files,
)
from motionloom.cli.command import Argument, Option
from motionloom.cli.options import JSON, PAGES, writes
from motionloom.cli.terminal import counted, print_json, print_table, progress, remark, styled
from motionloom.errors import MotionloomError
from motionloom.formats.settings import LoadSettings

if TYPE_CHECKING:
    from motionloom.motion import Motion

_SEVERITIES = {"error": "[red]error[/]", "warning": "[yellow]warning[/]", "info": "[dim]info[/]"}


def doctor(
    files: Annotated[
        list[str],
        Argument(
            "Files, folders or libraries to check; for several, a summary is printed.",
            metavar="FILE|FOLDER|LIB|LIB:NAME...",
        ),
    ],
    settings: LoadSettings,
    fix: Annotated[
        Path | None,
        Option("Write the repaired motion to this file, or several to this folder.", metavar="OUT"),
    ] = None,
    html: Annotated[
        Path | None,
        Option("Write a self-contained HTML report.", metavar="OUT.html", check=writes(*PAGES)),
    ] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Check motions for problems with units, axes, frame rate, left and right, floor and flips.

    Prints each issue with its evidence and a remedy.
    """
    from motionloom.formats.report import add_height_errors, diagnostic_report
    from motionloom.motion.diagnostics.measurements import BallHeights

    folders = [file for file in files if Path(file).is_dir()]
    several = len(files) > 1 or bool(folders)
    motions: list[tuple[str, str]] = []
    failed: list[dict[str, str]] = []
    for file in files:
        if file in folders:
            contents, unreadable = motions_in(Path(file), exclude=fix)
            motions += contents
            failed += unreadable
        else:
            motions.append((file, Path(file.rpartition(":")[2]).stem if several else ""))
    fixed = {name: fix / f"{stem}.bvh" if stem else fix for name, stem in motions} if fix else {}
    check_targets(fixed.items())
    reports, articles, skeletons = [], [], []
    heights = BallHeights()
    with progress("checking", len(motions), quiet=json or not several) as advance:
        for name, _ in motions:
            try:
                motion = motion_from(name, settings)
            except (MotionloomError, OSError) as error:
                if not several:
                    raise
                failed.append({"file": name, "reason": str(error)})
                advance()
                continue
            report = diagnostic_report(motion, name, heights=heights)
            skeletons.append(motion[:0])
            if name in fixed:
                report["fixed"] = _fix(motion, fixed[name])
            if html is not None:
                from motionloom.plots.pages.html_pages import doctor_section

                articles.append(doctor_section(motion, report))
            reports.append(report)
            advance()
    add_height_errors(reports, skeletons, heights)
    if html is not None:
        from motionloom.plots.pages.html_pages import write_doctor_page

        write_doctor_page(articles, html, failed=failed)
        remark(f"wrote {html}")
    if json:
        print_json({"files": reports, "failed": failed} if several else reports[0])
    else:
        for report in reports:
            _print_report(report, brief=several)
        for failure in failed:
            print_failure(failure)
        print_left_out_files(folders)
        if several:
            _print_summary(reports, failed)
    if failed:
        raise Exit(1)


def _fix(motion: Motion, target: Path) -> dict[str, Any]:
    from motionloom.motion.repairs.clean import clean

    repaired, report = clean(motion)
    repaired.save(target)
    return {"file": str(target), "done": [*motion.origin.repairs, *report.lines()]}


# --- tables -------------------------------------------------------------------------------


def _print_report(report: dict[str, Any], *, brief: bool) -> None:
    from rich.markup import escape
    from rich.table import Table

    height = f"{report['height_m']:.2f} m" if report["height_m"] else "unknown height"
    print(
        f"{styled(report['file'], 'bold')}  {report['frames']} frames at {report['fps']:g} fps "
        f"= {report['seconds']:.2f} s, {height}"
    )
    if not brief:
        print_table(_fact_table(report))
        print_table(_joint_map(report))
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    shown = [f for f in report["findings"] if not brief or f["severity"] != "info"]
    for issue in shown:
        advice = f"\n[dim]{escape(issue['advice'])}[/]" if issue["advice"] else ""
        message = escape(issue["message"])
        table.add_row("", _SEVERITIES[issue["severity"]], message + advice)
    messages = {issue["message"] for issue in report["findings"]}
    for warning in report["warnings"]:
        if warning not in messages:
            table.add_row("", _SEVERITIES["warning"], escape(warning))
    if table.row_count:
        print_table(table)
    if not report["warnings"]:
        print(f"  {styled('healthy', 'green')}")
    if "fixed" in report:
        done = "; ".join(report["fixed"]["done"]) or "nothing to repair"
        print(f"  wrote {report['fixed']['file']}: {done}")


def _fact_table(report: dict[str, Any]):
    from rich.markup import escape
    from rich.table import Table

    rows = [
        ("unit", f"1 = {report['unit_m']:g} m  ({report['unit_reason'] or 'meters'})"),
        ("axes", f"up {report['up']}, at rest facing {report['facing'] or 'unknown'}"),
        ("T-pose", "frame 0, used as the rest pose" if report["tpose_frame"] == 0 else "none"),
        ("positions", report["position_channels"]),
    ]
    if report["contacts"] is not None:
        rows.append(("floor", f"balls of the feet at {100 * report['floor_m']:.1f} cm"))
        for side, foot in report["contacts"].items():
            share = f"{100 * foot['standing_share']:.0f} % of the time"
            rows.append((side, f"foot on the ground {counted(foot['contacts'], 'time')}, {share}"))
        slide = report["foot_slide_m"]
        rows.append(
            (
                "feet",
                "no foot contact found"
                if slide is None
                else f"slide {100 * slide:.1f} cm per contact",
            )
        )
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for key, value in rows:
        table.add_row("", f"[bold]{key}[/]", escape(value))
    return table


def _joint_map(report: dict[str, Any]):
    """Build a table of roles, their left and right joints, and the confidence."""
    from rich.markup import escape
    from rich.table import Table

    roles, confidence = report["roles"], report["role_confidence"]

    def cell(role: str) -> tuple[str, str]:
        if role not in roles:
            return "[dim]none[/]", ""
        return escape(roles[role]), f"{confidence[role]:.2f}"

    names = ", ".join([f"names by {report['role_scheme']}", f"{len(roles)} roles"])
    table = Table(title=f"  joints: {escape(names)}", title_justify="left", box=None)
    for heading in ("", "role", "joint", "confidence", "right", "confidence"):
        table.add_column(heading, style="dim" if heading == "confidence" else None)
    parts = [role for role in roles if not role.startswith(("left_", "right_"))]
    for role in parts:
        table.add_row("", role, *cell(role))
    limbs = dict.fromkeys(r.split("_", 1)[1] for r in roles if r.startswith(("left_", "right_")))
    for limb in limbs:
        table.add_row("", limb, *cell(f"left_{limb}"), *cell(f"right_{limb}"))
    return table


def _print_summary(reports: list[dict[str, Any]], failed: list[dict[str, str]]) -> None:
    with_issues = sum(bool(report["warnings"]) for report in reports)
    print(
        f"{counted(len(reports), 'file')}, {len(reports) - with_issues} healthy, "
        f"{with_issues} with issues" + (f", {len(failed)} unreadable" if failed else "")
    )
