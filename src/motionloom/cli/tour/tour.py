"""Where the tour is: its folder, its library, and how it speaks."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from motionloom.cli.terminal import remark
from motionloom.cli.tour.index_page import IndexPage

if TYPE_CHECKING:
    from motionloom.loom import Library


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
        from motionloom.loom import Library

        return Library.create(self.place, exist_ok=True)

    def command(self, words: str) -> None:
        """Show the command that does what the step does."""
        remark(f"   $ motionloom {words}")
        self.page.command(words)

    def say(self, text: str) -> None:
        """Tell what came of it."""
        remark(f"   {text}")
        self.page.say(text)
