"""Artifact with the captions and motion statistics of all motions in a library.

Each motion is processed only once. When motions are added to the library, only the new motions are
processed.

Motion statistics are one vector per motion or segment, from which words are learned. They contain
quantiles and rates of change of the body signals, direction and turning of the path, steps, flights
and repetitions, and a few signals sampled from start to end.
"""

from __future__ import annotations

import json
import tomllib
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.checked_arrays import open_array
from motionloom.errors import LibraryError, RoleError
from motionloom.files import parse_json, read_regular, unpacked_bytes
from motionloom.motion import Motion
from motionloom.motion.feet.contacts import SIDES
from motionloom.motion.segment import intervals
from motionloom.parallel import Progress
from motionloom.store.artifacts.row_table import over_motions
from motionloom.store.records import text_digest
from motionloom.store.remote.folder import Folder
from motionloom.store.store import Store
from motionloom.store.take_facts import TakeFacts
from motionloom.text.captions import Event, counted, events
from motionloom.text.signals import RATE, BodySignals, body_signals

KIND = "captions"
MANY = 100  # motions, which take about a second to describe
_VERSION = 2  # increment when signals, captions or statistics give different results than before
_TYPES = (str, float, float, float, str, str, str, int, float)
Array = NDArray[np.float64]
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_PARTS = 3  # signals that are sampled from start to end
_COURSES = ("level", "speed", "bow", "tilt", "head_height", "turning", "forward", "leftward",
            "left_hand_height", "right_hand_height", "hands_apart")  # fmt: skip
_COUNTED = (
    "heading",
    "feet_heading",
    "steps",
    "left_kick_speed",
    "right_kick_speed",
)  # path and steps have separate statistics
_LIMBS = ("left_hand_speed", "right_hand_speed", "left_foot_speed", "right_foot_speed")
_BANDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # limits of the frequency bands of movement, in Hz
_WAVES = ("level", "left_hand_height", "right_hand_height", "left_foot_height", "right_foot_height",
          "left_hand_forward", "right_hand_forward", "bow", "lean", "twist", "turning")  # fmt: skip


@dataclass(frozen=True, eq=False)
class CaptionTable:
    """Captions and statistics of M motions.

    Attributes
    ----------
    names : tuple of str
        Sorted names of the motions. Motions whose skeletons lack a required joint have no events,
        and their statistics are zero.
    events : list of list of Event
    statistics : ndarray of float32, shape (M, D)
    left_out : dict of str to str
        Motions without captions, each with the reason.
    """

    names: tuple[str, ...]
    events: list[list[Event]]
    statistics: NDArray[np.float32]
    left_out: dict[str, str]


def caption_table(
    library: Store,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
    so_far: Callable[[CaptionTable], None] | None = None,
) -> CaptionTable:
    """Return the captions and statistics of all motions in a library, computing those missing.

    If it is interrupted, for example by an error that `progress` raises, the motions described
    until then are kept for the next time. If more than `MANY` motions have to be described,
    `so_far` is called first, with a table in which these motions have no captions.
    """
    made: dict[str, tuple] = {}

    def build(folder: Path, previous: Folder | None) -> None:
        _build(folder, previous, library, workers, progress, made, so_far)

    try:
        table = library.artifacts.derive(KIND, options(), build=build, read=_read)
    except BaseException:  # a stopped job, or Ctrl+C
        if made:
            _SO_FAR.keep(library, made)
        raise
    if made and _SO_FAR.stored(library):
        _SO_FAR.forget(library)
    return table


@cache
def options() -> dict[str, Any]:
    """Return the version and the rules that captions depend on."""
    table = resources.files("motionloom.text").joinpath("predicates.toml").read_text("utf-8")
    rules = json.dumps(tomllib.loads(table), sort_keys=True)  # comments are ignored
    return {"version": _VERSION, "predicates": text_digest(rules)}


