"""``python -m benchmarks steering``: motion matching, fat graph and motion graph side by side.

All get the same takes, mirrored where they can, and the same courses
(`motionloom.motion_matching.steering_courses`) at 1.3 m/s. A fat graph is steered toward a
point of the
path 0.8 s ahead. A motion graph plans its route through the whole path before the first step: it
cannot be steered, so that its response is the time that it takes to plan a route anew. Cost is
processor time per frame; memory is what a method keeps besides the takes.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

import motionloom as ml
from benchmarks import Settings
from benchmarks.takes import everything
from benchmarks.timing import Log, Result
from motionloom.blending.player import FrameBlock
from motionloom.errors import InvalidInput, MotionloomError
from motionloom.library import Library
from motionloom.motion import Motion
from motionloom.motion.diagnostics.quality import PathFit
from motionloom.motion_graph.walks.paths import hips_path, sampled_path
from motionloom.motion_matching import run_course
from motionloom.motion_matching.simulation import PathFollower
from motionloom.motion_matching.steering_courses import (
    TURN_SECONDS,
    TURNS,
    course_path,
    response_times,
)

SUMMARY = "a character steered along courses by three methods"
PACKAGES = ()
_PATHS = ("circle", "figure-eight", "zigzag")
_SPEED = 1.3  # m/s
_AHEAD = 0.8  # s
_WORDS = ("walk", "jog", "run")


@dataclass(frozen=True)
class Steered:
    """One course by one method."""

    method: str
    course: str
    path_error_m: float | None
    response_s: float | None
    foot_slide_m: float | None
    seam_acceleration_ratio: float | None
    memory_bytes: int
    seconds_per_frame: float

    def text(self) -> str:
        """The figures in one line."""
        parts = []
        if self.path_error_m is not None:
            parts.append(f"path {100.0 * self.path_error_m:.1f} cm")
        if self.response_s is not None:
            parts.append(f"response {self.response_s:.2f} s")
        if self.foot_slide_m is not None:
            parts.append(f"slide {100.0 * self.foot_slide_m:.1f} cm")
        if self.seam_acceleration_ratio is not None:
            parts.append(f"seam {self.seam_acceleration_ratio:.2f}")
        parts.append(f"{self.memory_bytes / 1e6:.1f} MB")
        return ", ".join(parts)


def run(settings: Settings, log: Log) -> dict[str, Any]:
    """Results, all figures, and a description of the data."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, source, credit = everything(settings, Path(scratch), log=log)
        library = Library.create(Path(scratch) / "steering.loom")
        files = _chosen(folder)
        for file in files:
            library.add(file)
        steered: list[Steered] = []
        for method in (_matching, _fat_graph, _motion_graph):
            log(f"steering by {method.__name__.strip('_')}")
            steered += method(library, log)
    ours = {one.course: one for one in steered if one.method == _NAMES[0]}
    results = [_result(ours[one.course], one) for one in steered if one.method != _NAMES[0]]
    return {
        "data": f"{source}: {len(files)} takes",
        "credit": credit,
        "results": [row.as_dict() for row in results],
        "figures": [asdict(one) for one in steered],
    }


_NAMES = ("motion matching", "fat graph", "motion graph")


def _chosen(folder: Path) -> list[Path]:
    """CMU's subject 35, else files named after a gait, else all."""
    files = sorted(folder.rglob("*.bvh"))
    for wanted in (
        [file for file in files if file.stem.startswith("35_")],
        [file for file in files if any(word in file.stem for word in _WORDS)],
        files,
    ):
        if wanted:
            return wanted
    raise InvalidInput(f"{folder} has no .bvh files")


def _result(ours: Steered, rival: Steered) -> Result:
    times = ours.seconds_per_frame, rival.seconds_per_frame
    return Result(
        f"{ours.course}, per frame",
        times[0],
        rival.method,
        times[1],
        times[1] / times[0],
        f"motion matching: {ours.text()}; {rival.method}: {rival.text()}",
    )


