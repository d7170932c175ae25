"""Labeled clip sets: plug-ins that define motions and their classes.

A set is a function that yields `LabeledClip` objects from a folder of data. It has an entry in
`CLIP_SETS`. A library of these motions is created once and saved. A user's labeled library is also
a set (`own_set`). In addition to labels, every set has the *performer* of each clip, because
settings are tuned without the set, performer or class on which they are evaluated
(`evaluation.protocol`).

================== =======================================================================
``corpus``         clips of the built-in corpus; left and right are separate classes
``cmu-groups``     115 CMU clips in five groups like those in Tam et al. 2007
``cmu-kinds``      CMU takes of other kinds, selected by description (`KINDS`)
``cmu-directions`` CMU walks and runs by direction, selected by description (`DIRECTIONS`)
``exercises``      pieces of about three seconds of labeled exercises of CMU
``bandai``         Bandai-Namco clips: content, over all styles
``bandai-styles``  the same, without results in the style of the query
``kaykit``         animations of a game character, labeled by rules for their names (`KAYKIT`)
``sword-shield``   stunts with a sword and a shield, labeled by rules for their names (`STUNTS`)
================== =======================================================================
"""

from __future__ import annotations

import csv
import hashlib
import pickle
import re
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom import demo
from motionloom.errors import InvalidInput, LibraryError
from motionloom.formats import load
from motionloom.formats.conventions import to_y_up
from motionloom.formats.gltf.container import GltfFile
from motionloom.motion import Motion, Skeleton
from motionloom.store.store import Store

Clips = Iterator["LabeledClip"]


@dataclass(frozen=True, eq=False)
class LabeledClip:
    """A clip with its class and its performer or style."""

    name: str
    motion: Motion
    label: str
    performer: str


@dataclass(frozen=True, eq=False)
class LabeledSet:
    """Labeled clips in a library.

    Attributes
    ----------
    name : str
    library : Store
    clips, labels, performers : tuple of str, length C
        Name in the library, class and performer of each clip.
    apart : bool
        True if results by the query's performer are excluded.
    """

    name: str
    library: Store
    clips: tuple[str, ...]
    labels: tuple[str, ...]
    performers: tuple[str, ...]
    apart: bool = False

    def answers(self, query: int) -> NDArray[np.bool_]:
        """Return a mask (C,) of the clips that may be results for a query."""
        allowed = np.arange(len(self.clips)) != query
        if self.apart:
            allowed &= np.array(self.performers) != self.performers[query]
        return allowed


KINDS: Mapping[str, tuple[str, ...]] = {
    "march": ("marching", "march"),
    "motorcycle": ("motorcycle", "motorcycle pose"),
    "soccer kick": ("soccer - kick ball",),
    "cartwheel": ("cartwheel", "cartwheels"),
    "suitcase": ("carry 19.5lb suitcase", "carry 12.5lb suitcase", "carry 5.5lb suitcase"),
    "hop on a foot": ("hop on left foot",),
    "pick up box": (
        "pick box up, bend from waist",
        "picking box up, bending knees",
        "pick up box, bend from waist",
    ),
    "dribble": (
        "basketball - forward dribble",
        "basketball - backward dribble",
        "basketball - sideways dribble",
    ),
    "arabesque": ("dance - fold in from side arabesque, curl inwards",),
    "kick": ("kick",),
    "jump kick": ("jump kick",),
    "balance": ("balance on one leg, outstretched arms",),
    "hopscotch": ("hopscotch",),
    "sidestep": (
        "large sidestep to right",
        "medium sidestep to right",
        "very large sidestep to right",
    ),
    "hop forward": ("hop forward", "medium hop forward"),
    "hop turn": (
        "hop turn 90 degrees left in air",
        "hop turn left 270 degrees in air",
        "hop turn left 180 degrees in air",
        "hop and turn right 360 degrees in air",
        "hop turn 180 degrees left in air",
        "hop turn left 360 degrees in air",
    ),
    "backflip": ("backflip",),
    "roll": ("wide leg roll", "arm up wide leg roll"),
    "get up from chair": ("get up from chair",),
    "stretch and yawn": ("stretch and yawn",),
    "boxing": ("boxing",),
    "breast stroke": ("breast stroke",),
    "free style": ("free style",),
    "fly stroke": ("fly stroke",),
    "sit on stool": ("sit on high stool, stand up",),
    "salsa": ("salsa dance",),
    "get up from floor": ("get up from floor",),
    "teapot": ('nursery rhyme - "i\'m a little teapot..."',),
    "laugh": ("laugh",),
    "basketball signals": ("basketball signals",),
}
"""Kinds of CMU takes with their descriptions, excluding the five groups of Tam et al."""