def described(motion: Motion) -> tuple[list[tuple], list[float] | None, str]:
    """Return a motion's captions and statistics as plain values, or the reason for having none."""
    try:
        signals = body_signals(motion)
    except RoleError as error:
        return [], None, str(error)
    if not all(np.isfinite(curve).all() for curve in signals.curves.values()):
        return [], None, "it has frames with missing values"
    rows = [_values(event) for event in counted(events(signals))]
    return rows, motion_statistics(signals).astype(np.float32).tolist(), ""


def _build(
    folder: Path,
    previous: Folder | None,
    library: Store,
    workers: int | None,
    progress: Progress | None,
    made: dict[str, tuple],
    so_far: Callable[[CaptionTable], None] | None = None,
) -> None:
    """Write the table to a folder; `made` collects the rows that are new, by digest."""
    previous_rows = _previous(previous)
    entries = library.entries()
    keys = {entry.name: f"{entry.digest} {entry.skeleton} {entry.fps}" for entry in entries}
    rows = {
        entry.name: previous_rows[entry.name][1]
        for entry in entries
        if previous_rows.get(entry.name, ("",))[0] == keys[entry.name]
    }
    digests = {name: text_digest(key, repr(options())) for name, key in keys.items()}
    rows |= _SO_FAR.known(library, {n: digests[n] for n in keys if n not in rows})
    new = [entry for entry in entries if entry.name not in rows]
    if so_far is not None and len(new) > MANY:
        nothing: tuple = ([], None, "it is not described yet")
        so_far(_table({entry.name: rows.get(entry.name, nothing) for entry in entries}))
    if progress is not None and rows:
        progress(len(rows))
    for name, description in over_motions(library, described, new, workers, progress):
        rows[name] = made[digests[name]] = description
    if len({len(row[1]) for row in rows.values() if row[1] is not None}) > 1:
        _SO_FAR.forget(library)  # or the previous version is damaged
        _build(folder, None, library, workers, progress, made)
        return
    statistics = _table(rows).statistics
    names = sorted(rows)
    content = {
        "names": names,
        "keys": [keys[name] for name in names],
        "events": [rows[name][0] for name in names],
        "left_out": {name: rows[name][2] for name in names if rows[name][2]},
    }
    packed = zlib.compress(json.dumps(content).encode(), 1)
    (folder / "captions.json.z").write_bytes(packed)
    np.save(folder / "statistics.npy", statistics)


def _table(rows: Mapping[str, tuple]) -> CaptionTable:
    """Return a table of rows: captions and statistics of each motion, or why it lacks them."""
    names = tuple(sorted(rows))
    width = max((len(row[1]) for row in rows.values() if row[1] is not None), default=0)
    statistics = np.zeros((len(names), width), np.float32)
    for m, name in enumerate(names):
        if rows[name][1] is not None:
            statistics[m] = rows[name][1]
    captions = [[_event(row) for row in rows[name][0]] for name in names]
    left_out = {name: rows[name][2] for name in names if rows[name][2]}
    return CaptionTable(names, captions, statistics, left_out)


def _is_row(row: Any) -> bool:
    """Return whether a stored row has captions, finite statistics or none, and a reason."""
    try:
        captions, statistics, reason = row
        _ = [_event(values) for values in captions]
        return isinstance(reason, str) and (
            statistics is None or bool(np.isfinite(np.array(statistics, np.float32)).all())
        )
    except (ValueError, TypeError):
        return False


# Rows of motions that were described before an interruption.
_SO_FAR: TakeFacts[Any] = TakeFacts("captions-so-far", _VERSION, _is_row)


def _previous(folder: Folder | None) -> dict[str, tuple[str, tuple]]:
    if folder is None:
        return {}
    try:
        content, table = _content(folder), _read(folder)
    except (LibraryError, FileNotFoundError):
        return {}
    return {
        name: (
            content["keys"][m],
            (
                [_values(event) for event in table.events[m]],
                None if name in table.left_out else table.statistics[m].tolist(),
                table.left_out.get(name, ""),
            ),
        )
        for m, name in enumerate(table.names)
    }


