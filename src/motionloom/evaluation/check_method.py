"""Checks for a method of a user, before it is evaluated on thousands of pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from motionloom.errors import InvalidInput, MotionloomError
from motionloom.motion import Motion
from motionloom.search.methods.own import FrameClips, OwnDistance, as_clip_method

_SAME = 1e-6  # relative difference of two distances that count as equal
_SECONDS = 2.0  # of the motions that are compared


@dataclass(frozen=True)
class MethodCheck:
    """Result of `check_method`.

    Attributes
    ----------
    name : str
    passed : tuple of str
        Rules that hold.
    notes : tuple of str
        Rules that need not hold, but that users should know about.
    """

    name: str
    passed: tuple[str, ...]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"ok    {rule}" for rule in self.passed] + [f"note  {rule}" for rule in self.notes]
        return "\n".join([f"{self.name}: {len(self.passed)} rules hold", *lines])


def check_method(method: Any, motions: Sequence[Motion] | None = None) -> MethodCheck:
    """Check that a method works in searches and evaluations, like scikit-learn's check_estimator.

    Parameters
    ----------
    method : callable, frame distance, ClipMethod or str
        Anything that `Library.evaluate` accepts in ``methods``.
    motions : sequence of Motion, optional
        At least two motions to compare. Default: clips of the built-in corpus, of several
        performers and a very short one.

    Raises
    ------
    InvalidInput
        If a rule is violated: distances must be finite numbers of at least 0, the same for the same
        motions, and a motion must not be nearer to others than to itself. The method must not
        change its motions, and must accept other bodies and clips of a few frames.

    Examples
    --------
    >>> import motionloom as ml
    >>> print(ml.check_method(lambda a, b: abs(a.root[:, 1].mean() - b.root[:, 1].mean())))
    lambda: 7 rules hold
    ok    distances are finite numbers
    ok    distances are at least 0
    ok    the same motions have the same distance again
    ok    motions are not changed
    ok    no motion is nearer to another one than to itself
    ok    bodies of other performers are accepted
    ok    clips of two frames are accepted
    note  symmetric: set the attribute symmetric = True to halve the time
    """
    given = as_clip_method(method)
    if isinstance(given, str):
        from motionloom.evaluation.settings import EvaluateSettings

        given = next(iter(EvaluateSettings(methods=(given,)).clip_methods().values()))
    name = given.title if isinstance(given, OwnDistance | FrameClips) else given.NAME
    between = _between(given)
    clips = list(_examples() if motions is None else motions)
    if len(clips) < 2:
        raise InvalidInput(f"check_method needs at least two motions; got {len(clips)}")
    before = [(clip.rotations.copy(), clip.root.copy()) for clip in clips]
    rules = _Rules(name)
    gaps = np.array([[rules.call(between, a, b) for b in clips] for a in clips])
    rules.hold("distances are finite numbers", bool(np.isfinite(gaps).all()), str(gaps.min()))
    rules.hold("distances are at least 0", bool((gaps >= 0.0).all()), f"got {gaps.min():g}")
    again = np.array([[rules.call(between, a, b) for b in clips] for a in clips])
    scale = max(float(np.abs(gaps).max()), 1e-12)
    rules.hold(
        "the same motions have the same distance again",
        bool(np.abs(again - gaps).max() <= _SAME * scale),
        f"they differ by up to {np.abs(again - gaps).max():g}; fix the seed of random numbers",
    )
    rules.hold(
        "motions are not changed",
        all(
            np.array_equal(clip.rotations, turns) and np.array_equal(clip.root, root)
            for clip, (turns, root) in zip(clips, before, strict=True)
        ),
        "copy arrays before you change them",
    )
    own = np.diag(gaps)[:, None]
    rules.hold(
        "no motion is nearer to another one than to itself",
        bool((gaps >= own - _SAME * scale).all()),
        "return a distance, not a similarity: 0 for equal motions, larger for different ones",
    )
    if motions is None:
        rules.passed.append("bodies of other performers are accepted")
        short = [clip[:2] for clip in clips[:2]]
        rules.call(between, *short)
        rules.passed.append("clips of two frames are accepted")
    notes = []
    symmetric = bool(np.abs(gaps - gaps.T).max() <= _SAME * scale)
    if isinstance(given, OwnDistance) and given.symmetric and not symmetric:
        rules.hold("distances are symmetric", False, "remove the attribute symmetric")
    elif isinstance(given, OwnDistance) and symmetric and not given.symmetric:
        notes.append("symmetric: set the attribute symmetric = True to halve the time")
    elif not symmetric:
        notes.append("not symmetric: the distance of a and b depends on which is the query")
    if bool(np.abs(own).max() > _SAME * scale):
        notes.append("the distance of a motion to itself is not 0")
    if len(np.unique(gaps.round(12))) <= 2:
        notes.append("almost all distances are equal, so that results are ranked by name")
    return MethodCheck(name, tuple(rules.passed), tuple(notes))


class _Rules:
    """Rules that held so far."""

    def __init__(self, name: str) -> None:
        self._name, self.passed = name, list[str]()

    def hold(self, rule: str, fulfilled: bool, otherwise: str) -> None:
        if not fulfilled:
            raise InvalidInput(f"{self._name}: not fulfilled: {rule} ({otherwise})")
        self.passed.append(rule)

    def call(self, between: Callable[[Motion, Motion], float], a: Motion, b: Motion) -> float:
        try:
            return float(between(a, b))
        except MotionloomError:
            raise
        except Exception as error:
            raise InvalidInput(
                f"{self._name}: comparing {a.name or 'a'} ({len(a)} frames) with {b.name or 'b'} "
                f"({len(b)} frames) raised {type(error).__name__}: {error}"
            ) from error


def _between(method: Any) -> Callable[[Motion, Motion], float]:
    if isinstance(method, OwnDistance):
        return lambda a, b: method.between(method.prepared(a), method.prepared(b))
    from motionloom.search.clips.vectors import ClipVectors

    measure = method.measure()

    def compared(a: Motion, b: Motion) -> float:
        rows = [np.asarray(measure.clip_rows(each), np.float32) for each in (b, a)]
        starts = np.cumsum([0, *map(len, rows)])
        clips = ClipVectors(np.concatenate(rows), starts, measure.joints)
        return float(measure.matrix_rows(clips, 1, 2)[0, 0])

    return compared


def _examples() -> list[Motion]:
    from motionloom.demo import clip

    names = ("walk_p0", "walk_p1", "kick_front_high_right_p2", "reach_front_high_right_p0")
    clips = [clip(name) for name in names]
    return [replace(each[: round(_SECONDS * each.fps)], name=each.name) for each in clips]
