"""What captions should find in the built-in corpus, from its ground truth."""

from __future__ import annotations

from collections import defaultdict

WITHIN = 0.2  # seconds


def moments(made):
    """Predicate -> (side, second) of every event that a motion of the corpus has by its truth."""
    fps = made.motion.fps
    found = defaultdict(list)
    for action in made.truth.actions:
        p = action.parameters
        if action.action == "kick":
            found["kick"].append((p["leg"], p["hit_frame"] / fps))
            if p["leap"] > 0.0:
                found["jump"].append(("", p["hit_frame"] / fps))
        elif action.action == "punch":
            found["punch"].append((p["arm"], p["hit_frame"] / fps))
        elif action.action in ("reach", "pick_up", "put_back"):
            found["reach"].append((p["arm"], p["hit_frame"] / fps))
        elif action.action == "jump":
            found["jump"].append(("", 0.5 * (p["takeoff_frame"] + p["landing_frame"]) / fps))
        elif action.action == "hop":
            for off, on in zip(p["takeoff_frames"], p["landing_frames"], strict=True):
                found["hop"].append((p["leg"], 0.5 * (off + on) / fps))
        elif action.action == "cartwheel":
            found["cartwheel"].append(("", p["inverted_frame"] / fps))
        elif action.action == "sit_stand":
            # The body is down for a quarter of a second before and after these frames.
            found["sit"].append(("", 0.5 * (p["seated_frame"] + p["rising_frame"]) / fps))
            found["sit_down"].append(("end", p["seated_frame"] / fps - 0.25))
            found["stand_up"].append(("start", p["rising_frame"] / fps + 0.25))
    return found


def scores(pairs, names):
    """Predicate -> (right, found, true, wrong ones) over (truth, events) of motions."""
    out = {}
    for name in names:
        right = found = true = 0
        wrong = []
        for motion, truth, events in pairs:
            left = list(truth.get(name, ()))
            true += len(left)
            for event in events:
                if event.name != name:
                    continue
                found += 1
                hit = next((each for each in left if _matches(event, *each)), None)
                if hit is None:
                    wrong.append((motion, "found", event.side, round(event.moment, 2)))
                else:
                    left.remove(hit)
                    right += 1
            wrong += [(motion, "missed", side, round(at, 2)) for side, at in left]
        out[name] = (right, found, true, wrong)
    return out


def _matches(event, side, second):
    if side in ("start", "end"):
        return abs(getattr(event, side) - second) <= WITHIN
    return event.side == side and abs(event.moment - second) <= WITHIN


GAITS = {
    "walk": ("walk", "spiral_walk"),
    "jog": ("jog",),
    "march": ("march",),
}


def gait_limits(made):
    """(predicate, start, end) in seconds of the steps of every gait: lift-off to landing."""
    fps, rows = made.motion.fps, []
    stands = {side: made.truth.contacts[side] for side in ("left", "right")}
    for action in made.truth.actions:
        name = next((key for key, kinds in GAITS.items() if action.action in kinds), None)
        if name is None:
            continue
        a, b = action.start_frame, action.end_frame
        lifts = [e for side in stands.values() for _, e in side if a < e < b - 2]
        lands = [s for side in stands.values() for s, _ in side if a < s <= b]
        if len(made.truth.actions) == 1:  # a clip, cut from the steady part
            rows.append((name, a / fps, b / fps))
        elif lifts and lands:
            rows.append((name, min(lifts) / fps, max(lands) / fps))
    return rows
