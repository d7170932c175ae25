"""Rules of ours: everything that the defaults do differently from a paper, with its setting.

Each paper's module lists its rules as ``OUR_RULES``. The page of the paper shows them as a table,
and ``tests/test_presets_of_papers.py`` checks that the preset of the paper switches each rule off
and that the list is complete.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from motionloom.settings import Settings, name_of
from reproduction import PAPERS

HEADER = ("rule of ours", "setting", "default", "preset")


@dataclass(frozen=True)
class OurRule:
    """A rule that a paper does not have.

    Attributes
    ----------
    text : str
        The rule, as a sentence.
    settings : type
        Settings class with the preset of the paper.
    setting : str
        Field that switches the rule, with dots for groups: ``rules.smooth``.
    off : object
        Value with which the paper's method is followed.
    reason : str
        Why the preset keeps the rule; empty if the preset switches it off.

    Examples
    --------
    >>> from motionloom.search.methods import Emd
    >>> rule = OurRule("Whole turns are ignored.", Emd, "whole_turns", False)
    >>> rule.value(), rule.value("tz07")
    (True, False)
    """

    text: str
    settings: type[Settings]
    setting: str
    off: Any
    reason: str = ""

    def value(self, preset: str | None = None) -> Any:
        """Return the value of the setting by default or in a preset."""
        value: Any = self.settings() if preset is None else self.settings.from_preset(preset)
        for name in self.setting.split("."):
            value = getattr(value, name)
        return value


def rules_of(paper: str) -> tuple[OurRule, ...]:
    """Return the rules of ours for a paper, by its name on the command line."""
    return getattr(importlib.import_module(PAPERS[paper]), "OUR_RULES", ())


def rows_of(paper: str) -> list[list[str]]:
    """Return the rows of the table on the page of a paper."""
    return [
        [
            rule.text,
            f"`{rule.settings.__name__}.{rule.setting}`",
            f"`{_shown(rule.value())}`",
            f"`{_shown(rule.value(paper))}`" + (f" ({rule.reason})" if rule.reason else ""),
        ]
        for rule in rules_of(paper)
    ]


def _shown(value: Any) -> str:
    if isinstance(value, Settings):
        return name_of(value) or type(value).__name__
    return f"{value:.4g}" if isinstance(value, float) else str(value)
