"""``motionloom reconstruct`` and ``evaluate-reconstruct``: a body from a few markers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from motionloom.cli.arguments import is_library, motion_from
from motionloom.cli.options import DETAILS, INSPECT, JSON, LIB, WORKERS, check_picture, open_library
from motionloom.cli.settings_options import settings_options
from motionloom.cli.terminal import draw_worst, print_json, print_quality, progress, remark
from motionloom.errors import InvalidInput
from motionloom.formats.settings import LoadMarkersSettings
from motionloom.library.settings import ReconstructSettings
from motionloom.settings import Names, Settings, setting

if TYPE_CHECKING:
    from motionloom.evaluation.reconstruction import ReconstructionError

_UNSURE = 0.4  # mean confidence below which a remark says what to try


def _places(first: Path, second: Path | None, old_library: Path | None) -> tuple[Path, Path]:
    """Library and markers; ``MARKERS --library LIB`` is the order of release 0.1."""
    if old_library is not None and second is None:
        return old_library, first
    if second is None:
        raise InvalidInput(
            "reconstruct needs a library and markers, motionloom reconstruct LIB MARKERS; got "
            f"{first}"
        )
    if not is_library(first) and is_library(second):
        raise InvalidInput(f"LIB comes first: motionloom reconstruct {second} {first}")
    return first, second


@settings_options
def reconstruct(
    library: Annotated[
        Path, typer.Argument(metavar="LIB", help="Library whose poses are the prior.")
    ],
    markers: Annotated[
        Path | None,
        typer.Argument(
            metavar="MARKERS",
            help="Markers (.c3d, .csv, .parquet), or a motion (FILE or LIB:NAME) of which six "
            "joints are used.",
        ),
    ] = None,
    *,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="The body: .bvh, .glb, ...")
    ],
    settings: ReconstructSettings,
    reading: LoadMarkersSettings,
    old_library: Annotated[Path | None, typer.Option("--library", hidden=True)] = None,
    inspect: Annotated[Path | None, INSPECT] = None,
    details: Annotated[bool, DETAILS] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Reconstruct a whole body from wrists, ankles, head and hips, or at least three of them."""
    import numpy as np

    from motionloom.formats import is_marker_file, load, load_markers

    if inspect is not None:
        check_picture(inspect)
    library, markers = _places(library, markers, old_library)
    options = {
        name: value
        for name, value in reading.arguments().items()
        if value != getattr(LoadMarkersSettings(), name)
    }
    in_library = not markers.exists() and is_library(str(markers).partition(":")[0])
    given = (
        motion_from(str(markers))
        if in_library
        else (load_markers if is_marker_file(markers) else load)(markers, **options)
    )
    lib = open_library(library)
    with progress("reconstructing", len(given), quiet=json) as advance:
        body = lib.reconstruct(given, **settings.arguments(), progress=advance)
    body.save(output)
    draw_worst([body], inspect)
    sure = np.asarray(body.confidence)
    off = 100.0 * np.asarray(body.expected_error)
    if json:
        print_json(
            {
                "file": str(output),
                "frames": len(body),
                "fps": body.fps,
                "markers": dict(body.markers or {}),
                "lost": list(body.lost),
                "quality": body.quality.to_json() if body.quality else None,
                "confidence": {"mean": float(sure.mean()), "least": float(sure.min())},
                "expected_error_cm": {"mean": float(off.mean()), "most": float(off.max())},
            }
        )
        return
    remark(
        f"{len(body)} frames from {', '.join(body.markers or {})}; confidence {sure.mean():.2f}, "
        f"expected error {off.mean():.1f} cm (worst frame {off.max():.1f} cm)"
    )
    if sure.mean() < _UNSURE:
        remark(
            "the library has few poses like these: add motions of this kind, and give the "
            "performer's skeleton with --skeleton"
        )
    for role in body.lost:
        remark(f"the marker of {role} was never seen")
    print_quality(body.quality, details=details)
    print(output)


@dataclass(frozen=True, kw_only=True)
class EvaluateReconstructSettings(Settings):
    """Which motions are reconstructed, and from which markers."""

    motions: Names = setting(None, "Motions to reconstruct.", metavar="NAME,...", commas=True)
    random: int | None = setting(
        None, "Reconstruct this many motions of different performers, drawn by the seed."
    )
    exclude_subject: bool = setting(
        False,
        "Exclude all motions of the same performer: those whose names agree up to '_', and those "
        "of subjects who share takes.",
        old_options=("--without-subject",),
    )
    mode: Literal["offline", "online"] = setting("offline", "Offline or online reconstruction.")
    features: str = setting("e15", "Features by which neighbours are searched.")
    noise: float = setting(1.0, "Noise of the markers.", unit="mm")
    missing: float = setting(0.0, "Share of marker samples that are missing.")
    lose: str | None = setting(None, "Lose the marker of this role for one second.", metavar="ROLE")
    seed: int = setting(0, "Random seed of noise, gaps and choice of motions.", least=0)


@settings_options
def evaluate_reconstruct(
    library: Annotated[Path, LIB],
    settings: EvaluateReconstructSettings,
    workers: Annotated[int | None, WORKERS] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Reconstruct motions of a library from six of their joints, and measure the error.

    The error is the distance between true and reconstructed joints in the world, without
    alignment; joints at one position count once. Averaged over the joints of each frame, then
    mean and maximum over the frames. The motion itself and all motions that repeat it are
    excluded from the prior.
    """
    from motionloom.evaluation.reconstruction import (
        evaluate_reconstructions,
        summary,
        varied_motions,
    )

    lib = open_library(library)
    names = [settings.motions] if isinstance(settings.motions, str) else settings.motions or ()
    if settings.random is not None:
        names = [*names, *varied_motions(lib, settings.random, seed=settings.seed)]
    if not names:
        raise InvalidInput("choose motions to reconstruct: --motions NAME,... or --random COUNT")
    errors = []
    with progress("reconstructing", len(names), quiet=json) as advance:
        for error in evaluate_reconstructions(
            lib,
            names,
            {
                "without_subject": settings.exclude_subject,
                "noise": 1e-3 * settings.noise,
                "missing": settings.missing,
                "lose": settings.lose,
                "seed": settings.seed,
                "mode": settings.mode,
                "features": settings.features,
            },
            workers=workers,
        ):
            errors.append(error)
            if not json:
                _print_error(error)
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


def _print_error(error: ReconstructionError) -> None:
    print(
        f"{error.motion}: {error.mean_cm:.2f} cm, at most {error.max_cm:.2f} cm, "
        f"{len(error.frames)} frames; {len(error.left_out)} motions left out"
    )
