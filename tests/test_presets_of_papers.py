"""Presets are the papers to the letter: each rule of ours is listed and switched off."""

from dataclasses import fields

import pytest

from motionloom.settings import Settings
from reproduction import PAPERS
from reproduction.our_rules import rules_of

RULES = [(paper, rule) for paper in PAPERS for rule in rules_of(paper)]
CLASSES = dict.fromkeys((paper, rule.settings) for paper, rule in RULES)


def leaves(settings, prefix=""):
    """Values of all fields, with dots for the fields of groups and methods."""
    out = {}
    for each in fields(settings):
        value = getattr(settings, each.name)
        if isinstance(value, Settings):
            out |= leaves(value, f"{prefix}{each.name}.")
        else:
            out[prefix + each.name] = value
    return out


@pytest.mark.parametrize(
    ("paper", "rule"), RULES, ids=[f"{paper}-{rule.setting}" for paper, rule in RULES]
)
def test_a_preset_switches_off_a_rule_of_ours(paper, rule):
    assert rule.value(paper) == (rule.value() if rule.reason else rule.off)
    assert rule.text.endswith(".")


@pytest.mark.parametrize(
    ("paper", "cls"), CLASSES, ids=[f"{paper}-{cls.__name__}" for paper, cls in CLASSES]
)
def test_every_setting_that_a_preset_changes_is_listed(paper, cls):
    usual, letter = leaves(cls()), leaves(cls.from_preset(paper))
    changed = {name for name in letter if usual.get(name, None) != letter[name]}
    # Rules of a search method are listed with the class of the method. The preset of Krüger et al.
    # names the default normalization, because the text has two readings.
    changed = {name for name in changed if not name.startswith("method.")}
    changed = {name for name in changed if letter[name] != "heading"}
    listed = {rule.setting for _, rule in RULES if rule.settings is cls}
    assert changed <= listed
