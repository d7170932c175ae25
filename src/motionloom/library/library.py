"""`Library`: motions on disk by name, with every verb as a method."""

from __future__ import annotations

import re

from motionloom.errors import InvalidInput
from motionloom.library.blend_verbs import BlendVerbs
from motionloom.library.graph_verbs import GraphVerbs
from motionloom.library.rhythm_verbs import RhythmVerbs
from motionloom.motion import Motion, Skeleton
from motionloom.motion.retargeting.retarget import retarget


class Library(BlendVerbs, GraphVerbs, RhythmVerbs):
    """Many motions on disk, by name.

    Parameters
    ----------
    path : str or Path
        An existing library; `Library.create` makes one.

    Examples
    --------
    >>> import motionloom as ml, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> _ = ml.demo.clip("walk").save(f"{folder.name}/takes/walk/walk_1.bvh")
    >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
    >>> print(lib.add(f"{folder.name}/takes", labels="folder").added)
    1
    >>> lib.names, lib.labels("walk_1")
    (('walk_1',), ('walk',))
    """

    @property
    def parametric_names(self) -> tuple[str, ...]:
        """Names of the parametric motions that are kept here."""
        from motionloom.parametric.artifact import parametric_names

        return parametric_names(self)

    def find(self, text: str) -> tuple[str, ...]:
        """Names of the motions whose name or labels contain every word of a text.

        Parameters
        ----------
        text : str
            Words, separated by spaces; upper and lower case are the same.

        Returns
        -------
        names : tuple of str
            Motions in which the words stand as whole words come first, then those in which they
            are parts of words; within both, the order of the library.

        Raises
        ------
        InvalidInput
            If the text has no words.

        Examples
        --------
        >>> lib.find("kick high")
        ('kick_front_high_right',)
        """
        words = text.casefold().split()
        if not words:
            raise InvalidInput("text must have at least one word; got none")
        whole, part = [], []
        for name in self.names:
            known = " ".join([name, *self.labels(name)]).casefold()
            if all(word in re.split(r"[\W_]+", known) for word in words):
                whole.append(name)
            elif all(word in known for word in words):
                part.append(name)
        return (*whole, *part)

    def retarget(self, name: str, skeleton: Skeleton) -> Motion:
        """A motion of the library, transferred to another skeleton.

        Parameters
        ----------
        name : str
            Name of a motion.
        skeleton : Skeleton
            Target; its joints need the same roles.

        Returns
        -------
        motion : Motion

        Examples
        --------
        >>> child = lib.retarget("walk", lib["walk"].skeleton.scaled(0.6))
        >>> bool(child.root[:, 1].mean() < 0.65 * lib["walk"].root[:, 1].mean())
        True
        """
        return retarget(self[name], skeleton)
