"""``motionloom parametrize`` and ``motionloom synthesize``: parametric motions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from motionloom.cli.command import Argument, Fields, Option
from motionloom.cli.find.search import hint_at_small_family
from motionloom.cli.options import (
    DETAILS,
    INSPECT,
    JSON,
    LIB,
    PAGES,
    PICTURES,
    open_library,
    writes,
)
from motionloom.cli.terminal import draw_worst, print_json, print_quality, progress, remark
from motionloom.errors import InvalidInput
from motionloom.parametric.settings import ParametrizeSettings, SynthesisSettings
from motionloom.search.settings import FamilySettings
from motionloom.settings import motion_choice

if TYPE_CHECKING:
    from motionloom.library import ParametricMotion


BY = (
    "Parameter, such as right_ankle@33 or lowest(hips); may be repeated. Write JOINT@FRAME, "
    "final_root_position, lowest(JOINT), highest(JOINT), average_speed, average_curvature, turn; "
    "height(JOINT), joint_speed(JOINT), angular_velocity(JOINT), curvature(JOINT) or "
    "center_of_mass, followed by @FRAME or @highest(JOINT) (also lowest, fastest, farthest); "
    "minimum(...), maximum(...) or mean(...) of one of these or of position(JOINT), optionally "
    "limited to some frames with @START-END; FILE.csv or FILE.csv:COLUMN,... for scores; or "
    "MODULE:FUNCTION."
)


def parametrize(
    library: Annotated[Path, LIB],
    query: Annotated[
        str,
        Argument(
            "Query segment NAME:START-END, in frames or, with an s, in seconds.", metavar="QUERY"
        ),
    ],
    by: Annotated[
        list[str],
        Option(BY, metavar="PARAMETER"),
    ],
    examples: Annotated[
        FamilySettings,
        Fields(show=("join_distance",), hide=("exclude_query",), preset=False),
    ],
    settings: Annotated[
        ParametrizeSettings,
        Fields(
            hide=(
                "delta",
                "spacing",
                "sampling",
                "counted",
                "whole_frames",
                "lock_feet",
                "redundant",
                "redundant_by",
                "align_squares",
            )
        ),
    ],
    name: Annotated[
        str | None,
        Option("Name in the library. [name of the --output file or of the query motion]"),
    ] = None,
    output: Annotated[
        Path | None,
        Option(
            "Write a description of the parametric motion (.json).",
            "-o --output",
            metavar="FILE",
            check=writes(".json"),
        ),
    ] = None,
    whole: Annotated[
        bool,
        Option(
            "Skip the search and use whole motions as examples: QUERY, which is then a NAME, and "
            "all selected motions."
        ),
    ] = False,
    picture: Annotated[
        Path | None,
        Option(
            "Draw the reachable parameters (.png, .svg, .pdf), or write a page on which you drag "
            "the target (.html).",
            metavar="FILE",
            check=writes(*PICTURES, *PAGES),
        ),
    ] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Learn a parametric motion from motions similar to the query, and save it under a name."""
    lib = open_library(library)
    name = name or (output.stem if output is not None else query.split(":")[0])
    lib.parametric.check(query, list(by))
    family = None if whole else lib.family(query, examples)
    with progress("blends", settings.samples, quiet=json) as advance:
        motion = lib.parametrize(
            lib.select(first=query, **motion_choice(examples)) if family is None else family,
            list(by),
            settings,
            name=name,
            progress=advance,
        )
    if family is not None:
        hint_at_small_family(family)
    if picture is not None:
        draw_accessible(motion, picture)
    if output is not None:
        motion.save_description(output)
    if json:
        print_json(motion.to_dict())
        return
    low, high = motion.accessible.min(axis=0), motion.accessible.max(axis=0)
    print(f"{name}: {len(motion.examples)} examples, {len(motion.accessible)} samples")
    if motion.space.shortfall:
        print(f"  {motion.space.shortfall}")
    registration = motion.registration
    for left in registration.left_out:
        is_unclear = left in registration.unclear
        reason = "no clear time alignment" if is_unclear else "foot contacts do not match"
        print(f"  excluded {left}: {reason}")
    unclear = [example for example in registration.unclear if example not in registration.left_out]
    if unclear:
        more = f" and {len(unclear) - 3} more" if len(unclear) > 3 else ""
        named = ", ".join(unclear[:3]) + more
        print(f"  no clear time alignment (--drop-unclear excludes them): {named}")
    for axis, a, b in zip(motion.axes, low, high, strict=True):
        print(f"  {axis}: {a:.3f} to {b:.3f}")
    middle = ",".join(f"{value:.2f}" for value in motion.space.examples.mean(axis=0))
    print(f"next: motionloom synthesize {library} {name} --at {middle} -o new.bvh")


