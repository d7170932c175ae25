"""``motionloom evaluate`` and ``motionloom study``: retrieval scores and rank correlations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from motionloom.cli.arguments import is_library
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

_FILES = (".pdf", ".svg", ".png", ".tex", ".csv")  # a figure or a table; others are folders


@on_clusters
def evaluate(
    library: Annotated[
        Path | None, Argument("The library; optional with --sets.", metavar="LIB")
    ] = None,
    *,
    settings: EvaluateSettings,
    protocol: ProtocolSettings,
    output: Annotated[
        Path | None,
        Option(
            "Folder for the report, figure (.pdf, .svg, .png) or table (.tex, .csv); with --sets, "
            "a page (.md).",
            "-o --output",
            metavar="PATH",
        ),
    ] = None,
    workers: Annotated[int | None, WORKERS] = None,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Compare clip measures, using each labeled clip once as the query.

    Prints the mean average precision, how often the nearest clip has the query's label, and the
    time. The report contains similarity matrices, precision-recall curves and all distances.

    With --sets, every method is evaluated on labeled sets, with settings tuned without the set,
    performer or class it is evaluated on; LIB is then an additional set.
    """
    if protocol.sets is not None:
        _evaluate_sets(library, settings, protocol, output, workers, json)
        return
    if library is None:
        raise InvalidInput("evaluate needs a library or labeled sets (--sets)")
    single = output is not None and output.suffix.lower() in _FILES
    if output is not None and is_library(output):
        raise InvalidInput(f"{output} is a library; choose another folder for the report")
    if output is not None and not single and not output.is_dir():
        if output.suffix[1:].isalpha() or output.exists():
            raise InvalidInput(
                f"{output}: a report is a folder with tables and pictures, not a file. For one "
                f"figure or table, choose a suffix: {', '.join(_FILES)}"
            )
    if output is not None and single and output.suffix.lower() == ".csv" and output.is_file():
        with output.open(encoding="utf-8", errors="replace") as table:
            if not table.readline().startswith("method,label,"):
                raise InvalidInput(f"{output} exists and is not a table of scores; choose another")
    settings = replace(settings, methods=settings.clip_methods())  # raises before the slow work
    lib = open_library(library)
    count = len(settings.methods or DEFAULT_METHODS)
    with progress("comparing", count, quiet=json) as advance:
        evaluation = lib.evaluate(settings, workers=workers, progress=advance)
    files = []
    if output is not None:
        from motionloom.plots.pages.evaluation_report import write_clip_output, write_clip_report

        if single:
            files = [write_clip_output(evaluation, output)]
        else:
            files = write_clip_report(evaluation, output)
    if json:
        report = str(files[0]) if files else None
        print_json(
            {**evaluation.to_json(), "report": report, "files": [str(file) for file in files]}
        )
    else:
        _print_scores(evaluation)
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
        raise InvalidInput(f"{output}: with --sets, the output must be a .md file")
    clips, queries = chosen_sets(protocol.sets)
    methods = 2 * len(settings.methods or clip_methods())  # with and without hub correction
    count = methods * (len(clips) + (library is not None)) + len(queries)
    with progress("judging", count, quiet=json) as advance:
        results = run_protocol(
            protocol,
            methods=None if settings.methods is None else tuple(settings.methods),
            own=None if library is None else open_library(library).store,
            labels=settings.labels,
            label_column=settings.label_column,
            workers=workers,
            progress=advance,
        )
    page = None if output is None else write_page(results, output)
    if json:
        print_json({**results.to_json(), "page": None if page is None else str(page)})
        return
    for judged in (results.clips, results.queries):
        if judged is not None:
            _print_protocol(judged)
    if page is not None:
        print(page)


