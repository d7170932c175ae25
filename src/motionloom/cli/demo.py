"""``motionloom demo``: a tour of the product on the built-in corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from motionloom.cli.terminal import print_json, progress, remark

_STRIPS = ("walk_p0", "kick_leap_front_right_p0", "dance_groove_p1")


def demo(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where to put it; made if missing.")
    ] = Path("motionloom-demo"),
    seed: Annotated[int, typer.Option(help="Another seed makes another corpus.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """Make the built-in corpus, import it, draw it.

    Ends with what to try next; run it again and it goes on where it was.
    """
    from motionloom.demo import names, write
    from motionloom.formats import load
    from motionloom.formats.presets import prepared
    from motionloom.loom import Library
    from motionloom.motion.examination import examine
    from motionloom.plots import contact_sheet, film_strip
    from motionloom.plots.beats import write_beats
    from motionloom.plots.match_graph import write_match_graph
    from motionloom.search.web_store import WebStore
    from motionloom.synthesis.reconstruction import joint_errors
    from motionloom.synthesis.rhythm import beats

    folder.mkdir(parents=True, exist_ok=True)
    takes, place = folder / "takes", folder / "demo.loom"

    remark("1. Making motions from code: walks, kicks, reaches, dances ...")
    count = len(names())
    with progress("making", count, quiet=json) as advance:
        write(takes, seed=seed, progress=lambda name: advance())
    remark(
        f"   {count} files in {takes}; truth.csv, contacts.csv and labels.csv tell what they are."
    )

    remark("2. Importing them into a library, as you would your own takes:")
    remark(f"   $ motionloom import {place} {takes} --labels {takes / 'labels.csv'}")
    lib = Library.create(place, exist_ok=True)
    with progress("importing", count, quiet=json) as advance:
        report = lib.add(takes, labels=takes / "labels.csv", progress=advance)
    minutes = sum(lib[name].duration for name in lib.names) / 60.0
    remark(
        f"   {len(lib)} motions, {minutes:.1f} minutes; {report.added} added, "
        f"{report.skipped} unchanged."
    )

    remark("3. Drawing film strips:")
    pictures = []
    for name in _STRIPS:
        picture = folder / f"{name}.png"
        film_strip(lib[name]).savefig(picture)
        pictures.append(picture)
        remark(f"   $ motionloom show {place}:{name} -o {picture}")

    remark("4. A contact sheet with live figures, one file for any browser:")
    sheet = folder / "sheet.html"
    remark(f"   $ motionloom sheet {place} -o {sheet}")
    with progress("drawing", len(lib), quiet=json) as advance:
        contact_sheet(_titled(lib, advance), sheet, title="The built-in corpus")

    query = "kick_leap_front_right_p0:10-60"
    remark("5. Everything in the library that looks like this kick, nearest first:")
    remark(f"   $ motionloom search {place} {query} --max 5")
    for match in lib.search(query, max=5):
        remark(f"   {match.motion}, {match.start:.2f} to {match.end:.2f} s: {match.distance:.3f} m")

    remark("6. The doctor looks at a take whose file claims twice its rate:")
    hasty = takes / "jump_up_p0.bvh"
    remark(f"   $ motionloom doctor {hasty} --fps 60")
    for finding in examine(load(hasty, fps=60)):
        remark(f"   {finding.severity}: {finding.message}")

    remark("7. The walk of one performer on the body of another, for Blender:")
    glb, body = folder / "walk.glb", takes / "walk_p3.bvh"
    remark(f"   $ motionloom convert {takes / 'walk_p0.bvh'} {glb} --onto {body} --preset blender")
    prepared(lib["walk_p0"].onto(lib["walk_p3"].skeleton), "blender").save(glb)

    remark("8. All kicks compared beforehand, so that a search is a look-up:")
    remark(f"   $ motionloom web {place} build --within kick")
    webs = WebStore(lib).build(within="kick")
    remark(f"   {webs.pairs} pairs of motions, {webs.built} built now; {webs.bytes / 1e6:.1f} MB")
    leap, drawn = "kick_leap_front_right_p0:10-60", folder / "family.png"
    remark(f"   $ motionloom family {place} {leap} --method web --within kick --max 15 -o {drawn}")
    members = lib.family(leap, method="web", within="kick", max=15)
    shown = [lib[node.motion][node.start_frame : node.end_frame] for node in members.nodes]
    write_match_graph(members, shown, drawn)

    remark("9. All kicks like this one, as one kick that lands where it is asked to:")
    kick, here = "kick_front_mid_right_p0:0-70", folder / "kick_here.bvh"
    remark(
        f"   $ motionloom parametrize {place} {kick} --by right_ankle@33 --within kick --name kick"
    )
    remark(f"   $ motionloom synthesize {place} kick --at=-0.2,0.7,0.8 -o {here}")
    family = lib.family(kick, within="kick", max_distance=0.1, max=24)
    found = lib.parametrize(family, by="right_ankle@33", samples=150, name="kick").reach(
        [-0.2, 0.7, 0.8]
    )
    found.motion.save(here)
    remark(
        f"   {len(family)} kicks; the ankle is there at frame {found.frames[0]}, "
        f"{100 * found.error:.1f} cm off."
    )

    remark("10. Half a minute of walking that nobody walked, from a few walks:")
    walks, endless = sorted(name for name in lib.names if _is_walk(name)), folder / "endless.bvh"
    remark(f"   $ motionloom graph {place} build --only {','.join(walks)}")
    remark(f"   $ motionloom walk {place} --seconds 30 --seed 1 -o {endless}")
    graph = lib.motion_graph(only=walks)
    walk = graph.walk(seconds=30, seed=1)
    walk.save(endless)
    slide = graph.quality(walk).foot_slide_m
    remark(
        f"   {len(graph)} transitions between {len(graph.motions)} walks; feet slide "
        f"{100 * slide:.1f} cm per step."
    )

    remark(
        "11. Whole clips instead of stretches: which jumps are like this one, from start to end?"
    )
    remark(f"   $ motionloom search {place} jump_up_p0 --method dtw-clip --k 4")
    for match in lib.search("jump_up_p0", method="dtw-clip", k=4):
        remark(f"   {match.motion}: {match.distance:.3f} m")

    remark("12. When a dance keeps time, and what may follow what in it:")
    dance, score = "dance_groove_p1", folder / "groove.json"
    remark(f"   $ motionloom beats {place}:{dance} -o {folder / 'beats.png'}")
    rhythm = beats(lib[dance])
    write_beats(lib[dance], rhythm, folder / "beats.png")
    remark(
        f"   {len(rhythm)} beats at {rhythm.bpm:.1f} a minute, confidence {rhythm.confidence:.2f}"
    )
    remark(f"   $ motionloom movements {place} --within dance_groove --meter 4 -o {score}")
    groove = lib.choreography(meter=4, within="dance_groove", kind="groove")
    groove.save(score)
    remark(f"   {len(groove.movements)} movements in {len(groove.graph)} nodes")

    remark("13. A whole body from wrists, ankles, head and hips of a walk:")
    body = folder / "body.bvh"
    remark(
        f"   $ motionloom reconstruct {takes / 'walk_p0.bvh'} --library {place} "
        f"--skeleton walk_p0 --without walk_p0 -o {body}"
    )
    truth = lib["walk_p0"]
    inferred = lib.reconstruct(truth, skeleton=truth, without="walk_p0")
    inferred.save(body)
    off = joint_errors(truth, inferred)[0].mean()
    remark(f"   {len(inferred)} frames, joints {off:.1f} cm off on average.")

    if json:
        print_json(
            {
                "folder": str(folder),
                "library": str(place),
                "motions": len(lib),
                "minutes": minutes,
                "pictures": [str(picture) for picture in pictures],
                "sheet": str(sheet),
                "glb": str(glb),
                "body": str(body),
                "kick": str(here),
                "walk": str(endless),
            }
        )
        return
    print(f"\nOpen {sheet} in a browser. Then try, with your own files:\n")
    print(f"  motionloom info {takes / 'walk_p0.bvh'}")
    print("  motionloom import takes.loom PATH/TO/YOUR/TAKES --labels folder")
    print("  motionloom sheet takes.loom -o takes.html")
    print("  motionloom search takes.loom NAME:1.5s-3s --sheet found.html")
    print("\nor in Python:\n")
    print("  import motionloom as ml")
    print(f"  lib = ml.Library({str(place)!r})")
    print("  lib['walk_p0']          # a figure that walks, in a notebook")


def warm_up() -> None:
    """Compile and cache the kernels, so that the first real command is quick."""
    import tempfile

    from motionloom.demo import clip
    from motionloom.formats import load

    with tempfile.TemporaryDirectory() as scratch:
        motion = load(clip("walk").save(Path(scratch) / "walk.bvh"))
    motion.positions(end_sites=True)
    motion.global_rotations()
    remark("ready")


def _is_walk(name: str) -> bool:
    return name.startswith("walk") and name.endswith("_p0")


def _titled(lib, advance):
    for name in lib.names:
        yield name, lib[name], ", ".join(lib.labels(name))
        advance()