DIRECTIONS: Mapping[str, tuple[str, ...]] = {
    "walk forward": (
        "walk forward", "normal walk forward", "confident walk forward", "sad walk forward",
        "happy or fast walk forward", "walkforward", "walk bent forward",
        "walk on toes bent forward",
    ),
    "walk backward": (
        "walk backwards", "walking backwards", "normal walk backwards", "walk backwards and turn",
        "walk backwards bent forward", "walk backward on toes bent forward",
        "walk backwards crouched", "walk backwards on toes", "walk backwards on toes crouched",
    ),
    "walk sideways": (
        "walk sideways", "walk sideway", "walk sideways and turn",
        "walk sideways and turn (opposite direction)",
    ),
    "walk left": (
        "walk, veer left", "walk, 90-degree left turn", "walk forward 90 degree left turn",
        "walk forward 90 degree smooth left turn", "start walk left", "walk left",
        "walk forward turn 90 degrees left walk forward",
    ),
    "walk right": (
        "walk, veer right", "walk, 90-degree right turn", "walk forward 90 degree right turn",
        "walk forward 90 degree smooth right turn", "start walk right", "walk right",
        "walk forward turn 90 degrees right walk forward",
    ),
    "run left": (
        "run/jog, veer left", "run/jog, 90-degree left turn", "run, veer left",
        "run, 90-degree left turn", "run left", "run turn left", "run side step left",
    ),
    "run right": (
        "run/jog, veer right", "run/jog, 90-degree right turn", "run, veer right",
        "run, 90-degree right turn", "run right", "run turn right", "run side step right",
    ),
    "jump forward": ("forward jump", "jumpforward", "long jump forward"),
}  # fmt: skip
"""Directions of travel with the descriptions of CMU takes that show them."""

KAYKIT: tuple[tuple[str, str], ...] = (
    ("T-Pose|_Pose$|Spawn|EXPERIMENTAL", ""), ("Block", "block"), ("Chop", "chop"),
    ("Slice", "slice"), ("Stab", "stab"), ("Spin", "spin"), ("Unarmed_Attack", "unarmed attack"),
    ("Bow_(Draw|Release)", "bow"), ("Aiming", "aim"), ("Reload", "reload"), ("Magic", "magic"),
    ("Shoot", "shoot"), ("Death", "die"), ("Hit_", "hit"), ("Awaken", "awaken"),
    ("Taunt", "taunt"), ("Walking", "walk"), ("Running", "run"), ("Dodge", "dodge"),
    ("Jump", "jump"), ("Crawl|Crouch|Sneak", "sneak"), ("StandUp", "stand up"),
    ("(Lie|Chair|Floor)_Down", "sit down"), ("(Lie|Chair|Floor)_Idle", "rest"), ("Idle", "idle"),
    ("(Push|Sit)_Ups", "exercise"),
)  # fmt: skip
"""Rules for the names of KayKit animations: the first pattern that occurs gives the class. An
empty class excludes the animation; a name without a rule is its own class."""

STUNTS: tuple[tuple[str, str], ...] = (
    ("(Walk|Run)Forward", "forward"), ("(Walk|Run)Backward", "backward"),
    ("(Walk|Run)Left", "left"), ("(Walk|Run)Right", "right"), ("TurnLeft", "turn left"),
    ("TurnRight", "turn right"), ("Counter", "counter"), ("Parry", "parry"), ("Block", "block"),
    ("Dodg", "dodge"), ("Fall", "fall"), ("Idle", "idle"), ("Kill", "kill"),
    ("Standoff", "stand off"), ("Taunt", "taunt"), ("Combo", "combination"), ("Slash", "slash"),
    ("Atk_Shield", "shield attack"),
)  # fmt: skip
"""Rules for the names of the stunts, as in `KAYKIT`."""

_MOST_OF_A_KIND, _KIND_SECONDS = 12, (0.8, 30.0)
_MOST_OF_A_DIRECTION = 24
_PIECE_CELLS = 30  # of 0.1 s
_TWO_WORDS = ("pick_up", "put_back", "sit_stand", "step_up", "spiral")


