"""``motionloom search`` and ``family``: motion similar to a query."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from motionloom.cli.command import Argument, Fields, Option
from motionloom.cli.options import (
    EXPORT,
    JSON,
    LIB,
    PAGES,
    TO,
    check_export,
    check_picture,
    export_clips,
    open_library,
    writes,
)
from motionloom.cli.terminal import (
    counted,
    print_json,
    print_table,
    remark,
)
from motionloom.cli.tools.cluster import on_clusters
from motionloom.search.settings import FamilySettings, SearchSettings

if TYPE_CHECKING:
    from motionloom.library import Family, Library, Match, Matches
    from motionloom.motion import Motion


_QUERY = Argument(
    "Query segment NAME:START-END, in frames or, with an s, in seconds; or a file, with or without "
    "a range.",
    metavar="QUERY",
)
_SHEET = Option(
    "Write a page with all matches, animated (.html).", metavar="FILE", check=writes(*PAGES)
)
_STRIP = Option(
    "Draw the query and the best matches (.png, .pdf).",
    metavar="FILE",
    expert=True,
    check=writes(".png", ".pdf"),
)
# A hint is printed for smaller families, unless the limit is already this large.
_FEW, _FAR = 3, 0.2
_LONG_QUERY = 15.0  # seconds; longer than a single action


@on_clusters
def search(
    library: Annotated[Path, LIB],
    query: Annotated[str, _QUERY],
    settings: Annotated[SearchSettings, Fields(show=("tiers",))],
    *,
    export: Annotated[Path | None, EXPORT] = None,
    to: Annotated[str | None, TO] = None,
    sheet: Annotated[Path | None, _SHEET] = None,
    strip: Annotated[Path | None, _STRIP] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Find all motion in a library that is similar to a segment.

    Matches are printed by rank, nearest first. If the query is in the library, it comes first, with
    distance 0.
    """
    check_export(export, to)
    lib = open_library(library)
    matches = lib.search(query, settings)
    export_clips(lib, matches, export, to, quiet=json)
    _write(lib, query, matches, sheet, strip)
    if json:
        print_json(matches.to_json())
    else:
        _print_matches(matches)
        if len(matches) == settings.max == SearchSettings().max:
            remark(f"showing only the first {settings.max} matches; --max N shows more")


