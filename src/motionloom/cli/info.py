"""``motionloom info``: contents of a file or library, and how a file was read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from motionloom.cli.arguments import is_library, motion_from
from motionloom.cli.options import JSON
from motionloom.cli.settings_options import settings_options
from motionloom.cli.terminal import print_json
from motionloom.formats.settings import LoadSettings

if TYPE_CHECKING:
    from motionloom.library import Library
    from motionloom.motion import Motion


@settings_options
def info(
    file: Annotated[str, typer.Argument(metavar="FILE|LIB|LIB:NAME", help="What to describe.")],
    settings: LoadSettings,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Show frames, rate, unit, height, joints, their roles, and what was repaired.

    Of a library: its motions and their labels.
    """
    if is_library(file):
        _library_info(file, json=json)
        return
    from motionloom.formats.report import motion_facts

    motion = motion_from(file, settings)
    facts = motion_facts(motion)
    if json:
        print_json(facts)
    else:
        _print_table(motion, facts)


def library_facts(library: Library) -> dict[str, Any]:
    """What ``info LIB --json`` prints."""
    entries = library.entries()
    return {
        "library": str(library.path),
        "motions": [
            {
                "name": entry.name,
                "frames": entry.frames,
                "fps": entry.fps,
                "seconds": entry.seconds,
                "labels": list(library.labels(entry.name)),
            }
            for entry in entries
        ],
        "frames": library.frames,
        "seconds": library.seconds,
        "skeletons": len({entry.skeleton for entry in entries}),
        "labels": library.label_counts(),
        "parametric": list(library.parametric_names),
    }


def _library_info(path: str, *, json: bool) -> None:
    from motionloom.library import Library

    with Library(path) as library:
        facts = library_facts(library)
    if json:
        print_json(facts)
    else:
        _print_library(facts)


def _print_library(facts: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    motions, labels = facts["motions"], facts["labels"]
    rates = sorted({motion["fps"] for motion in motions})
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    rows = [
        ("library", facts["library"]),
        ("motions", f"{len(motions)}, {facts['frames']} frames, {facts['seconds'] / 60:.1f} min"),
        ("rates", ", ".join(f"{fps:g}" for fps in rates) + " fps" if rates else "none"),
        ("skeletons", facts["skeletons"]),
        ("labels", ", ".join(f"{name} ({n})" for name, n in labels.items()) or "none"),
        ("parametric", ", ".join(facts["parametric"]) or "none"),
    ]
    for key, value in rows:
        table.add_row(f"[bold]{key}[/]", escape(str(value)))
    console.print(table)
    listing = Table(box=None, padding=(0, 2, 0, 0))
    listing.add_column("motion")
    listing.add_column("frames", justify="right")
    listing.add_column("fps", justify="right")
    listing.add_column("seconds", justify="right")
    listing.add_column("labels")
    for motion in motions:
        listing.add_row(
            escape(motion["name"]),
            str(motion["frames"]),
            f"{motion['fps']:g}",
            f"{motion['seconds']:.2f}",
            escape(", ".join(motion["labels"])),
        )
    if motions:
        console.print(listing)


def _print_table(motion: Motion, facts: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    height = f"{facts['height_m']:.2f} m" if facts["height_m"] else "unknown"
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    rows = [
        ("motion", facts["name"]),
        ("frames", f"{facts['frames']} at {facts['fps']:g} fps = {facts['seconds']:.2f} s"),
        ("unit", f"1 = {facts['unit_m']:g} m  ({facts['unit_reason'] or 'metres'})"),
        ("height", height),
        ("axes", f"up {facts['up']}, at rest facing {facts['facing'] or 'unknown'}"),
        (
            "T-pose",
            "frame 0, kept as the rest pose" if facts["tpose_frame"] == 0 else "none",
        ),
        ("joints", f"{facts['joints']} and {len(facts['end_sites'])} end sites"),
        ("roles", f"{len(facts['roles'])} by {facts['role_scheme']}"),
        ("missing roles", ", ".join(facts["missing_roles"]) or "none"),
    ]
    rows += [("repaired", repair) for repair in facts["repairs"]]
    rows += [("warning", warning) for warning in facts["warnings"]]
    for key, value in rows:
        table.add_row(f"[bold]{key}[/]", escape(str(value)))
    console.print(table)
    console.print(_joint_tree(motion))


def _joint_tree(motion: Motion):
    """The joints as a tree, with their roles."""
    from rich.markup import escape
    from rich.tree import Tree

    role_of = {name: role for role, name in motion.skeleton.roles.items()}

    def label(name: str) -> str:
        role = role_of.get(name)
        return escape(name) + (f" [green]{role}[/]" if role else "")

    skeleton = motion.skeleton
    tree = Tree(label(skeleton.names[0]))
    branches = [tree]
    for joint in range(1, len(skeleton)):
        branches.append(branches[skeleton.parents[joint]].add(label(skeleton.names[joint])))
    for end, parent in enumerate(skeleton.end_parents):
        branches[parent].add(f"[dim]{label(skeleton.end_names[end])}[/]")
    return tree
