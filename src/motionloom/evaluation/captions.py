"""Captions against the labels of clips: how often a predicate is found where the label says so.

Labels of a set name classes ("wave-left-hand", "Squat"); `EXPECTED` says which predicates each of
them should show. Recall is the share of the clips of a class in which one of its predicates is
found. Precision is the share of the clips with that predicate whose class shows it: classes that
may show it (`MAY`) count neither way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from motionloom.errors import InvalidInput
from motionloom.evaluation.labelled_sets import DataFolder, LabelledSet, clip_set
from motionloom.evaluation.protocol_run import write_marked
from motionloom.evaluation.settings import CaptionScoreSettings
from motionloom.parallel import Progress
from motionloom.text.caption_table import caption_table

# Predicates by class, "name" or "name side"; the first that is found counts.
EXPECTED: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "exercises": {
        "1": ("jump",), "2": ("jog", "run"), "3": ("crouch",), "4": ("raise_knee", "march"),
        "7": ("lean_side", "reach"), "8": ("punch",), "10": ("touch_floor", "bend"),
        "11": ("lean_side",), "12": ("hands_on_floor", "touch_floor", "bend"),
    },
    "cmu-groups": {
        "walk": ("walk",), "run": ("run", "jog"), "jump": ("jump", "hop"),
        "climb": ("step_up", "step_down"),
    },
    "cmu-kinds": {
        "march": ("march",), "soccer kick": ("kick",), "kick": ("kick",), "jump kick": ("kick",),
        "cartwheel": ("cartwheel",), "hop on a foot": ("hop left",), "balance": ("one_leg",),
        "hop forward": ("jump", "hop"), "hop turn": ("jump",), "hopscotch": ("hop",),
        "backflip": ("flip",), "boxing": ("punch",), "get up from chair": ("stand_up",),
        "get up from floor": ("get_up",), "sit on stool": ("sit_down",),
        "pick up box": ("hands_on_floor", "touch_floor", "bend", "crouch"), "sidestep": ("step",),
    },
    "bandai": {
        "walk": ("walk", "march"), "run": ("run", "jog"), "walk-turn-left": ("turn_left",),
        "walk-turn-right": ("turn_right",), "raise-up-both-hands": ("arms_up",),
        "raise-up-left-hand": ("raise_hand left",), "raise-up-right-hand": ("raise_hand right",),
        "wave-left-hand": ("wave left",), "wave-right-hand": ("wave right",),
    },
}  # fmt: skip
# Other classes that may show a predicate, "*" for all. Kinds of takes do not exclude each other
# (one jumps in a hopscotch and in a basketball game), so that they have no precision.
MAY: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "exercises": {
        "reach": ("*",), "bend": ("*",), "lean_side": ("*",), "crouch": ("9", "10", "12"),
        "jump": ("2", "9"), "hands_on_floor": ("9", "10"), "touch_floor": ("3", "9"),
        "march": ("2",), "raise_knee": ("2",),
    },
    "cmu-groups": {"walk": ("*",), "jump": ("climb",), "hop": ("climb",), "jog": ("jump",),
                   "run": ("jump",), "step_up": ("*",), "step_down": ("*",)},
    "bandai": {
        "walk": ("walk-turn-left", "walk-turn-right"), "march": ("*",),
        "arms_up": ("wave-both-hands",), "raise_hand left": ("wave-left-hand",),
        "raise_hand right": ("wave-right-hand",), "wave left": ("wave-both-hands",),
        "wave right": ("wave-both-hands",),
    },
}  # fmt: skip
EXERCISES = {
    "1": "jumping jack", "2": "jog", "3": "squat", "4": "knee raise", "7": "side reach", "8": "box",
    "10": "toe touch, one hand", "11": "side bend", "12": "toe touch, two hands",
}  # fmt: skip
_MARKS = ("<!-- evaluate-captions -->", "<!-- end of evaluate-captions -->")


@dataclass(frozen=True)
class CaptionScore:
    """One class of a set.

    Attributes
    ----------
    set, label : str
    predicates : tuple of str
        One of them should be found.
    clips : int
    recall, precision : float
        Precision is that of the clips in which the first predicate is found; NaN for none, and
        where classes do not exclude each other.
    """

    set: str
    label: str
    predicates: tuple[str, ...]
    clips: int
    recall: float
    precision: float


def score_captions(
    settings: CaptionScoreSettings, progress: Progress | None = None
) -> list[CaptionScore]:
    """Recall and precision of the predicates of every class of some labelled sets.

    Raises
    ------
    InvalidInput
        If a set has no row in `EXPECTED`.
    """
    names = chosen_sets(settings)
    for name in names:
        if name not in EXPECTED:
            raise InvalidInput(
                f"captions are scored on {', '.join(EXPECTED)}; there is no set {name!r}"
            )
    data = DataFolder(settings.data, settings.keep)
    rows: list[CaptionScore] = []
    for name in names:
        rows += scored(clip_set(name, data), workers=settings.workers)
        if progress is not None:
            progress(1)
    return rows


def chosen_sets(settings: CaptionScoreSettings) -> tuple[str, ...]:
    """Names of the sets, all of them by default."""
    return tuple(EXPECTED) if settings.sets is None else settings.sets


def scored(clips: LabelledSet, *, workers: int | None = None) -> list[CaptionScore]:
    """The classes of one set."""
    captions = caption_table(clips.library, workers=workers)
    place = {name: m for m, name in enumerate(captions.names)}
    said = {
        clip: {
            text
            for event in captions.events[place[clip]]
            for text in (event.name, f"{event.name} {event.side}")
        }
        for clip in clips.clips
    }
    expected, may = EXPECTED[clips.name], MAY.get(clips.name)
    rows = []
    for label, wanted in expected.items():
        own = [clip for clip, each in zip(clips.clips, clips.labels, strict=True) if each == label]
        if not own:
            continue
        right = sum(bool(said[clip] & set(wanted)) for clip in own)
        wrong = sum(
            any(text in said[clip] and not _shows(text, each, expected, may) for text in wanted[:1])
            for clip, each in zip(clips.clips, clips.labels, strict=True)
            if each != label
        )
        found = right + wrong if may is not None else 0
        name = EXERCISES.get(label, label) if clips.name == "exercises" else label
        rows.append(
            CaptionScore(
                clips.name, name, wanted, len(own), right / len(own),
                right / found if found else float("nan"),
            )
        )  # fmt: skip
    return rows


def _shows(
    text: str,
    label: str,
    expected: Mapping[str, tuple[str, ...]],
    may: Mapping[str, tuple[str, ...]] | None,
) -> bool:
    free = () if may is None else may.get(text, ())
    return text in expected.get(label, ()) or label in free or "*" in free


def caption_page(rows: Iterable[CaptionScore]) -> str:
    """The scores as a Markdown table."""
    out = [
        "| set | class | clips | predicate | recall | precision |",
        "|---|---|---:|---|---:|---:|",
    ]
    for row in rows:
        names = " or ".join(name.replace("_", " ") for name in row.predicates)
        precise = "" if row.precision != row.precision else f"{row.precision:.2f}"
        out.append(
            f"| {row.set} | {row.label} | {row.clips} | {names} | {row.recall:.2f} | {precise} |"
        )
    return "\n".join(out)


def write_caption_page(rows: Iterable[CaptionScore], path: Path) -> Path:
    """Write the table to a page: between its marks, or as a page of its own."""
    return write_marked(path, _MARKS, caption_page(rows), "# Captions")


def to_json(rows: Iterable[CaptionScore]) -> list[dict]:
    """The scores as plain data."""
    return [
        {**asdict(row), "precision": None if row.precision != row.precision else row.precision}
        for row in rows
    ]
