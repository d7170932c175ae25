"""A small live player for notebooks and web pages: drag to turn, scrub, zoom."""

from __future__ import annotations

import json
from functools import cache
from html import escape
from importlib.resources import files

from motionloom.motion import Motion
from motionloom.plots.clipdata import Budget, clip_data


def player_html(motion: Motion, *, budget: Budget | None = None) -> str:
    """HTML that shows `motion` as a live stick figure; what notebooks display.

    Parameters
    ----------
    motion : Motion
    budget : Budget, optional
        How much of a long motion to carry. By default at most 900 frames: 30 s in full,
        longer ones with fewer frames per second, 90 s at most. The caption says so.

    Returns
    -------
    html : str
        A fragment without outside references: one element, its style and its script.
        Several of them can stand on one page.

    Examples
    --------
    >>> import motionloom as ml
    >>> "http" in player_html(ml.demo.clip("walk"))
    False
    """
    if len(motion) == 0:
        return f"<p>{escape(repr(motion))}</p>"
    clip = clip_data(motion, budget or Budget())
    return (
        f'<div class="motionloom-player" data-clip="{clip_attribute(clip)}">'
        f"{escape(repr(motion))}. To see it move, trust this notebook or run the cell.</div>\n"
        f"<style>{page_part('player.css')}</style>\n"
        f"<script>(function () {{\n{page_part('player.js')}\n"
        "const script = document.currentScript;\n"
        "MotionloomPlayer.mountAll(script ? script.getRootNode() : document);\n"
        "})();</script>"
    )


def clip_attribute(clip: dict) -> str:
    """A clip as the value of an HTML attribute in double quotes."""
    return escape(json.dumps(clip, separators=(",", ":")), quote=True)


@cache
def page_part(name: str) -> str:
    """A script or style sheet of this package."""
    return files("motionloom.plots").joinpath(name).read_text(encoding="utf-8")
