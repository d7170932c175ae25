"""Steps that make new motion of the library's."""

from __future__ import annotations

from typing import Any

from motionloom.cli.tour.tour import Tour


def parametric_kick(tour: Tour) -> dict[str, Any]:
    """Make one kick of many, and have it land at a point."""
    from motionloom.cli.parametric import draw_accessible

    kick, here = "kick_front_mid_right_p0:0-70", tour.folder / "kick_here.bvh"
    tour.command(f"parametrize {tour.place} {kick} --by right_ankle@33 --within kick --name kick")
    tour.command(f"synthesize {tour.place} kick --at=-0.2,0.7,0.8 -o {here}")
    family = tour.lib.family(kick, within="kick", max_distance=0.1, max=24)
    space = tour.lib.parametrize(family, by="right_ankle@33", samples=150, name="kick")
    found = space.reach([-0.2, 0.7, 0.8])
    found.motion.save(here)
    region = tour.folder / "region.png"
    draw_accessible(space, region)
    tour.page.picture(region, "where the kick can land")
    tour.page.play(
        found.motion, "the ankle is asked to be 20 cm to the right, 70 cm up, 80 cm ahead"
    )
    tour.say(
        f"{len(family)} kicks; the ankle is there at frame {found.frames[0]}, "
        f"{100 * found.error:.1f} cm off."
    )
    return {"kick": str(here), "region": str(region)}


def endless_walk(tour: Tour) -> dict[str, Any]:
    """Wander over a motion graph of one performer's walks."""
    walks = [name for name in tour.lib.names if name.startswith("walk") and name.endswith("_p0")]
    endless = tour.folder / "endless.bvh"
    tour.command(f"graph {tour.place} build --only {','.join(sorted(walks))}")
    tour.command(f"walk {tour.place} --seconds 30 --seed 1 -o {endless}")
    graph = tour.lib.motion_graph(only=sorted(walks))
    walk = graph.walk(seconds=30, seed=1)
    walk.save(endless)
    tour.page.play(walk, "a walk that nobody walked")
    slide = graph.quality(walk).foot_slide_m
    tour.say(
        f"{len(graph)} transitions between {len(graph.motions)} walks; feet slide "
        f"{100 * slide:.1f} cm per step."
    )
    return {"walk": str(endless)}


def dance(tour: Tour) -> dict[str, Any]:
    """Find a dance's beats, cut its choreography, and dance it to a tune."""
    from motionloom.plots.beats import write_beats
    from motionloom.synthesis.rhythm import beats
    from motionloom.synthesis.rhythm.dancing import beats_on_time
    from motionloom.synthesis.rhythm.dancing import dance as danced
    from motionloom.synthesis.rhythm.music import load_music
    from motionloom.synthesis.rhythm.tunes import write_tune

    name, drawn, score = "dance_groove_p1", tour.folder / "beats.png", tour.folder / "groove.json"
    tour.command(f"beats {tour.place}:{name} -o {drawn}")
    rhythm = beats(tour.lib[name])
    write_beats(tour.lib[name], rhythm, drawn)
    tour.page.picture(drawn, "beats of a dance")
    tour.say(
        f"{len(rhythm)} beats at {rhythm.bpm:.1f} a minute, confidence {rhythm.confidence:.2f}"
    )
    tour.command(f"movements {tour.place} --within dance_groove --meter 4 -o {score}")
    groove = tour.lib.choreography(meter=4, within="dance_groove", kind="groove")
    groove.save(score)
    tour.say(f"{len(groove.movements)} movements in {len(groove.graph)} nodes")
    song, film = tour.folder / "song.mid", tour.folder / "dance.bvh"
    music = load_music(write_tune(song, bars=8, tempo_bpm=[(0, 112), (4, 122)]))
    tour.command(f"dance {tour.place} {song} --graph {score} -o {film}")
    made = danced(groove, music, seed=tour.seed)
    made.motions[0].save(film)
    tour.page.play(made.motions[0], "a dance that nobody danced, to a tune that gets quicker")
    total, on_time = beats_on_time(made.motions, music)
    tour.say(f"{on_time} of {total} beats within a frame of the music's")
    return {"beats": str(drawn), "choreography": str(score), "dance": str(film)}


def dance_floor(tour: Tour) -> dict[str, Any]:
    """Let five characters dance next to each other."""
    from motionloom.formats.gltf import write
    from motionloom.plots.dance_floor import write_floor

    scene, above = tour.folder / "floor.glb", tour.folder / "floor.png"
    tour.command(
        f"dancefloor {tour.place} -n 5 --seconds 10 --only dance_groove_p1 -o {scene} --top {above}"
    )
    floor = tour.lib.dance_floor(5, seconds=10, only="dance_groove_p1")
    write(list(floor.motions), scene)
    write_floor(floor.motions, above)
    tour.page.picture(above, "five dancers from above")
    tour.say(f"no two bodies come nearer than {floor.least_distance:.2f} m")
    return {"floor": str(scene), "floor_picture": str(above)}


def ballroom(tour: Tour) -> dict[str, Any]:
    """Let couples waltz around a ballroom without bumping."""
    from motionloom.formats.gltf import write
    from motionloom.loom.troupe_steps import waltz_steps
    from motionloom.plots.top_view import write_top_view
    from motionloom.synthesis.crowd import BallroomScene
    from motionloom.synthesis.crowd import ballroom as danced

    scene, above, moving = (tour.folder / f"ball.{kind}" for kind in ("glb", "png", "html"))
    tour.command(f"ballroom --couples 12 --seconds 12 -o {scene} --top {above} --top {moving}")
    set_up = BallroomScene(couples=12, seconds=12, tempo_bpm=90)
    made = danced(set_up, waltz_steps())
    write(made.every, scene, compact=True)
    for path in (above, moving):
        write_top_view(made.motions, path, radius=set_up.radius, room=set_up.room)
    total, on_time = made.beats_on_time()
    tour.page.picture(above, "twelve couples from above")
    tour.page.link(moving, "the ballroom from above, moving")
    tour.say(
        f"couples keep {100 * made.clearance():.0f} cm and more from each other and the walls; "
        f"feet land on {on_time} of {total} beats"
    )
    return {"ballroom": str(scene), "ballroom_page": str(moving)}


def whole_body(tour: Tour) -> dict[str, Any]:
    """Infer a body from six of its points, its own take left out."""
    from motionloom.synthesis.reconstruction import joint_errors

    body = tour.folder / "body.bvh"
    tour.command(
        f"reconstruct {tour.takes / 'walk_p0.bvh'} --library {tour.place} "
        f"--skeleton walk_p0 --without walk_p0 -o {body}"
    )
    truth = tour.lib["walk_p0"]
    inferred = tour.lib.reconstruct(truth, skeleton=truth, without="walk_p0")
    inferred.save(body)
    tour.page.play(truth, "as performed")
    tour.page.play(inferred, "inferred from six points")
    off = joint_errors(truth, inferred)[0].mean()
    tour.say(f"{len(inferred)} frames, joints {off:.1f} cm off on average.")
    return {"body": str(body)}
