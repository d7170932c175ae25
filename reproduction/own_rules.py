"""Rules of motionloom that a paper does not have, and how its preset switches them off.

The page of each paper lists its rules with both values, which are read from the settings.
`tests/test_own_rules.py` checks that every rule has different values and that a preset changes no
setting that is not listed here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from motionloom.library import settings
from motionloom.settings import Settings


@dataclass(frozen=True)
class OwnRule:
    """A rule that is not in a paper.

    Attributes
    ----------
    text : str
        The rule by default, in one sentence.
    setting : str
        Settings class and field: ``ParametrizeSettings.sampling``. Groups have a further part:
        ``ParametrizeSettings.examples.align_squares``.
    """

    text: str
    setting: str

    def values(self, paper: str) -> tuple[Any, Any]:
        """Return the default value and the value of the preset.

        Examples
        --------
        >>> OwnRule("", "SynthesisSettings.refine").values("kg04")
        (True, False)
        """
        name, *path = self.setting.split(".")
        cls = _classes()[name]
        return _at(cls(), path), _at(cls.from_preset(paper), path)


KG04 = (
    OwnRule(
        "Every other sample blends examples around its point instead of the nearest ones.",
        "ParametrizeSettings.sampling",
    ),
    OwnRule(
        "A thousand samples are kept; sampling stops when 100 blends in a row are too close to "
        "others.",
        "ParametrizeSettings.blends.counted",
    ),
    OwnRule(
        "Times shift by up to half a frame so that parameters are measured on whole frames.",
        "ParametrizeSettings.blends.whole_frames",
    ),
    OwnRule("Feet are held in place during contacts.", "ParametrizeSettings.blends.lock_feet"),
    OwnRule(
        "Time alignments minimize the sum of distances, unless the family was searched with "
        "squared distances.",
        "ParametrizeSettings.examples.align_squares",
    ),
    OwnRule("The same for blends without parameters.", "BlendSettings.align_squares"),
    OwnRule(
        "Interpolated weights are refined until the target is reached.", "SynthesisSettings.refine"
    ),
)
RULES: dict[str, tuple[OwnRule, ...]] = {"kg04": KG04}


def rule_rows(paper: str) -> list[list[str]]:
    """Rows of the table of a paper: rule, setting, default, preset."""
    rows = []
    for rule in RULES.get(paper, ()):
        default, value = rule.values(paper)
        rows.append([rule.text, f"`{rule.setting}`", f"`{default}`", f"`{value}`"])
    return rows


def changed_settings(paper: str, name: str) -> Iterator[str]:
    """Settings of the class `name` that the preset of a paper changes, as in `OwnRule.setting`."""
    cls = _classes()[name]
    yield from _changed(cls(), cls.from_preset(paper), name)


def _changed(default: Settings, value: Settings, path: str) -> Iterator[str]:
    for key, changed in value.changed(default).items():
        before = getattr(default, key)
        if isinstance(changed, Settings) and type(changed) is type(before):
            yield from _changed(before, changed, f"{path}.{key}")
        else:
            yield f"{path}.{key}"


def _classes() -> dict[str, type[Settings]]:
    public = {name: getattr(settings, name) for name in settings.__all__}
    return {
        name: cls
        for name, cls in public.items()
        if isinstance(cls, type) and issubclass(cls, Settings)
    }


def _at(value: Any, path: list[str]) -> Any:
    for name in path:
        value = getattr(value, name)
    return value
