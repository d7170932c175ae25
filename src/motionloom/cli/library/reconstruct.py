"""``motionloom reconstruct``: reconstruct a body from a few markers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from motionloom.cli.arguments import is_library, motion_from
from motionloom.cli.command import Argument, Option
from motionloom.cli.options import DETAILS, INSPECT, JSON, open_library, writes
from motionloom.cli.terminal import draw_worst, print_json, print_quality, progress, remark
from motionloom.cli.tools.cluster import on_clusters
from motionloom.errors import InvalidInput
from motionloom.formats.settings import LoadMarkersSettings
from motionloom.reconstruction.settings import ReconstructSettings

if TYPE_CHECKING:
    pass

_UNSURE = 0.4  # mean confidence below which a remark suggests what to try


@on_clusters
def reconstruct(
    library: Annotated[
        Path, Argument("Library that provides the poses of the prior.", metavar="LIB")
    ],
    markers: Annotated[
        Path,
        Argument(
            "Markers (.c3d, .csv, .parquet), or a motion (FILE or LIB:NAME), whose wrists, "
            "ankles, head and hips are used.",
            metavar="MARKERS",
        ),
    ],
    *,
    output: Annotated[
        Path,
        Option(
            "Output file: .bvh, .glb, ...", "-o --output", metavar="FILE", check=writes("motion")
        ),
    ],
    settings: ReconstructSettings,
    reading: LoadMarkersSettings,
    inspect: Annotated[Path | None, INSPECT] = None,
    details: Annotated[bool, DETAILS] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Reconstruct a whole body from markers on wrists, ankles, head and hips.

    At least three markers are required.
    """
    import numpy as np

    from motionloom.formats import is_marker_file, load, load_markers

    if not is_library(library) and is_library(markers):
        raise InvalidInput(f"LIB must come first: motionloom reconstruct {markers} {library}")
    in_library = not markers.exists() and is_library(str(markers).partition(":")[0])
    given = (
        motion_from(str(markers))
        if in_library
        else load_markers(markers, **reading.changed())
        if is_marker_file(markers)
        else load(markers, **reading.changed())
    )
    lib = open_library(library)
    with progress("reconstructing", len(given), quiet=json) as advance:
        body = lib.reconstruct(given, settings, progress=advance)
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
            "the library has few similar poses. Add motions of this kind, and set the "
            "performer's skeleton with --skeleton"
        )
    for role in body.lost:
        remark(f"the {role} marker is missing in every frame")
    print_quality(body.quality, details=details)
    print(output)
