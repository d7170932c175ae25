"""``python -m benchmarks video``: find a filmed action among all takes.

Segments of takes are filmed (`benchmarks.films`) and searched for by the film alone: 60 films of
actions of 30 CMU performers, and 20 of Bandai-Namco clips, from the front, from three-quarters and
from the side, with other bodies, clothes, lenses, backgrounds, light, shutters and rates. The
library has all 2,425 CMU takes and the 280 Bandai-Namco clips. Films are kept in the user's cache.

The settings of the search were chosen on 40 films of 20 other CMU performers, from other cameras
(`cases` with ``chosen=True``).
"""

from __future__ import annotations

import csv
import os
import re
import shutil
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import Settings
from benchmarks.films import Camera, Shot, camera_of, write_film
from benchmarks.takes import CREDIT, data_folder, everything, unpacked
from benchmarks.timing import Log, Result
from motionloom.configuration import user_cache
from motionloom.errors import InvalidInput, MotionloomError
from motionloom.formats import load
from motionloom.library import Library
from motionloom.motion import Motion
from motionloom.search.match import Match

SUMMARY = "filmed actions, searched among all takes"
PACKAGES = ()
FRAMES = 90  # at most, at 30 fps
FIRST = 10  # takes
JOINTS = [
    f"{side}_{part}"
    for part in ("shoulder", "elbow", "wrist", "hip", "knee", "ankle")
    for side in ("left", "right")
]
_PERFORMERS, _CHOSEN_PERFORMERS, _EACH, _BANDAI_FILMS = 30, 20, 2, 20
_CAMERAS = {"front": 0.0, "three-quarter": np.pi / 4.0, "side": np.pi / 2.0}
_OTHER_CAMERAS = {"15 degrees": 0.26, "30 degrees": 0.52, "65 degrees": 1.13, "110 degrees": 1.92}
# Descriptions that name no action.
_NOTHING = re.compile(
    r"^$|unknown|story|^clean$|vacation|range of motion|static|vignette|various|longsequence"
    r"|motorcycle|synchronized|^start$|^tv$|\bamc\b|t pose|calibration|ready stance"
)
# Words for an action, and the action. A take has the first one that its description names.
_ACTIONS = {
    "kick": "kick|yokogeri|geri", "punch": "punch|box", "cartwheel": "cartwheel",
    "flip": "flip|somersault|handspring", "hop": "hop", "jump": "jump|leap", "climb": "climb",
    "crawl": "crawl", "dance": "dance|dancing|salsa|pirouette|ballet|arabesque",
    "swim": "swim|stroke", "throw": "throw|pitch", "catch": "catch", "dribble": "dribble",
    "sweep": "sweep|mop|broom", "wash": "wash|wipe", "sit": "sit|chair|stool", "stairs": "stair",
    "march": "march", "run": "run|jog", "walk": "walk|stride|strolling", "wave": "wave(?!-)|signal",
    "stretch": "stretch|yawn", "lunge": "lunge", "step": "step", "pick up": "pick",
}  # fmt: skip

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FilmCase:
    """A film to make: the segment of a take, the shot, and what counts as the same action."""

    take: str
    path: Path
    start: int
    frames: int
    description: str
    camera: str
    shot: Shot

    @property
    def name(self) -> str:
        """Name of the film's file."""
        return f"{self.take}-{self.start}-{self.camera.replace(' ', '-')}-{self.shot.seed % 10000}"

    def motion(self) -> Motion:
        """Return the segment, at the rate of the library."""
        whole = load(self.path)
        whole = whole.resample(30.0) if abs(whole.fps - 30.0) > 0.1 else whole
        return whole[self.start : self.start + self.frames]

    def film(self) -> Path:
        """Return the film, which is made once."""
        path = user_cache() / "motionloom" / "bench" / "films" / f"{self.name}.mp4"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_film(self.motion(), self.shot, path)
        return path


@dataclass(frozen=True)
class Outcome:
    """Result for one film."""

    camera: str
    source: str
    same_action: bool
    same_words: bool
    same_take: bool
    same_segment: bool
    rank: int
    error_m: float
    expected_m: float
    cpu_s: float


def run(settings: Settings, log: Log) -> dict[str, Any]:
    """Return the results, all figures, and a description of the data."""
    place = settings.data or data_folder()
    if place is None or not (place / "cmu30-metadata.csv").exists():
        raise InvalidInput("video requires the CMU and Bandai-Namco data (MOTIONLOOM_DATA)")
    films = cases(place, settings, log)
    library, takes = film_library(place, settings, log)
    outcomes, failed = [], []
    for number, case in enumerate(films):
        try:
            outcomes.append(outcome(case, library, takes))
        except MotionloomError as error:
            failed.append(f"{case.name}: {error}")
        if number % 10 == 9:
            log(f"{number + 1} of {len(films)} films")
    library.close()
    rows = {"all films": outcomes, **_groups(outcomes)}
    figures = {name: _figures(group) for name, group in rows.items()}
    return {
        "data": f"{len(films)} films of at most 3 s, {len(takes)} takes",
        "credit": CREDIT + " Bandai-Namco-Research-Motiondataset, Bandai Namco Research Inc.",
        "results": [_row(name, figure).as_dict() for name, figure in figures.items()],
        "figures": {**figures, "failed": failed},
    }


