"""Where the tour is: its folder, its library, and how it speaks.

The page that a tour leaves: each step with its commands, what came of it, what to look at.

Kernels of the tour's last steps, compiled in a process of their own while the first ones run.

On a machine that has never run motionloom, compiling is most of the tour. Kernels are kept on
disk once they are compiled, so a second process can make them for the first.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from motionloom.atomic_write import atomic_write
from motionloom.cli.terminal import remark

if TYPE_CHECKING:
    from motionloom.library import Library
    from motionloom.motion import Motion


_STYLE = """
body { margin: 2rem auto; max-width: 70rem; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif;
  color: #22262e; background: #fff }
h1 { margin-bottom: 0 } h2 { margin: 2.5rem 0 .5rem; font-size: 1.15rem }
pre { padding: .6rem .8rem; background: #f3f4f6; border-radius: 6px; overflow-x: auto;
  font-size: .85rem; margin: .4rem 0 }
p { margin: .3rem 0; color: #4a5160 } img { max-width: 100%; border: 1px solid #e3e6eb }
.players { display: flex; flex-wrap: wrap; gap: 1rem; margin: .6rem 0 }
.players > figure { flex: 1 1 20rem; max-width: 32rem; margin: 0 } figcaption { font-size: .85rem }
"""


@dataclass
class _Step:
    title: str
    parts: list[str] = field(default_factory=list)
    players: list[str] = field(default_factory=list)


@dataclass
class IndexPage:
    """What the tour says and shows, step by step; `write` makes one page of it.

    Pictures and other pages are linked by name and lie beside the page; figures that move are
    part of it.
    """

    steps: list[_Step] = field(default_factory=list)

    def begin(self, title: str) -> None:
        """Start the next step."""
        self.steps.append(_Step(title.rstrip(": .")))

    def command(self, words: str) -> None:
        """A command that repeats what was done."""
        self._last.parts.append(f"<pre>$ motionloom {escape(words)}</pre>")

    def say(self, text: str) -> None:
        """What came of it."""
        self._last.parts.append(f"<p>{escape(text)}</p>")

    def picture(self, path: Path, words: str) -> None:
        """A picture beside the page."""
        name = escape(path.name)
        self._last.parts.append(f'<a href="{name}"><img src="{name}" alt="{escape(words)}"></a>')

    def link(self, path: Path, words: str) -> None:
        """Another page beside this one."""
        self._last.parts.append(f'<p><a href="{escape(path.name)}">{escape(words)}</a></p>')

    def play(self, motion: Motion, words: str) -> None:
        """A figure that moves, twelve seconds of it at most."""
        from motionloom.plots.player import player_html

        shown = motion[: round(12.0 * motion.fps)]
        caption = f"<figcaption>{escape(words)}</figcaption>"
        self._last.players.append(f"<figure>{caption}{player_html(shown)}</figure>")

    def write(self, path: Path) -> Path:
        """Write the page."""
        articles = "".join(_article(number, step) for number, step in enumerate(self.steps, 1))
        text = (
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>motionloom: a tour</title>'
            f"<style>{_STYLE}</style><h1>motionloom: a tour</h1>"
            "<p>Made from code, on this machine, just now. The commands repeat each step.</p>"
            f"{articles}</html>\n"
        )
        with atomic_write(path) as scratch:
            scratch.write_text(text, encoding="utf-8")
        return path

    @property
    def _last(self) -> _Step:
        if not self.steps:
            self.begin("")
        return self.steps[-1]


def _article(number: int, step: _Step) -> str:
    players = f'<div class="players">{"".join(step.players)}</div>' if step.players else ""
    return f"<h2>{number}. {escape(step.title)}</h2>{''.join(step.parts)}{players}"


@dataclass(frozen=True)
class Tour:
    """A tour in a folder; a `quiet` one draws no progress bars."""

    folder: Path
    seed: int
    quiet: bool
    page: IndexPage = field(default_factory=IndexPage)

    @property
    def takes(self) -> Path:
        """The folder of files the corpus is written to."""
        return self.folder / "takes"

    @property
    def place(self) -> Path:
        """The library's path."""
        return self.folder / "demo.loom"

    @cached_property
    def lib(self) -> Library:
        """The library, made if missing."""
        from motionloom.library import Library

        return Library.create(self.place, exist_ok=True)

    def command(self, words: str) -> None:
        """Show the command that does what the step does."""
        remark(f"   $ motionloom {words}")
        self.page.command(words)

    def say(self, text: str) -> None:
        """Tell what came of it."""
        remark(f"   {text}")
        self.page.say(text)


@contextmanager
def compiled_ahead() -> Iterator[None]:
    """Compile in the background; what is not ready at the end is given up."""
    if (os.cpu_count() or 1) < 2:
        yield
        return
    process = subprocess.Popen(
        [sys.executable, "-c", f"from {__name__} import compile_last_steps as c; c()"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def compile_last_steps() -> None:
    """Small cases of what comes last in the tour: a body from six points, a waltz."""
    if hasattr(os, "nice"):
        os.nice(10)  # the tour goes first
    from motionloom import demo
    from motionloom.library import Library
    from motionloom.library.crowd_plan import CrowdPlan

    with tempfile.TemporaryDirectory() as folder:
        library = Library.create(f"{folder}/walks.loom")
        for name in ("walk_p0", "walk_p1"):
            library.add_motion(demo.clip(name[:-3], performer=int(name[-1])), name=name)
        walk = library["walk_p0"]
        library.reconstruct(walk[:30], skeleton=walk, exclude="walk_p0")
    plan = CrowdPlan("ballroom", {"couples": 2, "seconds": 4})
    plan.run(plan.choreography())
