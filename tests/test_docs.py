"""Every block of code in README and docs runs; every command is in the reference."""

import ast
import inspect
import re
import shlex
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
# Tutorials repeat commands of the guides on more data; these guides take longest. By default their
# code is compiled and their commands are parsed.
SLOW = {
    f"docs/{name}.md"
    for name in (
        "tutorials/kick",
        "tutorials/parametrize",
        "tutorials/endless",
        "tutorials/words",
        "tutorials/controller",
        "tutorials/characters",
        "tutorials/blender",
        "tutorials/dance",
        "tutorials/find",
        "tutorials/cut",
        "tutorials/body",
        "crowds",
        "motion-matching",
        "pictures",
        "fat-graphs",
        "motion-graphs",
        "dance",
    )  # fmt: skip
}
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="session")
def workplace(tmp_path_factory):
    """What the pages assume a reader has: some takes, a library, nothing else."""
    folder = tmp_path_factory.mktemp("reader")
    for action in ("walk", "kick_front_high_right"):
        for performer in (0, 1):
            motion = ml.demo.clip(action, performer=performer)
            target = folder / "takes" / action.split("_")[0]
            target.mkdir(parents=True, exist_ok=True)
            name = action.split("_")[0] + ("" if performer == 0 else f"_{performer}")
            motion.save(target / f"{name}.bvh")
    ml.demo.clip("walk").save(folder / "walk.bvh")
    ml.demo.clip("kick_front_high_right").save(folder / "kick.bvh")
    lib = ml.Library.create(folder / "demo.loom")
    lib.add(folder / "takes", labels="folder")
    lib.add_motion(ml.demo.clip("walk"), name="walk_p0", labels=["walk"])
    return folder


def _cases():
    for page in PAGES:
        name = str(page.relative_to(ROOT))
        yield pytest.param(page, id=name, marks=[pytest.mark.slow] * (name in SLOW))


@pytest.mark.parametrize("page", list(_cases()))
def test_every_block_on_the_page_runs(page, workplace, tmp_path, monkeypatch):
    for item in workplace.iterdir():
        target = tmp_path / item.name
        if item.is_dir():
            _copy_tree(item, target)
        else:
            target.write_bytes(item.read_bytes())
    monkeypatch.chdir(tmp_path)
    namespace: dict = {"__name__": "__main__"}
    for kind, code in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            exec(compile(code, f"{page.name}", "exec"), namespace)
        else:
            for line in code.splitlines():
                if line.startswith("$ motionloom "):
                    _run(line.removeprefix("$ motionloom "), page)


def test_every_block_of_a_page_that_is_not_run_is_understood(monkeypatch, workplace):
    monkeypatch.chdir(workplace)  # for options that look whether a file is there
    for name in SLOW:
        for kind, code in BLOCK.findall((ROOT / name).read_text(encoding="utf-8")):
            if kind == "python":
                compile(code, name, "exec")
                for word in re.findall(r"\bml\.(\w+)", code):
                    assert hasattr(ml, word), f"{name}: ml.{word}"
                continue
            for line in code.splitlines():
                if line.startswith("$ motionloom "):
                    command, *words = shlex.split(line, comments=True)[2:]
                    app.get_command(None, command).make_context(command, words)


def test_every_command_has_help_and_is_documented():
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    for command in COMMANDS:
        assert app.get_command(None, command).help, command
        assert f"motionloom {command}" in text, f"no page shows motionloom {command}"


def test_the_reference_of_commands_names_every_option():
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## motionloom (\S+)\n(.*?)(?=^## |\Z)", page, re.M | re.S))
    hint = "run: .venv/bin/python docs/make_commands.py"
    assert set(sections) == set(COMMANDS), hint
    for name in sections:
        for parameter in app.get_command(None, name).params:
            for option in () if getattr(parameter, "hidden", False) else parameter.opts:
                assert option.startswith("-") <= (option in sections[name]), (
                    f"{name} {option}: {hint}"
                )


def test_the_reference_of_python_has_every_public_name():
    def names(page):
        return set(re.findall(r"^(?:#+ \S+|\| `\w+`)", page, re.MULTILINE))

    made = _script("make_api").page()
    kept = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert names(kept) == names(made), "run: .venv/bin/python docs/make_api.py"
    for name in ml.__all__:
        described = inspect.isclass(getattr(ml, name)) or inspect.isfunction(getattr(ml, name))
        assert not described or f"## ml.{name}\n" in kept, name


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
                for name in (one.name for one in node.names):
                    there = hasattr(module, name) or find_spec(f"{node.module}.{name}")
                    assert there, f"{script.name}: {node.module} has no {name}"


def test_every_picture_is_on_a_page_and_in_the_gallery():
    gallery = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    others = "".join(page.read_text(encoding="utf-8") for page in PAGES if page.stem != "gallery")
    folder = ROOT / "docs" / "pictures"
    for picture in [*folder.glob("*.png"), *folder.glob("*.gif"), *folder.glob("*.svg")]:
        assert f"/{picture.name})" in others, f"no page shows {picture.name}"
        several = picture.name.startswith(("papers-", "studio-"))  # their own pages show them all
        assert several or f"/{picture.name})" in gallery, f"docs/gallery.md lacks {picture.name}"


def test_every_page_has_its_place_in_the_navigation():
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        assert f" {page.relative_to(ROOT / 'docs')}\n" in nav, page.name


@pytest.mark.slow
@pytest.mark.cmu
def test_the_first_tutorial_can_be_followed_on_captured_takes(cmu30, tmp_path, monkeypatch):
    page = (ROOT / "docs" / "tutorials" / "kick.md").read_text(encoding="utf-8")
    for subject in ("086", "135", "144"):
        _copy_tree(cmu30 / subject, tmp_path / "mocap" / subject)
    monkeypatch.chdir(tmp_path)
    own = re.compile(r"take_|synthesize|show kick")
    for kind, code in re.findall(r"^```(console|sh)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        for line in code.splitlines():
            if kind == "sh" or not own.search(line):
                _run(line.removeprefix("$ ").removeprefix("motionloom "), Path("kick.md"))
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


def test_every_page_is_reachable_from_the_readme():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert f"docs/{page.name}" in readme or page.name == "index.md", page.name


def test_links_lead_somewhere():
    """Files, and headings in them; what is outside the repository by its form only."""
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


def _script(name):
    import importlib.util

    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _copy_tree(source, target):
    import shutil

    shutil.copytree(source, target)
