"""``motionloom info``: contents of a file or library, and how a file was read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from motionloom.cli.arguments import is_library, motion_from
from motionloom.cli.command import Argument
from motionloom.cli.options import JSON
from motionloom.cli.terminal import print_columns, print_json, styled
from motionloom.errors import InvalidInput
from motionloom.formats.settings import LoadMarkersSettings, LoadSettings
from motionloom.settings import described

if TYPE_CHECKING:
    from motionloom.library import Library
    from motionloom.motion import Motion


def info(
    file: Annotated[
        str, Argument("File, folder, library or motion to describe.", metavar="FILE|LIB|LIB:NAME")
    ],
    settings: LoadSettings,
    of_markers: LoadMarkersSettings,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Show frames, frame rate, unit, height, joints with their roles, and repairs.

    For a library, show its motions and their labels; for a marker file, marker labels and gaps.
    """
    from motionloom.formats import holds_motion, is_marker_file

    if is_library(file):
        _library_info(file, json=json)
        return
    if is_marker_file(Path(file)) and not (settings.layout or holds_motion(Path(file))):
        _marker_info(file, settings, of_markers, json=json)
        return
    from motionloom.formats.report import motion_facts

    motion = motion_from(file, settings)
    facts = motion_facts(motion) | {"takes": _takes(file)}
    if json:
        print_json(facts)
    else:
        _print_motion(motion, facts)


def library_facts(library: Library) -> dict[str, Any]:
    """Return the output of ``info LIB --json``."""
    entries = library.entries()
    return {
        "library": str(library.path),
        "motions": [
            {
                "name": entry.name,
                "frames": entry.frames,
                "fps": entry.fps,
                "seconds": entry.seconds,
                "labels": list(library.labels[entry.name]),
            }
            for entry in entries
        ],
        "frames": library.store.frames,
        "seconds": library.store.seconds,
        "skeletons": len({entry.skeleton for entry in entries}),
        "labels": library.labels.counts(),
        "parametric": list(library.parametric),
    }


def _library_info(path: str, *, json: bool) -> None:
    from motionloom.library import Library

    with Library(path) as library:
        facts = library_facts(library)
    if json:
        print_json(facts)
    else:
        _print_library(facts)


def _marker_info(
    file: str, settings: LoadSettings, of_markers: LoadMarkersSettings, *, json: bool
) -> None:
    from motionloom.formats import load_markers

    for name in settings.changed():
        if name not in described(LoadMarkersSettings):
            raise InvalidInput(f"{file}: marker files do not support {name}")
    markers = load_markers(file, **of_markers.changed())
    origin, missing = markers.origin, 1.0 - float(markers.present.mean())
    facts: dict[str, Any] = {
        "name": markers.name,
        "frames": len(markers),
        "fps": markers.fps,
        "seconds": markers.duration,
        "markers": list(markers.labels),
        "missing_share": missing,
        "unit_m": origin.unit_m,
        "unit_reason": origin.unit_reason,
        "up": origin.up,
        "repairs": list(origin.repairs),
        "warnings": list(origin.warnings),
    }
    if json:
        print_json(facts)
        return
    rows = [
        ("markers", f"{facts['name']}: {len(markers.labels)} markers, no skeleton"),
        ("frames", f"{len(markers)} at {markers.fps:g} fps = {markers.duration:.2f} s"),
        ("unit", f"1 = {origin.unit_m:g} m  ({origin.unit_reason or 'meters'})"),
        ("axes", f"up {origin.up}"),
        ("gaps", f"{100 * missing:.1f} % of all points"),
        ("labels", ", ".join(markers.labels)),
    ]
    rows += [("repaired", repair) for repair in origin.repairs]
    rows += [("warning", warning) for warning in facts["warnings"]]
    print_columns([(styled(key, "bold"), value) for key, value in rows])


