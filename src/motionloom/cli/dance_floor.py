"""``motionloom dancefloor``: many characters that dance next to each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from motionloom.cli.options import JSON, LIB, ONLY, WITHIN, check_picture, listed, open_library
from motionloom.cli.terminal import print_json, remark
from motionloom.errors import InvalidInput

if TYPE_CHECKING:
    from motionloom.motion import Motion


def dancefloor(
    library: Annotated[Path, LIB],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="A .glb or .gltf file with all characters.")
    ],
    count: Annotated[int, typer.Option("-n", "--count", help="How many characters.")] = 12,
    seconds: Annotated[float, typer.Option(help="How long.")] = 60.0,
    seed: Annotated[int, typer.Option(min=0, help="Another seed makes other dances.")] = 0,
    within: Annotated[list[str] | None, WITHIN] = None,
    only: Annotated[str | None, ONLY] = None,
    kind: Annotated[
        str, typer.Option(help="choreography (takes with a rhythm), graph, or auto.")
    ] = "auto",
    floor: Annotated[
        str | None, typer.Option(metavar="WIDTHxDEPTH", help="Metres. [as large as needed]")
    ] = None,
    top: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also draw it from above: .png, .svg, .pdf.")
    ] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Let characters dance next to each other, each at random, none in another's way.

    Without --within or --only they dance what is labelled dance..., or all there is.
    """
    from motionloom.formats import save
    from motionloom.motion import Scene

    if output.suffix.lower() not in (".glb", ".gltf"):
        raise InvalidInput(
            f"{output}: a dance floor is written to .glb, .gltf; got {output.suffix!r}"
        )
    if top is not None:
        check_picture(top)
    made = open_library(library).dance_floor(
        count,
        seconds=seconds,
        seed=seed,
        kind=kind,
        floor=None if floor is None else _floor(floor),
        within=within or None,
        only=listed(only),
    )
    save(Scene(made.motions), output)
    if top is not None:
        from motionloom.plots.top_view import write_floor_plan

        write_floor_plan(made.motions, top)
    quality = made.quality()
    first = made.motions[0]
    if json:
        print_json(
            {
                "file": str(output),
                "frames": len(first),
                "fps": first.fps,
                "quality": quality.to_json(),
                "sources": [source for motion in made.motions for source in _sources(motion)],
                "characters": [_character(motion) for motion in made.motions],
                "kind": made.kind,
                "least_distance_m": made.least_distance,
                "floor_m": list(made.size),
            }
        )
        return
    wide, deep = made.size
    remark(
        f"{len(made)} characters ({made.kind}), {len(first)} frames at {first.fps:g} fps, on "
        f"{wide:.1f} by {deep:.1f} m; no two bodies nearer than {made.least_distance:.2f} m"
    )
    print(output)


def _sources(motion: Motion) -> list[dict[str, Any]]:
    """What a character's motion is made of, with the character's name."""
    return [{"character": motion.name, **source.as_dict()} for source in motion.sources]


def _character(motion: Motion) -> dict[str, Any]:
    x, _, z = (float(mean) for mean in motion.root.mean(axis=0))
    return {"name": motion.name, "x": x, "z": z}


def _floor(text: str) -> tuple[float, float]:
    try:
        wide, deep = (float(part) for part in text.lower().split("x"))
    except ValueError:
        raise InvalidInput(
            f"a floor is written WIDTHxDEPTH in metres: 10x8; got {text!r}"
        ) from None
    return wide, deep
