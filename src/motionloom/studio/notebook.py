"""What a notebook cell shows on the stage: motions, matches, families, parametric motions.

`view` is the public function. A *subject* turns what the user gave into the messages that the
stage plays; `motionloom.studio.widget` sends them, where anywidget is installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from motionloom.errors import InvalidInput, MotionloomError
from motionloom.library import Family, Library, Matches, ParametricMotion, segment_query
from motionloom.motion import Motion, Scene
from motionloom.studio.aligned import alignment, frames_of, to_origin
from motionloom.studio.messages import pack, scene_arrays

if TYPE_CHECKING:
    from motionloom.library import SynthesisResult
    from motionloom.studio.widget import StageView

_QUERY_COLOR, _MATCH_COLOR = 0x4F9FD8, 0xE0823D
_TRANSLUCENT = 0.4
_MAX_NUMBERS = 40_000_000  # positions and orientations of one message: 160 MB
_HINT = "pip install 'motionloom[notebook]' shows the stage of the studio here"


class Subject(Protocol):
    """What is on the stage of a notebook cell, and how it follows `choice` and `target`."""

    @property
    def choices(self) -> tuple[str, ...]:
        """What the user chooses from, such as the matches of a query; empty: nothing."""

    @property
    def target(self) -> tuple[float, ...]:
        """First target of a parametric motion; empty for anything else."""

    def region(self) -> bytes:
        """Accessible targets and examples of a parametric motion, packed; else empty."""

    def shown(self, choice: int, target: Sequence[float]) -> tuple[Motion, bytes]:
        """The motion on the stage, and the message that shows it."""


def view(
    subject: Motion | Scene | Sequence[Motion] | Matches | Family | ParametricMotion,
    *,
    library: Library | None = None,
    height: int = 420,
) -> StageView | StaticFigure:
    """The stage of the studio in a notebook cell.

    Parameters
    ----------
    subject : Motion, Scene, sequence of Motion, Matches, Family or ParametricMotion
        What to show. Matches and members of a family are overlaid on their query, one at a time;
        the target of a parametric motion is dragged.
    library : Library, optional
        Where the motions of matches and families are.
    height : int
        Height of the stage in pixels.

    Returns
    -------
    view : StageView or StaticFigure
        With the extra ``notebook`` installed, a widget whose attributes follow the page and can
        be set: ``frame``, ``playing``, ``selection`` (start and end frame, or None), ``choice``
        (rank of the match), ``target`` (of a parametric motion). ``view.motion`` is what is on
        the stage. Otherwise a static figure.

    Raises
    ------
    InvalidInput
        If the subject cannot be shown, or its library is not given.

    Examples
    --------
    >>> import motionloom as ml
    >>> stage = ml.view(ml.demo.clip("walk"))
    >>> stage.motion.name
    'walk_p0'
    """
    if not 100 <= height <= 4000:
        raise InvalidInput(f"height must be 100 to 4000 pixels; got {height}")
    chosen = _subject(subject, library)
    try:
        from motionloom.studio.widget import StageView
    except ModuleNotFoundError as missing:
        if missing.name not in ("anywidget", "traitlets"):
            raise
        return StaticFigure(chosen)
    return StageView(chosen, height=height)


class StaticFigure:
    """The small figure of a motion, shown where the packages of the widget are missing.

    Parameters
    ----------
    subject : Subject
    """

    def __init__(self, subject: Subject) -> None:
        self.motion, _ = subject.shown(0, subject.target)

    def _repr_html_(self) -> str:
        return f"{self.motion._repr_html_()}\n<p><small>{escape(_HINT)}</small></p>"


def _subject(subject: Any, library: Library | None) -> Subject:
    if isinstance(subject, Motion):
        return _Motions([subject])
    if isinstance(subject, ParametricMotion):
        return _Parametric(subject)
    if isinstance(subject, Family | Matches):
        if library is None:
            raise InvalidInput(
                "matches name motions of a library; give it: ml.view(matches, library=lib)"
            )
        return _Overlays(subject.matches if isinstance(subject, Family) else subject, library)
    motions = list(subject) if isinstance(subject, Scene | Sequence) else []
    if motions and all(isinstance(one, Motion) for one in motions):
        return _Motions(motions)
    raise InvalidInput(
        "view shows a Motion, a Scene, motions, Matches, a Family or a ParametricMotion; got "
        f"{type(subject).__name__}"
    )


class _Motions:
    """Motions side by side, as they are."""

    choices: tuple[str, ...] = ()
    target: tuple[float, ...] = ()

    def __init__(self, motions: Sequence[Motion]) -> None:
        if not all(len(motion) for motion in motions):
            raise InvalidInput("a motion without frames cannot be shown")
        self._motions = motions
        self._message = _scene_message(motions)

    def region(self) -> bytes:
        return b""

    def shown(self, choice: int, target: Sequence[float]) -> tuple[Motion, bytes]:
        return self._motions[0], self._message


class _Overlays:
    """Matches, each in the place and the time of the query, which is translucent."""

    target: tuple[float, ...] = ()

    def __init__(self, matches: Matches, library: Library) -> None:
        if not len(matches):
            raise InvalidInput(f"there is no match of {matches.query!r} to show")
        self._matches, self._library = matches, library
        unit = matches.unit
        self.choices = tuple(
            f"{one.text}, {one.distance:.3f} {unit}{', mirrored' if one.mirrored else ''}"
            for one in matches
        )
        self._query: Any = None
        try:
            self._query = segment_query(library, matches.query)
        except MotionloomError:
            pass  # a file, or a segment that is gone: its matches are shown alone

    def region(self) -> bytes:
        return b""

    def shown(self, choice: int, target: Sequence[float]) -> tuple[Motion, bytes]:
        match = self._matches[choice]
        take, query = self._library[match.motion], self._query
        clip = take[match.start_frame : match.end_frame]
        if query is None:
            return clip, _scene_message([to_origin(clip[:1]).apply_to_motion(clip)])
        asked = query.clip.mirror() if match.mirrored else query.clip
        frames = np.rint(match.corresponding_frames(len(asked))).astype(int)
        frames = np.clip(frames, 0, len(take) - 1)
        follows = frames_of(take, frames, match.motion)
        origin = to_origin(asked[:1])
        placed = origin @ alignment(asked[:1], follows[:1])
        looks = [
            {"color": _QUERY_COLOR, "opacity": _TRANSLUCENT, "title": f"query {query.text}"},
            {"color": _MATCH_COLOR, "title": match.text},
        ]
        pair = [origin.apply_to_motion(asked), placed.apply_to_motion(follows)]
        return clip, _scene_message(pair, looks, fps=asked.fps)


class _Parametric:
    """A parametric motion and its target."""

    choices: tuple[str, ...] = ()

    def __init__(self, motion: ParametricMotion) -> None:
        self._parametric = motion
        self.target = tuple(float(value) for value in motion.space.examples[0])

    def region(self) -> bytes:
        motion = self._parametric
        meta = {"axes": list(motion.axes), "by": [one.text for one in motion.parameters]}
        return pack(meta, accessible=motion.accessible, examples=motion.space.examples)

    def shown(self, choice: int, target: Sequence[float]) -> tuple[Motion, bytes]:
        result: SynthesisResult = self._parametric.reach(target)
        meta = {
            "reached": result.reached.tolist(),
            "off": result.error,
            "outside": not result.within_tolerance,
            "key": next((frame for frame in result.frames if frame is not None), None),
        }
        return result.motion, _scene_message([result.motion], **meta)


def _scene_message(
    motions: Sequence[Motion],
    looks: Sequence[dict[str, Any]] = (),
    *,
    fps: float | None = None,
    **meta: Any,
) -> bytes:
    """Characters with their rates, and how each is drawn; `fps` plays all of them in one time."""
    numbers = sum(len(one) * (7 * len(one.skeleton) + 16) for one in motions)
    if numbers > _MAX_NUMBERS:
        seconds = max(one.duration for one in motions)
        raise InvalidInput(
            f"{seconds:.0f} s are too long for a cell; show a part: ml.view(motion[:3000])"
        )
    bones, arrays = scene_arrays(motions)
    heads = [
        {**head, "fps": fps or motion.fps, "frames": len(motion), **look}
        for head, motion, look in zip(bones, motions, looks or [{}] * len(motions), strict=True)
    ]
    return pack({"characters": heads, **meta}, **arrays)
