"""``motionloom ballroom`` and ``motionloom march``: crowds that move to one music.

Scenes as commands make them: a file or the usual one, and what is said besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from motionloom.cli.options import JSON, WITHIN
from motionloom.cli.terminal import counted, print_json, remark
from motionloom.errors import InvalidInput

if TYPE_CHECKING:
    from motionloom.crowd.player import CrowdMotion
    from motionloom.rhythm import Choreography
    from motionloom.rhythm.music.music import Music


def scene_from(
    kind: str, path: Path | None, options: dict[str, Any], usual: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """The scene of a file, or the usual one, with what the command line says; what was said."""
    from motionloom.cli.beats import takes_from
    from motionloom.crowd.settings_file import file_values, settings_from
    from motionloom.rhythm.music.tunes import TUNE

    given = {} if path is None else file_values(path)
    if given.pop("kind", kind) != kind:
        raise InvalidInput(f"{path}: holds another kind of scene than motionloom {kind} makes")
    said = {name: value for name, value in options.items() if value is not None}
    if said.get("library") is not None:
        said["library"] = str(said["library"])
        given.pop("takes", None)
    if isinstance(said.get("takes"), str):
        listed_takes = takes_from(said["takes"]) or []
        said["takes"] = ["+".join(one) if isinstance(one, list) else one for one in listed_takes]
    if "music" in said and "tempo_bpm" not in said:
        given.pop("tempo_bpm", None)
    if "tempo_bpm" in said and "music" not in said and given.get("music") != TUNE:
        given.pop("music", None)
    given |= said
    rest = usual if path is None else {}
    if "music" in given:
        rest = {name: value for name, value in rest.items() if name != "tempo_bpm"}
    return settings_from(kind, rest | given, path), given


def room_from(text: str) -> Any:
    """A room as it is written: 14x10 metres, or open."""
    from motionloom.crowd.settings_file import OPEN

    if text == OPEN:
        return text
    try:
        wide, deep = (float(part) for part in text.lower().split("x"))
    except ValueError:
        raise InvalidInput(
            f"a room is written WIDTHxDEPTH in metres, or {OPEN}; got {text!r}"
        ) from None
    return [wide, deep]


def own_tempo(steps: Choreography, given: dict[str, Any], scene: Path | None) -> dict[str, Any]:
    """The takes' own tempo, where nobody said one."""
    if scene is not None or "music" in given or "tempo_bpm" in given:
        return {}
    return {"tempo_bpm": min(max(float(round(60.0 / steps.period)), 40.0), 240.0)}


CROWDS = (".glb", ".gltf", ".usd", ".usda", ".usdc")
TOPS = (".png", ".svg", ".pdf", ".gif", ".mp4", ".html")

SceneFile = Annotated[Path | None, typer.Argument(metavar="SCENE", help="A scene, .toml or .json.")]
Output = Annotated[
    Path, typer.Option("-o", "--output", help="All characters: .glb, .gltf, .usd, .usda or .usdc.")
]
Bvh = Annotated[Path | None, typer.Option(metavar="DIR", help="A BVH file per character, too.")]
Top = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="From above: .png, .svg, .pdf; moving: .gif, .html, .mp4 (with music). "
        "May be repeated.",
    ),
]
Song = Annotated[
    str | None, typer.Option(metavar="FILE", help="A MIDI or sound file, or tune: a made-up one.")
]
Tempo = Annotated[float | None, typer.Option(help="Beats a minute, where there is no file.")]
Seconds = Annotated[float | None, typer.Option(help="How long. [as the scene or the music says]")]
Seed = Annotated[int | None, typer.Option(help="Another seed is another crowd. [0]")]
Fps = Annotated[float | None, typer.Option(help="Frames per second. [30]")]
Lib = Annotated[
    Path | None, typer.Option("--library", metavar="LIB", help="Move as the takes of this library.")
]
Within = Annotated[list[str] | None, WITHIN]
Json = Annotated[bool, JSON]

_GLIMPSE = 5.0  # seconds in which there is no rhythm yet
_MOST = 10_000_000  # frames of all characters together: some gigabytes


