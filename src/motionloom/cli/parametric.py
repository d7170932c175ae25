"""``motionloom parametrize`` and ``motionloom synthesize``: a kick that lands here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from motionloom.cli.options import JSON, LIB, WITHIN, check_picture, open_library
from motionloom.cli.search import hint_at_small_family
from motionloom.cli.terminal import print_json, progress, remark
from motionloom.errors import InvalidInput

if TYPE_CHECKING:
    from motionloom.parametric.parametric_motion import ParametricMotion


def parametrize(
    library: Annotated[Path, LIB],
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help="NAME:START-END in frames, or seconds with an s.")
    ],
    by: Annotated[
        list[str],
        typer.Option(
            metavar="PARAMETER",
            help="What to ask it by: JOINT@FRAME, final_root_position, lowest(JOINT), "
            "highest(JOINT), average_speed, turn, joint_speed(JOINT)@FRAME, "
            "centre_of_mass@FRAME. May be repeated.",
        ),
    ],
    name: Annotated[
        str | None,
        typer.Option(help="Name in the library. [that of --out, or of the query's motion]"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Describe it in a .json file, too.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw what it can reach (.png, .svg, .pdf).")
    ] = None,
    method: Annotated[str, typer.Option(help="How to search the family: dtw, lazy, web.")] = "dtw",
    max_distance: Annotated[
        float | None,
        typer.Option(
            "--max-distance", "--threshold", help="How alike members of the family must be."
        ),
    ] = None,
    max_matches: Annotated[
        int, typer.Option("--max", metavar="N", help="At most so many members.")
    ] = 100,
    within: Annotated[list[str] | None, WITHIN] = None,
    whole: Annotated[
        bool,
        typer.Option(
            "--whole", help="Do not search: all takes --within, from start to end. QUERY is a NAME."
        ),
    ] = False,
    samples: Annotated[int, typer.Option(help="Blends that are tried.")] = 1000,
    delta: Annotated[float, typer.Option(help="How far blend weights may leave 0 to 1.")] = 0.1,
    redundant: Annotated[
        float | None,
        typer.Option(metavar="METRES", help="Leave out examples that the others reach as nearly."),
    ] = None,
    leave_out_unmatched: Annotated[
        bool,
        typer.Option(
            "--leave-out-unmatched", help="Leave out examples on the wrong foot, and name them."
        ),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of the samples.")] = 0,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Make a parametric motion of everything that is like the query, and keep it by name."""
    from motionloom.search.filters import whole_takes

    lib = open_library(library)
    if picture is not None:
        check_picture(picture)
    if out is not None and out.suffix.lower() != ".json":
        raise InvalidInput(f"{out}: a parametric motion is described in a .json file")
    kept_as = name or (out.stem if out is not None else query.split(":")[0])
    family = None
    if not whole:
        family = lib.family(
            query, method=method, max_distance=max_distance, max=max_matches, within=within or None
        )
    with progress("blends", samples, quiet=json) as advance:
        motion = lib.parametrize(
            whole_takes(lib, query, within=within or None) if family is None else family,
            list(by),
            samples=samples,
            delta=delta,
            redundant=redundant,
            leave_out_unmatched=leave_out_unmatched,
            seed=seed,
            name=kept_as,
            progress=advance,
        )
    if family is not None:
        hint_at_small_family(family, max_distance)
    if picture is not None:
        draw_accessible(motion, picture)
    about = _about(motion)
    if out is not None:
        _write_json(out, about)
    if json:
        print_json(about)
        return
    axes = ", ".join(motion.axes)
    low, high = motion.accessible.min(axis=0), motion.accessible.max(axis=0)
    print(f"{kept_as}: {len(motion.examples)} examples, {len(motion.accessible)} samples")
    for left in motion.registration.left_out:
        print(f"  left out, feet cannot be matched: {left}")
    for axis, a, b in zip(motion.axes, low, high, strict=True):
        print(f"  {axis}: {a:.3f} to {b:.3f}")
    middle = ",".join(f"{value:.2f}" for value in motion.space.examples.mean(axis=0))
    print(f"ask it by {axes}: motionloom synthesize {library} {kept_as} --at {middle} -o new.bvh")


