"""The page's own tests: vitest, and generated types that match the server."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import build_page
import motionloom

ROOT = Path(__file__).parents[1]

needs_packages = pytest.mark.skipif(
    not build_page.packages_installed(ROOT),
    reason="the page's npm packages are not installed (python build_page.py)",
)


@needs_packages
def test_the_logic_of_the_page():
    assert "passed" in build_page.run_script(ROOT, "test")


@needs_packages
@pytest.mark.skipif(find_spec("fastapi") is None, reason="fastapi is not installed")
def test_generated_types_match_the_http_interface():
    """After a change of the studio's requests: ``make types``."""
    build_page.run_script(ROOT, "types", "--", "--check")


def test_python_code_on_the_page_calls_what_exists():
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "studio/src").rglob("*.ts"))
    imports = set(re.findall(r"from (motionloom[\w.]*) import (\w+)", code))
    for module, name in imports:
        assert hasattr(import_module(module), name)
    verbs = set(re.findall(r"(?:Library\(\$\{[^}]*\}\)|\blib)\.(\w+)\(", code))
    assert {"choreography", "edit_motion_graph", "parametrize"} <= verbs
    assert not [verb for verb in verbs if not hasattr(motionloom.Library, verb)]
