"""``python -m benchmarks steering``: compare motion matching, fat graph and motion graph.

All methods get the same takes, mirrored where possible, and the same courses
(`motionloom.motion_matching.steering_courses`) at 1.3 m/s. A fat graph is steered toward a point of
the path 0.8 s ahead. A motion graph plans its route along the whole path before the first step. It
cannot be steered, so its response time is the time that it needs to plan a new route. Cost is
processor time per frame; memory is the size of all data that a method stores in addition to the
takes.
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
    """Results of one course with one method."""

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
    """Return the results, all figures, and a description of the data."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, source, credit = everything(settings, Path(scratch), log=log)
        library = Library.create(Path(scratch) / "steering.loom")
        files = _chosen(folder)
        for file in files:
            library.add(file)
        steered: list[Steered] = []
        for method in (_matching, _fat_graph, _motion_graph):
            log(f"steering with {method.__name__.strip('_')}")
            steered += method(library, log)
    ours = {result.course: result for result in steered if result.method == _NAMES[0]}
    results = [
        _result(ours[result.course], result) for result in steered if result.method != _NAMES[0]
    ]
    return {
        "data": f"{source}: {len(files)} takes",
        "credit": credit,
        "results": [row.as_dict() for row in results],
        "figures": [asdict(result) for result in steered],
    }


_NAMES = ("motion matching", "fat graph", "motion graph")


def _chosen(folder: Path) -> list[Path]:
    """CMU subject 35; otherwise files named after a gait; otherwise all files."""
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
    kept = sum(_bytes(part) for part in (database.features, database.places, database.index))
    database.player(velocity=(0.0, _SPEED)).read(30)
    for course in (*_PATHS, "turn"):
        result, spent = _timed(lambda course=course: run_course(database, course, speed=_SPEED))
        # Without the quality report, which is not part of playback.
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


def _bytes(value: Any, seen: set[int] | None = None) -> int:
    """Bytes of all arrays of an object, excluding motions."""
    seen = set() if seen is None else seen
    if id(value) in seen or isinstance(value, Motion):
        return 0
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, dict):
        return sum(_bytes(part, seen) for part in value.values())
    if isinstance(value, list | tuple):
        return sum(_bytes(part, seen) for part in value)
    if is_dataclass(value):
        return sum(_bytes(getattr(value, part.name), seen) for part in fields(value))
    return (
        sum(_bytes(part, seen) for part in vars(value).values())
        if hasattr(value, "__dict__")
        else 0
    )
