"""The page's own tests: vitest, and sources that fit the types generated from the server."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from operator import attrgetter
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


def _ten_minutes(folder, monkeypatch, *files):
    made = [sys.executable, str(ROOT / "studio" / "golden.py"), str(folder), "600"]
    subprocess.run([*made, *map(str, files)], check=True)
    monkeypatch.setenv("GOLDEN", str(folder))
    assert "18000 frames" in build_page.run_script(ROOT, "replay")


@needs_packages
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_ten_minutes_of_steering_are_the_same_in_python_and_in_the_browser(tmp_path, monkeypatch):
    _ten_minutes(tmp_path, monkeypatch)


@needs_packages
@pytest.mark.slow
@pytest.mark.cmu
@pytest.mark.timeout(1800)
def test_ten_minutes_on_captured_takes_are_the_same(cmu30, tmp_path, monkeypatch):
    folders = [cmu30 / subject for subject in ("007", "008", "035")]
    takes = [path for folder in folders for path in sorted(folder.glob("*.bvh"))]
    _ten_minutes(tmp_path, monkeypatch, *takes)


@needs_packages
@pytest.mark.skipif(find_spec("fastapi") is None, reason="fastapi is not installed")
def test_the_page_fits_the_http_interface():
    """The types of all requests and answers are generated from the server as it is now."""
    from motionloom.studio import create_app

    build_page.run_script(ROOT, "types")
    types = (ROOT / "studio" / "generated" / "schema.d.ts").read_text(encoding="utf-8")
    document = create_app(None).openapi()
    for path in document["paths"]:
        assert f'"{path}": {{' in types, path
    written = re.search(r"schemas: \{\n(.*?)\n    \};", types, re.DOTALL).group(1)
    schemas = document["components"]["schemas"]
    assert set(re.findall(r"^        (\w+): ", written, re.M)) == set(schemas)
    for name, schema in schemas.items():
        for field in schema.get("properties", {}):
            assert re.search(rf'^            "?{re.escape(field)}"?\??:', written, re.M), (
                name,
                field,
            )


def test_python_code_on_the_page_calls_what_exists(tmp_path):
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "studio/src").rglob("*.ts"))
    imports = set(re.findall(r"from (motionloom[\w.]*) import (\w+)", code))
    for module, name in imports:
        assert hasattr(import_module(module), name)
    verbs = set(re.findall(r"(?:Library\(\$\{[^}]*\}\)|\blib)\.([\w.]+)\(", code))
    assert {"choreography", "graphs.edit", "parametrize"} <= verbs
    library = motionloom.Library.create(tmp_path / "takes.loom")
    assert not [verb for verb in verbs if not callable(attrgetter(verb)(library))]
