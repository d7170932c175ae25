"""The studio's stage in a notebook cell, for motions, matches, families and parametric motions.

`view` is the public function. A *subject* converts its argument into messages for the stage;
`motionloom.studio.widget` sends them if anywidget is installed.
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
_MAX_NUMBERS = 40_000_000  # in the positions and orientations of one message: 160 MB
_HINT = "Install the extra to show the stage of the studio here: pip install 'motionloom[notebook]'"


class Subject(Protocol):
    """Content of the stage in a notebook cell; depends on the user's choice and target."""

    @property
    def choices(self) -> tuple[str, ...]:
        """Options to choose from, such as the matches of a query; may be empty."""

    @property
    def target(self) -> tuple[float, ...]:
        """Initial target of a parametric motion; empty for other subjects."""

    def region(self) -> bytes:
        """Return a parametric motion's accessible targets and examples, packed, or ``b""``."""

    def shown(self, choice: int, target: Sequence[float]) -> tuple[Motion, bytes]:
        """Return the motion on the stage, and the message that shows it."""


def view(
    subject: Motion | Scene | Sequence[Motion] | Matches | Family | ParametricMotion,
    *,
    library: Library | None = None,
    height: int = 420,
) -> StageView | StaticFigure:
    """Show the stage of the studio in a notebook cell.

    Parameters
    ----------
    subject : Motion, Scene, sequence of Motion, Matches, Family or ParametricMotion
        Object to show. Matches and members of a family are overlaid on their query, one at a time.
        You can drag the target of a parametric motion.
    library : Library, optional
        Library that contains the motions of matches and families.
    height : int
        Height of the stage in pixels.

    Returns
    -------
    view : StageView or StaticFigure
        With the extra ``notebook`` installed, a widget whose attributes follow the page and can be
        set: ``frame``, ``playing``, ``selection`` (start and end frame, or None), ``choice`` (rank
        of the match), ``target`` (of a parametric motion). ``view.motion`` is the motion on the
        stage. Without the extra, a static figure.

    Raises
    ------
    InvalidInput
        If the subject cannot be shown, or `library` is missing.

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
    """Small figure of a motion, shown if the widget's dependencies are not installed.

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
                "matches refer to motions of a library; pass it as ml.view(matches, library=lib)"
            )
        return _Overlays(subject.matches if isinstance(subject, Family) else subject, library)
    motions = list(subject) if isinstance(subject, Scene | Sequence) else []
    if motions and all(isinstance(each, Motion) for each in motions):
        return _Motions(motions)
    raise InvalidInput(
        "view shows a Motion, a Scene, motions, Matches, a Family or a ParametricMotion; got "
        f"{type(subject).__name__}"
    )


class _Motions:
    """Motions at their original positions."""

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
    """Matches, each aligned with the translucent query in space and time."""

    target: tuple[float, ...] = ()

    def __init__(self, matches: Matches, library: Library) -> None:
        if not len(matches):
            raise InvalidInput(f"there are no matches of {matches.query!r} to show")
        self._matches, self._library = matches, library
        unit = matches.unit
        self.choices = tuple(
            f"{match.text}, {match.distance:.3f} {unit}{', mirrored' if match.mirrored else ''}"
            for match in matches
        )
        self._query: Any = None
        try:
            self._query = segment_query(library, matches.query)
        except MotionloomError:
            pass  # the query is a file or no longer exists; show its matches alone

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
        meta = {
            "axes": list(motion.axes),
            "by": [parameter.text for parameter in motion.parameters],
        }
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
    """Pack characters with their frame rates and styles; `fps` is the common playback rate."""
    numbers = sum(len(each) * (7 * len(each.skeleton) + 16) for each in motions)
    if numbers > _MAX_NUMBERS:
        seconds = max(each.duration for each in motions)
        raise InvalidInput(
            f"{seconds:.0f} s are too long for a cell; show a part, such as ml.view(motion[:3000])"
        )
    bones, arrays = scene_arrays(motions)
    heads = [
        {**head, "fps": fps or motion.fps, "frames": len(motion), **look}
        for head, motion, look in zip(bones, motions, looks or [{}] * len(motions), strict=True)
    ]
    return pack({"characters": heads, **meta}, **arrays)