def synthesize(
    library: Annotated[Path, LIB],
    name: Annotated[str, typer.Argument(help="The parametric motion, as it is kept.")],
    at: Annotated[
        str, typer.Option(metavar="X,Y,...", help="The target: as many numbers as it is asked by.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Any format that we write.")
    ],
    refine: Annotated[
        bool, typer.Option(help="Improve the interpolated weights until the target is met.")
    ] = True,
    tolerance: Annotated[float, typer.Option(help="How near is near enough.")] = 0.01,
    scheme: Annotated[str, typer.Option(help="samples (bounded), or cardinal.")] = "samples",
    json: Annotated[bool, JSON] = False,
) -> None:
    """Write the motion that does what is asked, or comes as near to it as it can."""
    from motionloom.formats import writer_options
    from motionloom.motion.diagnostics.quality import quality_report

    writer_options(output)  # complains before the work
    lib = open_library(library)
    motion = lib.parametric(name)
    target = _numbers(at, motion)
    found = motion.reach(target, refine=refine, tolerance=tolerance, scheme=scheme)
    path = found.motion.save(output)
    weights = {
        example: round(float(weight), 6)
        for example, weight in zip(motion.examples, found.weights, strict=True)
        if weight != 0.0
    }
    frames = [frame for frame in found.frames if frame is not None]
    if json:
        print_json(
            {
                "target": found.target.tolist(),
                "reached": found.reached.tolist(),
                "error": found.error,
                "weights": weights,
                "file": str(path),
                "frame": frames[0] if frames else None,
                "frames": len(found.motion),
                "fps": found.motion.fps,
                "quality": quality_report(found.motion).to_json(),
                "sources": [source.as_dict() for source in found.motion.sources],
            }
        )
        return
    reached = ", ".join(
        f"{axis} {value:.3f}" for axis, value in zip(motion.axes, found.reached, strict=True)
    )
    when = f" at frame {frames[0]}" if frames else ""
    print(f"{path}: {reached}{when}, {_spelt_error(found.error, motion.axes)} off")
    if found.error > tolerance:
        remark(
            f"the target is {found.error:.3f} away from the nearest that blends reach; "
            "see motion.accessible, or --picture of motionloom parametrize"
        )


def _spelt_error(error: float, axes: Sequence[str]) -> str:
    """How far off, in centimetres where all that is asked by is a place."""
    if set(axes) <= {"x", "y", "z"}:
        return f"{100 * error:.1f} cm"
    return f"{error:.3f} {axes[0]}" if len(axes) == 1 else f"{error:.3f}"


def draw_accessible(motion: ParametricMotion, path: Path) -> None:
    """Draw what a parametric motion can reach, around the query at its key frame."""
    from motionloom.plots.parametric import write_parameter_space

    first = motion.reach(motion.space.examples[0], refine=False)
    frames = [frame for frame in first.frames if frame is not None]
    write_parameter_space(
        path,
        axes=motion.axes,
        examples=motion.space.examples,
        samples=motion.accessible,
        poses=[first.motion[frames[0] if frames else -1]],
        title=f"{motion.name}, by {', '.join(one.text for one in motion.parameters)}",
    )


def _about(motion: ParametricMotion) -> dict[str, Any]:
    accessible = motion.accessible
    return {
        "name": motion.name,
        "by": [one.text for one in motion.parameters],
        "axes": list(motion.axes),
        "examples": [
            {"example": text, "parameters": values.tolist()}
            for text, values in zip(motion.examples, motion.space.examples, strict=True)
        ],
        "left_out": list(motion.registration.left_out),
        "samples": len(accessible),
        "delta": motion.space.delta,
        "low": accessible.min(axis=0).tolist(),
        "high": accessible.max(axis=0).tolist(),
    }


def _numbers(text: str, motion: ParametricMotion) -> list[float]:
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        raise InvalidInput(f"--at must be numbers with commas between them; got {text!r}") from None
    if len(numbers) != len(motion.axes):
        raise InvalidInput(
            f"{motion.name} is asked by {len(motion.axes)} numbers ({', '.join(motion.axes)}); "
            f"got {len(numbers)}: {text}"
        )
    return numbers


def _write_json(path: Path, about: dict[str, Any]) -> None:
    import json

    from motionloom.atomic_write import atomic_write

    with atomic_write(path) as scratch:
        scratch.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
