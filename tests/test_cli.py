"""The command line as a user meets it: output, errors, exit codes."""

import json
import re
import subprocess
import sys

import pytest
from commands import finished, ran

import motionloom as ml
from motionloom.cli import COMMANDS, JOBS


@pytest.fixture(scope="module")
def walk(tmp_path_factory):
    return ml.demo.clip("walk").save(tmp_path_factory.mktemp("cli") / "walk.bvh")


def test_help_loads_nothing_heavy():
    code = (
        "import sys; import motionloom.cli; "
        "print([m for m in ('numpy', 'numba', 'scipy', 'matplotlib', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
    assert "import" in finished("--help").stdout


def test_the_overview_has_the_jobs_in_order_and_every_command_in_a_whole_sentence():
    shown = ran("--help").stdout
    at = [shown.index(f"\n{job}: ") for job in JOBS]
    assert at == sorted(at)
    assert list(JOBS)[:7] == ["library", "find", "aim", "walk", "play", "dance", "script"]
    for _, commands in JOBS.values():
        for command, (_, sentence) in commands.items():
            assert re.search(rf"^  {command} +{re.escape(sentence)}$", shown, re.M), command
            assert re.fullmatch(r"[A-Z].*\.", sentence)
    assert max(map(len, shown.splitlines())) <= 80


def test_the_overview_imports_no_command():
    code = (
        "import sys; sys.argv = ['motionloom', '--help']; import atexit\n"
        "atexit.register(lambda: print('IMPORTED', [m for m in sys.modules if m.startswith("
        "'motionloom.') and not m.startswith(('motionloom.cli', 'motionloom.errors', "
        "'motionloom.lazy_names'))]))\n"
        "import motionloom.cli; motionloom.cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "IMPORTED []", done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_fits_a_screen(command):
    lines = ran(command, "--help").stdout.splitlines()
    assert 5 <= len(lines) <= 40, len(lines)
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if "Traceback" in line]


def test_the_help_of_a_search_imports_little():
    code = (
        "import sys; sys.argv = ['motionloom', 'search', '--help']; import atexit\n"
        "atexit.register(lambda: print('IMPORTED', 'numpy' in sys.modules, 'numba' in sys.modules, "
        "sum(m.startswith('motionloom') for m in sys.modules)))\n"
        "import motionloom.cli; motionloom.cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    _, numpy, numba, count = done.stdout.splitlines()[-1].split()
    assert (numpy, numba) == ("False", "False")
    assert int(count) < 60


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, motionloom; print('numba' in sys.modules, 'matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["False", "False"]


def test_the_package_runs_as_a_module():
    command = [sys.executable, "-m", "motionloom", "nosuch"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "motionloom: No such command 'nosuch'; see motionloom --help\n"


def test_info_of_a_library_lists_its_contents(walk, tmp_path):
    lib = ml.Library.create(tmp_path / "takes.loom")
    lib.add(walk)
    lib.labels["walk"] = ["gait"]
    answer = ran("info", lib.path)
    assert answer.returncode == 0, answer.stderr
    assert "walk" in answer.stdout
    assert "gait (1)" in answer.stdout
    facts = json.loads(ran("info", lib.path, "--json").stdout)
    (motion,) = facts["motions"]
    assert (motion["name"], motion["labels"]) == ("walk", ["gait"])
    assert motion["frames"] == facts["frames"] == len(lib["walk"])


def test_an_interruption_says_that_nothing_is_lost():
    code = (
        "import motionloom.cli as cli\n"
        "def interrupted(): raise KeyboardInterrupt\n"
        "cli.app.command('wait')(interrupted)\n"
        "cli.Commands.get_command = lambda self, ctx, name: self.commands[name]\n"
        "cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", code, "wait"], capture_output=True, text=True)
    assert done.returncode == 130
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr


def test_info_as_json_keeps_its_contract(walk):
    done = finished("info", walk, "--json")
    facts = json.loads(done.stdout)
    assert done.returncode == 0
    assert {
        "joints", "frames", "fps", "seconds", "unit_m", "height_m", "up", "facing",
        "tpose_frame", "roles", "missing_roles", "repairs", "warnings",
    } <= facts.keys()  # fmt: skip
    motion = ml.demo.clip("walk")
    assert (facts["frames"], facts["fps"]) == (len(motion), 30.0)
    assert facts["seconds"] == pytest.approx(motion.duration)
    assert 1.4 < facts["height_m"] < 2.1
    assert facts["up"] == "y"
    assert facts["facing"] == "+z"
    assert facts["roles"]["left_ankle"] == "LeftFoot"
    assert facts["missing_roles"] == []


def test_info_for_people_names_the_essentials(walk):
    text = ran("info", walk).stdout
    for word in ("30 fps", "cm", "left_ankle", "none"):
        assert word in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "nothing.bvh"], "nothing.bvh: No such file"),
        (["info", "broken.bvh"], "broken.bvh:1: this is not a BVH file: expected HIERARCHY"),
        (["info", "walk.bvh:5000-6000"], "the range must lie within the motion's"),
        (["info", "walk.bvh", "--unit", "furlong"], "unit must be one of"),
        (["info", "walk.bvh", "--up", "w"], "up must be one of"),
        (["info", "walk.doc"], "unknown suffix '.doc'"),
        (["import", "x.loom", "no-such-folder"], "no-such-folder"),
        (["show", "no.loom:walk"], "no.loom"),
        (["sheet", "no-such-folder"], "no-such-folder"),
        (["nonsense"], "nonsense"),
    ],
)
def test_wrong_input_ends_with_one_clear_line_and_code_2(walk, arguments, message):
    folder = walk.parent
    (folder / "broken.bvh").write_text("hello\n")
    (folder / "walk.doc").write_text("")
    run = finished if message == "nonsense" else ran  # in a process of its own, and in this one
    done = run(*arguments, cwd=folder)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_ranges_are_given_in_frames_or_seconds(walk):
    in_frames = json.loads(ran("info", f"{walk}:30-60", "--json").stdout)
    in_seconds = json.loads(ran("info", f"{walk}:1s-2s", "--json").stdout)
    assert in_frames["frames"] == in_seconds["frames"] == 30


def test_prints_its_version():
    assert ran("--version").stdout.strip() == f"motionloom {ml.__version__}"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["search"], "Missing argument 'LIB'; see motionloom search --help"),
        (["frobnicate"], "No such command 'frobnicate'; see motionloom --help"),
        (["search", "x", "y", "--wrong"], "No such option: --wrong"),
        (["cluster", "--workers", "none"], "workers must be a whole number; got 'none'"),
    ],
)
def test_a_wrong_command_line_ends_with_one_line(arguments, words, monkeypatch, capsys):
    from motionloom.cli import main

    monkeypatch.setattr("sys.argv", ["motionloom", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    said = capsys.readouterr().err
    assert stop.value.code == 2
    assert said.count("\n") == 1
    assert words in said


def test_without_a_command_the_help_is_shown(monkeypatch, capsys):
    from motionloom.cli import main

    monkeypatch.setattr("sys.argv", ["motionloom"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert not stop.value.code
    assert "Usage: motionloom" in capsys.readouterr().out
