"""`Library`: a store of motions with every verb as a method, and the types that verbs return.

The command line and the studio import from here, and from nothing beneath.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from motionloom.library.library import Library
from motionloom.store.catalogue import is_library
from motionloom.store.ingest.sources import assign_names, find_sources, is_companion
from motionloom.store.lock import writer_lock

if TYPE_CHECKING:
    from motionloom.blending.player import FrameBlock, Player
    from motionloom.library.crowd_plan import CrowdPlan
    from motionloom.rhythm.dance_player import DancePlayer
    from motionloom.rhythm.music.audio import write_sound
    from motionloom.rhythm.music.beat_clock import TempoClock
    from motionloom.rhythm.music.music import AUDIO_SUFFIXES, MIDI_SUFFIXES, load_music, tune
    from motionloom.search.match import Match

_MODULES = {
    "AUDIO_SUFFIXES": "motionloom.rhythm.music.music",
    "CrowdPlan": "motionloom.library.crowd_plan",
    "DancePlayer": "motionloom.rhythm.dance_player",
    "FrameBlock": "motionloom.blending.player",
    "MIDI_SUFFIXES": "motionloom.rhythm.music.music",
    "Match": "motionloom.search.match",
    "Player": "motionloom.blending.player",
    "TempoClock": "motionloom.rhythm.music.beat_clock",
    "load_music": "motionloom.rhythm.music.music",
    "tune": "motionloom.rhythm.music.music",
    "write_sound": "motionloom.rhythm.music.audio",
}

__all__ = [
    "AUDIO_SUFFIXES",
    "MIDI_SUFFIXES",
    "CrowdPlan",
    "DancePlayer",
    "FrameBlock",
    "Library",
    "Match",
    "Player",
    "TempoClock",
    "assign_names",
    "find_sources",
    "is_companion",
    "is_library",
    "load_music",
    "tune",
    "write_sound",
    "writer_lock",
]


def __getattr__(name: str) -> Any:  # imported on first use: some of them are slow to import
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
