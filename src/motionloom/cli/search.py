"""``motionloom search`` and ``motionloom family``: find everything that looks like this."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from motionloom.cli.options import (
    JSON,
    LIB,
    ONLY,
    WITHIN,
    WITHOUT,
    check_picture,
    listed,
    open_library,
)
from motionloom.cli.terminal import counted, print_json, progress, remark
from motionloom.errors import InvalidInput

if TYPE_CHECKING:
    from motionloom.library import Library
    from motionloom.motion import Motion
    from motionloom.search import Family, Match, Matches

_QUERY = typer.Argument(
    metavar="QUERY",
    help="NAME:START-END in frames, or in seconds with an s; or a file, with or without a range.",
)
_METHOD = typer.Option(
    help="dtw (exact), lazy (the neighbourhood graph) or web (built by motionloom web); for whole "
    "clips dtw-clip, emd, scaling, dtw-angles, dtw-e15, dtw-pc11 or dtw-jrd."
)
_WEB_DISTANCE = typer.Option(help="What the web was built with, for web.")
_FEATURES = typer.Option(help="What frames are compared by: e15, e30x3, pca16, pc11 ...")
_K = typer.Option(help="Neighbours per query frame, for lazy [256]; how many whole clips.")
_RADIUS = typer.Option(help="Neighbours within so many metres, for lazy.")
_DISTANCE = typer.Option(
    "--max-distance", "--threshold", help="No matches beyond so many metres per cell."
)
_STEPS = typer.Option(help="slope (half to twice the speed) or classic.")
_WEIGHTS = typer.Option(help="moving: joints count by how much they move in the query; or equal.")
_RANK = typer.Option(
    help="Order by movement (how alike they move) or by distance (of poses, frame by frame)."
)
_EXPORT = typer.Option(metavar="DIR", help="Write each match to this folder, as a cropped BVH.")
_SHEET = typer.Option(metavar="FILE", help="Put all matches on one page, as live figures.")
_STRIP = typer.Option(metavar="FILE", help="Draw the query and the best matches, one per row.")
# A hint is given where a family has fewer members, unless everything was near enough anyway.
_FEW, _FAR = 3, 0.2


def search(
    library: Annotated[Path, LIB],
    query: Annotated[str, _QUERY],
    method: Annotated[str, _METHOD] = "dtw",
    features: Annotated[str, _FEATURES] = "e15",
    k: Annotated[int | None, _K] = None,
    radius: Annotated[float | None, _RADIUS] = None,
    max_matches: Annotated[
        int, typer.Option("--max", metavar="N", help="At most so many matches.")
    ] = 100,
    max_distance: Annotated[float | None, _DISTANCE] = None,
    tiers: Annotated[
        str, typer.Option(metavar="1|N|all", help="Search again from what was found, so often.")
    ] = "1",
    distance: Annotated[str, _WEB_DISTANCE] = "pc11",
    within: Annotated[list[str] | None, WITHIN] = None,
    only: Annotated[str | None, ONLY] = None,
    without: Annotated[str | None, WITHOUT] = None,
    steps: Annotated[str, _STEPS] = "slope",
    weights: Annotated[str, _WEIGHTS] = "moving",
    rank: Annotated[str | None, _RANK] = None,
    exclude_query: Annotated[
        bool, typer.Option("--exclude-query", help="Leave out the query's own place.")
    ] = False,
    export: Annotated[Path | None, _EXPORT] = None,
    sheet: Annotated[Path | None, _SHEET] = None,
    strip: Annotated[Path | None, _STRIP] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Find everything in a library that looks like a stretch of motion.

    Matches are printed in order of distance, the nearest first; the query itself, if it is
    in the library, comes first with distance 0.
    """
    _check_targets(sheet, strip)
    lib = open_library(library)
    matches = lib.search(
        query,
        max=max_matches,
        tiers=tiers,
        rank=rank,
        distance=distance,
        **_options(
            method, features, k, radius, max_distance, within, only, without, steps, weights,
            exclude_query,
        ),
    )  # fmt: skip
    _write(lib, query, matches, export, sheet, strip, quiet=json)
    if json:
        print_json(matches.to_json())
    else:
        _print_matches(matches)