def _groups(outcomes: list[Outcome]) -> dict[str, list[Outcome]]:
    groups = defaultdict(list)
    for each in outcomes:
        groups[each.source].append(each)
    for each in outcomes:
        groups[f"camera: {each.camera}"].append(each)
    return dict(groups)


def _figures(outcomes: list[Outcome]) -> dict[str, float]:
    return {
        "films": len(outcomes),
        "same_action": float(np.mean([each.same_action for each in outcomes])),
        "same_description": float(np.mean([each.same_words for each in outcomes])),
        "same_take": float(np.mean([each.same_take for each in outcomes])),
        "same_segment": float(np.mean([each.same_segment for each in outcomes])),
        "first": float(np.mean([each.rank == 0 for each in outcomes])),
        "error_cm": 100.0 * float(np.median([each.error_m for each in outcomes])),
        "expected_cm": 100.0 * float(np.median([each.expected_m for each in outcomes])),
        "cpu_s": float(np.median([each.cpu_s for each in outcomes])),
    }


def _row(name: str, figure: dict[str, float]) -> Result:
    note = (
        f"{figure['films']} films; same action among the first {FIRST} takes "
        f"{100 * figure['same_action']:.0f} %, same description "
        f"{100 * figure['same_description']:.0f} %, the very take {100 * figure['same_take']:.0f} "
        f"%, the very segment {100 * figure['same_segment']:.0f} %, first of all takes "
        f"{100 * figure['first']:.0f} %; joint error {figure['error_cm']:.1f} cm, expected "
        f"{figure['expected_cm']:.1f} cm"
    )
    return Result(name, figure["cpu_s"], "", None, None, note)


# --- films ----------------------------------------------------------------------------------------


