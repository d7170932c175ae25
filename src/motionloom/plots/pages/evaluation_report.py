"""Evaluation reports: similarity matrices, precision and recall, and rank correlations."""

from __future__ import annotations

import base64
import csv
from collections.abc import Callable
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motionloom.evaluation.clips import RECALLS, Evaluation
from motionloom.evaluation.rank_correlation import Study
from motionloom.files import atomic_write, csv_cell
from motionloom.plots.pages.page import FAINT, TEXT, checked_picture_path, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_LINES = ("#1f6feb", "#d1495b", "#2e7d4f", "#b9770e", "#6f42c1", "#00838f", "#8d6e63")
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem;
  color: #2b323c; } h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; } td, th { padding: .15rem .9rem .15rem 0; text-align: right;
  border-bottom: 1px solid #dfe3ea; font-weight: normal; } th { color: #7b8494; }
td:first-child, th:first-child { text-align: left; } img { max-width: 100%; }
"""

Table = tuple[list[str], list[list[str]]]


def write_clip_report(result: Evaluation, folder: str | Path) -> list[Path]:
    """Write an evaluation report to a folder.

    Parameters
    ----------
    result : Evaluation
    folder : str or Path
        Output folder, which is created if it does not exist. It receives ``report.md``,
        ``report.html`` (with embedded figures), ``scores.csv`` (mean average precision by method
        and label), ``precision_recall.png`` and ``.csv``, ``precision_recall_by_label.png``, one
        ``similarity_METHOD.png`` per method, and ``distances.npz``.

    Returns
    -------
    paths : list of Path
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    average = _figure(partial(draw_precision_recall, result=result), (6.4, 4.4))
    pictures = [_saved(average, folder / "precision_recall.png")]
    pictures.append(_saved(_by_label(result), folder / "precision_recall_by_label.png"))
    for name in result.methods:
        figure = _figure(partial(draw_similarity, result=result, method=name), (6.4, 6.2))
        pictures.append(_saved(figure, folder / f"similarity_{name}.png"))
    tables = [folder / "scores.csv", folder / "precision_recall.csv"]
    _write_scores(result, tables[0])
    _write_curves(result, tables[1])
    with atomic_write(folder / "distances.npz") as scratch:
        arrays: dict[str, Any] = {
            "clips": np.array(result.clips),
            "labels": np.array(result.labels),
        }
        arrays |= {name: score.distances for name, score in result.methods.items()}
        np.savez_compressed(scratch, **arrays)
    for name, text in (
        ("report.md", _markdown(result, pictures)),
        ("report.html", _html(result, pictures)),
    ):
        with atomic_write(folder / name) as scratch:
            scratch.write_text(text, encoding="utf-8")
    return [
        folder / "report.html",
        folder / "report.md",
        *pictures,
        *tables,
        folder / "distances.npz",
    ]


def write_clip_output(result: Evaluation, path: str | Path) -> Path:
    """Write a figure (.pdf, .svg, .png) or a table (.tex, .csv) of an evaluation to one file.

    A figure shows precision and recall, in the width of a column of a paper; a PNG file has 300
    dots per inch.
    """
    path = Path(path)
    if path.suffix.lower() == ".tex":
        with atomic_write(path) as scratch:
            scratch.write_text(result.to_latex(), encoding="utf-8")
    elif path.suffix.lower() == ".csv":
        _write_scores(result, path)
    else:
        figure = _figure(partial(draw_precision_recall, result=result), (3.5, 2.8))
        write_figure(figure, path, dpi=300)
    return path


def draw_similarity(axes: Axes, result: Evaluation, method: str) -> None:
    """Draw all distances computed by a method, grouped by label; darker is more similar."""
    from matplotlib.patches import Rectangle

    distances = result.methods[method].distances
    low, high = np.nanmin(distances), np.nanmax(distances)
    shade = (distances - low) / (high - low if high > low else 1.0)
    axes.imshow(shade, cmap="gray", vmin=0.0, vmax=1.0, interpolation="nearest")
    start, places = 0, []
    for k, count in enumerate(result.label_counts.values()):
        corner = (start - 0.5, start - 0.5)
        color = _LINES[k % len(_LINES)]
        axes.add_patch(Rectangle(corner, count, count, fill=False, ec=color, lw=1.8))
        places.append(start + 0.5 * (count - 1))
        start += count
    axes.set_xticks(places, result.label_counts, size=8, rotation=30, ha="right")
    axes.set_yticks(places, result.label_counts, size=8)
    axes.tick_params(length=0, colors=TEXT)
    axes.spines[:].set_visible(False)
    axes.set_title(f"{method}: darker is more similar", size=10, color=TEXT, loc="left")


