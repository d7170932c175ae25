"""Steps that make the corpus, import it and look at it."""

from __future__ import annotations

from typing import Any

from motionloom.cli.terminal import progress
from motionloom.cli.tour.tour import Tour

_STRIPS = ("walk_p0", "kick_leap_front_right_p0", "dance_groove_p1")


def corpus(tour: Tour) -> dict[str, Any]:
    """Write the built-in corpus as files."""
    from motionloom.demo import names, write

    count = len(names())
    with progress("making", count, quiet=tour.quiet) as advance:
        write(tour.takes, seed=tour.seed, progress=lambda name: advance())
    tour.say(
        f"{count} files in {tour.takes}; truth.csv, contacts.csv and labels.csv tell what they are."
    )
    return {}


def library(tour: Tour) -> dict[str, Any]:
    """Import the files into a library."""
    labels = tour.takes / "labels.csv"
    tour.command(f"import {tour.place} {tour.takes} --labels {labels}")
    count = sum(1 for _ in tour.takes.glob("*.bvh"))
    with progress("importing", count, quiet=tour.quiet) as advance:
        report = tour.lib.add(tour.takes, labels=labels, progress=advance)
    minutes = sum(tour.lib[name].duration for name in tour.lib.names) / 60.0
    tour.say(
        f"{len(tour.lib)} motions, {minutes:.1f} minutes; {report.added} added, "
        f"{report.skipped} unchanged."
    )
    return {"library": str(tour.place), "motions": len(tour.lib), "minutes": minutes}


def film_strips(tour: Tour) -> dict[str, Any]:
    """Draw a few motions as film strips."""
    from motionloom.plots import film_strip

    pictures = []
    for name in _STRIPS:
        picture = tour.folder / f"{name}.png"
        film_strip(tour.lib[name]).savefig(picture)
        pictures.append(str(picture))
        tour.page.picture(picture, f"{name} as a film strip")
        tour.command(f"show {tour.place}:{name} -o {picture}")
    return {"pictures": pictures}


def contact_sheet(tour: Tour) -> dict[str, Any]:
    """Draw the whole library on one page."""
    from motionloom.plots import contact_sheet

    sheet = tour.folder / "sheet.html"
    tour.command(f"sheet {tour.place} -o {sheet}")
    with progress("drawing", len(tour.lib), quiet=tour.quiet) as advance:
        contact_sheet(_titled(tour.lib, advance), sheet, title="The built-in corpus")
    tour.page.link(sheet, "All motions of the library, live")
    return {"sheet": str(sheet)}


def doctor(tour: Tour) -> dict[str, Any]:
    """Examine a take read at the wrong rate."""
    from motionloom.formats import load
    from motionloom.motion.examination import examine

    hasty = tour.takes / "jump_up_p0.bvh"
    tour.command(f"doctor {hasty} --fps 60")
    for finding in examine(load(hasty, fps=60)):
        tour.say(f"{finding.severity}: {finding.message}")
    return {}


def other_body(tour: Tour) -> dict[str, Any]:
    """Retarget a walk and convert it."""
    from motionloom.formats.presets import prepared

    glb, body = tour.folder / "walk.glb", tour.takes / "walk_p3.bvh"
    tour.command(f"convert {tour.takes / 'walk_p0.bvh'} {glb} --onto {body} --preset blender")
    prepared(tour.lib["walk_p0"].onto(tour.lib["walk_p3"].skeleton), "blender").save(glb)
    return {"glb": str(glb)}


def _titled(lib, advance):
    for name in lib.names:
        yield name, lib[name], ", ".join(lib.labels(name))
        advance()
