"""The page's own tests: vitest, and generated types that match the server."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

import build_page

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(
    not build_page.packages_installed(ROOT),
    reason="the page's npm packages are not installed (python build_page.py)",
)


def test_the_logic_of_the_page():
    assert "passed" in build_page.run_script(ROOT, "test")


@pytest.mark.skipif(find_spec("fastapi") is None, reason="fastapi is not installed")
def test_generated_types_match_the_http_interface():
    """After a change of the studio's requests: ``make types``."""
    build_page.run_script(ROOT, "types", "--", "--check")