def draw_precision_recall(axes: Axes, result: Evaluation) -> None:
    """Draw average precision at eleven recall levels, with one line per method."""
    for k, (name, score) in enumerate(result.methods.items()):
        label = f"{name}, {score.mean_average_precision:.3f}"
        _curve(axes, score.precision_at_recall, k, label)
    axes.legend(title="mean average precision", fontsize=8, title_fontsize=8, frameon=False)
    axes.set_title(
        f"{len(result.clips)} clips, each as a query once", size=10, color=TEXT, loc="left"
    )


def _figure(draw: Callable[[Axes], None], size: tuple[float, float]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    draw(figure.subplots())
    return figure


def _by_label(result: Evaluation) -> Figure:
    from matplotlib.figure import Figure

    labels = list(next(iter(result.methods.values())).by_label)
    columns = min(3, len(labels))
    rows = -(-len(labels) // columns)
    figure = Figure(figsize=(3.1 * columns, 2.6 * rows + 0.4), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes, label in zip(grid.ravel(), labels, strict=False):
        for k, (name, score) in enumerate(result.methods.items()):
            _curve(axes, score.by_label[label][1], k, name)
        axes.set_title(f"{label} ({result.label_counts[label]})", size=9, color=TEXT, loc="left")
    for axes in grid.ravel()[len(labels) :]:
        axes.set_visible(False)
    handles, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    return figure


def _curve(axes: Axes, points: NDArray[np.float64], k: int, label: str) -> None:
    axes.plot(RECALLS, points, color=_LINES[k % len(_LINES)], marker="o", ms=3, lw=1.6, label=label)
    axes.set(xlim=(-0.02, 1.02), ylim=(0.0, 1.03), xlabel="recall", ylabel="precision")
    axes.xaxis.label.set(size=8, color=FAINT)
    axes.yaxis.label.set(size=8, color=FAINT)
    axes.tick_params(labelsize=7, colors=TEXT)
    axes.spines[["top", "right"]].set_visible(False)


def _saved(figure: Figure, path: Path) -> Path:
    return write_figure(figure, path, dpi=110)


def _write_scores(result: Evaluation, path: Path) -> None:
    counts = result.label_counts
    with atomic_write(path) as scratch, open(scratch, "w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out)
        rows.writerow(["method", "label", "clips", "mean_average_precision"])
        for name, score in result.methods.items():
            values = {"(all)": (len(result.clips), score.mean_average_precision)}
            values |= {label: (counts[label], mean) for label, (mean, _) in score.by_label.items()}
            for label, (count, mean) in values.items():
                rows.writerow([name, csv_cell(label), count, f"{mean:.6f}"])


def _write_curves(result: Evaluation, path: Path) -> None:
    with atomic_write(path) as scratch, open(scratch, "w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out)
        rows.writerow(["method", "label", "recall", "precision"])
        for name, score in result.methods.items():
            curves = {"(all)": score.precision_at_recall}
            curves |= {label: points for label, (_, points) in score.by_label.items()}
            for label, points in curves.items():
                for recall, precision in zip(RECALLS, points, strict=True):
                    rows.writerow([name, csv_cell(label), f"{recall:.1f}", f"{precision:.6f}"])


# --- the page -------------------------------------------------------------------------------


def _summary(result: Evaluation) -> Table:
    head = [
        "method", "mean average precision", "nearest neighbor", "seconds", "per pair", "unit",
    ]  # fmt: skip
    rows = [
        [
            name,
            f"{score.mean_average_precision:.3f}",
            f"{score.nearest_neighbour:.3f}",
            f"{score.seconds:.3g}",
            f"{1e6 * score.seconds_per_pair:.3g} µs",
            score.measure.unit,
        ]
        for name, score in result.methods.items()
    ]
    return head, rows


def _labels(result: Evaluation) -> Table:
    head = ["label", "clips", *result.methods]
    shared = next(iter(result.methods.values())).by_label
    rows = [
        [label, str(count), *(f"{s.by_label[label][0]:.3f}" for s in result.methods.values())]
        for label, count in result.label_counts.items()
        if label in shared
    ]
    return head, rows


def _recalls(result: Evaluation) -> Table:
    head = ["recall", *(f"{recall:.1f}" for recall in RECALLS)]
    rows = [
        [name, *(f"{value:.3f}" for value in score.precision_at_recall)]
        for name, score in result.methods.items()
    ]
    return head, rows


def _remarks(result: Evaluation) -> list[str]:
    out = [
        f"{len(result.clips)} clips with {len(result.label_counts)} labels. Every clip is used as "
        f"the query once and is excluded from its own results. Times are processor seconds on one "
        f"thread for all distances. Precision is interpolated.",
        *(f"{name}: {score.measure.about}." for name, score in result.methods.items()),
    ]
    for name, score in result.methods.items():
        for joint, clips in score.joints_missing.items():
            more = f" and {len(clips) - 1} more" if len(clips) > 1 else ""
            out.append(
                f"{name}: the joint {joint} is not compared, because {clips[0]}{more} lack it."
            )
    alone = [label for label, count in result.label_counts.items() if count == 1]
    if alone:
        out.append(
            f"Clips with these labels are not queries, because no other clip has the same label: "
            f"{', '.join(alone)}."
        )
    out += [f"Excluded: {name} ({reason})." for name, reason in result.left_out.items()]
    if result.unlabeled:
        out.append(f"{result.unlabeled} motions of the library have no label and are ignored.")
    if result.unmatched:
        out.append(
            f"{len(result.unmatched)} labels do not match any motion, for example "
            f"{result.unmatched[0]}."
        )
    return out


def _markdown(result: Evaluation, pictures: list[Path]) -> str:
    def table(content: Table) -> str:
        head, rows = content
        lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    parts = ["# Whole clips, by measure", table(_summary(result)), *(_remarks(result))]
    parts += ["## Precision at recall", table(_recalls(result))]
    parts += ["## Mean average precision by label", table(_labels(result)), "## Pictures"]
    parts += [f"![{picture.stem}]({picture.name})" for picture in pictures]
    return "\n\n".join(parts) + "\n"


def _html(result: Evaluation, pictures: list[Path]) -> str:
    def row(cells: list[str], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"

    def table(content: Table) -> str:
        head, rows = content
        return f"<table>{row(head, 'th')}{''.join(row(cells, 'td') for cells in rows)}</table>"

    remarks = "".join(f"<p>{escape(text)}</p>" for text in _remarks(result))
    shown = "".join(
        f'<p><img alt="{escape(picture.stem)}" src="data:image/png;base64,'
        f'{base64.b64encode(picture.read_bytes()).decode()}"></p>'
        for picture in pictures
    )
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Whole clips</title>'
        f"<style>{_STYLE}</style><h1>Whole clips, by measure</h1>{table(_summary(result))}{remarks}"
        f"<h2>Precision at recall</h2>{table(_recalls(result))}"
        f"<h2>Mean average precision by label</h2>{table(_labels(result))}{shown}</html>\n"
    )


_CELL_INCHES = 0.42
_COLORS = "YlGnBu"
_LIGHT_FROM = 0.62  # larger values are written in white, because their cells are dark


def write_rank_correlations(study: Study, path: str | Path, *, dpi: float = 110) -> Path:
    """Draw two annotated heat maps of a study side by side, for poses and for segments.

    Parameters
    ----------
    study : Study
        From `motionloom.evaluation.rank_correlation.study`.
    path : str or Path
        ``.png``, ``.svg`` or ``.pdf``.
    dpi : float
        Resolution of a PNG file, in dots per inch.
    """
    from matplotlib.figure import Figure

    path = checked_picture_path(path)
    side = _CELL_INCHES * len(study.measures)
    figure = Figure(figsize=(2 * side + 2.6, side + 1.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    _heat_map(left, study.poses, study.measures)
    left.set_title(
        f"poses: the {study.neighbors} nearest of {study.queries} frames out of {study.frames}",
        size=9, color=TEXT, loc="left",
    )  # fmt: skip
    _heat_map(right, study.segments, study.measures)
    right.set_title(
        f"segments: the {study.ranked} nearest of {len(study.clips)} clips",
        size=9, color=TEXT, loc="left",
    )  # fmt: skip
    left.set_ylabel("nearest neighbors by", size=9, color=FAINT)
    for axes in (left, right):
        axes.set_xlabel("ranked by", size=9, color=FAINT)
    figure.suptitle("Spearman's rank correlation", size=11, color=TEXT)
    return write_figure(figure, path, dpi=dpi)


def _heat_map(axes: Axes, values: NDArray[np.float64], names: tuple[str, ...]) -> None:
    axes.imshow(values, cmap=_COLORS, vmin=0.0, vmax=1.0)
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            color = "white" if value > _LIGHT_FROM else TEXT
            text = f"{value:.2f}".replace("0.", ".").replace("1.00", "1")
            axes.text(j, i, text, ha="center", va="center", size=7, color=color)
    places = np.arange(len(names))
    axes.set_xticks(places, names, rotation=60, ha="right", rotation_mode="anchor", size=8)
    axes.set_yticks(places, names, size=8)
    axes.tick_params(length=0, colors=TEXT)
    axes.spines[:].set_visible(False)
