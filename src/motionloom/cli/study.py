"""``motionloom study``: how far feature sets and distances agree on a library."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from motionloom.cli.options import JSON, LIB, check_picture, listed, open_library
from motionloom.cli.terminal import print_json, progress, remark

if TYPE_CHECKING:
    from motionloom.evaluation.rank_correlation import Study


def study(
    library: Annotated[Path, LIB],
    output: Annotated[
        Path,
        typer.Option("-o", "--output", help="The heat map: .png, .svg or .pdf; the table beside."),
    ] = Path("study.png"),
    measures: Annotated[
        str | None,
        typer.Option(help="Feature sets and distances, with commas. [all]", metavar="NAME,..."),
    ] = None,
    clips: Annotated[int, typer.Option(help="Clips to compare, drawn at random.")] = 76,
    seconds: Annotated[float, typer.Option(help="About how long a clip is.")] = 3.0,
    queries: Annotated[int, typer.Option(help="Frames whose neighbours are ranked.")] = 1024,
    neighbours: Annotated[int, typer.Option(help="Nearest frames that are ranked.")] = 256,
    ranked: Annotated[int, typer.Option(help="Nearest clips that are ranked.")] = 8,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draw.")] = 0,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Compare feature sets and frame distances on a library.

    Writes a heat map of Spearman rank correlations between all of them, on poses and on
    segments, and a CSV file with the numbers beside it.
    """
    check_picture(output)
    from motionloom.distance import DISTANCES, FEATURES
    from motionloom.evaluation.rank_correlation import study as compare
    from motionloom.plots.evaluation_report import write_rank_correlations

    names = [*FEATURES, *DISTANCES] if measures is None else listed(measures)
    lib = open_library(library)
    with progress("comparing", 2 * len(names) + 1, quiet=json) as advance:
        found = compare(
            lib,
            measures=names,
            clips=clips,
            seconds=seconds,
            queries=queries,
            neighbours=neighbours,
            ranked=ranked,
            seed=seed,
            progress=advance,
        )
    picture = write_rank_correlations(found, output)
    table = found.save_csv(output.with_suffix(".csv"))
    if json:
        print_json(_as_dict(found, picture, table))
    else:
        _tell(found, picture, table)


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


def _tell(found: Study, picture: Path, table: Path) -> None:
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
