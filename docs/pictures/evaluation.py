"""Draw evaluation.png from the output of ``evaluate --json``: ``evaluation.py RESULTS.json``."""

import json
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

PLAIN = " (plain)"


def main(results: str) -> None:
    judged = json.loads(Path(results).read_text(encoding="utf-8"))["clips"]
    ranked = sorted(judged["mean"], key=judged["mean"].get, reverse=True)
    methods = [method for method in ranked if not method.endswith(PLAIN)]
    figure = Figure(figsize=(11.0, 4.0), layout="constrained")
    axes = figure.subplots()
    for m, method in enumerate(methods):
        scored = [each["methods"][method] for each in judged["sets"].values()]
        at = np.arange(len(scored)) + 0.09 * (m - (len(methods) - 1) / 2)
        score = np.array([result["score"] for result in scored])
        spans = [
            score - [result["low"] for result in scored],
            [result["high"] for result in scored] - score,
        ]
        axes.errorbar(
            at, score, np.abs(spans), fmt="o", markersize=7 if m == 0 else 4, elinewidth=1,
            color=f"C{m}", label=f"{method} ({judged['mean'][method]:.2f})",
        )  # fmt: skip
        plain = [each["methods"][method + PLAIN]["score"] for each in judged["sets"].values()]
        axes.scatter(at, plain, marker="_", s=30, color=f"C{m}", alpha=0.6)
    axes.set_xticks(np.arange(len(judged["sets"])), list(judged["sets"]), size=8)
    axes.set_ylabel("mean average precision")
    axes.set_ylim(0.0, 1.02)
    axes.grid(axis="y", alpha=0.3)
    axes.legend(ncols=1, loc="center left", bbox_to_anchor=(1.0, 0.5), title="method (mean)")
    axes.set_title(
        "Settings chosen without the set; 95 % intervals; dashes: without hub correction",
        loc="left",
        size=10,
    )
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=80)


if __name__ == "__main__":
    main(*sys.argv[1:])