def corpus_clips(data: DataFolder) -> Clips:
    """Yield the clips of the built-in corpus, labeled by action and side."""
    for made in demo.clips():
        base, performer = made.name.rsplit("_p", 1)
        words = base.split("_")
        action = "_".join(words[: 2 if base.startswith(_TWO_WORDS) else 1])
        side = next((f" {word}" for word in words if word in ("left", "right")), "")
        yield LabeledClip(made.name, made.motion, action + side, performer)


def cmu_groups(data: DataFolder) -> Clips:
    """Yield 115 single-action CMU clips in five groups."""
    folder = data.folder("cmu-clips")
    for row in data.table("cmu-clips-labels.csv"):
        performer = row["source_file"].split("_")[0]
        file = folder / row["clip"]
        yield LabeledClip(file.stem, load(file), row["label"], performer)


def cmu_kinds(data: DataFolder) -> Clips:
    """Yield CMU takes selected by description, at most twelve per kind in `KINDS`."""
    return _described_takes(data, KINDS, _MOST_OF_A_KIND)


def cmu_directions(data: DataFolder) -> Clips:
    """Yield CMU walks and runs, labeled by direction (`DIRECTIONS`)."""
    return _described_takes(data, DIRECTIONS, _MOST_OF_A_DIRECTION)


def _described_takes(data: DataFolder, kinds: Mapping[str, tuple[str, ...]], most: int) -> Clips:
    rows = [row for row in data.table("cmu30-metadata.csv") if not row["duplicate_of"]]
    files = data.takes()
    low, high = _KIND_SECONDS
    for kind, descriptions in kinds.items():
        chosen = [
            row
            for row in rows
            if re.sub(r"\s+", " ", row["description"].lower().strip()) in descriptions
            and low <= float(row["seconds"]) <= high
        ]
        for row in chosen[:most]:
            yield LabeledClip(row["file"], load(files[row["file"]]), kind, row["subject"])


def exercise_pieces(data: DataFolder) -> Clips:
    """Yield the labeled exercises in three CMU takes, cut into pieces of about three seconds."""
    files = data.takes()
    for name, cells in data.exercises().items():
        motion = load(files[name])
        for first, last in runs(cells):
            parts = max(1, round((last - first) / _PIECE_CELLS))
            edges = np.rint(np.linspace(first, last, parts + 1)).astype(int).tolist()
            for a, b in zip(edges[:-1], edges[1:], strict=True):
                piece = motion[3 * a : 3 * b]  # cells of 0.1 s, takes at 30 Hz
                yield LabeledClip(f"{name}_{a}", piece, str(cells[first]), name.split("_")[0])


def bandai_clips(data: DataFolder) -> Clips:
    """Yield Bandai-Namco clips, with the content as the class and the style as the performer."""
    folder = data.folder("bandai")
    for row in data.table("bandai/labels.csv"):
        motion = load(folder / f"{row['clip']}.bvh")
        yield LabeledClip(row["clip"], motion, row["content"], row["style"])


def kaykit_animations(data: DataFolder) -> Clips:
    """Yield the animations in the files of the KayKit character, labeled by name."""
    for path in data.files("kaykit", "*.glb"):
        for name in animation_names(path):
            short = name.rsplit("|", 1)[-1]
            label = _ruled(short, KAYKIT)
            motion = load(path, animation=name) if label else None
            if motion is not None and len(motion) > 1:
                yield LabeledClip(short, motion, label, path.stem)


def stunts(data: DataFolder) -> Clips:
    """Yield the stunts of the sword and shield set, labeled by name."""
    for path in data.files("sword-shield", "*.npy"):
        short = path.stem.removeprefix("RL_Avatar_").removesuffix("_Motion")
        yield LabeledClip(short, _skeleton_motion(path), _ruled(short, STUNTS), "")


def animation_names(path: Path) -> list[str]:
    """Return the names of the animations in a glTF file."""
    return [str(each.get("name", "")) for each in GltfFile(path).items("animations")]


class _Arrays(pickle.Unpickler):
    """Reader of pickled arrays that refuses everything else."""

    def find_class(self, module: str, name: str) -> Any:
        if (module.split(".")[0], name) not in _ARRAY_PARTS:
            raise pickle.UnpicklingError(f"{module}.{name} is not an array")
        return super().find_class(module, name)


_ARRAY_PARTS = {
    *(("numpy", part) for part in ("_reconstruct", "ndarray", "dtype", "scalar")),
    ("collections", "OrderedDict"),
}


