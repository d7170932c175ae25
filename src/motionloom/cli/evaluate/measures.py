"""``motionloom evaluate`` and ``motionloom study``: scores and agreement of measures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from motionloom.cli.command import Argument, Option
from motionloom.cli.options import JSON, LIB, WORKERS, check_picture, open_library
from motionloom.cli.terminal import print_json, print_table, progress, remark
from motionloom.cli.tools.cluster import on_clusters
from motionloom.errors import InvalidInput
from motionloom.evaluation.settings import (
    DEFAULT_METHODS,
    EvaluateSettings,
    ProtocolSettings,
    StudySettings,
)

if TYPE_CHECKING:
    from motionloom.evaluation.clips import Evaluation
    from motionloom.evaluation.protocol import Protocol
    from motionloom.evaluation.rank_correlation import Study

_PAGES = (".md", ".html", ".csv", ".json")  # names of files, which a report is not


@on_clusters
def evaluate(
    library: Annotated[
        Path | None, Argument("The library; not needed with --sets.", metavar="LIB")
    ] = None,
    *,
    settings: EvaluateSettings,
    protocol: ProtocolSettings,
    output: Annotated[
        Path | None,
        Option("Folder of a report; with --sets a page (.md).", "-o --output", metavar="DIR|PAGE"),
    ] = None,
    workers: Annotated[int | None, WORKERS] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Compare clip measures: every labeled clip as a query, once.

    Prints mean average precision, how often the nearest clip has the query's label, and the
    time taken. The report has similarity matrices, precision and recall, and all distances.

    With --sets every method is judged on labeled sets, with settings chosen without the set, the
    performer or the class that it is judged on; LIB is then one more set.
    """
    if protocol.sets is not None:
        _evaluate_sets(library, settings, protocol, output, workers, json)
        return
    if library is None:
        raise InvalidInput("evaluate needs a library, or labeled sets (--sets)")
    is_file = output is not None and (output.suffix in _PAGES or output.exists())
    if output is not None and is_file and not output.is_dir():
        raise InvalidInput(f"{output}: a report is a folder with tables and pictures, not a file")
    lib = open_library(library)
    count = len(settings.methods or DEFAULT_METHODS)
    with progress("comparing", count, quiet=json) as advance:
        found = lib.evaluate(settings, workers=workers, progress=advance)
    files = []
    if output is not None:
        from motionloom.plots.pages.evaluation_report import write_clip_report

        files = write_clip_report(found, output)
    if json:
        report = str(files[0]) if files else None
        print_json({**found.to_json(), "report": report, "files": [str(file) for file in files]})
    else:
        _print_scores(found)
        for file in files[:1]:
            print(file)


def _evaluate_sets(
    library: Path | None,
    settings: EvaluateSettings,
    protocol: ProtocolSettings,
    output: Path | None,
    workers: int | None,
    json: bool,
) -> None:
    from motionloom.evaluation.protocol_run import chosen_sets, run_protocol, write_page
    from motionloom.evaluation.settings import clip_methods

    if output is not None and output.suffix != ".md":
        raise InvalidInput(f"{output}: with --sets the output is a page, a file that ends in .md")
    clips, queries = chosen_sets(protocol.sets)
    methods = len(settings.methods or clip_methods())
    count = methods * (len(clips) + (library is not None)) + len(queries)
    with progress("judging", count, quiet=json) as advance:
        found = run_protocol(
            protocol,
            methods=None if settings.methods is None else tuple(settings.methods),
            own=None if library is None else open_library(library).store,
            labels=settings.labels,
            label_column=settings.label_column,
            workers=workers,
            progress=advance,
        )
    page = None if output is None else write_page(found, output)
    if json:
        print_json({**found.to_json(), "page": None if page is None else str(page)})
        return
    for judged in (found.clips, found.queries):
        if judged is not None:
            _print_protocol(judged)
    if page is not None:
        print(page)


def _print_protocol(judged: Protocol) -> None:
    from rich.table import Table

    table = Table(title="mean average precision, settings chosen without the set (95 % interval)")
    table.add_column("method")
    for name, items in judged.items.items():
        table.add_column(f"{name} ({items})", justify="right")
    table.add_column("mean", justify="right")
    table.add_column("may be the default")
    for method in sorted(judged.methods, key=judged.mean, reverse=True):
        held = [each[method] for each in judged.scores.values()]
        table.add_row(
            method,
            *(f"{one.score:.3f} ({one.low:.2f}-{one.high:.2f})" for one in held),
            f"{judged.mean(method):.3f}",
            "yes" if judged.may_be_default(method) else "no",
        )
    print_table(table)


def _print_scores(found: Evaluation) -> None:
    from rich.table import Table

    table = Table(title=f"{len(found.clips)} clips with {len(found.label_counts)} labels")
    table.add_column("method")
    for name in ("mean average precision", "nearest neighbor", "seconds", "per pair"):
        table.add_column(name, justify="right")
    for name, score in found.methods.items():
        table.add_row(
            name,
            f"{score.mean_average_precision:.3f}",
            f"{score.nearest_neighbour:.3f}",
            f"{score.seconds:.3g}",
            f"{1e6 * score.seconds_per_pair:.3g} µs",
        )
    print_table(table)
    for name, reason in list(found.left_out.items())[:5]:
        remark(f"left out: {name} ({reason})")
    for name, score in found.methods.items():
        if score.joints_missing:
            remark(f"{name} compares the joints that all clips have: {', '.join(score.joints)}")
    if found.unmatched:
        remark(f"{len(found.unmatched)} labels name no motion: {found.unmatched[0]} ...")


@on_clusters
def study(
    library: Annotated[Path, LIB],
    settings: StudySettings,
    *,
    output: Annotated[
        Path,
        Option(
            "Heat map (.png, .svg, .pdf); a CSV file is written beside it.",
            "-o --output",
            metavar="FILE",
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
    from motionloom.plots.pages.evaluation_report import write_rank_correlations

    lib = open_library(library)
    with progress("comparing", step_count(settings), quiet=json) as advance:
        found = lib.study(settings, progress=advance)
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
        "neighbors": found.neighbors,
        "ranked": found.ranked,
        "seed": found.seed,
        "picture": str(picture),
        "csv": str(table),
    }


def _print_study(found: Study, picture: Path, table: Path) -> None:
    remark(
        f"{len(found.clips)} clips, {found.frames} frames; rank correlation with "
        f"{found.measures[0]} over its nearest neighbors:"
    )
    for name, pose, segment in zip(
        found.measures[1:], found.poses[0, 1:], found.segments[0, 1:], strict=True
    ):
        remark(f"  {name:<8} {pose:5.2f} on poses  {segment:5.2f} on segments")
    print(picture)
    print(table)
