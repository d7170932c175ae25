"""The ``motionloom demo`` tour: its folder, its library, and its results page.

On a machine that has never run motionloom, the tour spends most of its time on compilation.
Compiled kernels are cached on disk, so a second process compiles the kernels for the last steps
while the first steps run.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from motionloom.cli.terminal import remark
from motionloom.files import atomic_write

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
    """A web page that shows the commands and results of each step.

    Pictures and other pages are linked files in the same folder; animated figures are embedded.
    """

    steps: list[_Step] = field(default_factory=list)

    def begin(self, title: str) -> None:
        """Start the section for the next step."""
        self.steps.append(_Step(title.rstrip(": .")))

    def command(self, words: str) -> None:
        """Add a step's command to the page."""
        self._last.parts.append(f"<pre>$ motionloom {escape(words)}</pre>")

    def say(self, text: str) -> None:
        """Add a line with a result to the page."""
        self._last.parts.append(f"<p>{escape(text)}</p>")

    def picture(self, path: Path, words: str) -> None:
        """Add a picture to the page."""
        name = escape(path.name)
        self._last.parts.append(f'<a href="{name}"><img src="{name}" alt="{escape(words)}"></a>')

    def link(self, path: Path, words: str) -> None:
        """Add a link to another page."""
        self._last.parts.append(f'<p><a href="{escape(path.name)}">{escape(words)}</a></p>')

    def play(self, motion: Motion, words: str) -> None:
        """Add an animated figure of at most twelve seconds."""
        from motionloom.plots.pages.player import Budget, packed_motion, player_element

        player = player_element(packed_motion(motion[: round(12.0 * motion.fps)], Budget()))
        caption = f"<figcaption>{escape(words)}</figcaption>"
        self._last.players.append(f"<figure>{caption}{player}</figure>")

    def write(self, path: Path) -> Path:
        """Write the page to a file."""
        from motionloom.plots.pages.player import player_script

        articles = "".join(_article(number, step) for number, step in enumerate(self.steps, 1))
        text = (
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>motionloom: a tour</title>'
            f"<style>{_STYLE}</style><h1>motionloom: a tour</h1>"
            "<p>All motions were generated on this machine. Run the commands to repeat a step.</p>"
            f"{articles}<script>{player_script()}</script></html>\n"
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
    """A tour in a folder; `quiet` disables progress bars."""

    folder: Path
    seed: int
    quiet: bool
    page: IndexPage = field(default_factory=IndexPage)

    @property
    def takes(self) -> Path:
        """Folder with the corpus files."""
        return self.folder / "takes"

    @property
    def place(self) -> Path:
        """Path of the library."""
        return self.folder / "demo.loom"

    @cached_property
    def lib(self) -> Library:
        """The tour's library, created if missing."""
        from motionloom.library import Library

        return Library.create(self.place, exist_ok=True)

    def command(self, words: str) -> None:
        """Print a step's command, and add it to the page."""
        remark(f"   $ motionloom {words}")
        self.page.command(words)

    def say(self, text: str) -> None:
        """Print a result, and add it to the page."""
        remark(f"   {text}")
        self.page.say(text)


@contextmanager
def compiled_ahead() -> Iterator[None]:
    """Compile kernels in the background until the end of the block."""
    if (os.cpu_count() or 1) < 2:
        yield
        return
    process = subprocess.Popen(
        [sys.executable, "-c", f"from {__name__} import compile_from_the_end as c; c()"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def compile_from_the_end() -> None:
    """Compile the kernels that the tour uses, starting with its last step."""
    if hasattr(os, "nice"):
        os.nice(10)  # the tour has priority
    from motionloom.kernels import compile_listed, listed

    for line in reversed(listed()):
        compile_listed(line)
