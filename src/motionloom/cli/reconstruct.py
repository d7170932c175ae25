"""``motionloom reconstruct`` and ``evaluate-reconstruct``: a body from a few tracked points."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from motionloom.cli.arguments import motion_from
from motionloom.cli.options import JSON, LIB, WITHOUT, WORKERS, listed, open_library
from motionloom.cli.terminal import print_json, progress, remark
from motionloom.errors import InvalidInput

if TYPE_CHECKING:
    from motionloom.evaluation.reconstruction import ReconstructionError
    from motionloom.motion import Skeleton

Mode = Literal["offline", "online"]


def reconstruct(
    markers: Annotated[
        Path,
        typer.Argument(
            metavar="MARKERS", help="Markers (.c3d, .csv, .parquet), or a motion to take six from."
        ),
    ],
    library: Annotated[
        Path, typer.Option("--library", metavar="LIB", help="Whose motions tell the rest.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The body: .bvh, .glb, ...")],
    roles: Annotated[
        str | None,
        typer.Option(metavar="ROLE=LABEL,...", help="Which marker is which, if labels do not say."),
    ] = None,
    skeleton: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|NAME",
            help="The performer's: a file, or a motion of the library. [scaled to the markers]",
        ),
    ] = None,
    mode: Annotated[
        Mode, typer.Option(help="The whole take at once, or knowing only the past.")
    ] = "offline",
    features: Annotated[str, typer.Option(help="What neighbours are found by.")] = "e15",
    without: Annotated[str | None, WITHOUT] = None,
    unit: Annotated[str | None, typer.Option(help="Unit of the markers, as mm or cm.")] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Infer a whole body from wrists, ankles, head and hips, or at least three of them."""
    from motionloom.formats import is_marker_file, load, load_markers

    given = (load_markers if is_marker_file(Path(markers)) else load)(markers, unit=unit)
    lib = open_library(library)
    with progress("reconstructing", len(given), quiet=json) as advance:
        body = lib.reconstruct(
            given,
            skeleton=_skeleton(lib, skeleton),
            roles=_pairs(roles),
            mode=mode,
            features=features,
            without=listed(without),
            progress=advance,
        )
    body.save(output)
    sure = body.confidence
    mean, least = (float(sure.mean()), float(sure.min())) if sure is not None else (None, None)
    if json:
        print_json(
            {
                "file": str(output),
                "frames": len(body),
                "fps": body.fps,
                "markers": dict(body.markers or {}),
                "lost": list(body.lost),
                "confidence": {"mean": mean, "least": least},
            }
        )
        return
    remark(f"{len(body)} frames from {', '.join(body.markers or {})}; confidence {mean:.2f}")
    for role in body.lost:
        remark(f"the marker of {role} was never seen")
    print(output)


def evaluate_reconstruct(
    library: Annotated[Path, LIB],
    motions: Annotated[
        str | None, typer.Option(metavar="TAKE,...", help="Motions to reconstruct.")
    ] = None,
    random: Annotated[
        int | None, typer.Option(help="So many motions of as many performers, by the seed.")
    ] = None,
    without_subject: Annotated[
        bool,
        typer.Option(
            "--without-subject",
            help="Leave out all by the same performer: NAME up to '_', and who shares takes.",
        ),
    ] = False,
    mode: Annotated[Mode, typer.Option(help="Off-line or on-line.")] = "offline",
    features: Annotated[str, typer.Option(help="What neighbours are found by.")] = "e15",
    noise: Annotated[float, typer.Option(help="Noise of the markers, mm.")] = 1.0,
    missing: Annotated[float, typer.Option(help="Share of samples not seen.")] = 0.0,
    lose: Annotated[
        str | None, typer.Option(metavar="ROLE", help="A marker lost for one second.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of noise, gaps and choice.")] = 0,
    workers: Annotated[int | None, WORKERS] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Reconstruct motions of a library from six of their joints, and measure the error.

    Distances between true and inferred joints in the world, nothing aligned, joints at one
    place counted once; mean over the joints of each frame, then mean and greatest over the
    frames. The motion itself and all that repeat it are left out of the library.
    """
    from motionloom.evaluation.reconstruction import (
        evaluate_reconstructions,
        summary,
        varied_motions,
    )

    lib = open_library(library)
    names = listed(motions) or []
    if random is not None:
        names = [*names, *varied_motions(lib, random, seed=seed)]
    if not names:
        raise InvalidInput("name motions to reconstruct: --motions NAME,... or --random COUNT")
    errors = []
    with progress("reconstructing", len(names), quiet=json) as advance:
        for error in evaluate_reconstructions(
            lib,
            names,
            workers=workers,
            without_subject=without_subject,
            noise=1e-3 * noise,
            missing=missing,
            lose=lose,
            seed=seed,
            mode=mode,
            features=features,
        ):
            errors.append(error)
            if not json:
                _tell(error)
            advance()
    if json:
        print_json({"motions": {e.motion: _as_dict(e) for e in errors}, **summary(errors)})
    else:
        total = summary(errors)
        print(f"all: {total['mean_cm']:.2f} cm, at most {total['max_cm']:.2f} cm")


def _as_dict(error: ReconstructionError) -> dict:
    return {
        "mean_cm": error.mean_cm,
        "max_cm": error.max_cm,
        "frames": len(error.frames),
        "joints_cm": error.joints,
        "left_out": len(error.left_out),
    }


def _tell(error: ReconstructionError) -> None:
    print(
        f"{error.motion}: {error.mean_cm:.2f} cm, at most {error.max_cm:.2f} cm, "
        f"{len(error.frames)} frames; {len(error.left_out)} motions left out"
    )


def _pairs(text: str | None) -> dict[str, str] | None:
    if text is None:
        return None
    found = {}
    for part in text.split(","):
        role, equals, label = part.partition("=")
        if not equals or not label.strip():
            raise InvalidInput(f"--roles: expected ROLE=LABEL,... as head=HEAD; got {part!r}")
        found[role.strip()] = label.strip()
    return found


def _skeleton(lib, text: str | None) -> Skeleton | None:
    if text is None:
        return None
    if text in lib:
        return lib[text].skeleton
    return motion_from(text).skeleton