def _skeleton_motion(path: Path) -> Motion:
    """Read a motion of a simulated humanoid: z up, quaternions (x, y, z, w), in meters."""
    with path.open("rb") as file:
        np.lib.format.read_magic(file)
        np.lib.format.read_array_header_1_0(file)
        given = _Arrays(file).load().item()
    tree = given["skeleton_tree"]
    names, parents = tree["node_names"], tree["parent_indices"]["arr"]
    kept = [j for j, name in enumerate(names) if name not in ("sword", "shield")]
    skeleton = Skeleton(
        tuple(names[j] for j in kept),
        np.array([kept.index(parents[j]) if parents[j] >= 0 else -1 for j in kept]),
        tree["local_translation"]["arr"][kept],
    ).with_roles({f"{side}_foot": f"{side}_foot" for side in ("left", "right")})  # also the ankle
    rotations = given["rotation"]["arr"][:, kept][..., [3, 0, 1, 2]]
    root = given["root_translation"]["arr"]
    return to_y_up(Motion(skeleton, rotations, root, float(given["fps"])), "z")


def _ruled(name: str, rules: Iterable[tuple[str, str]]) -> str:
    """Return the class of the first rule whose pattern occurs in a name, or else the name.

    Examples
    --------
    >>> _ruled("Running_Strafe_Left", KAYKIT), _ruled("Waving", KAYKIT)
    ('run', 'Waving')
    """
    return next((label for pattern, label in rules if re.search(pattern, name)), name)


@dataclass(frozen=True)
class ClipSetSource:
    """Source of a set's clips, and whether results by the query's performer count."""

    clips: Callable[[DataFolder], Clips]
    library: str
    apart: bool = False


CLIP_SETS: dict[str, ClipSetSource] = {
    "corpus": ClipSetSource(corpus_clips, "corpus"),
    "cmu-groups": ClipSetSource(cmu_groups, "cmu-groups"),
    "cmu-kinds": ClipSetSource(cmu_kinds, "cmu-kinds"),
    "cmu-directions": ClipSetSource(cmu_directions, "cmu-directions"),
    "exercises": ClipSetSource(exercise_pieces, "exercises"),
    "bandai": ClipSetSource(bandai_clips, "bandai"),
    "bandai-styles": ClipSetSource(bandai_clips, "bandai", apart=True),
    "kaykit": ClipSetSource(kaykit_animations, "kaykit"),
    "sword-shield": ClipSetSource(stunts, "sword-shield"),
}
"""Labeled sets by name. Add a row to add a set."""


_MANIFESTS = Path(__file__).with_name("manifests")


def manifest(name: str) -> dict[str, str]:
    """Return the SHA-256 hash of each file of a data set, from a list as ``sha256sum`` writes it.

    Examples
    --------
    >>> len(manifest("kaykit"))
    7
    """
    lines = (_MANIFESTS / f"{name}.sha256").read_text(encoding="utf-8").splitlines()
    pairs = (line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))
    return {file: expected for expected, file in pairs}