def _print_protocol(judged: Protocol) -> None:
    from rich.table import Table

    table = Table(
        title="mean average precision (95 % interval); settings are tuned without the evaluated set"
    )
    table.add_column("method")
    for name, items in judged.items.items():
        table.add_column(f"{name} ({items})", justify="right")
    table.add_column("mean", justify="right")
    table.add_column("may be the default")
    for method in sorted(judged.methods, key=judged.mean, reverse=True):
        cells = [each[method] for each in judged.scores.values()]
        table.add_row(
            method,
            *(
                f"{interval.score:.3f} ({interval.low:.2f}-{interval.high:.2f})"
                for interval in cells
            ),
            f"{judged.mean(method):.3f}",
            "yes" if judged.may_be_default(method) else "no",
        )
    print_table(table)


def _print_scores(evaluation: Evaluation) -> None:
    from rich.table import Table

    table = Table(title=f"{len(evaluation.clips)} clips with {len(evaluation.label_counts)} labels")
    table.add_column("method")
    for name in (
        "mean average precision",
        "without hub correction",
        "nearest neighbor",
        "per pair",
    ):
        table.add_column(name, justify="right")
    for name, score in evaluation.methods.items():
        table.add_row(
            name,
            f"{score.mean_average_precision:.3f}",
            f"{score.uncorrected:.3f}",
            f"{score.nearest_neighbour:.3f}",
            f"{1e6 * score.seconds_per_pair:.3g} µs",
        )
    print_table(table)
    for name, reason in list(evaluation.left_out.items())[:5]:
        remark(f"excluded: {name} ({reason})")
    for name, score in evaluation.methods.items():
        if score.joints_missing:
            remark(f"{name} compares the joints that all clips have: {', '.join(score.joints)}")
    if evaluation.unmatched:
        remark(
            f"{len(evaluation.unmatched)} labels do not match any motion: "
            f"{evaluation.unmatched[0]} ..."
        )


@on_clusters
def study(
    library: Annotated[Path, LIB],
    settings: StudySettings,
    *,
    output: Annotated[
        Path,
        Option(
            "Heat map (.png, .svg, .pdf); the numbers go to a CSV file with the same name.",
            "-o --output",
            metavar="FILE",
            check=check_picture,
        ),
    ] = Path("study.png"),
    json: Annotated[bool, JSON] = False,
) -> None:
    """Compare feature sets and frame distances on a library.

    Writes a heat map of the Spearman rank correlations between all of them, on poses and on
    segments, and a CSV file with the numbers.
    """
    from motionloom.evaluation.rank_correlation import step_count
    from motionloom.plots.pages.evaluation_report import write_rank_correlations

    lib = open_library(library)
    with progress("comparing", step_count(settings), quiet=json) as advance:
        correlations = lib.study(settings, progress=advance)
    picture = write_rank_correlations(correlations, output)
    table = correlations.save_csv(output.with_suffix(".csv"))
    if json:
        print_json(_as_dict(correlations, picture, table))
    else:
        _print_study(correlations, picture, table)


def _as_dict(study: Study, picture: Path, table: Path) -> dict:
    return {
        "measures": list(study.measures),
        "poses": study.poses.round(4),
        "segments": study.segments.round(4),
        "clips": [
            {"motion": clip.motion, "start_frame": clip.start_frame, "end_frame": clip.end_frame}
            for clip in study.clips
        ],
        "frames": study.frames,
        "queries": study.queries,
        "neighbors": study.neighbors,
        "ranked": study.ranked,
        "seed": study.seed,
        "picture": str(picture),
        "csv": str(table),
    }


def _print_study(study: Study, picture: Path, table: Path) -> None:
    remark(
        f"{len(study.clips)} clips, {study.frames} frames; rank correlation with "
        f"{study.measures[0]} over its nearest neighbors:"
    )
    for name, pose, segment in zip(
        study.measures[1:], study.poses[0, 1:], study.segments[0, 1:], strict=True
    ):
        remark(f"  {name:<8} {pose:5.2f} on poses  {segment:5.2f} on segments")
    print(picture)
    print(table)
