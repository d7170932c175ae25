"""Draw cluster.png: ``python docs/pictures/cluster.py``.

Top: three workers on this machine build a match web of the built-in corpus, and one of them is
killed; each bar is a task on its worker. Bottom: cost by size of the library; the lines come from
the constants in docs/explanation/clusters.md, the dots are measured.
"""

import os
import signal
import tempfile
import time
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import motionloom as ml
from motionloom.parallel import completed, executor, local_cluster, on_cluster
from motionloom.search.match_web import build as web_tasks
from motionloom.search.match_web.store import WebStore

FRAMES = 6_000
BARS = ("#30638e", "#edae49", "#4f772d", "#8d6b94", "#b5838d")


def timed(task, work):
    """Run a task; return its process, start and end."""
    begun = time.time()
    work(task)
    return os.getpid(), begun, time.time()


def build_with_killed_worker():
    """Bars (worker, start, end) of a build, the killed worker and its time, and the start."""
    with tempfile.TemporaryDirectory() as scratch:
        library = ml.Library.create(Path(scratch) / "takes.loom")
        frames = 0
        for name in ml.demo.names():
            library.add_motion(ml.demo.clip(name), name=name)
            frames += library.store.entry(name).frames
            if frames > FRAMES:
                break
        store = WebStore(library.store)
        store.folder.mkdir(parents=True)
        with local_cluster(3) as cluster, on_cluster(cluster.scheduler_address):
            web_tasks.MIN_TASK_CELLS = FRAMES**2 // 120
            work, tasks = store.planned()
            warm = WebStore(library.store).planned(only=library.names[:4])
            bars, killed = [], None
            with executor() as pool:
                list(completed(partial(timed, work=warm[0]), warm[1] * 6, pool))
                begun = time.time()
                for done in completed(partial(timed, work=work), tasks, pool):
                    if done.error is not None:
                        raise done.error
                    bars.append(done.result)
                    if killed is None and len(bars) == len(tasks) // 3:
                        killed = (bars[-1][0], time.time())
                        os.kill(killed[0], signal.SIGKILL)
    return bars, killed, begun


def draw_timeline(axes, bars, killed, begun):
    workers = list(dict.fromkeys(worker for worker, _, _ in bars))
    for worker, start, end in bars:
        row = workers.index(worker)
        axes.barh(row, end - start, left=start - begun, height=0.62, color=BARS[row % len(BARS)],
                  edgecolor="white", linewidth=0.8)  # fmt: skip
    row, moment = workers.index(killed[0]), killed[1] - begun
    axes.plot(moment, row, marker="x", color="#d1495b", markersize=11, markeredgewidth=3)
    axes.annotate("kill -9: its tasks go to the others", (moment, row), xytext=(12, 0),
                  textcoords="offset points", va="center", fontsize=9, color="#d1495b")  # fmt: skip
    labels = [f"worker {n + 1}" for n in range(len(workers))]
    if len(workers) > 3:
        labels[3] = "replacement"
    axes.set_yticks(range(len(workers)), labels)
    axes.invert_yaxis()
    axes.set_xlim(left=0.0)
    axes.set_xlabel("seconds")
    axes.set_title(f"{len(bars)} tasks of one web build, each done once", loc="left", fontsize=10)


def draw_costs(axes):
    frames = np.logspace(4, 9, 60)
    lines = {
        "match web of everything": (31e-9 * frames**2 / 2, BARS[0]),
        "webs of categories, 10⁶ frames each": (
            31e-9 * frames * np.minimum(frames, 1e6) / 2, BARS[2]),
        "index": (80e-9 * frames * np.log2(frames), BARS[1]),
    }  # fmt: skip
    for label, (seconds, color) in lines.items():
        axes.loglog(frames, seconds, color=color, label=label)
    axes.plot(36_560, 21.0, "o", color=BARS[0])
    axes.plot(938_413, 1.4, "o", color=BARS[1])
    for text, seconds in {
        "minute": 60,
        "day": 86400,
        "year": 3.15e7,
        "1000 years": 3.15e10,
    }.items():
        axes.axhline(seconds, color="0.85", linewidth=0.8, zorder=0)
        axes.text(1.05e4, seconds * 1.25, text, fontsize=8, color="0.45")
    axes.set_ylim(1e-2, 1e12)
    axes.set_xlabel("frames at 30 Hz (10⁶ are 9 hours)")
    axes.set_ylabel("seconds of one core")
    axes.legend(frameon=False, fontsize=8.5, loc="upper center")


def main():
    bars, killed, begun = build_with_killed_worker()
    figure, (above, below) = plt.subplots(
        2, 1, figsize=(8.2, 6.2), height_ratios=[1, 1.5], layout="constrained"
    )
    draw_timeline(above, bars, killed, begun)
    draw_costs(below)
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    main()
