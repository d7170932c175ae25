"""Steps of ``motionloom demo``: functions that take a `Tour` and return their results."""

from __future__ import annotations

import shutil
from typing import Any

from motionloom.cli.terminal import progress
from motionloom.cli.tools.demo.tour import Tour
from motionloom.errors import MissingExtra
from motionloom.files import atomic_write
from motionloom.search.settings import Expansion, SearchSettings

# Files that the examples of the documentation use.
_SHORT_NAMES = {"walk_p0.bvh": "walk.bvh", "kick_front_high_right_p0.bvh": "kick.bvh"}
_STRIPS = ("walk_p0", "kick_leap_front_right_p0", "dance_groove_p1")


def corpus(tour: Tour) -> dict[str, Any]:
    """Write the built-in corpus as files."""
    from motionloom.demo import names, write

    count = len(names())
    with progress("generating", count, quiet=tour.quiet) as advance:
        write(tour.takes, seed=tour.seed, progress=lambda name: advance())
    for take, name in _SHORT_NAMES.items():
        with atomic_write(tour.folder / name) as scratch:
            shutil.copyfile(tour.takes / take, scratch)
    tour.say(f"{count} files in {tour.takes}, described by truth.csv, contacts.csv and labels.csv.")
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
    """Draw film strips of a few motions."""
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
    """Draw every motion in the library on one page."""
    from motionloom.plots import contact_sheet

    sheet = tour.folder / "sheet.html"
    tour.command(f"sheet {tour.place} -o {sheet}")
    with progress("drawing", len(tour.lib), quiet=tour.quiet) as advance:
        contact_sheet(_titled(tour.lib, advance), sheet, title="The built-in corpus")
    tour.page.link(sheet, "All motions of the library, animated")
    return {"sheet": str(sheet)}


def doctor(tour: Tour) -> dict[str, Any]:
    """Diagnose a take with a wrong frame rate."""
    from motionloom.formats import load
    from motionloom.motion.diagnostics.issues import find_issues

    fast = tour.takes / "jump_up_p0.bvh"
    tour.command(f"doctor {fast} --fps 60")
    for issue in find_issues(load(fast, fps=60)):
        tour.say(f"{issue.severity}: {issue.message}")
    return {}


def other_body(tour: Tour) -> dict[str, Any]:
    """Retarget a walk to another body and convert it."""
    from motionloom.formats.presets import apply_preset

    glb, body = tour.folder / "walk.glb", tour.takes / "walk_p3.bvh"
    tour.command(f"convert {tour.takes / 'walk_p0.bvh'} {glb} --onto {body} --preset blender")
    apply_preset(tour.lib["walk_p0"].retarget(tour.lib["walk_p3"].skeleton), "blender").save(glb)
    return {"glb": str(glb)}


def _titled(lib, advance):
    for name in lib.names:
        yield name, lib[name], ", ".join(lib.labels[name])
        advance()


_LEAP = "kick_leap_front_right_p0:10-60"


def search(tour: Tour) -> dict[str, Any]:
    """Search for motion similar to a segment."""
    tour.command(f"search {tour.place} {_LEAP} --max 5")
    for match in tour.lib.search(_LEAP, max=5):
        tour.say(f"{match.motion}, {match.start:.2f} to {match.end:.2f} s: {match.distance:.3f} m")
        clip = tour.lib[match.motion][match.start_frame : match.end_frame]
        tour.page.play(
            clip, "the query" if match.distance == 0.0 else f"distance {match.distance:.3f} m"
        )
    return {}


def match_web(tour: Tour) -> dict[str, Any]:
    """Precompute match webs for all kicks, and use them to find a family."""
    from motionloom.plots.match_graph import write_match_graph

    tour.command(f"web {tour.place} build --label kick")
    webs = tour.lib.webs.build(label="kick")
    tour.say(f"{webs.pairs} pairs of motions, {webs.built} built now; {webs.bytes / 1e6:.1f} MB")
    drawn = tour.folder / "family.png"
    tour.command(f"family {tour.place} {_LEAP} --method web --label kick --max 15 -o {drawn}")
    members = tour.lib.family(_LEAP, method="web", label="kick", max=15)
    shown = [tour.lib[node.motion][node.start_frame : node.end_frame] for node in members.nodes]
    write_match_graph(members, shown, drawn)
    tour.page.picture(drawn, "the match graph of a leaping kick")
    return {"family": str(drawn)}


