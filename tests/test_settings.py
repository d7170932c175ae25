"""One settings class per verb: its fields and the signature of the method agree."""

import inspect
from dataclasses import fields

import pytest

import motionloom as ml
from motionloom.store.settings import ImportSettings

VERBS = [(ml.Library.add, ImportSettings)]
NOT_SETTINGS = ("self", "progress")


@pytest.mark.parametrize(("verb", "settings"), VERBS, ids=lambda one: one.__name__)
def test_signature_and_settings_agree(verb, settings):
    parameters = inspect.signature(verb).parameters.values()
    options = {
        one.name: one.default
        for one in parameters
        if one.kind is one.KEYWORD_ONLY and one.name not in NOT_SETTINGS
    }
    assert options == {one.name: one.default for one in fields(settings)}
    assert not any(one.kind is one.VAR_KEYWORD for one in parameters)