def synthesize(
    library: Annotated[Path, LIB],
    name: Annotated[str, Argument("Name of the parametric motion.", metavar="NAME")],
    at: Annotated[str, Option("Target: one number per parameter.", metavar="X,Y,...")],
    output: Annotated[
        Path,
        Option(
            "Output file, in any writable format.",
            "--output -o",
            metavar="FILE",
            check=writes("motion"),
        ),
    ],
    settings: SynthesisSettings,
    by: Annotated[
        list[str] | None,
        Option(
            "Function that computes a parameter, if the saved one cannot be imported; repeat for "
            "each parameter.",
            metavar="MODULE:FUNCTION",
        ),
    ] = None,
    inspect: Annotated[Path | None, INSPECT] = None,
    details: Annotated[bool, DETAILS] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Synthesize a motion that reaches a target, or comes as close to it as possible."""
    motion = open_library(library).parametric.load(name, by=by)
    result = motion.reach(_numbers(at, motion), settings)
    path = result.motion.save(output)
    draw_worst([result.motion], inspect)
    weights = {
        example: round(float(weight), 6)
        for example, weight in zip(motion.examples, result.weights, strict=True)
        if weight != 0.0
    }
    frames = [frame for frame in result.frames if frame is not None]
    if json:
        print_json(
            {
                "target": result.target.tolist(),
                "reached": result.reached.tolist(),
                "error": result.error,
                "weights": weights,
                "file": str(path),
                "frame": frames[0] if frames else None,
                "frames": len(result.motion),
                "fps": result.motion.fps,
                "quality": result.motion.quality.to_json() if result.motion.quality else None,
                "sources": [source.as_dict() for source in result.motion.sources],
            }
        )
        return
    reached = ", ".join(
        f"{axis} {value:.3f}" for axis, value in zip(motion.axes, result.reached, strict=True)
    )
    when = f" at frame {frames[0]}" if frames else ""
    print(f"{path}: {reached}{when}, {_error_text(result.error, motion.axes)} from the target")
    print_quality(result.motion.quality, details=details)
    if result.error > settings.tolerance:
        low, high = motion.accessible.min(axis=0), motion.accessible.max(axis=0)
        reach = ", ".join(
            f"{axis} {a:.2f} to {b:.2f}" for axis, a, b in zip(motion.axes, low, high, strict=True)
        )
        remark(
            f"the target is out of reach: the closest motion misses it by "
            f"{_error_text(result.error, motion.axes)}. Reachable values lie within {reach} "
            f"(motionloom parametrize --picture draws the reachable region)"
        )


def _error_text(error: float, axes: Sequence[str]) -> str:
    """Format the distance to the target, in centimeters if all parameters are lengths."""
    units = {axis.rpartition("(")[2].rstrip(")") if "(" in axis else "m" for axis in axes}
    named = all("(" in axis or axis in ("x", "y", "z") for axis in axes)
    if not named or len(units) > 1:
        return f"{error:.3f} {axes[0]}" if len(axes) == 1 else f"{error:.3f}"
    (unit,) = units
    return f"{100 * error:.1f} cm" if unit == "m" else f"{error:.3f} {unit}"


def draw_accessible(motion: ParametricMotion, path: Path) -> None:
    """Draw the reachable targets around the query's pose at its key frame, or write a page."""
    if path.suffix.lower() in PAGES:
        from motionloom.plots.pages.aim_page import write_aim_page

        write_aim_page(motion, path)
        return
    from motionloom.plots.parametric import write_parameter_space

    first = motion.reach(motion.space.examples[0], refine=False)
    frames = [frame for frame in first.frames if frame is not None]
    write_parameter_space(
        path,
        axes=motion.axes,
        examples=motion.space.examples,
        samples=motion.accessible,
        poses=[first.motion[frames[0] if frames else -1]],
        title=f"{motion.name}, by {', '.join(parameter.text for parameter in motion.parameters)}",
    )


def _numbers(text: str, motion: ParametricMotion) -> list[float]:
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        raise InvalidInput(f"--at must be numbers separated by commas; got {text!r}") from None
    if len(numbers) != len(motion.axes):
        raise InvalidInput(
            f"--at must have {len(motion.axes)} numbers, one per parameter of {motion.name} "
            f"({', '.join(motion.axes)}); got {text!r}"
        )
    return numbers