def whole_clips(tour: Tour) -> dict[str, Any]:
    """Retrieve clips that are similar as a whole."""
    tour.command(f"search {tour.place} jump_up_p0 --method dtw-clip --k 4")
    for match in tour.lib.search("jump_up_p0", SearchSettings.of({"method": "dtw-clip", "k": 4})):
        tour.say(f"{match.motion}: {match.distance:.3f} m")
    return {}


def parametric_kick(tour: Tour) -> dict[str, Any]:
    """Learn a parametric kick from many kicks, and aim it at a target."""
    from motionloom.cli.aim import draw_accessible

    kick, here = "kick_front_mid_right_p0:0-70", tour.folder / "kick_here.bvh"
    tour.command(f"parametrize {tour.place} {kick} --by right_ankle@33 --label kick --name kick")
    tour.command(f"synthesize {tour.place} kick --at=-0.2,0.7,0.8 -o {here}")
    family = tour.lib.family(kick, label="kick", max=24, expansion=Expansion(join_distance=0.1))
    space = tour.lib.parametrize(family, by="right_ankle@33", samples=150, name="kick")
    result = space.reach([-0.2, 0.7, 0.8])
    result.motion.save(here)
    region = tour.folder / "region.png"
    draw_accessible(space, region)
    tour.page.picture(region, "where the kick can land")
    tour.page.play(result.motion, "target of the ankle: 20 cm to the right, 70 cm up, 80 cm ahead")
    tour.say(
        f"{len(family)} kicks; the ankle reaches the target at frame {result.frames[0]} with an "
        f"error of {100 * result.error:.1f} cm."
    )
    return {"kick": str(here), "region": str(region)}


def endless_walk(tour: Tour) -> dict[str, Any]:
    """Synthesize a random walk through a motion graph of one performer's walks."""
    walks = [name for name in tour.lib.names if name.startswith("walk") and name.endswith("_p0")]
    endless = tour.folder / "endless.bvh"
    tour.command(f"graph {tour.place} build --only {','.join(sorted(walks))}")
    tour.command(f"walk {tour.place} --seconds 30 --seed 1 -o {endless}")
    graph = tour.lib.motion_graph(only=sorted(walks))
    walk = graph.walk(seconds=30, seed=1)
    walk.save(endless)
    tour.page.play(walk, "a synthesized walk")
    tour.say(f"{len(graph)} transitions between {len(graph.motions)} walks.")
    if walk.quality is not None:
        tour.say(f"Quality: {walk.quality.line()}.")
    return {"walk": str(endless)}


def dance(tour: Tour) -> dict[str, Any]:
    """Find the beats of a dance, learn its choreography, and dance to a tune."""
    from motionloom.demo.tunes import write_tune
    from motionloom.plots.rhythm import write_beats

    name, drawn, score = "dance_groove_p1", tour.folder / "beats.png", tour.folder / "groove.json"
    tour.command(f"beats {tour.place}:{name} -o {drawn}")
    rhythm = tour.lib.beats[name]
    write_beats(tour.lib[name], rhythm, drawn)
    tour.page.picture(drawn, "beats of a dance")
    tour.say(
        f"{len(rhythm)} beats at {rhythm.bpm:.1f} per minute, confidence {rhythm.confidence:.2f}"
    )
    tour.command(f"movements {tour.place} --label dance_groove --meter 4 -o {score}")
    groove = tour.lib.choreography(meter=4, label="dance_groove", kind="groove")
    groove.save(score)
    tour.say(f"{len(groove.movements)} movements in {len(groove.graph)} nodes")
    song, film = tour.folder / "song.mid", tour.folder / "dance.bvh"
    write_tune(song, bars=8, tempo_bpm=[(0, 112), (4, 122)])
    tour.command(f"dance {tour.place} {song} --graph {score} -o {film}")
    made = groove.dance_to(song, seed=tour.seed)
    made.motions[0].save(film)
    tour.page.play(made.motions[0], "a synthesized dance to a tune that becomes faster")
    total, on_time = made.beats_on_time()
    tour.say(f"{on_time} of {total} beats within a frame of the music")
    return {"beats": str(drawn), "choreography": str(score), "dance": str(film)}


def dance_floor(tour: Tour) -> dict[str, Any]:
    """Let five characters dance next to each other."""
    from motionloom.formats import save
    from motionloom.plots.figures.top_view import write_floor_plan

    scene, above = tour.folder / "floor.glb", tour.folder / "floor.png"
    tour.command(
        f"dancefloor {tour.place} --count 5 --seconds 10 --only dance_groove_p1 -o {scene} "
        f"--top-view {above}"
    )
    floor = tour.lib.dance_floor(count=5, seconds=10, only="dance_groove_p1")
    save(floor.scene, scene)
    write_floor_plan(floor.motions, above)
    tour.page.picture(above, "five dancers from above")
    tour.say(f"minimum distance between two bodies: {floor.least_distance:.2f} m")
    return {"floor": str(scene), "floor_picture": str(above)}