class DataFolder:
    """A folder with captured data. Its archives are unpacked once, into `kept`.

    Examples
    --------
    >>> DataFolder(None, ".").table("labels.csv")
    Traceback (most recent call last):
        ...
    motionloom.errors.InvalidInput: labels.csv is required; set its folder with --data
    """

    def __init__(self, path: str | Path | None, kept: str | Path) -> None:
        self.path = None if path is None else Path(path)
        self.kept = Path(kept)

    def folder(self, name: str) -> Path:
        """Return the folder that contains the data, or the unpacked archive ``NAME.tar.xz``."""
        for place in (self.kept / name, *([self.path / name] if self.path else [])):
            if place.is_dir():
                return place
        archive = self._file(f"{name}.tar.xz")
        scratch = self.kept / f"{name}.unpacking"
        scratch.mkdir(parents=True, exist_ok=True)
        with tarfile.open(archive) as tar:
            tar.extractall(scratch, filter="data")
        inner = list(scratch.iterdir())
        (inner[0] if len(inner) == 1 and inner[0].is_dir() else scratch).rename(self.kept / name)
        if scratch.is_dir():
            scratch.rmdir()
        return self.kept / name

    def table(self, name: str) -> list[dict[str, str]]:
        """Return the rows of a CSV file in the data set."""
        folder, _, file = name.rpartition("/")
        path = self.folder(folder) / file if folder else self._file(name)
        with path.open(newline="", encoding="utf-8") as lines:
            return list(csv.DictReader(lines))

    def takes(self) -> dict[str, Path]:
        """Return a mapping from names to paths for the 30 Hz CMU takes."""
        return {path.stem: path for path in self.folder("cmu30").rglob("*.bvh")}

    def files(self, folder: str, pattern: str) -> list[Path]:
        """Return the files of a data set, sorted. Their contents are compared with the manifest.

        Raises
        ------
        InvalidInput
            If a file is missing, or if its contents are not those of the evaluated data.
        """
        place, listed = self.folder(folder), manifest(folder)
        for name, expected in listed.items():
            path = place / name
            if not path.is_file():
                raise InvalidInput(f"{path} is missing; {folder} has {len(listed)} files")
            if hashlib.sha256(path.read_bytes()).hexdigest() != expected:
                raise InvalidInput(
                    f"{path}: the contents differ from the evaluated data; get the file again from "
                    f"the source in {_MANIFESTS.name}/{folder}.sha256"
                )
        return sorted(place / name for name in listed if Path(name).match(pattern))

    def exercises(self) -> dict[str, NDArray[np.int64]]:
        """Return the labels of each exercise take, one per 0.1 s, keyed by take."""
        files = sorted(self.folder("exercises").glob("*.txt"))
        return {
            path.stem: np.array(path.read_text(encoding="utf-8").split(), int) for path in files
        }

    def _file(self, name: str) -> Path:
        if self.path is None:
            raise InvalidInput(f"{name} is required; set its folder with --data")
        path = self.path / name
        if not path.is_file():
            raise InvalidInput(
                f"{name} is required, but the folder {self.path} does not contain it"
            )
        return path


def runs(cells: NDArray[np.int64], least: int = 12) -> list[tuple[int, int]]:
    """Return runs ``[first, last)`` of the same nonzero label, at least `least` cells long.

    Examples
    --------
    >>> runs(np.array([0, 3, 3, 3, 1]), least=2)
    [(1, 4)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[-1], cells, [-1]]))).tolist()
    return [
        (a, b)
        for a, b in zip(edges[:-1], edges[1:], strict=True)
        if cells[a] > 0 and b - a >= least
    ]


def clip_set(name: str, data: DataFolder) -> LabeledSet:
    """Return a labeled set by name; create the library of its clips if it does not exist.

    Examples
    --------
    >>> clip_set("odd", DataFolder(None, "."))
    Traceback (most recent call last):
        ...
    motionloom.errors.InvalidInput: there is no labeled set 'odd'; choose from corpus, ...
    """
    if name not in CLIP_SETS:
        raise InvalidInput(f"there is no labeled set {name!r}; choose from {', '.join(CLIP_SETS)}")
    source = CLIP_SETS[name]
    path = data.kept / f"{source.library}.loom"
    library = Store(path) if path.exists() else _made(path, source.clips(data))
    labels = [library.labels(clip) for clip in library.names]
    if not labels or any(len(each) != 2 for each in labels):
        raise LibraryError(
            f"{path}: every motion of a labeled set must have a class and a performer. Delete "
            f"the folder to rebuild the set"
        )
    classes, performers = ([by(each) for each in labels] for by in (_class_of, _performer_of))
    return LabeledSet(name, library, library.names, tuple(classes), tuple(performers), source.apart)


_PERFORMER = "performer:"


def _class_of(labels: Iterable[str]) -> str:
    return next(label for label in labels if not label.startswith(_PERFORMER))


def _performer_of(labels: Iterable[str]) -> str:
    return next(label for label in labels if label.startswith(_PERFORMER))


def _made(path: Path, clips: Clips) -> Store:
    """Create a library of labeled clips atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(".making.loom")
    remove_folder(scratch)
    library = Store.create(scratch)
    for clip in clips:
        labels = [clip.label, f"{_PERFORMER}{clip.performer}"]
        library.add_motion(clip.motion, name=clip.name, labels=labels)
    scratch.rename(path)
    return Store(path)


def remove_folder(folder: Path) -> None:
    """Delete a folder and its contents, if it exists."""
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


def own_set(library: Store, by_name: Mapping[str, str]) -> LabeledSet:
    """Return a user's labeled library as a set, without information about performers."""
    names = tuple(name for name in library.names if name in by_name)
    labels = tuple(by_name[name] for name in names)
    return LabeledSet(Path(str(library.path)).stem, library, names, labels, ("",) * len(names))
