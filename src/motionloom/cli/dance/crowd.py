"""``motionloom ballroom``, ``march`` and ``dancefloor``: crowds that move to music."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from motionloom.cli.command import Argument, Fields, Option
from motionloom.cli.dance.movements import print_left_out
from motionloom.cli.options import DETAILS, INSPECT, JSON, LIB, check_picture, open_library, writes
from motionloom.cli.terminal import (
    counted,
    draw_worst,
    print_json,
    print_quality,
    progress,
    remark,
)
from motionloom.crowd.settings import BallroomSettings, DanceFloorSettings, MarchSettings
from motionloom.errors import InvalidInput
from motionloom.settings import PLANNED

if TYPE_CHECKING:
    from motionloom.library import CrowdMotion
    from motionloom.library.crowd_plan import CrowdPlan
    from motionloom.motion import Motion

SUFFIXES = (".glb", ".gltf", ".usd", ".usda", ".usdc")
VIEWS = (".png", ".svg", ".pdf", ".gif", ".mp4", ".html")

Takes = Annotated[
    str | None, Argument("Library with the takes to use. [built-in takes]", metavar="LIB")
]
Description = Annotated[Path | None, Argument("Crowd description, .toml or .json.", metavar="FILE")]
Output = Annotated[
    Path,
    Option(
        "Output file with all characters: .glb, .gltf, .usd, .usda or .usdc.",
        "-o --output",
        metavar="FILE",
        check=writes(*SUFFIXES, kind="scene"),
    ),
]
Bvh = Annotated[Path | None, Option("Also write one BVH file per character.", metavar="DIR")]
TopView = Annotated[
    list[Path] | None,
    Option(
        "View from above: .png, .svg, .pdf; animated: .gif, .html, .mp4 (with music). "
        "May be repeated.",
        "--top-view",
        metavar="FILE",
        check=writes(*VIEWS),
    ),
]
Inspect = Annotated[Path | None, INSPECT]
Details = Annotated[bool, DETAILS]
Json = Annotated[bool, JSON]

_MOST_FRAMES = 10_000_000  # for all characters together; more would take several gigabytes


def ballroom(
    library: Takes = None,
    description: Description = None,
    *,
    output: Output,
    given: Annotated[dict[str, Any], BallroomSettings, Fields(show=("takes", "label"))],
    room: Annotated[
        str | None,
        Option("Size of the room, in meters, or open for no walls. [14x10]", metavar="WIDTHxDEPTH"),
    ] = None,
    bvh: Bvh = None,
    top_view: TopView = None,
    inspect: Inspect = None,
    details: Details = False,
    json: Json = False,
) -> None:
    """Let couples dance around a ballroom, on the beat, without colliding.

    By default they waltz. With a library, they dance like its couples; --takes selects couples as
    LEADER+FOLLOWER, with wildcards (60_*+61_*).
    """
    if room is not None:
        given["room"] = room if room == "open" else list(_size(room, "room", ", or open"))
    plan = _plan("ballroom", given, library, description)
    views = top_view or []
    _check_folder(bvh)
    _check_size(2 * plan.settings.couples, plan.settings.seconds or 60.0, plan.settings.fps)
    made = _made(plan, "couple", quiet=json)
    settings = made.settings
    floor = settings.floor
    _draw(made, views, radius=floor.disc_radius, room=floor.room, columns=floor.columns)
    gap = made.clearance()
    text = f"{counted(settings.couples, 'couple')}, minimum gap {gap:.2f} m"
    facts = {"couples": settings.couples, "clearance_m": gap, "radius_m": floor.disc_radius}
    draw_worst(made.scene.motions, inspect)
    _finish(made, output, views, bvh, facts, None if json else text, details=details)


def march(
    library: Takes = None,
    description: Description = None,
    *,
    output: Output,
    given: Annotated[
        dict[str, Any], MarchSettings, Fields(show=("takes", "label", "ranks", "files"))
    ],
    bvh: Bvh = None,
    top_view: TopView = None,
    inspect: Inspect = None,
    details: Details = False,
    json: Json = False,
) -> None:
    """Let soldiers march along a street in formation, in step.

    By default the street has two corners. With a library, they walk like its takes.
    """
    plan = _plan("march", given, library, description)
    views = top_view or []
    _check_folder(bvh)
    soldiers = plan.settings.formation.ranks * plan.settings.formation.files
    _check_size(soldiers, plan.settings.seconds or 60.0, plan.settings.fps)
    made = _made(plan, "take", quiet=json)
    _draw(made, views, radius=0.25, line=made.settings.street.places)
    off, in_step = float(made.misplacement().mean()), made.left_feet_in_step()
    text = (
        f"{counted(soldiers, 'soldier')}, {100 * off:.1f} cm out of place on average, "
        f"{in_step:.0%} of left feet in step"
    )
    facts = {"soldiers": soldiers, "misplacement_m": off, "left_feet_in_step": in_step}
    draw_worst(made.scene.motions, inspect)
    _finish(made, output, views, bvh, facts, None if json else text, details=details)


def dancefloor(
    library: Annotated[Path, LIB],
    *,
    output: Annotated[
        Path,
        Option(
            "Output file with all characters: .glb or .gltf.",
            "-o --output",
            metavar="FILE",
            check=writes(".glb", ".gltf", kind="scene"),
        ),
    ],
    settings: DanceFloorSettings,
    floor: Annotated[
        str | None,
        Option("Size of the floor, in meters. [as large as needed]", metavar="WIDTHxDEPTH"),
    ] = None,
    top_view: Annotated[
        Path | None,
        Option(
            "View from above: .png, .svg, .pdf.",
            "--top-view",
            metavar="FILE",
            check=check_picture,
        ),
    ] = None,
    inspect: Inspect = None,
    details: Details = False,
    json: Json = False,
) -> None:
    """Let characters dance next to each other in random order, without colliding.

    By default they use the motions with a label that begins with dance, or all motions if there are
    none.
    """
    from motionloom.formats import save

    size = None if floor is None else _size(floor, "floor")
    made = open_library(library).dance_floor(settings, floor=size)
    save(made.scene, output)
    if top_view is not None:
        from motionloom.plots.figures.top_view import write_floor_plan

        write_floor_plan(made.motions, top_view)
    draw_worst(made.motions, inspect)
    first = made.motions[0]
    if json:
        print_json(
            {
                "file": str(output),
                "frames": len(first),
                "fps": first.fps,
                "quality": made.quality().to_json(),
                "sources": [
                    {"character": motion.name, **source.as_dict()}
                    for motion in made.motions
                    for source in motion.sources
                ],
                "characters": [_character(motion) for motion in made.motions],
                "kind": made.method,
                "least_distance_m": made.least_distance,
                "floor_m": list(made.size),
            }
        )
        return
    wide, deep = made.size
    remark(
        f"{len(made)} characters ({made.method}), {len(first)} frames at {first.fps:g} fps, on "
        f"{wide:.1f} by {deep:.1f} m; minimum distance between two bodies "
        f"{made.least_distance:.2f} m"
    )
    print_quality(made.quality(), details=details)
    print(output)


def _character(motion: Motion) -> dict[str, Any]:
    from motionloom.motion.kinematics.body import hips_path

    x, _, z = (float(mean) for mean in hips_path(motion).mean(axis=0))
    return {"name": motion.name, "x": x, "z": z}


def _size(text: str, what: str, more: str = "") -> tuple[float, float]:
    try:
        wide, deep = (float(part) for part in text.lower().split("x"))
    except ValueError:
        raise InvalidInput(
            f"{what} must be WIDTHxDEPTH in meters, for example 10x8{more}; got {text!r}"
        ) from None
    return wide, deep


# --- checks before the slow work
# --------------------------------------------------------------------------


def _plan(
    kind: str, given: dict[str, Any], library: str | None, description: Path | None
) -> CrowdPlan:
    """Return the plan for a crowd; the first argument may be a description or a library."""
    if library is not None and Path(library).suffix.lower() in (".toml", ".json"):
        if description is not None:
            raise InvalidInput(
                f"LIB must come before the crowd description; got {library}, then {description}"
            )
        description, library = Path(library), None
    if library is not None:
        given["library"] = library
    from motionloom.cli.arguments import motion_from
    from motionloom.library.crowd_plan import CrowdPlan

    return CrowdPlan(kind, given, description, read=motion_from)


def _check_folder(bvh: Path | None) -> None:
    if bvh is not None and bvh.exists() and not bvh.is_dir():
        raise InvalidInput(f"{bvh} is a file; --bvh must name a folder")


def _check_size(characters: int, seconds: float, fps: float) -> None:
    frames = round(characters * seconds * fps)
    if frames > _MOST_FRAMES:
        raise InvalidInput(
            f"{characters} characters for {seconds:g} s make {frames:,} frames; one file holds "
            f"at most {_MOST_FRAMES:,}. Reduce --seconds or the number of characters"
        )


# --- the work ---------------------------------------------------------------------------------


def _made(plan: CrowdPlan, what: str, *, quiet: bool) -> Any:
    """Learn the choreography, synthesize the crowd, and print remarks about takes and music."""
    if plan.settings.music is not None:
        plan.settings.loaded_music(plan.settings.movements.meter or 4)  # raises if it is damaged
    takes = plan.takes()
    with progress("analyzing takes", len(takes), quiet=quiet) as advance:
        steps = plan.choreography(takes, advance)
    if takes and not quiet:
        ending = " of takes" if what == "couple" else ""
        remark(
            f"{counted(len(takes), what)}{ending}: {counted(len(steps.movements), 'movement')} "
            f"of {counted(steps.meter, 'beat')}, {60.0 / steps.period:.0f} beats per minute"
        )
        print_left_out(steps)
    settings = plan.fitted(steps)
    if plan.kind == "march":
        longest = settings.seconds_on_street
        seconds = min(settings.seconds or longest, longest)
        _check_size(settings.formation.ranks * settings.formation.files, seconds, settings.fps)
        music = settings.loaded_music(steps.meter, longest)
    else:
        music = settings.loaded_music(steps.meter)
    if music.path and music.meter % steps.meter and steps.meter % music.meter:
        remark(
            f"{music.name} has {music.meter} beats per bar but the movements have {steps.meter}, "
            f"so they follow the beats of the music and not its bars"
        )
    with progress("moving characters", PLANNED, quiet=quiet) as advance:
        return plan.run(steps, progress=advance)


def _draw(made: CrowdMotion, views: Sequence[Path], **options: Any) -> None:
    from motionloom.plots.figures.top_view import write_top_view

    for path in views:
        write_top_view(made.motions, path, music=made.music, **options)


def _finish(
    made: CrowdMotion,
    output: Path,
    views: Sequence[Path],
    bvh: Path | None,
    facts: dict[str, Any],
    text: str | None,
    *,
    details: bool = False,
) -> None:
    """Write all characters and print the report, as `text` or as JSON."""
    from motionloom.formats import save

    scene = made.scene
    save(scene, output, compact=not output.suffix.lower().startswith(".usd"))
    each = [] if bvh is None else [
        motion.save(bvh / f"{motion.name.replace(' ', '_')}.bvh") for motion in scene
    ]  # fmt: skip
    total, within = made.beats_on_time()
    if text is not None:
        remark(text)
        remark(made.landings().text)
        print_quality(made.quality().worst, details=details)
        for path in (output, *views, *([] if bvh is None else [bvh])):
            print(path)
        return
    quality, analyzed = made.quality(), made.beats_by_analysis()
    print_json(
        {
            "file": str(output),
            "files": [str(path) for path in (output, *views, *each)],
            "frames": scene.frames,
            "fps": scene.fps,
            "characters": len(scene),
            "quality": quality.worst.to_json(),
            "quality_mean": quality.mean.to_json(),
            "sources": made.sources(),
            "beats_total": total,
            "beats_within_one_frame": within,
            "landings": made.landings().to_json(),
            "beats_by_analysis": None
            if analyzed is None
            else dict(zip(("total", "within_one_frame"), analyzed, strict=True)),
            "tempo_bpm": round(made.music.bpm, 3),
            **facts,
        }
    )