def _content(folder: Folder) -> dict[str, Any]:
    try:
        content = parse_json(unpacked_bytes(read_regular(folder / "captions.json.z")))
        if not isinstance(content, dict):
            raise ValueError("no object")
        return content
    except ValueError as error:
        raise LibraryError(f"{folder}: the captions are damaged: {error}") from None


def _read(folder: Folder) -> CaptionTable:
    content = _content(folder)
    try:
        names, rows = content["names"], content["events"]
        statistics = open_array(folder / "statistics.npy", memory_map=False)
        fits = statistics.dtype == np.float32 and statistics.ndim == 2
        if not fits or len(statistics) != len(names) or not np.isfinite(statistics).all():
            raise ValueError("the statistics are not finite or do not cover every motion")
        texts = [*names, *content["keys"], *content["left_out"].values()]
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("a name, a key or a reason is not a string")
        if not len(names) == len(rows) == len(content["keys"]):
            raise ValueError("the numbers of names and events differ")
        events = [[_event(row) for row in each] for each in rows]
        return CaptionTable(tuple(names), events, statistics, dict(content["left_out"]))
    except (ValueError, KeyError, TypeError, AttributeError, EOFError) as error:
        raise LibraryError(f"{folder}: the captions are damaged: {error}") from None


def _values(event: Event) -> tuple:
    """Return the values of an event; faster than `dataclasses.astuple`, which copies them."""
    return tuple(getattr(event, name) for name in Event.__dataclass_fields__)


def _event(row: Any) -> Event:
    checks: list[Callable[[Any], Any]] = list(_TYPES)
    if len(row) != len(checks):
        raise ValueError("an event has too few values")
    return Event(*(check(value) for check, value in zip(checks, row, strict=True)))


def motion_statistics(signals: BodySignals) -> Array:
    """Return statistics (D,) of a motion's body signals; all values are finite."""
    curves = signals.curves
    out: list[float] = [np.log(max(signals.frames, 1) / RATE)]
    levels = np.stack([curves[name] for name in sorted(curves) if name not in _COUNTED])
    spread = np.quantile(levels, _QUANTILES, axis=1).T
    out += np.column_stack([spread, np.std(levels, axis=1)]).ravel().tolist()
    out += _path(curves, signals.frames)
    out += _steps(curves, signals.frames)
    for name in _COURSES:
        parts = np.array_split(curves[name], _PARTS)
        means = [float(np.mean(part)) if len(part) else 0.0 for part in parts]
        ends = (float(curves[name][0]), float(curves[name][-1]))
        out += [*means, *ends, float(np.argmax(curves[name])) / max(signals.frames, 1)]
    for name in _WAVES:
        out += _bands(curves[name])
    out += _symmetry(curves)
    return np.nan_to_num(np.array(out, np.float64), posinf=0.0, neginf=0.0)


def _path(curves, frames: int) -> list[float]:
    """Return path statistics, relative to the heading in the first frame."""
    seconds = max(frames, 1) / RATE
    heading = curves["heading"]
    turn = np.radians(heading - heading[0])
    steps = (curves["forward"] + 1j * curves["leftward"]) * np.exp(1j * turn) / RATE
    place = np.cumsum(steps)
    length = float(np.sum(np.abs(steps)))
    end = place[-1]
    far = float(np.abs(place).max())
    turning = curves["turning"] / RATE
    left, right = turning[turning > 0].sum(), -turning[turning < 0].sum()
    course = np.angle(steps[1:] * np.conj(steps[:-1]))
    moving = np.minimum(np.abs(steps[1:]), np.abs(steps[:-1])) > 0.3 / RATE
    bend = np.degrees(np.sum(course[moving])) if moving.any() else 0.0
    return [
        length, length / seconds, end.real, end.imag, abs(end), far, abs(end) / max(length, 0.3),
        float(heading[-1] - heading[0]), abs(heading[-1] - heading[0]),
        float(np.ptp(heading)), left, right, (left - right) / max(left + right, 20.0),
        float(bend), abs(float(bend)), end.real / max(length, 0.3), end.imag / max(length, 0.3),
        float(np.mean(curves["speed"] > 0.3)), float(np.mean(curves["forward"] < -0.2)),
        float(np.mean(np.abs(curves["leftward"]) > 0.3)),
        float(np.mean(np.abs(curves["turning"]) > 60.0)),
        float(curves["ground"][-1] - curves["ground"][0]), float(np.ptp(curves["ground"])),
    ]  # fmt: skip


