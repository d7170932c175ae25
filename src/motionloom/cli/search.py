"""``motionloom search`` and ``motionloom family``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from motionloom.cli.options import JSON, LIB, check_picture, open_library
from motionloom.cli.settings_options import settings_options
from motionloom.cli.terminal import counted, print_json, progress, remark
from motionloom.errors import InvalidInput
from motionloom.library.settings import FAMILY_DISTANCE, FamilySettings, SearchSettings

if TYPE_CHECKING:
    from motionloom.library import Family, Library, Match, Matches
    from motionloom.motion import Motion

_QUERY = typer.Argument(
    metavar="QUERY",
    help="NAME:START-END in frames, or in seconds with an s; or a file, with or without a range.",
)
_EXPORT = typer.Option(metavar="DIR", help="Write each match to this folder, as a cropped BVH.")
_SHEET = typer.Option(metavar="FILE", help="Write a contact sheet of all matches (.html).")
_STRIP = typer.Option(metavar="FILE", help="Draw the query and the best matches, one per row.")
# A hint is printed for smaller families, unless the limit is this large already.
_FEW, _FAR = 3, 0.2


@settings_options
def search(
    library: Annotated[Path, LIB],
    query: Annotated[str, _QUERY],
    settings: SearchSettings,
    *,
    export: Annotated[Path | None, _EXPORT] = None,
    sheet: Annotated[Path | None, _SHEET] = None,
    strip: Annotated[Path | None, _STRIP] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Find everything in a library that resembles a segment of motion.

    Matches are printed by rank, nearest first; the query itself, if it is in the library, comes
    first with distance 0.
    """
    _check_targets(sheet, strip)
    lib = open_library(library)
    matches = lib.search(query, **settings.arguments())
    _write(lib, query, matches, export, sheet, strip, quiet=json)
    if json:
        print_json(matches.to_json())
    else:
        _print_matches(matches)


@settings_options
def family(
    library: Annotated[Path, LIB],
    query: Annotated[str, _QUERY],
    settings: FamilySettings,
    *,
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
    """Find what resembles the query, then what resembles that, until nothing new appears.

    Members are printed by their distance to the query in the match graph.
    """
    _check_targets(sheet, strip)
    if output is not None:
        check_picture(output)
    lib = open_library(library)
    found = lib.family(query, **settings.arguments())
    if graphml is not None:
        remark(f"match graph written to {found.write_graphml(graphml)}")
    if output is not None:
        from motionloom.plots.match_graph import write_match_graph

        clips = [lib[node.motion][node.start_frame : node.end_frame] for node in found.nodes[1:]]
        write_match_graph(found, [lib.clip(query), *clips], output)
        remark(f"match graph drawn to {output}")
    _write(lib, query, found.matches, export, sheet, strip, quiet=json)
    if json:
        print_json(found.to_json())
    else:
        _print_matches(found.matches)
        edges = counted(len(found.edges), "edge")
        remark(f"{counted(len(found.nodes), 'node')} with the query, {edges}")
        hint_at_small_family(found, settings.max_distance)


def hint_at_small_family(family: Family, max_distance: float | None) -> None:
    """Suggest a larger limit where a family has hardly a member."""
    used = FAMILY_DISTANCE if max_distance is None else max_distance
    if len(family.matches) >= _FEW or used > _FAR:
        return
    remark(
        f"a small family: members are within {used:g} {family.matches.unit} of each other. Other "
        f"performers and freer actions need more; try --max-distance {1.5 * used:.2g}, then "
        f"{2 * used:.2g}, and look at the distances of motionloom search --rank distance"
    )


def _check_targets(sheet: Path | None, strip: Path | None) -> None:
    """Check file names before the search."""
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
        with progress("exporting", len(matches), quiet=quiet) as advance:
            lib.export(matches, export, progress=advance)
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

        shown = [(f"query: {matches.query}", lib.clip(query))]
        shown += [
            (f"{m.text}  {m.distance:.3f} {matches.unit}", _clip(lib, m)) for m in matches[:6]
        ]
        write_match_strip(shown, strip)
        remark(f"drawn to {strip}")


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
        # Names of motions are copied into further commands: other columns give way to them.
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