def cases(place: Path, settings: Settings, log: Log, *, chosen: bool = False) -> list[FilmCase]:
    """Return the films to score, or those on which settings are chosen."""
    folder, _, _ = everything(settings, place, log=log)
    rng = np.random.default_rng(settings.seed + 7)
    by_performer: dict[str, dict[str, list[dict[str, str]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in metadata(place):
        words = description_words(row["description"])
        if not row["duplicate_of"] and int(row["frames30"]) >= 45 and not _NOTHING.search(words):
            by_performer[row["subject"]][words].append(row)
    performers = sorted(name for name, each in by_performer.items() if len(each) >= _EACH)
    performers = list(rng.permutation(performers))
    part = performers[_PERFORMERS : _PERFORMERS + _CHOSEN_PERFORMERS]
    part = part if chosen else performers[:_PERFORMERS]
    cameras = _OTHER_CAMERAS if chosen else _CAMERAS
    films = []
    for performer in part:
        actions = by_performer[performer]
        for words in rng.permutation(sorted(actions))[:_EACH]:
            row = actions[words][rng.integers(len(actions[words]))]
            path = next(folder.rglob(f"{row['file']}.bvh"))
            films.append(_case(row["file"], path, words, len(films), cameras, rng))
    if not chosen:
        clips = unpacked(place / "bandai.tar.xz", log)
        with open(clips / "labels.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        contents = sorted({row["content"] for row in rows})
        for number in range(_BANDAI_FILMS):
            content = contents[number % len(contents)]
            same = [row["clip"] for row in rows if row["content"] == content]
            clip = same[rng.integers(len(same))]
            films.append(_case(clip, clips / f"{clip}.bvh", content, len(films), cameras, rng))
    return films


def _case(
    take: str, path: Path, words: str, number: int, cameras: dict[str, float],
    rng: np.random.Generator,
) -> FilmCase:  # fmt: skip
    motion = load(path)
    motion = motion.resample(30.0) if abs(motion.fps - 30.0) > 0.1 else motion
    camera = list(cameras)[number % len(cameras)]
    shot = Shot(
        yaw=cameras[camera] * rng.choice([-1.0, 1.0]),
        pitch=rng.uniform(0.0, 0.2),
        view=rng.uniform(0.8, 1.2),
        fill=rng.uniform(0.45, 0.75),
        fps=float(rng.choice([24.0, 25.0, 30.0, 50.0, 60.0])),
        shutter=float(rng.choice([0.0, 0.25, 0.5])),
        build=rng.uniform(0.9, 1.25),
        seed=int(rng.integers(1 << 30)),
    )
    frames = min(FRAMES, len(motion))
    return FilmCase(take, path, _liveliest(motion, frames), frames, words, camera, shot)


def _liveliest(motion: Motion, frames: int) -> int:
    """Return the start of the segment in which hands and feet move most."""
    tips = motion.role_positions(["left_wrist", "right_wrist", "left_ankle", "right_ankle"])
    speed = np.linalg.norm(np.diff(tips.astype(np.float64), axis=0), axis=2).sum(axis=1)
    sums = np.convolve(speed, np.ones(frames - 1), "valid")
    return int(sums.argmax())


# --- the library ----------------------------------------------------------------------------------


def metadata(place: Path) -> list[dict[str, str]]:
    """Return the rows of the table of CMU takes."""
    with open(place / "cmu30-metadata.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def description_words(text: str) -> str:
    """Return a description without case, numbers, punctuation and remarks in brackets."""
    return " ".join(re.sub(r"[^a-z ]", " ", re.sub(r"\([^)]*\)", " ", text.lower())).split())


def action(words: str) -> str:
    """Return the action that a description names, or the description itself."""
    named = (name for name, pattern in _ACTIONS.items() if re.search(pattern, words))
    return next(named, words)


@dataclass(frozen=True)
class TakeNote:
    """Description of a take, and the take that it repeats, if any."""

    words: str
    original: str


def film_library(place: Path, settings: Settings, log: Log) -> tuple[Library, dict[str, TakeNote]]:
    """Return a library of all takes and clips, kept in the user's cache, and their notes."""
    takes = {
        row["file"]: TakeNote(
            description_words(row["description"]), row["duplicate_of"] or row["file"]
        )
        for row in metadata(place)
    }
    folder, _, _ = everything(settings, place, log=log)
    clips = unpacked(place / "bandai.tar.xz", log)
    with open(clips / "labels.csv", encoding="utf-8", newline="") as file:
        takes |= {r["clip"]: TakeNote(r["content"], r["clip"]) for r in csv.DictReader(file)}
    kept = user_cache() / "motionloom" / "bench" / "films.loom"
    cmu = kept.with_name("cmu30.loom")
    if not kept.exists() and cmu.exists():
        shutil.copytree(cmu, kept)
    library = Library.create(kept, exist_ok=True)
    if len(library) < len(takes):
        log(f"importing {folder} and {clips}")
        library.add(folder)
        library.add(clips)
    return library, takes


def outcome(
    case: FilmCase, library: Library, takes: dict[str, TakeNote], estimate: Motion | None = None
) -> Outcome:
    """Read the film of a case, search for it, and judge the first takes."""
    film = case.film()
    begun = _cpu_seconds()
    estimate = load(film) if estimate is None else estimate
    matches = first_takes(library, estimate)
    spent = _cpu_seconds() - begun
    hits = [each[0].motion for each in matches]
    original = takes[case.take].original
    same = [name for name in hits if takes[name].original == original]
    own = [match for each in matches for match in each if match.motion in same]
    truth = case.motion()
    return Outcome(
        case.camera,
        "CMU" if case.take[0].isdigit() else "Bandai-Namco",
        any(action(takes[name].words) == action(case.description) for name in hits) or bool(same),
        any(takes[name].words == case.description for name in hits) or bool(same),
        bool(same),
        any(_is_filmed(match, case) for match in own),
        hits.index(same[0]) if same else FIRST,
        joint_error(estimate, truth, camera_of(truth, case.shot)),
        float(np.median(estimate.origin.expected_error or [np.nan])),
        spent,
    )


def first_takes(library: Library, query: Motion, **options: Any) -> list[list[Match]]:
    """Return the matches of the first takes, those of each take together."""
    takes: dict[str, list[Match]] = {}
    for match in library.search(query, max=60, **options):
        takes.setdefault(match.motion, []).append(match)
    return list(takes.values())[:FIRST]


def _is_filmed(match: Match, case: FilmCase) -> bool:
    """Return whether a match of the filmed take shares half of the filmed segment."""
    start, end = case.start / 30.0, (case.start + case.frames) / 30.0
    return min(match.end, end) - max(match.start, start) > 0.5 * (end - start)


def _cpu_seconds() -> float:
    """Return the processor time of this process and of those that it started, which have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def joint_error(estimate: Motion, truth: Motion, camera: Camera) -> float:
    """Return the median distance of joints, relative to the hips, in meters."""
    return float(np.median(np.linalg.norm(joint_offsets(estimate, truth, camera), axis=2)))


def joint_offsets(estimate: Motion, truth: Motion, camera: Camera) -> Array:
    """Return how far joints are from the truth (T, P, 3): right, up, toward the camera."""
    frames = min(len(estimate), round(len(truth) * estimate.fps / truth.fps))
    truth = truth.resample(estimate.fps) if abs(truth.fps - estimate.fps) > 1e-6 else truth
    frames = min(frames, len(truth))
    ahead = camera.axes[2] * (1.0, 0.0, 1.0)
    ahead /= np.linalg.norm(ahead)
    up = np.array([0.0, 1.0, 0.0])
    axes = np.stack([np.cross(ahead, up), up, -ahead])
    real = _around_hips(truth[:frames]) @ axes.T
    return _around_hips(estimate[:frames]) - real


def _around_hips(motion: Motion) -> Array:
    places = motion.role_positions(JOINTS).astype(np.float64)
    middle = places[:, [JOINTS.index("left_hip"), JOINTS.index("right_hip")]].mean(axis=1)
    return places - middle[:, None]
