"""Figures, animations and HTML pages that show motions, and plots of analysis results."""

from motionloom.plots.figures.animation import write_gif, write_mp4
from motionloom.plots.figures.filmstrip import film_strip, write_strip, write_worst_second
from motionloom.plots.pages.html_pages import SheetClip, contact_sheet
from motionloom.plots.pages.player import Budget, player_html

__all__ = [
    "Budget",
    "SheetClip",
    "contact_sheet",
    "film_strip",
    "player_html",
    "write_gif",
    "write_mp4",
    "write_strip",
    "write_worst_second",
]