def _steps(curves, frames: int) -> list[float]:
    """Return statistics of steps and flights, and the rotation and travel in the longest flight."""
    seconds = max(frames, 1) / RATE
    out: list[float] = []
    total = 0
    for side in SIDES:
        landings = [a for a, _ in intervals(curves[f"{side}_stands"] > 0.5) if a > 0]
        total += len(landings)
        out.append(len(landings) / seconds)
    out += [np.log1p(total), total / seconds]
    falling = (curves["weight"] < -0.45) & (curves["grounded"] < 0.5)
    flights = [(a, b) for a, b in intervals(falling) if b - a >= 3]
    longest = max(flights, key=lambda each: each[1] - each[0], default=(0, 0))
    a, b = max(longest[0] - 3, 0), min(longest[1] + 3, frames - 1)
    turn = float(curves["heading"][b] - curves["heading"][a]) if flights else 0.0
    hop = [
        float(np.sum(curves[name][a:b]) / RATE) if flights else 0.0
        for name in ("forward", "leftward")
    ]
    out += [np.log1p(len(flights)), (longest[1] - longest[0]) / RATE, turn, abs(turn), *hop]
    out.append(sum(b - a for a, b in flights) / max(frames, 1))
    return out


def _bands(curve: Array) -> list[float]:
    """Return the amplitude of a signal in each frequency band, and its periodicity."""
    n = max(64, len(curve))
    moving = curve - np.linspace(curve[0], curve[-1], len(curve))
    power = np.abs(np.fft.rfft((moving - moving.mean()) * np.hanning(len(curve)), n)) ** 2
    hertz = np.fft.rfftfreq(n, 1.0 / RATE)
    amplitude = 2.0 / max(len(curve), 1)
    bands = [
        amplitude * float(np.sqrt(power[(hertz >= low) & (hertz < high)].sum() + 1e-12))
        for low, high in zip(_BANDS[:-1], _BANDS[1:], strict=True)
    ]
    rhythm = power[(hertz >= 0.3) & (hertz < 4.0)]
    return [*bands, float(rhythm.max() / (rhythm.sum() + 1e-9)) if len(rhythm) else 0.0]


def _symmetry(curves) -> list[float]:
    """Return correlations between limbs, and each limb's share of the total movement."""
    pairs = [
        ("left_hand_height", "right_hand_height"), ("left_hand_forward", "right_hand_forward"),
        ("left_hand_out", "right_hand_out"), ("left_foot_height", "right_foot_height"),
        ("left_foot_forward", "right_foot_forward"), ("left_knee", "right_knee"),
        ("left_elbow", "right_elbow"), ("left_hand_forward", "right_foot_forward"),
        ("left_hand_forward", "left_foot_forward"), ("level", "bow"),
    ]  # fmt: skip
    out = []
    for a, b in pairs:
        x, y = curves[a] - curves[a].mean(), curves[b] - curves[b].mean()
        out.append(float(np.sum(x * y) / (np.sqrt(np.sum(x * x) * np.sum(y * y)) + 1e-6)))
    energy = np.array([float(np.mean(curves[name])) for name in _LIMBS])
    out += list(np.log(energy + 0.05)) + list(energy / (energy.sum() + 0.1))
    out += [float(np.log((energy[0] + 0.1) / (energy[1] + 0.1)))]
    out += [float(np.log((energy[2] + 0.1) / (energy[3] + 0.1)))]
    return out
