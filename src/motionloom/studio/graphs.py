"""Motion graphs of the library as the page asks for them, and walks that can be played again."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from motionloom.blending.player import FrameBlock, Player
from motionloom.errors import InvalidInput
from motionloom.motion import Motion
from motionloom.motion_graph.edits import EditedGraph
from motionloom.motion_graph.graph import MotionGraph
from motionloom.studio.app_state import Workshop
from motionloom.studio.search_settings import flags

LONGEST = 600.0  # seconds of a walk that is made at once
_POINTS = 5_000  # of a path

Names = Annotated[tuple[Annotated[str, Field(max_length=300)], ...], Field(max_length=1000)]
Coordinate = Annotated[float, Field(ge=-1e4, le=1e4)]


class GraphSettings(BaseModel):
    """Which motions, and how their transitions are found; what is left out is the usual."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    within: Names = Field((), description="Labels.")
    only: Names = ()
    without: Names = ()
    distance: str = "jrd"
    method: Literal["sectors", "minima"] = "sectors"
    threshold: float | None = Field(None, gt=0.0)
    per_minute: float = Field(60.0, gt=0.0, le=10_000.0)
    blend_seconds: float = Field(0.4, gt=0.0, le=5.0)

    @classmethod
    def of(cls, given: Any) -> GraphSettings:
        """The settings that a live request tells."""
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise InvalidInput(f"settings of the graph: {where}: {first['msg']}") from None

    def arguments(self) -> dict[str, Any]:
        """What differs from what `Library.motion_graph` does anyway."""
        told = self.model_dump(exclude_defaults=True, mode="json")
        if self.threshold is not None:
            told.pop("per_minute", None)
        return told

    def flags(self) -> list[str]:
        """The same for the command line."""
        return flags(self.arguments(), {"blend_seconds": "blend"})

    def lines(self, library: Path) -> dict[str, str]:
        """How to build the same graph in a terminal and in Python."""
        given = {_PYTHON.get(name, name): value for name, value in self.arguments().items()}
        said = ", ".join(f"{name}={value!r}" for name, value in given.items())
        return {
            "cli": shlex.join(["motionloom", "graph", str(library), "build", *self.flags()]),
            "python": "import motionloom as ml; "
            f"graph = ml.Library({str(library)!r}).motion_graph({said})",
        }


class Steered(BaseModel):
    """What a player was told, and before which of its frames."""

    frame: int = Field(ge=0)
    controls: dict[Literal["transition", "automatic"], bool]


class Walk(BaseModel):
    """A walk in a graph: along a path, or at random and as it was steered."""

    graph: GraphSettings
    seed: int = Field(0, ge=0)
    seconds: float | None = Field(None, gt=0.0, le=LONGEST)
    path: list[tuple[Coordinate, Coordinate]] | None = Field(None, max_length=_POINTS)
    start: str | None = Field(None, description="NAME:FRAME of the first pose.")
    steered: list[Steered] = Field([], max_length=10_000)

    def motion(self, graph: MotionGraph) -> Motion:
        """The walk as a motion."""
        if self.path is not None:
            return graph.walk(path=self.path, seed=self.seed, start=self.start)
        if self.seconds is None:
            raise InvalidInput("say how many seconds the walk shall last, or give a path")
        player = Replayed(graph.player(self.seed, start=self.start), self.steered)
        return player.record(seconds=self.seconds, name="walk")


class Replayed(Player):
    """A player that is told again what it was told before, at the same frames.

    Parameters
    ----------
    player : Player
        Fresh, and of the same seed.
    steered : sequence of Steered
    """

    def __init__(self, player: Player, steered: Sequence[Steered]) -> None:
        self.skeleton, self.fps = player.skeleton, player.fps
        self._player = player
        self._left = sorted(steered, key=lambda one: one.frame)
        self._played = 0

    def _read(self, count: int) -> FrameBlock:
        parts = [FrameBlock.empty(len(self.skeleton), self._played)]
        while count > 0:
            while self._left and self._left[0].frame <= self._played:
                self._player.steer(**self._left.pop(0).controls)
            until = self._left[0].frame - self._played if self._left else count
            part = self._player.read(min(count, until))
            if not len(part):
                break
            parts.append(part)
            count -= len(part)
            self._played += len(part)
        return FrameBlock.joined(parts)


def graph_of(
    shop: Workshop, settings: GraphSettings, progress: Callable[[int], None] | None = None
) -> EditedGraph:
    """The graph of these settings: open already, stored with the library, or built now."""

    def made() -> EditedGraph:
        # In this process: forking one with many threads is asking for trouble.
        return shop.library.edited_motion_graph(
            library_settings(settings), workers=1, progress=progress
        )

    return shop.once(("graph", settings), made)


def library_settings(settings: GraphSettings) -> Any:
    """The settings as `Library.edited_motion_graph` takes them."""
    from motionloom.motion_graph import GraphSettings as LibraryGraphSettings

    return LibraryGraphSettings.from_dict(settings.arguments())


# Field of a request -> argument of `Library.motion_graph`.
_PYTHON = {"within": "label", "without": "exclude", "threshold": "max_distance"}