def ballroom(
    scene: SceneFile = None,
    *,
    output: Output,
    couples: Annotated[int | None, typer.Option(help="How many couples. [20]")] = None,
    room: Annotated[
        str | None, typer.Option(metavar="WIDTHxDEPTH", help="Metres, or open. [14x10]")
    ] = None,
    music: Song = None,
    tempo: Tempo = None,
    seconds: Seconds = None,
    seed: Seed = None,
    fps: Fps = None,
    library: Lib = None,
    takes: Annotated[
        str | None,
        typer.Option(
            metavar="LEADER+FOLLOWER,...",
            help="Couples by name (60_*+61_*), or files. [found in the library; else a waltz]",
        ),
    ] = None,
    within: Within = None,
    bvh: Bvh = None,
    top: Top = None,
    json: Json = False,
) -> None:
    """Couples dance around a ballroom, on the beat, and never bump.

    They waltz, or dance what couples in your takes danced.
    """
    from motionloom.cli.crowd_choreographies import couples_of
    from motionloom.crowd import ballroom as danced
    from motionloom.crowd.built_in import own_radius

    said = {
        "couples": couples, "room": None if room is None else room_from(room), "fps": fps,
        "music": music, "tempo_bpm": tempo, "seconds": seconds, "seed": seed,
        "library": library, "takes": takes, "within": within,
    }  # fmt: skip
    set_up, given = scene_from("ballroom", scene, said, {"tempo_bpm": 90.0})
    tops = list(top or [])
    _check_files(output, tops, bvh)
    _check_size(2 * set_up.couples, set_up.seconds or 60.0, set_up.fps)
    steps = couples_of(set_up, quiet=json)
    if set_up.own:
        own: dict[str, Any] = {}
        if "radius" not in given:
            own["radius"] = own_radius(steps)
        set_up = replace(set_up, **own, **own_tempo(steps, given, scene))
    _check_bars(set_up.heard(steps.meter), steps)
    made = danced(set_up, steps)
    _draw(made, tops, radius=set_up.radius, room=set_up.room, columns=set_up.columns)
    gap = made.clearance()
    words = f"{counted(set_up.couples, 'couple')}, the least gap {gap:.2f} m"
    facts = {"couples": set_up.couples, "clearance_m": gap, "radius_m": set_up.radius}
    _finish(made, steps, output, tops, bvh, facts, None if json else words)


def march(
    scene: SceneFile = None,
    *,
    output: Output,
    ranks: Annotated[int | None, typer.Option(help="Soldiers behind each other. [10]")] = None,
    files: Annotated[int | None, typer.Option(help="Soldiers side by side. [4]")] = None,
    speed: Annotated[float | None, typer.Option(help="m/s. [0.9; with takes, theirs]")] = None,
    music: Song = None,
    tempo: Tempo = None,
    seconds: Seconds = None,
    seed: Seed = None,
    fps: Fps = None,
    library: Lib = None,
    takes: Annotated[
        str | None,
        typer.Option(metavar="TAKE,...", help="Walks by name (07_*), or files. [marches]"),
    ] = None,
    within: Within = None,
    bvh: Bvh = None,
    top: Top = None,
    json: Json = False,
) -> None:
    """Soldiers march along a street in formation, in step. Without a scene: two corners.

    They march, or walk as in your takes.
    """
    from motionloom.cli.crowd_choreographies import walks_of
    from motionloom.crowd import march as marched
    from motionloom.crowd.built_in import CADENCE, ROUND, SPEED, suited

    said = {
        "ranks": ranks, "files": files, "speed": speed, "fps": fps, "music": music,
        "tempo_bpm": tempo, "seconds": seconds, "seed": seed, "library": library, "takes": takes,
        "within": within,
    }  # fmt: skip
    usual = {"tempo_bpm": CADENCE, "points": ROUND, "speed": SPEED * (tempo or CADENCE) / CADENCE}
    set_up, given = scene_from("march", scene, said, usual)
    tops = list(top or [])
    _check_files(output, tops, bvh)
    _check_size(set_up.ranks * set_up.files, set_up.seconds or 60.0, set_up.fps)
    steps = walks_of(set_up, quiet=json)
    if set_up.own:
        set_up = replace(set_up, **own_tempo(steps, given, scene))
    set_up = suited(set_up, steps, speed_given="speed" in given, street_given=scene is not None)
    way = min(set_up.seconds or set_up.seconds_on_street, set_up.seconds_on_street)
    _check_size(set_up.ranks * set_up.files, way, set_up.fps)
    _check_bars(set_up.heard(steps.meter, set_up.seconds_on_street), steps)
    made = marched(set_up, steps)
    _draw(made, tops, radius=0.25, line=set_up.street.places)
    off, in_step = float(made.misplacement().mean()), made.left_feet_in_step()
    words = (
        f"{counted(len(made.motions), 'soldier')}, {100 * off:.1f} cm out of place on average, "
        f"{in_step:.0%} of left feet in step"
    )
    facts = {"soldiers": len(made.motions), "misplacement_m": off, "left_feet_in_step": in_step}
    _finish(made, steps, output, tops, bvh, facts, None if json else words)


