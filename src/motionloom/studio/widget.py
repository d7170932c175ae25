"""The stage as an anywidget, whose traits hold its state and the user's input."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from motionloom.errors import InvalidInput, MotionloomError
from motionloom.motion import Motion
from motionloom.studio.messages import BODIES, pack
from motionloom.studio.notebook import Subject

_SCRIPT = Path(__file__).parent / "static" / "widget.js"


class StageView(anywidget.AnyWidget):
    """A stage in a notebook cell; see `motionloom.view`.

    Attributes
    ----------
    frame : int
        Frame on the stage. Setting it pauses playback.
    playing : bool
    selection : tuple of int or None
        Frames [start, end) selected on the timeline.
    choice : int
        Index of the shown match or family member.
    target : tuple of float
        Target of a parametric motion; the motion follows it.
    error : str
        Reason why the last choice or target could not be shown; empty if there was no error.
    """

    _esm = _SCRIPT if _SCRIPT.is_file() else "export default {};"
    frame = traitlets.Int(0).tag(sync=True)
    playing = traitlets.Bool(True).tag(sync=True)
    selection = traitlets.Tuple(
        traitlets.Int(), traitlets.Int(), allow_none=True, default_value=None
    ).tag(sync=True)
    choice = traitlets.Int(0).tag(sync=True)
    target = traitlets.Any(()).tag(sync=True)
    error = traitlets.Unicode("").tag(sync=True)
    _choices = traitlets.List(traitlets.Unicode()).tag(sync=True)
    _height = traitlets.Int(420).tag(sync=True)
    _scene = traitlets.Bytes(b"").tag(sync=True)
    _region = traitlets.Bytes(b"").tag(sync=True)

    def __init__(self, subject: Subject, *, height: int = 420) -> None:
        if not _SCRIPT.is_file():
            raise InvalidInput(
                "the stage is not built in this installation; run python build_page.py in a "
                "clone of the repository, or install a released wheel"
            )
        self._subject = subject
        self._motion, scene = subject.shown(0, subject.target)
        super().__init__(
            target=subject.target,
            _choices=list(subject.choices),
            _height=height,
            _scene=scene,
            _region=subject.region(),
        )
        self.on_msg(self._answer)
        self.observe(self._show, names=["choice", "target"])

    @property
    def motion(self) -> Motion:
        """Motion on the stage: the match, the blend, or the first motion passed to `view`."""
        return self._motion

    @traitlets.validate("frame")
    def _frame_is_there(self, proposal: Any) -> int:
        return max(proposal["value"], 0)  # the page knows the length of its characters

    @traitlets.validate("selection")
    def _selection_is_a_segment(self, proposal: Any) -> tuple[int, int] | None:
        value = proposal["value"]
        if value is not None and not 0 <= value[0] < value[1]:
            raise traitlets.TraitError(
                f"selection must be frames (start, end) with 0 <= start < end; got {value}"
            )
        return value

    @traitlets.validate("choice")
    def _choice_is_there(self, proposal: Any) -> int:
        value, count = proposal["value"], len(self._subject.choices)
        if not 0 <= value < max(count, 1):
            raise traitlets.TraitError(f"choice must be 0 to {max(count, 1) - 1}; got {value}")
        return value

    @traitlets.validate("target")
    def _target_fits(self, proposal: Any) -> tuple[float, ...]:
        value, count = proposal["value"], len(self._subject.target)
        try:
            target = tuple(float(number) for number in value)
        except (TypeError, ValueError, OverflowError):
            target = ()
        if len(target) != count or not all(map(math.isfinite, target)):
            raise traitlets.TraitError(
                f"target must be {count} numbers, one per parameter; got {value}"
            )
        return target

    def _show(self, change: Any) -> None:
        try:
            self._motion, scene = self._subject.shown(self.choice, self.target)
        except MotionloomError as problem:
            self.error = str(problem)
            return
        self.error = ""
        self._scene = scene

    def _answer(self, _: Any, content: Any, __: Any) -> None:
        """Send the body of a skeleton; the page requests it when it first draws the skeleton."""
        if not isinstance(content, dict) or content.get("kind") != "body":
            return
        key, detail = str(content.get("key")), str(content.get("detail"))
        try:
            mesh = pack({}, **BODIES.arrays(key, "low" if detail == "low" else "high"))
        except MotionloomError as problem:
            self.send({"kind": "body", "key": key, "detail": detail, "error": str(problem)})
            return
        self.send({"kind": "body", "key": key, "detail": detail}, buffers=[mesh])

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Return the widget, with a small figure as a fallback for viewers without widgets."""
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is None:
            return None
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return {**data, "text/html": self.motion._repr_html_()}, metadata