def ballroom(tour: Tour) -> dict[str, Any]:
    """Let couples waltz around a ballroom without colliding."""
    from motionloom.formats import save
    from motionloom.library import Ballroom, CrowdPlan
    from motionloom.plots.figures.top_view import write_top_view

    scene, above, moving = (tour.folder / f"ball.{kind}" for kind in ("glb", "png", "html"))
    tour.command(
        f"ballroom --couples 12 --seconds 12 -o {scene} --top-view {above} --top-view {moving}"
    )
    plan = CrowdPlan("ballroom", {"couples": 12, "seconds": 12})
    made = plan.run(plan.choreography())
    assert isinstance(made, Ballroom)
    save(made.scene, scene, compact=True)
    for path in (above, moving):
        write_top_view(
            made.motions,
            path,
            radius=plan.settings.floor.disc_radius,
            room=plan.settings.floor.room,
        )
    total, on_time = made.beats_on_time()
    tour.page.picture(above, "twelve couples from above")
    tour.page.link(moving, "the ballroom from above, animated")
    tour.say(
        f"minimum gap between couples and walls: {100 * made.clearance():.0f} cm; "
        f"feet land on {on_time} of {total} beats"
    )
    return {"ballroom": str(scene), "ballroom_page": str(moving)}


def whole_body(tour: Tour) -> dict[str, Any]:
    """Reconstruct a body from six points, without using the original take."""
    from motionloom.evaluation.reconstruction import joint_errors

    body = tour.folder / "body.bvh"
    tour.command(
        f"reconstruct {tour.place} {tour.takes / 'walk_p0.bvh'} --skeleton walk_p0 --exclude "
        f"walk_p0 -o {body}"
    )
    truth = tour.lib["walk_p0"]
    inferred = tour.lib.reconstruct(truth, skeleton=truth, exclude="walk_p0")
    inferred.save(body)
    tour.page.play(truth, "captured")
    tour.page.play(inferred, "reconstructed from six points")
    off = joint_errors(truth, inferred)[0].mean()
    tour.say(f"{len(inferred)} frames, mean joint error {off:.1f} cm.")
    return {"body": str(body)}


_KICK = "kick_front_mid_right_p0"


def cluster(tour: Tour) -> dict[str, Any]:
    """Query a sharded index on two workers of a local Dask cluster."""
    from motionloom.parallel import ClusterError, local_cluster, on_cluster

    tour.command("cluster --workers 2")
    single = tour.lib.neighbors(_KICK, k=16)
    try:
        with local_cluster(2) as started, on_cluster(started.scheduler_address):
            sharded = tour.lib.neighbors(_KICK, k=16, index="shards")
    except (MissingExtra, ClusterError) as error:
        tour.say(f"skipped: {error}")
        return {"cluster": None}
    pairs = [pair for rows in zip(single, sharded, strict=True) for pair in zip(*rows, strict=True)]
    differ = sum((a.text, a.distance) != (b.text, b.distance) for a, b in pairs)
    tour.say(
        f"The 16 nearest of {tour.lib.store.frames} frames for each of {len(single)} frames: "
        f"{differ} of {len(pairs)} results from shards differ from the results of one index"
    )
    return {"cluster": {"answers": len(pairs), "differ": differ}}


STEPS = (
    ("Generating motions: walks, kicks, reaches, dances ...", corpus),
    ("Importing them into a library, as you would import your own takes:", library),
    ("Drawing film strips:", film_strips),
    ("Drawing a contact sheet with animated figures, one file for any browser:", contact_sheet),
    ("Searching for motion similar to this kick, nearest first:", search),
    ("Diagnosing a take whose file has twice the true frame rate:", doctor),
    ("Retargeting a walk to another performer, for Blender:", other_body),
    ("Comparing all kicks in advance, so that a search becomes a lookup:", match_web),
    ("Blending all similar kicks into one that lands at a given point:", parametric_kick),
    ("Synthesizing half a minute of walking from a few walks:", endless_walk),
    ("Retrieving whole clips: which jumps are like this one?", whole_clips),
    ("Finding the beats of a dance, and dancing to another tune:", dance),
    ("Filling a dance floor with five characters:", dance_floor),
    ("Letting twelve couples waltz around a ballroom without colliding:", ballroom),
    ("Reconstructing a full body from wrists, ankles, head and hips:", whole_body),
    ("Searching on a cluster of two workers, each with half of the library:", cluster),
)
