"""Packaging: versions, containers, recipe, workflow, tables of dependencies."""

import importlib.util
import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest

import motionloom
from motionloom.cli import COMMANDS, app

yaml = pytest.importorskip("yaml")
requirement = pytest.importorskip("packaging.requirements").Requirement

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT, BUILD = SETTINGS["project"], SETTINGS["build-system"]["requires"]
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
EXTRAS = {
    name for name in PROJECT["optional-dependencies"] if name not in ("test", "lint", "dev", "docs")
}


def script(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def instructions():
    """(word, rest) of each instruction of the Dockerfile, continued lines joined."""
    text = re.sub(r"^\s*#.*\n", "", DOCKERFILE, flags=re.M).replace("\\\n", " ")
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


def last(word):
    return json.loads([rest for instruction, rest in instructions() if instruction == word][-1])


def options_of(command):
    return {
        option
        for parameter in app.get_command(None, command).params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }


def unknown_words(words):
    """Words of a motionloom or Dask command line that the command does not accept."""
    program, command, *rest = words
    if program == "motionloom":
        options = options_of(command) if command in COMMANDS else None
    elif program == "dask":
        group = pytest.importorskip("dask.cli").cli
        module = importlib.import_module(f"distributed.cli.dask_{command}")
        options = {o for p in module.main.params for o in (*p.opts, *p.secondary_opts)}
        assert group is not None
    else:
        options = None
    if options is None:
        return [program, command]
    return [word for word in rest if word.startswith("-") and word not in options]


def test_one_version_everywhere():
    version = motionloom.__version__
    manifest = tomllib.loads((ROOT / "blender" / "blender_manifest.toml").read_text("utf-8"))
    recipe = yaml.safe_load((ROOT / "packaging" / "conda" / "recipe.yaml").read_text("utf-8"))
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert manifest["version"] == version
    assert recipe["context"]["version"] == version
    assert citation["version"] == version
    assert COMPOSE["x-motionloom"]["image"] == f"motionloom:{version}"
    assert f"## {version} (" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_the_image_runs_commands_that_exist_and_not_as_root():
    assert unknown_words([*last("ENTRYPOINT"), *last("CMD")]) == []
    bases = [rest.split()[0] for word, rest in instructions() if word == "FROM"]
    assert all(re.fullmatch(r"python:3\.[\d.]+-slim-\w+@sha256:[0-9a-f]{64}", b) for b in bases)
    assert len(set(bases)) == 1
    words = [word for word, _ in instructions()]
    assert words.index("USER") < words.index("ENTRYPOINT")
    assert [rest for word, rest in instructions() if word == "USER"] == ["1000"]
    assert "HEALTHCHECK" in words


def test_every_package_of_the_image_has_a_hash():
    """And the lock has all packages of motionloom and its extras, in versions that it accepts."""
    installs = [line for line in DOCKERFILE.splitlines() if "pip install" in line]
    assert all("--require-hashes" in line or "--no-index" in line for line in installs)
    locked = {}
    for name in ("requirements", "build"):
        text = (ROOT / "packaging" / "image" / f"{name}.txt").read_text("utf-8")
        for block in re.split(r"\n(?=[a-z])", text):
            package, version = re.match(r"([\w.-]+)==([^ ;]+)", block).groups()
            assert re.search(r"--hash=sha256:[0-9a-f]{64}", block), package
            locked[package] = version
    extras = ("audio", "cluster", "fbx", "studio", "usd")
    assert set(extras) <= EXTRAS
    lines = [*PROJECT["dependencies"], *BUILD]
    for extra in extras:
        lines += PROJECT["optional-dependencies"][extra]
    for wanted in map(requirement, lines):
        assert wanted.specifier.contains(locked[wanted.name]), wanted.name


@pytest.mark.parametrize("workflow", ["ci", "release"])
def test_actions_are_named_by_their_commits(workflow):
    text = (ROOT / ".github" / "workflows" / f"{workflow}.yml").read_text("utf-8")
    used = re.findall(r"uses: (\S+)(.*)", text)
    assert used and all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", name) for name, _ in used)
    assert all(re.fullmatch(r" # v\d+\.\d+\.\d+", version) for _, version in used)


def test_a_release_is_attested_and_only_its_jobs_may_sign():
    flow = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8"))
    assert flow["permissions"] == {}
    build, publish = flow["jobs"]["build"], flow["jobs"]["publish"]
    assert build["permissions"]["attestations"] == "write"
    assert any("attest-build-provenance" in step.get("uses", "") for step in build["steps"])
    assert publish["permissions"] == {"id-token": "write"} and publish["environment"] == "pypi"
    assert not any("secrets." in json.dumps(job) for job in flow["jobs"].values())


def test_containers_have_limits():
    for service in COMPOSE["services"].values():
        assert {"mem_limit", "memswap_limit", "cpus", "pids_limit", "logging"} <= set(service)


def test_the_bill_of_materials_and_the_tests_have_all_extras():
    target = re.search(r"^sbom:.*?\n\n", (ROOT / "Makefile").read_text("utf-8"), re.M | re.S)[0]
    assert set(re.search(r'"\.\[(.+?)\]"', target)[1].split(",")) == EXTRAS
    tested = requirement(PROJECT["optional-dependencies"]["test"][0]).extras
    assert tested == EXTRAS - {"robot"}  # comparisons with other programs; its tests are slow


def test_the_check_of_health_is_valid_python():
    check = next(rest for word, rest in instructions() if word == "HEALTHCHECK")
    program, option, code = json.loads(check[check.index("[") :])
    assert [program, option] == ["python", "-c"]
    compile(code, "healthcheck", "exec")


def test_the_image_is_built_from_files_that_exist():
    kept = [
        line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"
    ]
    assert all((ROOT / name).exists() for name in kept)
    needed = {"pyproject.toml", "hatch_build.py", "build_page.py", PROJECT["readme"], "LICENSE"}
    assert needed <= set(kept)


@pytest.mark.parametrize("service", COMPOSE["services"])
def test_services_run_commands_that_exist(service):
    described = COMPOSE["services"][service]
    entry = described.get("entrypoint", last("ENTRYPOINT"))
    assert unknown_words([*entry, *described["command"]]) == []


def test_nothing_but_the_studio_is_published_and_that_on_this_machine_with_a_token():
    services = COMPOSE["services"]
    assert {name: service["ports"] for name, service in services.items() if "ports" in service} == {
        "studio": ["127.0.0.1:8765:8765"]
    }
    token = services["studio"]["environment"]["MOTIONLOOM_TOKEN"]
    assert token.startswith("${MOTIONLOOM_TOKEN:?")  # compose refuses to start without it
    mounted = {
        volume.split(":")[0] for service in services.values() for volume in service["volumes"]
    }
    assert mounted == set(COMPOSE["volumes"])


def test_a_wrong_command_would_be_seen():
    assert unknown_words(["motionloom", "studio", "a.loom", "--prot", "1"]) == ["--prot"]
    assert unknown_words(["motionloom", "stduio"]) == ["motionloom", "stduio"]


def test_the_workflow_runs_what_exists():
    flows = [
        yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text("utf-8"))
        for name in ("release.yml", "ci.yml")
    ]
    steps = [step for flow in flows for job in flow["jobs"].values() for step in job["steps"]]
    runs, flow = [step["run"] for step in steps if "run" in step], flows[-1]
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), flags=re.M)
    for words in map(shlex.split, runs):
        if words[0] == "make":
            assert set(words[1:]) <= set(targets)
        elif words[0] == "motionloom":
            assert unknown_words(words) == []
        elif words[0].startswith("."):
            assert (ROOT / words[0]).is_file()
    tried = {line.rpartition(" ")[2] for line in PROJECT["classifiers"] if ":: 3." in line}
    matrix = flow["jobs"]["pythons"]["strategy"]["matrix"]["python"]
    assert tried == {*matrix, flow["jobs"]["checks"]["steps"][1]["with"]["python-version"]}


