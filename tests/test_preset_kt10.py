"""The preset of Krüger et al. (2010) switches off every rule that is not in the paper."""

from dataclasses import fields

import pytest

from motionloom.library.settings import LazyGraph, SearchSettings
from motionloom.reconstruction.settings import ReconstructionRules
from reproduction.kt10 import RULES


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.setting)
def test_the_preset_switches_the_rule_off_or_gives_a_reason(rule):
    assert rule.default != rule.off
    if rule.reason:
        assert rule.preset("kt10") == rule.default
    else:
        assert rule.preset("kt10") == rule.off


def test_every_rule_of_reconstruction_is_listed():
    listed = {rule.setting.removeprefix("rules.") for rule in RULES if "rules." in rule.setting}
    assert listed == {field.name for field in fields(ReconstructionRules)}


@pytest.mark.parametrize("cls", [LazyGraph, SearchSettings])
def test_every_setting_that_the_preset_changes_is_listed(cls):
    listed = {rule.setting.split(".")[-1] for rule in RULES}
    paper = cls.kt10()
    changed = set(paper.changed()) | set(getattr(paper, "expansion", paper).changed())
    # The preset names the default normalization, because the text has two readings.
    assert changed <= listed | {"method", "expansion", "normalize", "tiers"}


def test_a_rule_is_a_row_of_the_table():
    rows = [rule.row("kt10") for rule in RULES]
    assert rows[0][1:] == ["`LazyGraph.steps`", "`'slope'`", "`'classic'`"]