# --- before the work --------------------------------------------------------------------------


def _check_files(output: Path, tops: Sequence[Path], bvh: Path | None) -> None:
    from motionloom.formats import check_output

    _check_suffix(output, CROWDS, "a crowd is written to")
    check_output(output, "scene")
    for top in tops:
        _check_suffix(top, TOPS, "a view from above is written to")
        if top.suffix.lower() == ".mp4":
            from motionloom.plots.animation import ffmpeg

            ffmpeg()
    for path in (output, *tops):
        if path.is_dir():
            raise InvalidInput(f"{path} is a folder; name a file")
    if bvh is not None and bvh.exists() and not bvh.is_dir():
        raise InvalidInput(f"{bvh} is a file; --bvh names a folder for a file per character")


def _check_suffix(path: Path, known: Sequence[str], what: str) -> None:
    if path.suffix.lower() not in known:
        raise InvalidInput(f"{path}: {what} {', '.join(known)}; got {path.suffix!r}")


def _check_size(characters: int, seconds: float, fps: float) -> None:
    frames = round(characters * seconds * fps)
    if frames > _MOST:
        raise InvalidInput(
            f"{characters} characters for {seconds:g} s are {frames:,} frames; one file holds "
            f"{_MOST:,} at most. Take fewer seconds or characters"
        )


def _check_bars(music: Music, steps: Choreography) -> None:
    """Say where bars and movements will not go together; refuse what nobody can move to."""
    if music.path and music.meter % steps.meter and steps.meter % music.meter:
        remark(
            f"{music.name} counts {music.meter} beats a bar, the movements {steps.meter}: they "
            "keep its beats, not its bars"
        )


# --- after it ---------------------------------------------------------------------------------


def _draw(made: CrowdMotion, tops: Sequence[Path], **options: Any) -> None:
    from motionloom.plots.top_view import write_top_view

    for path in tops:
        write_top_view(made.motions, path, music=made.music, **options)


def _finish(
    made: CrowdMotion,
    steps: Choreography,
    output: Path,
    tops: Sequence[Path],
    bvh: Path | None,
    facts: dict[str, Any],
    words: str | None,
) -> None:
    """Write everybody; tell it in `words`, or as JSON."""
    from motionloom.crowd.player import crowd_quality, crowd_sources

    _write(made, output)
    each = [] if bvh is None else [
        motion.save(bvh / f"{motion.name.replace(' ', '_')}.bvh") for motion in made.every
    ]  # fmt: skip
    total, within = made.beats_on_time()
    first = made.every[0]
    if words is not None:
        remark(f"{words}; feet land within a frame of {within} of {total} beats")
        for path in (output, *tops, *([] if bvh is None else [bvh])):
            print(path)
        return
    quality = crowd_quality(made, steps)
    print_json(
        {
            "file": str(output),
            "files": [str(path) for path in (output, *tops, *each)],
            "frames": len(first),
            "fps": first.fps,
            "characters": len(made.every),
            "quality": quality.worst.to_json(),
            "quality_mean": quality.mean.to_json(),
            "sources": crowd_sources(made),
            "beats_total": total,
            "beats_within_one_frame": within,
            "beats_by_analysis": _analysed(made),
            "tempo_bpm": round(made.music.bpm, 3),
            **facts,
        }
    )


def _analysed(made: CrowdMotion) -> dict[str, int] | None:
    """Beats of the first agent as analysis of the motion alone finds them; None of a glimpse."""
    from motionloom.rhythm.dance import beats_on_time

    if made.motions[0][0].duration < _GLIMPSE:
        return None
    total, within = beats_on_time(made.motions[0], made.music)
    return {"total": total, "within_one_frame": within}


def _write(made: CrowdMotion, output: Path) -> None:
    from motionloom.formats import save, writer_options
    from motionloom.motion import Scene

    save(Scene(made.every), output, compact="compact" in writer_options(output))