def family(
    library: Annotated[Path, LIB],
    query: Annotated[str, _QUERY],
    method: Annotated[str, _METHOD] = "dtw",
    features: Annotated[str, _FEATURES] = "e15",
    k: Annotated[int | None, _K] = None,
    radius: Annotated[float | None, _RADIUS] = None,
    max_matches: Annotated[
        int, typer.Option("--max", metavar="N", help="At most so many members.")
    ] = 100,
    max_distance: Annotated[
        float | None,
        typer.Option(
            "--max-distance",
            "--threshold",
            help="How alike two members must be to be joined, in metres. [0.08]",
        ),
    ] = None,
    tiers: Annotated[
        str, typer.Option(metavar="N|all", help="So many steps, or until nothing new appears.")
    ] = "all",
    distance: Annotated[str, _WEB_DISTANCE] = "pc11",
    within: Annotated[list[str] | None, WITHIN] = None,
    only: Annotated[str | None, ONLY] = None,
    without: Annotated[str | None, WITHOUT] = None,
    steps: Annotated[str, _STEPS] = "slope",
    weights: Annotated[str, _WEIGHTS] = "moving",
    same: Annotated[
        float, typer.Option(help="A match that overlaps a member by more is that member again.")
    ] = 0.8,
    apart: Annotated[
        float,
        typer.Option(help="One that overlaps by less is new; cyclic motions want more than 0.2."),
    ] = 0.2,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Draw the match graph (.png, .svg, .pdf)."
        ),
    ] = None,
    graphml: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the match graph for Gephi, yEd, NetworkX ..."),
    ] = None,
    export: Annotated[Path | None, _EXPORT] = None,
    sheet: Annotated[Path | None, _SHEET] = None,
    strip: Annotated[Path | None, _STRIP] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Find what is like the query, then what is like that, until nothing new appears.

    Members are printed in order of their distance to the query in the match graph.
    """
    _check_targets(sheet, strip)
    if output is not None:
        check_picture(output)
    lib = open_library(library)
    found = lib.family(
        query,
        max=max_matches,
        tiers=tiers,
        **_options(
            method, features, k, radius, max_distance, within, only, without, steps, weights, False
        ),
        distance=distance,
        same=same,
        apart=apart,
    )
    if graphml is not None:
        remark(f"match graph written to {found.write_graphml(graphml)}")
    if output is not None:
        _draw_graph(lib, query, found, output)
    _write(lib, query, found.matches, export, sheet, strip, quiet=json)
    if json:
        print_json(found.to_json())
    else:
        _print_matches(found.matches)
        edges = counted(len(found.edges), "edge")
        remark(f"{counted(len(found.nodes), 'node')} with the query, {edges}")
        hint_at_small_family(found, max_distance)


def hint_at_small_family(family: Family, max_distance: float | None) -> None:
    """What to try where a family has hardly a member."""
    from motionloom.search.methods import FAMILY_DISTANCE

    used = FAMILY_DISTANCE if max_distance is None else max_distance
    if len(family.matches) >= _FEW or used > _FAR:
        return
    remark(
        f"a small family: members are within {used:g} {family.matches.unit} of each other. Other "
        f"performers and freer actions need more; try --threshold {1.5 * used:.2g}, then "
        f"{2 * used:.2g}, and look at the distances of motionloom search --rank distance"
    )


def _options(
    method, features, k, radius, max_distance, within, only, without, steps, weights, exclude_query
) -> dict[str, Any]:
    if weights not in ("moving", "equal"):
        raise InvalidInput(f"--weights must be moving or equal; got {weights}")
    return {
        "method": method,
        "features": features,
        "k": k,
        "radius": radius,
        "max_distance": max_distance,
        "within": within or None,
        "only": listed(only),
        "without": listed(without),
        "steps": steps,
        "weights": None if weights == "equal" else "moving",
        "exclude_query": exclude_query,
    }


def _check_targets(sheet: Path | None, strip: Path | None) -> None:
    """Complain before the search."""
    if sheet is not None and sheet.suffix.lower() not in (".html", ".htm"):
        raise InvalidInput(f"{sheet}: a sheet is a web page; its name must end in .html")
    if strip is not None and strip.suffix.lower() not in (".png", ".pdf"):
        raise InvalidInput(f"cannot draw to {strip}: the suffix must be .png or .pdf")


def _write(
    lib: Library,
    query: str,
    matches: Matches,
    export: Path | None,
    sheet: Path | None,
    strip: Path | None,
    *,
    quiet: bool,
) -> None:
    if export is not None:
        export.mkdir(parents=True, exist_ok=True)
        with progress("exporting", len(matches), quiet=quiet) as advance:
            for rank, match in enumerate(matches, start=1):
                _clip(lib, match).save(export / f"{match.file_name(rank)}.bvh")
                advance()
        remark(f"{counted(len(matches), 'clip')} written to {export}")
    if sheet is not None:
        from motionloom.plots.html_pages import SheetClip, contact_sheet

        clips = (
            SheetClip(
                f"{rank}. {match.text} · {match.distance:.3f} {matches.unit}",
                _clip(lib, match),
                match.label or "",
            )
            for rank, match in enumerate(matches, start=1)
        )
        contact_sheet(clips, sheet, title=f"Like {matches.query}")
        remark(f"{counted(len(matches), 'match', 'matches')} on {sheet}")
    if strip is not None:
        from motionloom.plots.filmstrip import write_match_strip
        from motionloom.search.query import as_query

        shown = [(f"query: {matches.query}", as_query(lib, query).clip)]
        shown += [
            (f"{m.text}  {m.distance:.3f} {matches.unit}", _clip(lib, m)) for m in matches[:6]
        ]
        write_match_strip(shown, strip)
        remark(f"drawn to {strip}")


def _draw_graph(lib: Library, query: str, found: Family, path: Path) -> None:
    from motionloom.plots.match_graph import write_match_graph
    from motionloom.search.query import as_query

    clips = [lib[node.motion][node.start_frame : node.end_frame] for node in found.nodes[1:]]
    write_match_graph(found, [as_query(lib, query).clip, *clips], path)
    remark(f"match graph drawn to {path}")


def _clip(lib: Library, match: Match) -> Motion:
    return lib[match.motion][match.start_frame : match.end_frame]


def _print_matches(matches: Matches) -> None:
    from rich.console import Console
    from rich.table import Table

    count = counted(len(matches), "match", "matches")
    table = Table(title=f"{count} of {matches.query}; distances in {matches.unit}")
    longest = max((len(match.motion) for match in matches), default=0)
    for name, side in (
        ("", "right"), ("motion", "left"), ("frames", "left"), ("seconds", "left"),
        ("distance", "right"), ("tier", "right"), ("label", "left"),
    ):  # fmt: skip
        # Names of motions are asked for again: others give way to them.
        least = min(longest, 40) if name == "motion" else None
        table.add_column(name, justify=side, min_width=least)  # type: ignore[arg-type]
    for rank, match in enumerate(matches, start=1):
        table.add_row(
            str(rank),
            match.motion,
            f"{match.start_frame}-{match.end_frame}",
            f"{match.start:.2f}-{match.end:.2f}",
            f"{match.distance:.4f}",
            str(match.tier),
            match.label or "",
        )
    Console().print(table)
