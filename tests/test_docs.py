"""Every block of code in README and docs runs; every command is in the reference."""

import ast
import importlib.util
import inspect
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner

import motionloom as ml
from motionloom.cli import COMMANDS, app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Pages whose blocks run by default, because they take a second or two. The code of the others is
# compiled, and their commands are parsed.
QUICK = {
    f"docs/{name}.md"
    for name in (
        "index", "guides/import", "guides/labels", "guides/search", "guides/convert",
        "guides/diagnose", "guides/export", "guides/own-distance", "guides/beats", "guides/blend",
        "guides/match-webs", "guides/check-quality", "guides/notebooks", "reference/conventions",
    )
}  # fmt: skip
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Pages written by programs have no limit; those of a kind have that of the kind, others 1,200.
# Pages that consist of tables which are computed.
GENERATED = (
    "evidence/papers/", "evidence/benchmarks/", "evidence/captions.md", "evidence/evaluation.md",
    "evidence/leaderboard.md", "reference/licenses.md",
)  # fmt: skip
MOST_WORDS, MOST_WORDS_OF_A_GUIDE = 1200, 600
# Tasks that a newcomer looks for, with the page that answers: two clicks from README.
TASKS = {
    "import": "docs/guides/import.md",
    "search": "docs/guides/search.md",
    "aim": "docs/tutorials/aim.md",
    "walk": "docs/tutorials/walk.md",
    "play": "docs/tutorials/play.md",
    "dance": "docs/tutorials/dance.md",
    "script": "docs/tutorials/script.md",
    "convert to FBX": "docs/guides/convert.md",
    "use Blender": "docs/guides/blender.md",
    "plug in a distance": "docs/guides/own-distance.md",
    "reproduce a table": "docs/evidence/papers.md",
    "limits": "docs/evidence/limits.md",
}
# Words that people search for; the site's search must know them on a page of the job.
WORDS = {
    "library": "import export label convert fbx bvh retarget feet units skeleton",
    "find": "search similar query distance words clips cluster family method mirror",
    "aim": "kick target parameter blend reach samples parametrize synthesize examples error",
    "walk": "path goal graph transition endless loop seconds seam route quality",
    "play": "controller steer stick speed trajectory matching coverage engine database latency",
    "dance": "beat music song tempo bpm choreography movement waltz crowd couple",
    "script": "script phrase act sentence caption word seconds sit wave turn",
}


def _cases():
    for page in PAGES:
        name = str(page.relative_to(ROOT))
        is_slow = name not in QUICK and name != "README.md"
        yield pytest.param(page, id=name, marks=[pytest.mark.slow] * is_slow)


@pytest.mark.parametrize("page", list(_cases()))
def test_every_block_on_the_page_runs_in_the_folder_of_the_demo(
    page, request, tmp_path, monkeypatch, registries
):
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    if not blocks:
        return
    here = tmp_path / "demo"
    shutil.copytree(request.getfixturevalue("demo_folder").path, here)
    monkeypatch.chdir(here)
    namespace: dict = {"__name__": "__main__"}
    for kind, code in blocks:
        if kind == "python":
            exec(compile(code, f"{page.name}", "exec"), namespace)
        else:
            for line in code.splitlines():
                if line.startswith("$ motionloom "):
                    _run(line.removeprefix("$ motionloom "), page)
    shutil.rmtree(here)


def test_every_block_of_a_page_that_is_not_run_is_understood(monkeypatch, demo_folder):
    monkeypatch.chdir(demo_folder.path)  # for options that look whether a file is there
    for page in PAGES:
        for kind, code in BLOCK.findall(page.read_text(encoding="utf-8")):
            if kind == "python":
                compile(code, page.name, "exec")
                for word in re.findall(r"\bml\.(\w+)", code):
                    assert hasattr(ml, word), f"{page.name}: ml.{word}"
                continue
            for line in code.splitlines():
                if line.startswith("$ motionloom "):
                    command, *words = shlex.split(line, comments=True)[2:]
                    if not command.startswith("-"):  # such as --help
                        app.get_command(None, command).make_context(command, words)


def test_every_command_has_help_and_is_documented():
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    for command in COMMANDS:
        assert app.get_command(None, command).help, command
        assert f"motionloom {command}" in text, f"no page shows motionloom {command}"


def test_the_reference_of_commands_names_every_option():
    page = _generated()["reference/commands.md"]
    sections = dict(re.findall(r"^## motionloom (\S+)\n(.*?)(?=^## |\Z)", page, re.M | re.S))
    assert set(sections) == set(COMMANDS)
    for name in sections:
        for parameter in app.get_command(None, name).params:
            for option in () if getattr(parameter, "hidden", False) else parameter.opts:
                assert option.startswith("-") <= (option in sections[name]), f"{name} {option}"


def test_the_reference_of_python_has_every_public_name():
    text = "".join(_generated().values())
    for name in ml.__all__:
        value = getattr(ml, name)
        described = inspect.isclass(value) or inspect.isfunction(value)
        assert not described or f"## ml.{name}\n" in text, name


def test_pages_are_short():
    for page in PAGES[1:]:
        name = str(page.relative_to(ROOT / "docs"))
        if name.startswith(GENERATED):
            continue
        limit = MOST_WORDS_OF_A_GUIDE if name.startswith("guides/") else MOST_WORDS
        words = len(page.read_text(encoding="utf-8").split())
        assert words <= 1.1 * limit, f"{name} has {words} words, more than about {limit}"


def test_newcomers_find_every_task_within_two_clicks_from_readme():
    first = _linked(ROOT / "README.md")
    second = set().union(*(_linked(page) for page in first if page.suffix == ".md"))
    for task, page in TASKS.items():
        assert ROOT / page in first | second, f"{task}: {page}"


