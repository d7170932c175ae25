"""The worked examples of CONTRIBUTING.md run as they stand there, and leave nothing behind."""

import re
from pathlib import Path

import pytest

from motionloom.features import DISTANCES, FEATURES
from motionloom.formats import FORMATS
from motionloom.parametric.parameter_text import KINDS
from motionloom.search.methods import METHODS

PAGE = Path(__file__).parents[1] / "CONTRIBUTING.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# (\w+\.py)\n")


def test_the_worked_examples_run(registries, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    names: dict = {"__name__": "__main__"}
    for code in blocks:
        file = FILE.match(code)
        if file:
            (tmp_path / file[1]).write_text(code, encoding="utf-8")
        exec(compile(code, PAGE.name, "exec"), names)
    assert ".mjson" in FORMATS and "hand-height" in DISTANCES and "arms" in FEATURES
    assert {"middle-pose", "dtw-hands"} <= set(METHODS) and "highest_hand" in KINDS
    assert names["again"].skeleton.names == names["walk"].skeleton.names
    bad = tmp_path / "bad.mjson"
    bad.write_text("{}")
    with pytest.raises(names["MotionFormatError"], match="not a motion in JSON format: 'joints'"):
        names["ml"].load(bad)


@pytest.mark.parametrize(
    "registration",
    [
        "FORMATS[",
        "register_distance(",
        "register_features(",
        "ml.Method)",
        "ml.ClipMethod)",
        "@register_parameter",
    ],
)
def test_every_kind_of_addition_has_its_section(registration):
    """The page has one section per registry, with a block of code that adds to it."""
    sections = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert any(registration in code for section in sections for code in BLOCK.findall(section))


def test_the_version_is_the_same_everywhere():
    import motionloom

    citation = (PAGE.parent / "CITATION.cff").read_text(encoding="utf-8")
    changes = (PAGE.parent / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\nversion: {motionloom.__version__}\n" in citation
    assert f"## {motionloom.__version__} (" in changes
    assert 'dynamic = ["version"]' in (PAGE.parent / "pyproject.toml").read_text(encoding="utf-8")
