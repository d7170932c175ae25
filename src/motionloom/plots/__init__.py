"""Pictures: film strips, animations, the notebook player and contact sheets."""

from motionloom.plots.animation import write_gif, write_mp4
from motionloom.plots.filmstrip import film_strip, write_strip
from motionloom.plots.player import Budget, player_html
from motionloom.plots.sheet import SheetClip, contact_sheet

__all__ = [
    "Budget",
    "SheetClip",
    "contact_sheet",
    "film_strip",
    "player_html",
    "write_gif",
    "write_mp4",
    "write_strip",
]