@pytest.mark.slow
def test_the_site_is_built_strictly_and_its_search_knows_the_words_of_each_job(tmp_path):
    pytest.importorskip("mkdocs")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path]
    subprocess.run(build, cwd=ROOT, check=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    index = json.loads((tmp_path / "search" / "search_index.json").read_text(encoding="utf-8"))
    pages: dict[str, str] = {}
    for entry in index["docs"]:
        page = entry["location"].partition("#")[0]
        pages[page] = f"{pages.get(page, '')} {entry['title']} {entry['text']}".lower()
    for job, words in WORDS.items():
        for word in words.split():
            pattern = re.compile(rf"\b{word}")
            assert any(
                pattern.search(text) for name, text in pages.items()
                if name.startswith(("tutorials/", "guides/"))
            ), f"{job}: no tutorial or guide has {word!r}"  # fmt: skip
        assert f"tutorials/{job}/" in pages


def test_every_picture_is_made_by_a_script():
    folder = ROOT / "docs" / "pictures"
    made_by = [*folder.glob("*.py"), *(ROOT / "reproduction").glob("*.py")]
    scripts = "\n".join(script.read_text(encoding="utf-8") for script in made_by)
    for picture in [*folder.glob("*.png"), *folder.glob("*.gif"), *folder.glob("*.svg")]:
        own = folder / f"{re.split('[-_]', picture.stem)[0]}.py"
        assert own.exists() or picture.name in scripts, picture.name


def test_scripts_of_pictures_import_what_exists():
    """They are run by hand; renamed modules and functions show here."""
    for script in (ROOT / "docs" / "pictures").glob("*.py"):
        for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("motionloom"):
                module = import_module(node.module)
                for name in (alias.name for alias in node.names):
                    there = hasattr(module, name) or find_spec(f"{node.module}.{name}")
                    assert there, f"{script.name}: {node.module} has no {name}"


def test_every_picture_is_on_a_page_and_in_the_gallery():
    gallery = (ROOT / "docs" / "start" / "gallery.md").read_text(encoding="utf-8")
    others = "".join(page.read_text(encoding="utf-8") for page in PAGES if page.stem != "gallery")
    folder = ROOT / "docs" / "pictures"
    for picture in [*folder.glob("*.png"), *folder.glob("*.gif"), *folder.glob("*.svg")]:
        assert f"/{picture.name})" in others, f"no page shows {picture.name}"
        several = picture.name.startswith(("papers-", "studio-"))  # their own pages show them all
        assert several or f"/{picture.name})" in gallery, f"the gallery lacks {picture.name}"


def test_every_page_has_its_place_in_the_navigation():
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in (*(str(page.relative_to(ROOT / "docs")) for page in PAGES[1:]), *_generated()):
        assert f" {page}\n" in nav, page


@pytest.mark.slow
@pytest.mark.cmu
def test_the_first_tutorial_can_be_followed_on_captured_takes(cmu30, tmp_path, monkeypatch):
    page = (ROOT / "docs" / "tutorials" / "aim.md").read_text(encoding="utf-8")
    for subject in ("086", "135", "144"):
        shutil.copytree(cmu30 / subject, tmp_path / "mocap" / subject)
    monkeypatch.chdir(tmp_path)
    for code in re.findall(r"^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        for line in code.splitlines():
            _run(line.removeprefix("motionloom "), Path("aim.md"))
    assert len(list((tmp_path / "kicks").glob("*.bvh"))) == 27
    kick = ml.Library("mocap.loom").parametric["kick"]
    assert kick.reach([0.3, 1.2, 0.9]).error < 0.01
    assert (tmp_path / "kick_here.glb").stat().st_size > 10_000


def test_every_public_name_can_be_reached():
    for name in ml.__all__:
        assert getattr(ml, name) is not None
    assert set(dir(ml)) == set(ml.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        ml.nonsense  # noqa: B018


def test_links_lead_somewhere():
    """Files, and headings in them; links to other sites by their form only."""
    folders = ("*.md", "docs/**/*.md", "blender/**/*.md")
    pages = [
        page for folder in folders for page in ROOT.glob(folder) if page.name != "CHANGELOG.md"
    ]
    for page in pages:
        for target in re.findall(r"\]\(([^)\s]+)\)", _prose(page)):
            where = f"{page.relative_to(ROOT)} links to {target}"
            if "://" in target:
                assert re.fullmatch(r"https?://[\w.-]+\.\w+(:\d+)?(/[^\s<>\"]*)?", target), where
                continue
            name, _, heading = target.partition("#")
            file = (page.parent / name).resolve() if name else page
            if str(file).removeprefix(f"{ROOT}/docs/") in _generated():
                continue
            assert file.exists() and file.is_relative_to(ROOT), where
            assert not heading or heading in _headings(file), where


@cache
def _headings(page):
    """Anchors of a page, as code hosts and MkDocs make them from its headings."""
    titles = re.findall(r"^#+ (.+)$", _prose(page), re.MULTILINE)
    return {
        re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", title.strip().lower())) for title in titles
    }


@cache
def _prose(page):
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


def _run(arguments, page):
    words = shlex.split(arguments, comments=True)
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, (
        f"{page.name}: motionloom {arguments}\n{result.output}\n{result.exception!r}"
    )


@cache
def _generated():
    """Pages that are built with the site, by path below docs."""
    spec = importlib.util.spec_from_file_location("reference", ROOT / "docs/reference_pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.pages()


def _linked(page):
    """Files that a page links to."""
    targets = re.findall(r"\]\(([^)\s]+)\)", _prose(page))
    return {(page.parent / target.partition("#")[0]).resolve() for target in targets}
