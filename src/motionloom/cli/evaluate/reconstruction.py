"""``motionloom evaluate-reconstruct``: errors of bodies reconstructed from a few markers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from motionloom.cli.options import JSON, LIB, WORKERS, open_library
from motionloom.cli.terminal import print_json, progress
from motionloom.cli.tools.cluster import on_clusters
from motionloom.errors import InvalidInput
from motionloom.settings import Names, Settings, setting

if TYPE_CHECKING:
    from motionloom.evaluation.reconstruction import ReconstructionError


@dataclass(frozen=True, kw_only=True)
class EvaluateReconstructSettings(Settings):
    """Motions to reconstruct, and the simulated markers."""

    motions: Names = setting(None, "Motions to reconstruct.", metavar="NAME,...", commas=True)
    random: int | None = setting(
        None, "Number of motions to reconstruct, drawn at random from different performers."
    )
    exclude_subject: bool = setting(
        False,
        "Exclude all motions of the same performer from the prior. Names that agree up to '_' "
        "belong to one performer, and so do subjects who share takes.",
    )
    mode: Literal["offline", "online"] = setting("offline", "Offline or online reconstruction.")
    features: str = setting("e15", "Features for the neighbor search.")
    noise: float = setting(1.0, "Marker noise.", unit="mm")
    missing: float = setting(0.0, "Share of marker samples that are missing.")
    lose: (
        Literal["hips", "left_wrist", "right_wrist", "left_ankle", "right_ankle", "head"] | None
    ) = setting(None, "Hide the marker with this role for one second.", metavar="ROLE")
    seed: int = setting(0, "Random seed for noise, gaps and the choice of motions.", least=0)


@on_clusters
def evaluate_reconstruct(
    library: Annotated[Path, LIB],
    settings: EvaluateReconstructSettings,
    workers: Annotated[int | None, WORKERS] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Reconstruct motions in a library from six of their joints, and measure the error.

    The error is the distance between true and reconstructed joints in world space, without
    alignment; joints at the same position count once. It is averaged over the joints of each frame;
    the mean and the maximum over the frames are printed. The motion and all its copies are excluded
    from the prior.
    """
    from motionloom.evaluation.reconstruction import (
        evaluate_reconstructions,
        summary,
        varied_motions,
    )

    lib = open_library(library)
    names = [settings.motions] if isinstance(settings.motions, str) else settings.motions or ()
    if settings.random is not None:
        names = [*names, *varied_motions(lib.store, settings.random, seed=settings.seed)]
    if not names:
        raise InvalidInput(
            "no motions to reconstruct; choose some with --motions NAME,... or --random COUNT"
        )
    errors = []
    with progress("reconstructing", len(names), quiet=json) as advance:
        for error in evaluate_reconstructions(
            lib.store,
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
        print(f"all: mean error {total['mean_cm']:.2f} cm, maximum {total['max_cm']:.2f} cm")


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
        f"{error.motion}: mean error {error.mean_cm:.2f} cm, maximum {error.max_cm:.2f} cm, "
        f"over {len(error.frames)} frames; {len(error.left_out)} motions excluded from the prior"
    )
