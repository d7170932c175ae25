"""Scenes, in which several characters move at the same time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from motionloom.errors import InvalidInput
from motionloom.motion.motion import Motion


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Scene:
    """Several characters that all start at time 0.

    A scene is a sequence of motions: use ``scene[0]``, ``len(scene)`` or ``for motion in scene``.

    Parameters
    ----------
    motions : sequence of Motion
        One motion per character. All must have the same frame rate; skeletons and lengths may
        differ.
    names : sequence of str, optional
        One name per character, all different. Default: the names of the motions, with a number
        added to repeated names.

    Examples
    --------
    >>> import motionloom as ml
    >>> walk = ml.demo.clip("walk")
    >>> scene = Scene([walk, walk.mirror()], names=["leader", "follower"])
    >>> scene
    Scene(2 characters, 138 frames at 30 fps = 4.60 s)
    >>> scene["follower"].fps
    30.0
    """

    motions: tuple[Motion, ...]
    names: tuple[str, ...]

    def __init__(self, motions: Sequence[Motion], names: Sequence[str] = ()) -> None:
        motions = tuple(motions)
        rates = {motion.fps for motion in motions}
        if len(rates) != 1:
            raise InvalidInput(
                "a scene needs at least one motion"
                if not rates
                else f"all motions in a scene must share one frame rate; got {sorted(rates)}. "
                "Resample the motions first"
            )
        names = tuple(names) or _different([motion.name for motion in motions])
        if len(names) != len(motions) or len(set(names)) != len(names):
            raise InvalidInput(
                f"names must be {len(motions)} different names, one per character; got {names}"
            )
        object.__setattr__(self, "motions", motions)
        object.__setattr__(self, "names", names)

    def __len__(self) -> int:
        return len(self.motions)

    def __iter__(self) -> Iterator[Motion]:
        return iter(self.motions)

    def __getitem__(self, character: int | str) -> Motion:
        """Return the motion of a character by index or name."""
        if isinstance(character, str):
            if character not in self.names:
                names = ", ".join(self.names)
                raise InvalidInput(f"the scene has no character {character!r}; it has {names}")
            return self.motions[self.names.index(character)]
        return self.motions[character]

    def __repr__(self) -> str:
        return (
            f"Scene({len(self)} characters, {self.frames} frames at {self.fps:g} fps = "
            f"{self.duration:.2f} s)"
        )

    @property
    def fps(self) -> float:
        """Frame rate shared by all motions."""
        return self.motions[0].fps

    @property
    def frames(self) -> int:
        """Number of frames in the longest motion."""
        return max(len(motion) for motion in self.motions)

    @property
    def duration(self) -> float:
        """Duration in seconds, which is the number of frames divided by the frame rate."""
        return self.frames / self.fps


def _different(names: Sequence[str]) -> tuple[str, ...]:
    """Return `names` with a number appended to repeated names."""
    seen: dict[str, int] = {}
    out: list[str] = []
    for name in names:
        name = name or "character"
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return tuple(out)
