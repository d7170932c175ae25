"""Steps that search the library."""

from __future__ import annotations

from typing import Any

from motionloom.cli.tour.tour import Tour

_LEAP = "kick_leap_front_right_p0:10-60"


def search(tour: Tour) -> dict[str, Any]:
    """Find what looks like a stretch of a motion."""
    tour.command(f"search {tour.place} {_LEAP} --max 5")
    for match in tour.lib.search(_LEAP, max=5):
        tour.say(f"{match.motion}, {match.start:.2f} to {match.end:.2f} s: {match.distance:.3f} m")
        clip = tour.lib[match.motion][match.start_frame : match.end_frame]
        tour.page.play(
            clip, "the query" if match.distance == 0.0 else f"{match.distance:.3f} m off"
        )
    return {}


def match_web(tour: Tour) -> dict[str, Any]:
    """Precompute the match webs of all kicks and grow a family by look-up."""
    from motionloom.plots.match_graph import write_match_graph
    from motionloom.search.web_store import WebStore

    tour.command(f"web {tour.place} build --within kick")
    webs = WebStore(tour.lib).build(within="kick")
    tour.say(f"{webs.pairs} pairs of motions, {webs.built} built now; {webs.bytes / 1e6:.1f} MB")
    drawn = tour.folder / "family.png"
    tour.command(f"family {tour.place} {_LEAP} --method web --within kick --max 15 -o {drawn}")
    members = tour.lib.family(_LEAP, method="web", within="kick", max=15)
    shown = [tour.lib[node.motion][node.start_frame : node.end_frame] for node in members.nodes]
    write_match_graph(members, shown, drawn)
    tour.page.picture(drawn, "the match graph of a leaping kick")
    return {"family": str(drawn)}


def whole_clips(tour: Tour) -> dict[str, Any]:
    """Find clips that are alike from start to end."""
    tour.command(f"search {tour.place} jump_up_p0 --method dtw-clip --k 4")
    for match in tour.lib.search("jump_up_p0", method="dtw-clip", k=4):
        tour.say(f"{match.motion}: {match.distance:.3f} m")
    return {}