def test_the_recipe_has_the_dependencies_of_the_package():
    recipe = yaml.safe_load((ROOT / "packaging" / "conda" / "recipe.yaml").read_text("utf-8"))
    run = [line.replace("matplotlib-base", "matplotlib") for line in recipe["requirements"]["run"]]
    wanted = {str(requirement(line)) for line in PROJECT["dependencies"]}
    assert wanted <= {str(requirement(line)) for line in run if "$" not in line}


def test_every_dependency_is_listed_with_range_and_license():
    page = (ROOT / "docs" / "reference" / "licenses.md").read_text("utf-8")
    lines = [*PROJECT["dependencies"], *sum(PROJECT["optional-dependencies"].values(), [])]
    for dependency in map(requirement, lines):
        if dependency.name != "motionloom":
            row = re.search(
                rf"^\| {re.escape(dependency.name)} \| (.*?) \| .* \| (.+) \|$", page, re.M
            )
            assert row, f"{dependency.name}: run docs/make_dependencies.py"
            assert row[1] == str(dependency.specifier)
            assert row[2] != "see its page", dependency.name
    packages = json.loads((ROOT / "studio" / "package.json").read_text("utf-8"))
    for name, versions in {**packages["dependencies"], **packages["devDependencies"]}.items():
        assert re.search(
            rf"^\| {re.escape(name)} \| {re.escape(versions)} \| .+ \|$", page, re.M
        ), name


def test_every_extra_is_explained_with_its_size():
    page = (ROOT / "docs" / "start" / "install.md").read_text("utf-8")
    purposes = script(ROOT / "docs" / "make_dependencies.py").PURPOSES
    assert set(purposes) == set(PROJECT["optional-dependencies"])
    for name, purpose in purposes.items():
        assert re.search(rf"^\| `{name}` \| {re.escape(purpose)} \| \d+ \| [\d.]+ \|$", page, re.M)
    assert float(re.search(r"\*\*(\d+) MB\*\*", page)[1]) < LIGHT


LIGHT = 500  # MB of an installation without extras: a limit to notice a new heavy dependency