def _steered(
    method: str, course: str, motion: Motion, response: float | None, kept: int, seconds: float
) -> Steered:
    quality = motion.quality
    assert quality is not None
    path, off = course_path(course), None
    if path is not None:
        way = hips_path(motion)
        off = PathFit.of(np.column_stack([way.imag, way.real]), path=path).mean_m
    return Steered(
        method, course, off, response, quality.foot_slide_m, quality.seam_acceleration_ratio,
        kept, seconds,
    )  # fmt: skip


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    begun = time.process_time()
    return call(), time.process_time() - begun


def _matching(library: Library, log: Log) -> Iterator[Steered]:
    database = library.motion_matching()
    kept = sum(_bytes(one) for one in (database.features, database.places, database.index))
    database.player(velocity=(0.0, _SPEED)).read(30)
    for course in (*_PATHS, "turn"):
        result, spent = _timed(lambda course=course: run_course(database, course, speed=_SPEED))
        # Without the quality report, which is not part of playing.
        player = database.player()
        _, judged = _timed(lambda result=result, player=player: player.quality(result.motion))
        per_frame = max(spent - judged, 1e-9) / len(result.motion)
        yield _steered(_NAMES[0], course, result.motion, result.response_s, kept, per_frame)


def _fat_graph(library: Library, log: Log) -> Iterator[Steered]:
    graph = library.fat_graph()
    kept = sum(_bytes(edge.parametric) for edge in graph.edges)
    speed = float(np.clip(_SPEED, *graph.speeds))
    for course in (*_PATHS, "turn"):
        path = course_path(course)
        if path is None:
            motion, spent = _timed(lambda: _fat_turns(graph, speed))
            response = response_times(motion, TURNS)[0]
        else:
            motion, spent = _timed(lambda path=path: _fat_path(graph, path, speed))
            response = None
        judged = motion.with_quality(graph.player().quality)
        yield _steered(_NAMES[1], course, judged, response, kept, spent / len(motion))


def _fat_turns(graph: Any, speed: float) -> Motion:
    player, blocks = graph.player(direction=0.0, speed=speed), []
    ends = [*(second for second, _ in TURNS[1:]), TURN_SECONDS]
    for (second, degrees), until in zip(TURNS, ends, strict=True):
        player.steer(direction=float(np.radians(degrees)))
        blocks.append(player.read(round((until - second) * player.fps)))
    return FrameBlock.joined(blocks).to_motion(player.skeleton, player.fps)


def _fat_path(graph: Any, path: Any, speed: float) -> Motion:
    follower = PathFollower(sampled_path(path), speed)
    player, blocks = graph.player(direction=float(follower.direction(0.0)), speed=speed), []
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
    return FrameBlock.joined(blocks).to_motion(player.skeleton, player.fps)


def _motion_graph(library: Library, log: Log) -> Iterator[Steered]:
    graph = library.motion_graph(mirror=True, rules=ml.TransitionRules(bridge=True))
    kept = _bytes(graph.transitions)
    for course in _PATHS:
        try:
            motion, spent = _timed(lambda course=course: graph.walk(path=course_path(course)))
        except MotionloomError as error:
            log(f"motion graph, {course}: {error}")
            continue
        yield _steered(_NAMES[2], course, motion, spent, kept, spent / len(motion))


def _bytes(held: Any, seen: set[int] | None = None) -> int:
    """Bytes of all arrays that an object holds, motions left out."""
    seen = set() if seen is None else seen
    if id(held) in seen or isinstance(held, Motion):
        return 0
    seen.add(id(held))
    if isinstance(held, np.ndarray):
        return int(held.nbytes)
    if isinstance(held, dict):
        return sum(_bytes(one, seen) for one in held.values())
    if isinstance(held, list | tuple):
        return sum(_bytes(one, seen) for one in held)
    if is_dataclass(held):
        return sum(_bytes(getattr(held, one.name), seen) for one in fields(held))
    return sum(_bytes(one, seen) for one in vars(held).values()) if hasattr(held, "__dict__") else 0