@on_clusters
def family(
    library: Annotated[Path, LIB],
    query: Annotated[str, _QUERY],
    settings: Annotated[FamilySettings, Fields(show=("tiers", "join_distance"))],
    *,
    output: Annotated[
        Path | None,
        Option(
            "Draw the match graph (.png, .svg, .pdf).",
            "--output -o",
            metavar="FILE",
            check=check_picture,
        ),
    ] = None,
    graphml: Annotated[
        Path | None,
        Option(
            "Write the match graph as GraphML, for Gephi, yEd or NetworkX.",
            metavar="FILE",
            expert=True,
            check=writes(".graphml", ".xml"),
        ),
    ] = None,
    sweep: Annotated[
        Path | None,
        Option(
            "Plot the size of the family against the join distance (.png, .svg, .pdf).",
            metavar="FILE",
            expert=True,
            check=check_picture,
        ),
    ] = None,
    export: Annotated[Path | None, EXPORT] = None,
    to: Annotated[str | None, TO] = None,
    sheet: Annotated[Path | None, _SHEET] = None,
    strip: Annotated[Path | None, _STRIP] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Find motion similar to the query, then motion similar to the matches, and so on.

    Members are sorted by their distance from the query in the match graph.
    """
    check_export(export, to)
    lib = open_library(library)
    members = lib.family(query, settings)
    if sweep is not None:
        from motionloom.library import family_sweep
        from motionloom.plots.match_graph import write_sweep

        swept = family_sweep(lib, query, settings)
        write_sweep(swept, sweep, used=members.join_distance)
        remark(f"plot of family sizes written to {sweep}")
    if graphml is not None:
        remark(f"match graph written to {members.write_graphml(graphml)}")
    if output is not None:
        from motionloom.plots.match_graph import write_match_graph

        clips = [lib[node.motion][node.start_frame : node.end_frame] for node in members.nodes[1:]]
        write_match_graph(members, [lib.clip(query), *clips], output)
        remark(f"match graph drawn to {output}")
    export_clips(lib, members.matches, export, to, quiet=json)
    _write(lib, query, members.matches, sheet, strip)
    if json:
        print_json(members.to_json())
    else:
        _print_matches(members.matches)
        edges = counted(len(members.edges), "edge")
        remark(f"{counted(len(members.nodes), 'node')} with the query, {edges}")
        _tell_limit(members)
        _tell_cut_edges(members)
        if members.unclear:
            remark(
                f"{counted(len(members.unclear), 'edge')} with no time alignment in the valid "
                "region; --clear excludes them"
            )
        _hint_at_long_query(lib, members)
        hint_at_small_family(members)


def _tell_limit(family: Family) -> None:
    """Print which join distance was chosen, and why."""
    if family.sweep is None or not len(family.matches):
        return
    low, high = family.sweep.plateau
    unit = family.matches.unit
    remark(
        f"join distance {family.join_distance:.3g} {unit}: the family is the same from "
        f"{low:.3g} to "
        f"{high:.3g} {unit}. Set another limit with --join-distance; --sweep plots the sizes"
    )


def _tell_cut_edges(family: Family) -> None:
    """Print edges that are the only link to several members and are therefore worth checking."""
    most = [edge for edge in family.cut_edges if edge.cuts_off > 1][:3]
    for edge in most:
        a, b = family.nodes[edge.a].text, family.nodes[edge.b].text
        remark(
            f"{edge.cuts_off} members are connected to the query only by the edge from {a} to {b} "
            f"({edge.cost:.3f})"
        )


def _hint_at_long_query(lib: Library, family: Family) -> None:
    """Suggest a shorter query if it is a long take, because a family contains a single action."""
    node = family.nodes[0]
    seconds = (node.end_frame - node.start_frame) / lib.store.entry(node.motion).fps
    if len(family.matches) < _FEW and seconds > _LONG_QUERY:
        remark(
            f"the query lasts {seconds:.0f} s; a family contains a single action. Name the "
            f"frames of one action, as in {node.motion}:START-END"
        )


def hint_at_small_family(family: Family) -> None:
    """Suggest a larger join distance if the family has hardly any members."""
    used = family.join_distance
    if used is None or len(family.matches) >= _FEW or used > _FAR:
        return
    remark(
        f"this family is small: its members are within {used:.3g} {family.matches.unit} of each "
        f"other. Other performers and more varied actions need a larger limit: try "
        f"--join-distance {1.5 * used:.2g}, then "
        f"{2 * used:.2g}, and compare with the distances that motionloom search --rank distance "
        f"prints"
    )


def _write(
    lib: Library,
    query: str,
    matches: Matches,
    sheet: Path | None,
    strip: Path | None,
) -> None:
    if sheet is not None:
        from motionloom.plots.pages.html_pages import SheetClip, contact_sheet

        clips = (
            SheetClip(
                f"{rank}. {match.text} · {match.distance:.3f} {matches.unit}{_side(match)}",
                _clip(lib, match),
                match.label or "",
            )
            for rank, match in enumerate(matches, start=1)
        )
        contact_sheet(clips, sheet, title=f"Like {matches.query}")
        remark(f"{counted(len(matches), 'match', 'matches')} on {sheet}")
    if strip is not None:
        from motionloom.plots.figures.filmstrip import write_match_strip

        shown = [(f"query: {matches.query}", lib.clip(query))]
        shown += [
            (f"{m.text}  {m.distance:.3f} {matches.unit}{_side(m)}", _clip(lib, m))
            for m in matches[:6]
        ]
        write_match_strip(shown, strip)
        remark(f"drawn to {strip}")


def _side(match: Match) -> str:
    return " · mirrored" if match.mirrored else ""


def _clip(lib: Library, match: Match) -> Motion:
    return lib[match.motion][match.start_frame : match.end_frame]


def _print_matches(matches: Matches) -> None:
    from rich.table import Table

    count = counted(len(matches), "match", "matches")
    if not len(matches):
        print(f"no matches of {matches.query}")
        return
    table = Table(title=f"{count} of {matches.query}; distances in {matches.unit}")
    both = [("mirrored", "left")] if any(match.mirrored for match in matches) else []
    longest = max((len(match.motion) for match in matches), default=0)
    for name, side in (
        ("", "right"), ("motion", "left"), ("frames", "left"), ("seconds", "left"),
        ("distance", "right"), ("tier", "right"), *both, ("label", "left"),
    ):  # fmt: skip
        # Users copy the names of motions into other commands, so these columns are never cut.
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
            *(["yes" if match.mirrored else ""] if both else []),
            match.label or "",
        )
    print_table(table)
