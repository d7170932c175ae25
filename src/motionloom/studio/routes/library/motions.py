"""Routes for a motion: its frames, timeline strips, beats and thumbnail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, NotRequired

import numpy as np
from fastapi import APIRouter, Query, Response
from numpy.typing import NDArray
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from motionloom.errors import MotionloomError
from motionloom.library.fronts import segment_query
from motionloom.motion.kinematics.body import body_height, facing
from motionloom.motion.kinematics.root_carrier import hips_as_root
from motionloom.studio.messages import BODIES, foot_contacts
from motionloom.studio.responses import (
    ArrayResponse,
    MotionHead,
    array_response,
    motion_response,
)
from motionloom.studio.routes.stage.characters import BODY, Worn, character_of, on_character
from motionloom.studio.state.app_state import State

if TYPE_CHECKING:
    from motionloom.motion import Motion, Skeleton

router = APIRouter(tags=["motions"])

_MAX_THUMBNAILS = 64  # per response

MotionNames = Annotated[
    list[str],
    Query(
        min_length=1,
        max_length=_MAX_THUMBNAILS,
        description="Motions or segments, NAME or NAME:START-END",
    ),
]


class AlternativePeriod(BaseModel):
    """Another period that fits the beat candidates."""

    period: float
    bpm: float
    ratio: str | None
    strength: float


class LandingsOnBeats(BaseModel):
    """How well foot landings coincide with the beats."""

    landings_total: int
    landings_on_beat: int
    landings_on_half_beat: int
    beats_total: int
    beats_with_landing: int
    landing_coherence: float | None
    landing_half_coherence: float | None
    landing_noise: float | None


class MotionBeats(BaseModel):
    """Motion beats, with the keys of ``motionloom beats --json``."""

    beats: list[float]
    period: float
    phase: float
    bpm: float
    confidence: float
    rhythmic: bool
    given: bool
    repeats: int
    alternatives: list[AlternativePeriod]
    candidates: int
    landings: LandingsOnBeats


class BodyHead(TypedDict):
    """Message header of a body."""

    body: str


class StripsHead(TypedDict):
    """Message header of a timeline."""

    name: str
    fps: float
    frames: int


class ThumbnailRow(TypedDict):
    """A thumbnail animation, or the reason why it is missing."""

    name: str
    fps: NotRequired[float]
    parents: NotRequired[tuple[int, ...]]
    error: NotRequired[str]


class ThumbnailsHead(TypedDict):
    """Thumbnail animations, in the order in which they were requested."""

    motions: list[ThumbnailRow]


@router.get("/motions/{name:path}/frames", response_model=MotionHead, response_class=ArrayResponse)
def frames(name: str, state: State, own: Worn) -> Response:
    """Return the whole motion as packed arrays: positions, orientations and contacts.

    With the id of a character (``PUT /api/characters/FILE.glb``), the motion is retargeted.
    """
    if own:
        return motion_response(on_character(state, own, name), name=name, body=own.body)
    return motion_response(state.library[name])


@router.get("/bodies/{key}", response_model=BodyHead, response_class=ArrayResponse)
def body(key: str, state: State, detail: Literal["high", "low"] = "high") -> Response:
    """Return a skeleton's body as packed arrays; the key is ``body`` in a motion header.

    ``vertices``, ``normals`` (V, 3), ``triangles`` (F, 3), ``joints``, ``weights`` (V, 4) and
    ``unbind`` (P, 3, 4), the inverse bind matrices of joints and end sites. A user's
    character also has ``colors`` (V, 3).
    """
    if key.startswith(BODY):
        return array_response({"body": key}, **character_of(state, key.removeprefix(BODY)).mesh)
    return array_response({"body": key}, **BODIES.arrays(key, detail))


@router.get("/motions/{name:path}/strips", response_model=StripsHead, response_class=ArrayResponse)
def strips(name: str, state: State) -> Response:
    """Return the timeline's curves: speed (T,), root_speed (T,) and contacts (T, 4).

    Speeds are in meters per second; ``speed`` is the mean over all joints.
    """
    motion = state.library[name]
    speeds = np.linalg.norm(np.nan_to_num(motion.velocities()), axis=-1)
    head: StripsHead = {"name": name, "fps": motion.fps, "frames": len(motion)}
    return array_response(
        head, speed=speeds.mean(axis=1), root_speed=speeds[:, 0], contacts=foot_contacts(motion)
    )


@router.get("/motions/{name:path}/beats")
def motion_beats(name: str, state: State) -> MotionBeats:
    """Return the beats of the motion in seconds, and their confidence."""
    key = ("beats", name, state.library.store.entry(name).digest)
    return state.cached(key, lambda: MotionBeats(**state.library.beats[name].as_dict()))


class BeatTimes(BaseModel):
    """Beat times set by hand, in seconds, ascending; an empty list restores detected beats."""

    times: Annotated[list[float], Field(max_length=10_000)]


@router.put("/motions/{name:path}/beats")
def keep_beats(name: str, request: BeatTimes, state: State) -> MotionBeats:
    """Save a motion's beats set by hand; an empty list deletes them."""
    state.library.beats.edit(name, times=request.times)
    state.invalidate(lambda key: key[0] == "beats")
    state.notify("kept")
    return motion_beats(name, state)


@router.get("/thumbnails", response_model=ThumbnailsHead, response_class=ArrayResponse)
def thumbnails(names: MotionNames, state: State) -> Response:
    """Return thumbnail animations: one uint8 array (F, P, 2) per motion, named by its index.

    A motion that cannot be read has ``error`` in its row instead of an array.
    """
    rows: list[ThumbnailRow] = []
    places = {}
    for index, name in enumerate(names):
        try:
            library = state.library
            whole = name in library
            small = thumbnail(library[name] if whole else segment_query(library, name).clip)
        except MotionloomError as error:
            rows.append({"name": name, "error": str(error)})
            continue
        rows.append({"name": name, "fps": small.fps, "parents": small.parents})
        places[str(index)] = small.places
    head: ThumbnailsHead = {"motions": rows}
    return array_response(head, **places)


