"""``motionloom study``: agreement of feature sets and frame distances on a library."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from motionloom.cli.options import JSON, LIB, check_picture, open_library
from motionloom.cli.settings_options import settings_options
from motionloom.cli.terminal import print_json, progress, remark
from motionloom.evaluation.settings import StudySettings

if TYPE_CHECKING:
    from motionloom.evaluation.rank_correlation import Study


@settings_options
def study(
    library: Annotated[Path, LIB],
    settings: StudySettings,
    *,
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", help="Heat map (.png, .svg, .pdf); a CSV file is written beside it."
        ),
    ] = Path("study.png"),
    json: Annotated[bool, JSON] = False,
) -> None:
    """Compare feature sets and frame distances on a library.

    Writes a heat map of Spearman rank correlations between all of them, on poses and on
    segments, and a CSV file with the numbers beside it.
    """
    check_picture(output)
    from motionloom.evaluation.rank_correlation import step_count
    from motionloom.plots.evaluation_report import write_rank_correlations

    lib = open_library(library)
    with progress("comparing", step_count(settings), quiet=json) as advance:
        found = lib.study(**settings.arguments(), progress=advance)
    picture = write_rank_correlations(found, output)
    table = found.save_csv(output.with_suffix(".csv"))
    if json:
        print_json(_as_dict(found, picture, table))
    else:
        _print_study(found, picture, table)


def _as_dict(found: Study, picture: Path, table: Path) -> dict:
    return {
        "measures": list(found.measures),
        "poses": found.poses.round(4),
        "segments": found.segments.round(4),
        "clips": [
            {"motion": clip.motion, "start_frame": clip.start_frame, "end_frame": clip.end_frame}
            for clip in found.clips
        ],
        "frames": found.frames,
        "queries": found.queries,
        "neighbours": found.neighbours,
        "ranked": found.ranked,
        "seed": found.seed,
        "picture": str(picture),
        "csv": str(table),
    }


def _print_study(found: Study, picture: Path, table: Path) -> None:
    remark(
        f"{len(found.clips)} clips, {found.frames} frames; rank correlation with "
        f"{found.measures[0]} over its nearest neighbours:"
    )
    for name, pose, segment in zip(
        found.measures[1:], found.poses[0, 1:], found.segments[0, 1:], strict=True
    ):
        remark(f"  {name:<8} {pose:5.2f} on poses  {segment:5.2f} on segments")
    print(picture)
    print(table)
