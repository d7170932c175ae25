"""Choreographies in a library, by name: a waltz, a salsa, each with its movements and graph.

Kept are the graph, edits included, and where each movement is cut from the library's takes.
"""

from __future__ import annotations

from dataclasses import replace

from motionloom.library.keepsakes import keep, kept, kept_names
from motionloom.library.shelf import Shelf
from motionloom.synthesis.rhythm.choreography import Choreography
from motionloom.synthesis.rhythm.choreography_file import MotionOf, choreography_from

KIND = "choreography"


def keep_choreography(library: Shelf, made: Choreography, name: str) -> None:
    """Keep a choreography in the library of its takes, instead of one that had its name.

    It is of the kind of its name unless it says otherwise.

    Examples
    --------
    >>> import tempfile, motionloom as ml
    >>> folder = tempfile.TemporaryDirectory()
    >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
    >>> lib.add_motion(ml.demo.clip("dance_groove"), name="groove")
    >>> keep_choreography(lib, lib.choreography(meter=4), "disco")
    >>> [one.kind for one in kept_choreographies(lib, lambda name: lib[name])]
    ['disco']
    """
    keep(library, KIND, name, replace(made, kind=made.kind or name).as_dict(), {})


def open_choreography(library: Shelf, name: str, motion_of: MotionOf) -> Choreography:
    """The one that is kept under a name; `motion_of` gives the take of a name.

    Raises
    ------
    LibraryError
        If there is none of that name.
    """
    return choreography_from(kept(library, KIND, name).about, motion_of, library.path)


def kept_choreographies(library: Shelf, motion_of: MotionOf) -> tuple[Choreography, ...]:
    """All that are kept, by name; `motion_of` gives the take of a name."""
    return tuple(open_choreography(library, name, motion_of) for name in kept_names(library, KIND))
