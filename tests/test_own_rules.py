"""Presets are the papers to the letter: every rule of ours is listed and switched off."""

import pytest

from reproduction.own_rules import RULES, changed_settings, rule_rows
from reproduction.page import markdown

# Settings classes whose presets are checked completely: each changed setting is a listed rule.
COMPLETE = {
    "kg04": ("ParametrizeSettings", "SynthesisSettings", "BlendSettings"),
}


@pytest.mark.parametrize("paper", RULES)
def test_a_preset_switches_every_rule_off(paper):
    for rule in RULES[paper]:
        default, value = rule.values(paper)
        assert default != value, rule.setting
    assert len({rule.setting for rule in RULES[paper]}) == len(RULES[paper])


@pytest.mark.parametrize("paper", COMPLETE)
def test_a_preset_changes_only_rules_that_are_listed(paper):
    listed = {rule.setting for rule in RULES[paper]}
    for name in COMPLETE[paper]:
        assert set(changed_settings(paper, name)) <= listed


def test_the_page_of_a_paper_lists_its_rules():
    names = ("slug", "authors", "title", "summary")
    report = dict.fromkeys(names, "") | {"name": "kg04", "pages": [], "claims": []}
    text = markdown(report)
    assert "## Rules that are not in the paper" in text
    assert all(" | ".join(row) in text for row in rule_rows("kg04"))
