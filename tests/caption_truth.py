"""Expected captions of the built-in corpus and of small procedural motions.

``python tests/caption_truth.py [docs/evidence/captions.md]`` prints the precision and recall of
every predicate and writes them into the page.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from acted_events import Shown, acted_events

import motionloom as ml
from motionloom.evaluation.protocol_run import write_marked
from motionloom.text.captions import Event, events, predicates
from motionloom.text.signals import body_signals

WITHIN = 0.2  # seconds, between the moments of events
LIMITS = 0.35  # seconds, between their starts and ends, where a movement has no sharp ones
MIDDLE = ("jump", "hop")  # whose time is the middle of the flight
# Turns of a walking body at a rate between these are neither asked for nor wrong, degrees per
# second: the slower ones are curves, the faster ones turns.
TURNS = (33.0, 50.0)
CLIPS = (
    "walk", "walk_left_tight", "walk_right_tight", "jog", "march", "step_up_left",
    "kick_front_low_right", "kick_side_high_left", "kick_leap_front_right", "punch_mid_left",
    "punch_low_right", "reach_front_low_right", "reach_side_mid_left", "pick_up_mid", "sit_stand",
    "jump_turn_left", "hop_right", "cartwheel_left",
)  # fmt: skip
GAITS = {"walk": ("walk", "spiral_walk"), "jog": ("jog",), "march": ("march",)}


@dataclass(frozen=True, eq=False)
class Captioned:
    """A motion, its true events, other acceptable events, and the events that captions found."""

    name: str
    shows: tuple[Shown, ...]
    events: list[Event]
    also: frozenset[str] = frozenset()
    # (predicate, start, end): times in which this event is neither required nor wrong.
    open_times: tuple[tuple[str, float, float], ...] = ()


@dataclass
class Score:
    """Counts of one predicate, and its errors."""

    right: int = 0
    detected: int = 0
    true: int = 0
    wrong: list[tuple] = field(default_factory=list)

    @property
    def precision(self) -> float:
        """Fraction of the detected events that are true."""
        return self.right / self.detected if self.detected else 1.0

    @property
    def recall(self) -> float:
        """Fraction of the true events that are detected."""
        return self.right / self.true if self.true else 1.0


def corpus(names: Iterable[str]) -> Iterator[Captioned]:
    """Motions of the built-in corpus."""
    for name in names:
        made = ml.demo.annotated(name)
        shows, open_times = _of_corpus(made)
        yield Captioned(made.name, shows, events(body_signals(made.motion)), _ALSO, open_times)


def acted(performers: Iterable[int]) -> Iterator[Captioned]:
    """Procedural motions of events that do not occur in the corpus."""
    for made in acted_events(tuple(performers)):
        result = events(body_signals(made.motion))
        yield Captioned(made.name, made.shows, result, made.also | {"stand"})


# Incidental events in the corpus, without ground truth.
_ALSO = frozenset(
    "stand step reach look_left look_right crouch bend lean_side raise_knee one_leg arms_forward "
    "arms_out arms_up raise_hand hand_to_head hands_together hands_on_knees swing_arms "
    "hands_on_floor touch_floor get_up wave leap".split()
)


def scores(motions: Iterable[Captioned]) -> dict[str, Score]:
    """Precision and recall of every predicate."""
    out: dict[str, Score] = defaultdict(Score)
    for motion in motions:
        left = list(motion.shows)
        for each in left:
            out[each.name].true += 1
        asked = {each.name for each in left}
        for event in motion.events:
            hit = next((each for each in left if _matches(event, each)), None)
            name = event.name
            if hit is None:
                free = name not in asked and name in motion.also
                if free or any(
                    name == n and a <= event.moment <= b for n, a, b in motion.open_times
                ):
                    continue
                out[name].wrong.append((motion.name, "found", event.side, round(event.moment, 2)))
                out[name].detected += 1
                continue
            left.remove(hit)
            out[hit.name].detected += 1
            out[hit.name].right += 1
        for each in left:
            out[each.name].wrong.append((motion.name, "missed", each.side, each.start, each.end))
    return dict(out)


def _matches(event: Event, shown: Shown) -> bool:
    name = shown.name
    if name != event.name and not (name == "jog" and event.name == "run"):
        return False  # the fastest jogs of the corpus are runs
    if event.side != shown.side:
        return False
    if shown.start == shown.end:  # a moment
        return abs(event.moment - shown.start) <= WITHIN
    if not (np.isfinite(shown.start) and np.isfinite(shown.end)):  # one limit is known
        limits = [(event.start, shown.start), (event.end, shown.end)]
        return all(abs(a - b) <= WITHIN for a, b in limits if np.isfinite(b))
    middle = abs(event.start + event.end - shown.start - shown.end) <= 2.0 * WITHIN
    near = max(abs(event.start - shown.start), abs(event.end - shown.end)) <= LIMITS
    return middle and near


def _of_corpus(made) -> tuple[tuple[Shown, ...], tuple[tuple[str, float, float], ...]]:
    """Events that a motion of the corpus has by its ground truth; times that are left open."""
    fps = made.motion.fps
    shows: list[Shown] = []
    open_times: list[tuple[str, float, float]] = []

    def at(name: str, side: str, frame: float) -> None:
        shows.append(Shown(name, side, frame / fps, frame / fps))

    for action in made.truth.actions:
        p, kind = action.parameters, action.action
        limits = (action.start_frame / fps, action.end_frame / fps)
        if kind == "kick":
            at("kick", p["leg"], p["hit_frame"])
            if p["leap"] > 0.0:
                at("jump", "", p["hit_frame"])
        elif kind == "punch":
            at("punch", p["arm"], p["hit_frame"])
        elif kind in ("reach", "pick_up", "put_back"):
            at("reach", p["arm"], p["hit_frame"])
        elif kind == "jump":
            at("jump", "", 0.5 * (p["takeoff_frame"] + p["landing_frame"]))
        elif kind == "hop":
            for off, on in zip(p["takeoff_frames"], p["landing_frames"], strict=True):
                at("hop", p["leg"], 0.5 * (off + on))
        elif kind == "cartwheel":
            at("cartwheel", "", p["inverted_frame"])
        elif kind == "sit_stand":
            # The body is down for a quarter of a second before and after these frames.
            down, up = p["seated_frame"] / fps, p["rising_frame"] / fps
            at("sit", "", 0.5 * (p["seated_frame"] + p["rising_frame"]))
            shows.append(Shown("sit_down", "", np.nan, down - 0.25))
            shows.append(Shown("stand_up", "", up + 0.25, np.nan))
        elif kind == "step_up":
            shows += _steps_up(made, action)
        elif "dance" in kind or kind == "waltz":
            names = ("walk", "jog", "run", "march", "turn_left", "turn_right")
            open_times += [(name, *limits) for name in names]
        if kind in ("hop", "cartwheel", "kick", "jump"):  # with steps that close the feet
            open_times.append(("step", *limits))
        turn = _turn(made, action)
        if turn is not None:
            (shows if isinstance(turn, Shown) else open_times).append(turn)  # type: ignore[arg-type]
        gait = _gait_limits(made, action)
        if gait is not None:
            shows.append(gait)
    return tuple(shows), tuple(open_times)


def _steps_up(made, action) -> list[Shown]:
    """Up while the first two feet swing onto the step, down while they swing off it."""
    fps = made.motion.fps
    swings = []
    for side in ("left", "right"):
        rows = made.truth.contacts[side]
        swings += [
            (a, b, side)
            for (_, a), (b, _) in zip(rows[:-1], rows[1:], strict=True)
            if action.start_frame <= a and b <= action.end_frame
        ]
    swings.sort()
    steps = [Shown("step", side, a / fps, b / fps) for a, b, side in swings]
    # The ground rises between the middles of the contacts before and after.
    up = Shown("step_up", "", (swings[0][0] + 6) / fps, (swings[1][1] - 3) / fps)
    down = Shown("step_down", "", (swings[2][0] + 3) / fps, (swings[3][1] - 3) / fps)
    return [*steps, up, down]


def _turn(made, action):
    """The turn of a gait along a circle, or times in which none is asked for."""
    fps, rate = made.motion.fps, np.degrees(action.parameters.get("turn", 0.0))
    limits = (action.start_frame / fps, action.end_frame / fps)
    if action.action == "spiral_walk" or TURNS[0] < abs(rate) < TURNS[1]:
        return (f"turn_{'left' if rate >= 0.0 else 'right'}", *limits)
    if action.action not in ("walk", "jog") or abs(rate) <= TURNS[0]:
        return None
    name = f"turn_{'left' if rate > 0.0 else 'right'}"
    if len(made.truth.actions) > 1:  # with the first and last steps, which do not turn yet
        return (name, *limits)
    return Shown(name, "", *limits)


def _gait_limits(made, action) -> Shown | None:
    """The steps of a gait: lift-off to landing."""
    fps = made.motion.fps
    name = next((key for key, kinds in GAITS.items() if action.action in kinds), None)
    if name is None:
        return None
    stands = {side: made.truth.contacts[side] for side in ("left", "right")}
    a, b = action.start_frame, action.end_frame
    lifts = [e for side in stands.values() for _, e in side if a < e < b - 2]
    lands = [s for side in stands.values() for s, _ in side if a < s <= b]
    if len(made.truth.actions) == 1:  # a clip, cut from the steady part
        return Shown(name, "", a / fps, b / fps)
    return Shown(name, "", min(lifts) / fps, max(lands) / fps) if lifts and lands else None


def table(result: dict[str, Score]) -> str:
    """The scores as a Markdown table, predicates with the same scores in one row."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for each in predicates():
        score = result.get(each.name, Score())
        if score.true:
            key = (f"{score.precision:.2f}", f"{score.recall:.2f}")
            groups[key].append(f"{each.name} ({score.true})")
    rows = ["| precision | recall | predicate (events) |", "|---:|---:|---|"]
    rows += [f"| {a} | {b} | {', '.join(names)} |" for (a, b), names in sorted(groups.items())]
    return "\n".join(rows)


def everything() -> list[Captioned]:
    """The whole corpus and all procedural motions."""
    return [*corpus(ml.demo.names()), *acted(range(4))]


if __name__ == "__main__":
    results = scores(everything())
    print(table(results))
    for name, score in results.items():
        if score.wrong:
            print(name, len(score.wrong), score.wrong[:6])
    print("without truth:", [p.name for p in predicates() if not results.get(p.name, Score()).true])
    for page in sys.argv[1:]:
        marks = ("<!-- caption truth -->", "<!-- end of caption truth -->")
        write_marked(Path(page), marks, table(results), "# Captions")
