"""``python -m benchmarks.steering LIB``: fat graph, motion graph and motion matching side by side.

All get the same takes of a library, mirrored where they can, and the same courses
(`motionloom.motion_matching.courses`). A motion graph plans its route through the whole path before
the first step, so that it has no response time; a fat graph is steered towards a point of the path
0.8 s ahead. Cost is processor time per frame; memory is what a method keeps besides the takes.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from motionloom.blending.player import FrameBlock
from motionloom.errors import MotionloomError
from motionloom.library import Library
from motionloom.motion import Motion
from motionloom.motion.diagnostics.quality import PathFit
from motionloom.motion_graph.paths import hips_path, sampled_path
from motionloom.motion_matching import run_course
from motionloom.motion_matching.courses import course_path, response_times
from motionloom.motion_matching.simulation import PathFollower

_PATHS = ("circle", "figure-eight", "zigzag")
_TURNS = ((0.0, 0.0), (2.5, 90.0), (5.0, 0.0), (7.5, -90.0), (10.0, 0.0))
_AHEAD = 0.8  # s


def main() -> None:
    """Print the table of a library."""
    lib = Library(sys.argv[1])
    heads = ("method", "course", "path", "response", "slide", "seam", "memory", "ms/frame")
    print("| " + " | ".join(heads) + " |")
    print("|" + "---|" * len(heads))
    for method in (_matching, _fat_graph, _motion_graph):
        for row in method(lib):
            print("| " + " | ".join(row) + " |", flush=True)


def _row(
    method: str, course: str, motion: Motion, response, memory: float | None, cost: float
) -> list[str]:
    quality = motion.quality
    assert quality is not None
    path = course_path(course)
    off = ""
    if path is not None:
        way = hips_path(motion)
        fit = PathFit.of(np.column_stack([way.imag, way.real]), path=path)
        off = f"{100.0 * (fit.mean_m or 0.0):.1f} cm"
    slide, seam = quality.foot_slide_m, quality.seam_acceleration_ratio
    return [
        method, course, off, "" if response is None else f"{response:.2f} s",
        f"{100.0 * (slide or 0.0):.1f} cm", f"{seam or 0.0:.2f}",
        "" if memory is None else f"{memory / 1e6:.1f} MB", f"{1e3 * cost:.2f}",
    ]  # fmt: skip


def _matching(lib: Library) -> list[list[str]]:
    database = lib.motion_matching()
    kept = database.features.nbytes + database.index.blocks.nbytes + database.places.nbytes
    rows = []
    database.player(velocity=(0.0, 1.3)).read(30)
    for course in (*_PATHS, "turn"):
        begun = time.process_time()
        result = run_course(database, course)
        # Without the quality report, which is not part of playing.
        spent = (
            time.process_time()
            - begun
            - _seconds(lambda r=result: database.player().quality(r.motion))
        )
        rows.append(
            _row(
                "motion matching",
                course,
                result.motion,
                result.response_s,
                kept,
                spent / len(result.motion),
            )
        )
    return rows


def _seconds(call: Any) -> float:
    begun = time.process_time()
    call()
    return time.process_time() - begun


def _fat_graph(lib: Library) -> list[list[str]]:
    graph = lib.fat_graph()
    kept = None  # its blends hold copies of clips
    speed = float(np.clip(1.3, *graph.speeds))
    rows = []
    for course in (*_PATHS, "turn"):
        path = course_path(course)
        begun = time.process_time()
        if path is None:
            motion, response = _fat_turns(graph, speed)
        else:
            motion, response = _fat_path(graph, path, speed), None
        cost = (time.process_time() - begun) / len(motion)
        rows.append(
            _row(
                f"fat graph {graph.speeds[0]:.1f}-{graph.speeds[1]:.1f} m/s",
                course,
                motion.with_quality(graph.player().quality),
                response,
                kept,
                cost,
            )
        )
    return rows


def _fat_turns(graph: Any, speed: float) -> tuple[Motion, float | None]:
    player, blocks = graph.player(direction=0.0, speed=speed), []
    ends = [*(second for second, _ in _TURNS[1:]), 12.5]
    for (second, degrees), until in zip(_TURNS, ends, strict=True):
        player.steer(direction=float(np.radians(degrees)))
        blocks.append(player.read(round((until - second) * player.fps)))
    motion = FrameBlock.joined(blocks).to_motion(player.skeleton, player.fps)
    return motion, response_times(motion, _TURNS)[0]


def _fat_path(graph: Any, path: Any, speed: float) -> Motion:
    follower = PathFollower(sampled_path(path), speed)
    first = float(follower.direction(0.0))
    player, blocks = graph.player(direction=first, speed=speed), []
    here = complex(follower.points[0])
    for _ in range(int(2.0 * follower.length / speed * player.fps)):
        block = player.read(1)
        blocks.append(block)
        way = hips_path(Motion(player.skeleton, block.rotations, block.root, player.fps))
        here = complex(way[0]) + complex(follower.points[0])
        follower.follow(here)
        if follower.done:
            break
        goal = complex(follower.at(follower.along + _AHEAD * speed))
        player.steer(direction=float(np.angle(goal - here)))
    motion = FrameBlock.joined(blocks).to_motion(player.skeleton, player.fps)
    return motion


def _motion_graph(lib: Library) -> list[list[str]]:
    graph = lib.motion_graph(mirror=True)
    kept = sum(
        getattr(graph.transitions, name).nbytes
        for name in ("source", "target", "errors", "transforms")
    )
    rows = []
    for course in _PATHS:
        begun = time.process_time()
        try:
            motion = graph.walk(path=course_path(course))
        except MotionloomError as error:
            print(f"motion graph, {course}: {error}", file=sys.stderr)
            continue
        cost = (time.process_time() - begun) / len(motion)
        rows.append(_row("motion graph (planned)", course, motion, None, kept, cost))
    return rows


if __name__ == "__main__":
    main()
