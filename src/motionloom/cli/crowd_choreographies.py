"""Takes that a scene names, as choreographies: the built-in ones, a library's, or files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from motionloom.cli.arguments import motion_from
from motionloom.cli.beats import tell_left_out
from motionloom.cli.terminal import counted, progress, remark
from motionloom.errors import InvalidInput

if TYPE_CHECKING:
    from motionloom.crowd.settings import BallroomSettings, CrowdSettings, MarchSettings
    from motionloom.library import Library
    from motionloom.motion import Motion
    from motionloom.rhythm import Choreography


def couples_of(scene: BallroomSettings, *, quiet: bool) -> Choreography:
    """What couples dance."""
    if not scene.own:
        from motionloom.crowd.built_in import waltz_steps

        return waltz_steps(fps=scene.fps)
    from motionloom.crowd.couples import couple_steps, guessed_couples

    takes = _Takes(scene)
    named = [_partners(text) for text in takes.names]
    alone = [names[0] for names in named if len(names) == 1]
    couples = [
        (takes.motion(names[0]), takes.motion(names[1])) for names in named if len(names) == 2
    ]
    if alone or not couples:
        couples += guessed_couples(alone, takes.motion, among=counted(len(alone), "take"))
    with progress("listening", len(couples), quiet=quiet) as advance:
        made = couple_steps(couples, fps=scene.fps, meter=scene.meter, progress=advance)
    _tell(made, f"{counted(len(couples), 'couple')} of takes", quiet)
    return made


def walks_of(scene: MarchSettings, *, quiet: bool) -> Choreography:
    """What soldiers march."""
    if not scene.own:
        from motionloom.crowd.built_in import march_steps

        return march_steps(fps=scene.fps)
    from motionloom.crowd.strides import METER, marching_steps

    if scene.meter not in (None, METER):
        raise InvalidInput(f"a march has {METER} beats to a stride; got meter {scene.meter}")
    takes = _Takes(scene)
    for name in takes.names:
        if "+" in name:
            raise InvalidInput(f"soldiers march alone; {name!r} names several takes")
    with progress("looking for strides", len(takes.names), quiet=quiet) as advance:
        walks = [takes.motion(name) for name in takes.names]
        made = marching_steps(walks, fps=scene.fps, progress=advance)
    _tell(made, counted(len(walks), "take"), quiet)
    return made


class _Takes:
    """Takes of a scene: names in its library, or files."""

    def __init__(self, scene: CrowdSettings) -> None:
        self._library = None
        self.names = list(scene.takes)
        if scene.library is not None:
            from motionloom.library import Library

            self._library = Library(scene.library)
            known = _labelled(self._library, scene.within)
            named = (name for text in scene.takes for name in expanded(text, known))
            self.names = list(dict.fromkeys(named)) if scene.takes else known

    def motion(self, name: str) -> Motion:
        """The take, or the part of it, that a name stands for."""
        if self._library is None:
            return motion_from(name)
        return motion_from(f"{self._library.path}:{name}") if ":" in name else self._library[name]


def _labelled(library: Library, within: Sequence[str]) -> list[str]:
    """Names of the library's takes with one of the labels; all, if none is asked for."""
    if not len(library):
        raise InvalidInput(f"{library.path} holds no takes yet; fill it with motionloom import")
    if not within:
        return list(library.names)
    from motionloom.search.filters import labelled

    found = {name for label in within for name in labelled(library, label)}
    return [name for name in library.names if name in found]


def expanded(text: str, names: Sequence[str]) -> list[str]:
    """Names that a pattern stands for; ``60_*+61_*`` pairs those that differ in nothing else.

    Examples
    --------
    >>> expanded("60_*+61_*", ["60_01", "60_02", "61_01", "61_02"])
    ['60_01+61_01', '60_02+61_02']
    >>> expanded("walk", ["walk_1", "walk_2"])
    ['walk']
    """
    if "*" not in text:
        return [text]
    first, *others = text.split("+")
    shape = re.compile("(.*)".join(re.escape(piece) for piece in first.split("*")))
    found = []
    for name in names:
        match = shape.fullmatch(name)
        if match is not None:
            parts = [name, *(_filled(other, match.groups()) for other in others)]
            if set(parts) <= set(names):
                found.append("+".join(parts))
    if not found:
        raise InvalidInput(f"no take is called {text}; there are {', '.join(names[:8])} ...")
    return found


def _filled(pattern: str, pieces: Sequence[str]) -> str:
    """A pattern with pieces in place of its stars."""
    for piece in pieces:
        pattern = pattern.replace("*", piece, 1)
    return pattern


def _partners(text: str) -> list[str]:
    names = [name.strip() for name in text.split("+")]
    if len(names) > 2 or not all(names):
        raise InvalidInput(f"a couple is written LEADER+FOLLOWER; got {text!r}")
    return names


def _tell(made: Choreography, what: str, quiet: bool) -> None:
    if quiet:
        return
    remark(
        f"{what}: {counted(len(made.movements), 'movement')} of {counted(made.meter, 'beat')}, "
        f"{60.0 / made.period:.0f} beats a minute"
    )
    tell_left_out(made)