def _print_library(facts: dict[str, Any]) -> None:
    motions, labels = facts["motions"], facts["labels"]
    rates = sorted({motion["fps"] for motion in motions})
    rows = [
        ("library", facts["library"]),
        ("motions", f"{len(motions)}, {facts['frames']} frames, {facts['seconds'] / 60:.1f} min"),
        ("rates", ", ".join(f"{fps:g}" for fps in rates) + " fps" if rates else "none"),
        ("skeletons", str(facts["skeletons"])),
        ("labels", ", ".join(f"{name} ({n})" for name, n in labels.items()) or "none"),
        ("parametric", ", ".join(facts["parametric"]) or "none"),
    ]
    print_columns([(styled(key, "bold"), value) for key, value in rows])
    listing = [
        (
            motion["name"],
            str(motion["frames"]),
            f"{motion['fps']:g}",
            f"{motion['seconds']:.2f}",
            ", ".join(motion["labels"]),
        )
        for motion in motions
    ]
    if listing:
        heads = ("motion", "frames", "fps", "seconds", "labels")
        print_columns([tuple(styled(head, "bold") for head in heads), *listing], right=(1, 2, 3))


def _print_motion(motion: Motion, facts: dict[str, Any]) -> None:
    height = f"{facts['height_m']:.2f} m" if facts["height_m"] else "unknown"
    rows = [
        ("motion", facts["name"]),
        ("frames", f"{facts['frames']} at {facts['fps']:g} fps = {facts['seconds']:.2f} s"),
        ("unit", f"1 = {facts['unit_m']:g} m  ({facts['unit_reason'] or 'meters'})"),
        ("height", height),
        ("axes", f"up {facts['up']}, at rest facing {facts['facing'] or 'unknown'}"),
        (
            "T-pose",
            "frame 0, used as the rest pose" if facts["tpose_frame"] == 0 else "none",
        ),
        ("joints", f"{facts['joints']} and {len(facts['end_sites'])} end sites"),
        ("roles", f"{len(facts['roles'])} by {facts['role_scheme']}"),
        ("missing roles", ", ".join(facts["missing_roles"]) or "none"),
    ]
    takes = facts["takes"]
    if len(takes) > 1:
        rows.insert(1, ("takes", f"{len(takes)} in this file, listed at the end; one is shown"))
    if facts["layout"]:
        rows.insert(2, ("layout", facts["layout"]))
    if facts["scene"]:
        rows.append(("scene", f"{facts['scene']}: the people in one recording"))
    if facts["carrier"]:
        rows.append(("above the hips", ", ".join(facts["carrier"]["names"])))
    if error := motion.origin.expected_error:
        low, high = 100.0 * min(error), 100.0 * max(error)
        middle = 100.0 * facts["expected_error_m"]
        rows.append(
            ("expected error", f"{middle:.0f} cm per joint ({low:.0f} to {high:.0f} cm in a frame)")
        )
    rows += [("repaired", repair) for repair in facts["repairs"]]
    rows += [("warning", warning) for warning in facts["warnings"]]
    print_columns([(styled(key, "bold"), value) for key, value in rows])
    for line in _joint_tree(motion):
        print(line)
    if len(takes) > 1:
        _print_takes(takes)


def _takes(file: str) -> list[dict[str, Any]]:
    """Return the takes of a file as JSON-compatible data, or an empty list for a library's take."""
    from motionloom.formats import takes_in

    if not Path(file).is_file():
        return []
    return [vars(take) for take in takes_in(file)]


def _print_takes(takes: list[dict[str, Any]]) -> None:
    """List the takes of a file that has several."""
    heads = ("take", "joints", "seconds")
    rows = [
        (
            take["name"],
            str(take["joints"] or ""),
            "" if take["seconds"] is None else f"{take['seconds']:.2f}",
        )
        for take in takes
    ]
    print_columns([tuple(styled(head, "bold") for head in heads), *rows], right=(1, 2))


def _joint_tree(motion: Motion) -> list[str]:
    """Return the joint tree as lines of text, with roles."""
    skeleton = motion.skeleton
    role_of = {name: role for role, name in skeleton.roles.items()}
    names = [*skeleton.names, *skeleton.end_names]
    children: list[list[int]] = [[] for _ in names]
    for child, parent in enumerate([*skeleton.parents, *skeleton.end_parents]):
        if parent >= 0:
            children[parent].append(child)
    lines: list[str] = []
    below = [(0, "", "")]  # joint, prefix of its line, prefix of the lines of its children
    while below:
        joint, before, indent = below.pop()
        role = role_of.get(names[joint])
        name = names[joint] if joint < len(skeleton) else styled(names[joint], "dim")
        lines.append(before + name + (" " + styled(role, "green") if role else ""))
        last = children[joint][-1:]
        below += [
            (child, indent + "└── ", indent + "    ")
            if [child] == last
            else (child, indent + "├── ", indent + "│   ")
            for child in reversed(children[joint])
        ]
    return lines