# --- thumbnails -----------------------------------------------------------------------------

_SECONDS = 3.0
_FPS = 12.5
_YAW = 0.6  # rotation of the figure away from the viewer, in radians
_TILT = 0.15  # downward angle of the camera, in radians
_FLOOR = 236.0  # pixel row of the floor
_STANDING = 196.0  # pixel rows from the floor to the top of a standing body
_TALL = 1.7  # meters; used if the height of the skeleton is unknown

# Points of the figure: candidate roles for each point, and the index of its parent.
_FIGURE: tuple[tuple[tuple[str, ...], int], ...] = (
    (("hips",), -1),
    (("chest", "spine"), 0),
    (("neck", "head"), 1),
    (("head_top", "head", "neck"), 2),
    *(
        limb
        for number, side in enumerate(("left", "right"))
        for limb in (
            ((f"{side}_shoulder",), 2),
            ((f"{side}_elbow",), 4 + 7 * number),
            ((f"{side}_hand", f"{side}_wrist", f"{side}_elbow"), 5 + 7 * number),
            ((f"{side}_hip",), 0),
            ((f"{side}_knee",), 7 + 7 * number),
            ((f"{side}_ankle",), 8 + 7 * number),
            ((f"{side}_toe", f"{side}_foot", f"{side}_ankle"), 9 + 7 * number),
        )
    ),
)


@dataclass(frozen=True, eq=False)
class Thumbnail:
    """A small animation.

    Attributes
    ----------
    places : ndarray of uint8, shape (F, P, 2)
        Pixel coordinates in an image of 256 x 256 pixels: x to the right, y downward.
    parents : tuple of int
        Index of the parent of each point; -1 for none.
    fps : float
        Playback rate, in images per second.
    """

    places: NDArray[np.uint8]
    parents: tuple[int, ...]
    fps: float


def thumbnail(motion: Motion) -> Thumbnail:
    """Draw the most active segment of a motion as a two-dimensional figure with fixed hips.

    Examples
    --------
    >>> import motionloom as ml
    >>> small = thumbnail(ml.demo.clip("walk"))
    >>> small.places.shape[1:], small.places.dtype
    ((18, 2), dtype('uint8'))
    """
    motion = hips_as_root(motion)
    points, parents = _figure(motion.skeleton)
    positions = motion.positions(end_sites=True)
    hips = positions[:, 0].copy()
    hips[:, 1] = 0.0
    shown = positions[:, points] - hips[:, None]
    start, end = most_active_segment(shown, round(_SECONDS * motion.fps))
    floor = np.nanmin(
        shown[start:end, :, 1], initial=np.inf
    )  # so that a climbing figure stays visible
    shown[..., 1] -= floor if np.isfinite(floor) else 0.0
    count = max(int(round((end - start) / motion.fps * _FPS)), 1)
    frames = start + np.arange(count) * (end - start) // count
    turned = shown[frames] @ _view(motion, positions, (start + end) // 2).T
    places = np.stack([turned[..., 0], -turned[..., 1]], axis=-1) * _rows_per_meter(motion.skeleton)
    places += (127.5, _FLOOR)
    filled = np.nan_to_num(places, nan=127.5)
    return Thumbnail(np.clip(np.rint(filled), 0, 255).astype(np.uint8), parents, _FPS)


def most_active_segment(points: NDArray[np.floating], length: int) -> tuple[int, int]:
    """Return the `length` frames [start, end) in which points (T, P, 3) move most.

    Examples
    --------
    >>> still = np.zeros((10, 1, 3)); still[6:, 0, 1] = 1.0
    >>> most_active_segment(still, 3)
    (4, 7)
    """
    frames = len(points)
    if frames <= length:
        return 0, frames
    speed = np.nan_to_num(np.linalg.norm(np.diff(points, axis=0), axis=-1).mean(axis=1))
    traveled = np.concatenate([[0.0], np.cumsum(speed)])
    start = int(np.argmax(traveled[length - 1 :] - traveled[: frames - length + 1]))
    return start, start + length


def _figure(skeleton: Skeleton) -> tuple[NDArray[np.int64], tuple[int, ...]]:
    """Return the points of the figure and their parents; all joints if roles are missing."""
    roles = skeleton.roles
    named = [next((role for role in choice if role in roles), "") for choice, _ in _FIGURE]
    if "" in named:
        return np.arange(len(skeleton)), tuple(int(parent) for parent in skeleton.parents)
    return np.asarray(skeleton.points(named)), tuple(parent for _, parent in _FIGURE)


def _rows_per_meter(skeleton: Skeleton) -> float:
    return _STANDING / (body_height(skeleton) or _TALL)


def _view(motion: Motion, positions: NDArray[np.float32], frame: int) -> NDArray[np.float64]:
    """Return the rotation (3, 3) to view axes for a three-quarter view of the body."""
    direction = facing(motion, positions)[frame]
    angle = (np.angle(direction) if np.isfinite(direction) else 0.0) + _YAW
    right = np.array([np.cos(angle), 0.0, -np.sin(angle)])
    near = np.array([np.sin(angle), 0.0, np.cos(angle)])
    up = np.array([0.0, 1.0, 0.0])
    return np.stack(
        [
            right,
            np.cos(_TILT) * up - np.sin(_TILT) * near,
            np.sin(_TILT) * up + np.cos(_TILT) * near,
        ]
    )
