"""Commands made from functions: options of settings, presets, help."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import click
import pytest
from commands import invoked, ran

from motionloom.cli import COMMANDS, app
from motionloom.cli.command import Argument, Command, Fields, Option, Part, command, settings_of
from motionloom.cli.help import command_help
from motionloom.errors import InvalidInput
from motionloom.evaluation.settings import EvaluateSettings
from motionloom.search.settings import FamilySettings, SearchSettings
from motionloom.settings import Names, Settings, described, name_of, preset, presets_of, setting

GOT: list[Any] = []


@dataclass(frozen=True, kw_only=True)
class Near(Settings):
    """A method."""

    NAME = "near"

    k: int = setting(8, "Neighbors. More are slower.", least=1)


@dataclass(frozen=True, kw_only=True)
class Far(Settings):
    """Another."""

    NAME = "far"

    reach: float = setting(2.0, "How far.", unit="m")


@dataclass(frozen=True, kw_only=True)
class Other(Settings):
    """Settings that share a field with others."""

    seed: int = setting(0, "Seed.")
    max: int = setting(3, "At most.")


@dataclass(frozen=True, kw_only=True)
class Extra(Settings):
    """A group."""

    tiers: int | str = setting("all", "Rounds.")
    lengths: tuple[float, float] = setting((0.5, 2.0), "Least and greatest.", expert=True)


@dataclass(frozen=True, kw_only=True)
class Verb(Settings):
    """Settings with everything that there is."""

    method: Near | Far = setting(Near(), "How.", methods={"near": Near, "far": Far})
    max: int | None = setting(10, "At most.", metavar="N")
    smooth: bool = setting(True, "Smooth it.")
    mirror: bool = setting(False, "Mirror it.")
    label: Names = setting(None, "Labels.", metavar="LABEL")
    only: Names = setting(None, "Names.", commas=True)
    unit: str | float | None = setting(None, "Unit.")
    hidden: int = setting(1, "Only in Python.", command=False)
    extra: Extra = setting(Extra(tiers=1), "Extras.")

    @preset
    def old(cls) -> Verb:
        """A paper."""
        return cls(method=Far(reach=9.0), max=99, smooth=False, extra=Extra(tiers=5))


def verb(
    place: Annotated[Path, Argument("Where.", metavar="LIB")],
    settings: Verb,
    *,
    output: Annotated[Path | None, Option("Where to.", "-o --output", metavar="FILE")] = None,
    count: Annotated[list[int] | None, Option("Counts.", min=1)] = None,
    json: Annotated[bool, Option("Print JSON.")] = False,
) -> None:
    """Do it.

    And how.

    And why.
    """
    GOT[:] = [place, settings, output, count, json]


def typed(*words) -> Verb:
    invoked(command("verb", verb), "here", *words)
    return GOT[1]


def test_without_options_settings_are_the_defaults():
    assert typed() == Verb()
    assert GOT[0] == Path("here") and GOT[2:] == [None, None, False]


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        (["--max", "3"], Verb(max=3)),
        (["--k", "64"], Verb(method=Near(k=64))),
        (["--method", "far"], Verb(method="far")),
        (["--method=far", "--reach", "1"], Verb(method=Far(reach=1.0))),
        (["--no-smooth", "--mirror"], Verb(smooth=False, mirror=True)),
        (["--smooth", "--no-mirror"], Verb()),
        (["--label", "a", "--label", "b,c"], Verb(label=("a", "b,c"))),
        (["--only", "a, b", "--only", "c"], Verb(only=("a", "b", "c"))),
        (["--unit", "cm"], Verb(unit="cm")),
        (["--unit", "0.01"], Verb(unit=0.01)),
        (["--tiers", "all", "--lengths", "1,inf"], Verb(extra=Extra(lengths=(1, float("inf"))))),
        (["--preset", "old"], Verb.old()),
        (["--preset", "old", "--max", "10"], Verb.old(max=10)),
        (["--preset", "old", "--smooth"], Verb.old(smooth=True)),
        (["--preset", "old", "--tiers", "1"], Verb.old(tiers=1)),
        (["--preset", "old", "--method", "far"], Verb.old()),
        (["--preset", "old", "--method", "near"], Verb.old(method="near")),
        (["--preset", "old", "--reach", "2"], Verb.old(reach=2.0)),
    ],
)
def test_typed_options_become_settings(words, settings):
    assert typed(*words) == settings


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--k", "0"], "k must be at least 1; got 0"),
        (["--k", "few"], "k must be a whole number; got 'few'"),
        (["--reach", "1"], "reach is not an option of method near, whose options are k"),
        (["--method", "none"], "method must be one of near, far; got 'none'"),
        (["--preset", "new"], "preset must be one of old; got 'new'"),
        (["--lengths", "1"], "lengths must be two numbers; got"),
    ],
)
def test_mistakes_are_explained(words, message):
    with pytest.raises(InvalidInput, match=message):
        typed(*words)


def test_own_options_have_types_and_limits():
    typed("-o", "a.png", "--count", "2", "--count", "3", "--json")
    assert GOT[2:] == [Path("a.png"), [2, 3], True]
    assert "0 is not in the range" in invoked(command("verb", verb), "x", "--count", "0").output


def shown(made: Command, chosen=None, *, complete=False) -> str:
    return command_help(made, "motionloom verb", chosen or {}, complete=complete)


def test_the_short_help_has_what_most_people_need():
    text = shown(command("verb", verb))
    assert text.startswith(
        "Usage: motionloom verb [OPTIONS] LIB\n\n  Do it.\n\n  And how.\n\n  LIB  W"
    )
    for part in ("--method near|far", "--max N", "--smooth/--no-smooth", "  --mirror  ", "[on]"):
        assert part in text
    for part in ("And why", "--k", "--reach", "--tiers", "--lengths", "--hidden", "--no-mirror"):
        assert part not in text
    assert "--method NAME --help  Also show the options of near, far." in text
    assert "--preset old" in text


def test_the_help_with_a_method_adds_its_options():
    done = invoked(command("verb", verb), "--method", "far", "--help")
    assert done.exit_code == 0
    assert "With --method far:\n  --reach X  How far (m). [2]" in done.output
    assert "--k" not in done.output


def test_the_complete_help_has_everything_with_its_default():
    text = invoked(command("verb", verb), "--help-all").output
    assert "And why." in text
    assert "With --method near:\n  --k N  Neighbors. More are slower. [8]" in text
    assert "Extras:\n  --tiers N             Rounds. [1]\n  --lengths LEAST,MOST" in text
    assert "[0.5,2]" in text


def test_fields_choose_what_a_command_has():
    def two(
        first: Annotated[Verb, Fields(show=("tiers",), hide=("max",), without=("label",))],
        second: Annotated[dict, Other],
        third: Far,
    ) -> None:
        """Do both."""
        GOT[:] = [first, second, third]

    made = command("two", two)
    text = shown(made)
    assert "--tiers" in text and "--max" not in text and "--label" not in text
    invoked(made, "--seed", "0", "--max", "4", "--reach", "1", "--method", "far")
    assert GOT == [Verb(max=4, method=Far(reach=1.0)), {"seed": 0, "max": 4}, Far(reach=1.0)]
    invoked(made)
    assert GOT == [Verb(), {}, Far()]


def test_typed_options_can_be_received_alone():
    def one(given: Annotated[dict, Verb]) -> None:
        """Do it."""
        GOT[:] = [given]

    made = command("one", one)
    invoked(made, "--preset", "old", "--max", "10", "--mirror")
    assert GOT == [{"preset": "old", "max": 10, "mirror": True}]
    assert settings_of(Verb, GOT[0]) == Verb.old(max=10, mirror=True)
    assert settings_of(Verb, {}) == Verb()


def parts() -> list[tuple[str, str, Part]]:
    """Command, parameter and settings of every command."""
    rows = []
    for name in COMMANDS:
        made = app.get_command(None, name)
        rows += [(name, key, part) for key, part in made.parts.items()]
    return rows


PARTS = parts()


def text_of(value: Any) -> str | None:
    """A default as it is typed; None if it cannot be."""
    if value is None or isinstance(value, bool) or value == () or isinstance(value, dict):
        return None
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return name_of(value) or str(value)


@pytest.mark.parametrize(
    ("name", "part", "paper"),
    [
        (name, part, paper)
        for name, _, part in PARTS
        if part.fields.preset
        for paper in presets_of(part.cls)
    ],
    ids=lambda case: case if isinstance(case, str) else case.cls.__name__,
)
def test_typed_options_override_a_preset_even_if_they_are_defaults(name, part, paper):
    """``--preset X --option DEFAULT`` for every option of the class."""
    start = part.cls.from_preset(paper)
    checked = 0
    for flat in part.options():
        about = described(flat.cls)[flat.name][1]
        if not about.command or flat.name in part.fields.without:
            continue
        chosen = {flat.method[0][2:]: flat.method[1]} if flat.method else {}
        words: Any = flat.default if isinstance(flat.default, bool) else text_of(flat.default)
        if words is None:
            continue
        if about.commas:
            words = (words,)
        made = part.values({**chosen, flat.name: words}, paper)
        if part.only_typed:
            made = settings_of(part.cls, made)
        got = flat_values(made)
        expected = type(flat.default)() if about.methods else flat.default
        if about.methods and name_of(flat.default) == name_of(getattr(start, flat.name)):
            continue  # the method of the preset by its name: its values stay
        assert got[flat.name] == expected, flat.name
        checked += 1
    assert checked or part.cls is EvaluateSettings  # all its defaults are None


def flat_values(settings: Settings) -> dict[str, Any]:
    values = {each.name: getattr(settings, each.name) for each in fields(settings)}
    for value in list(values.values()):
        if isinstance(value, Settings):
            values = {**flat_values(value), **values}
    return values


def test_a_search_with_a_preset_does_not_expand_on_request():
    (part,) = [part for name, _, part in PARTS if name == "search"]
    assert part.values({}, "kg04") == SearchSettings.kg04()
    assert part.values({"tiers": "1"}, "kg04").expansion.tiers == 1
    assert SearchSettings.kg04().expansion.tiers != 1


@pytest.mark.parametrize(
    ("name", "part"),
    [(name, part) for name, _, part in PARTS],
    ids=lambda case: case if isinstance(case, str) else case.cls.__name__,
)
def test_every_field_is_an_option_and_in_the_complete_help(name, part):
    made = app.get_command(None, name)
    available = {option for parameter in made.params for option in parameter.opts}
    text = ran(name, "--help-all").stdout
    for flat in part.options():
        about = described(flat.cls)[flat.name][1]
        if about.command and flat.name not in part.fields.without:
            option = about.option or f"--{flat.name.replace('_', '-')}"
            assert option in available
            assert f" {option}" in text, option


def test_settings_are_the_options_of_some_command():
    """Fields of every class that a command uses, except those it drops."""
    left_out = {(name, key) for name, _, part in PARTS for key in part.fields.without}
    assert left_out == {("dance", "kind"), ("dance", "seed")}  # it has both with another meaning
    assert FamilySettings in {part.cls for _, _, part in PARTS}


def test_options_of_one_name_are_one_option():
    """An option of two settings classes: ``--align`` is for choreography and dance."""
    made = app.get_command(None, "dance")
    names = [option for parameter in made.params for option in parameter.opts]
    assert len(names) == len(set(names))
    by_class = {part.cls.__name__: part for name, _, part in PARTS if name == "dance"}
    for part in by_class.values():
        values = flat_values(part.values({"align": "beats"}, None))
        assert values["align"] == "beats"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_explained(name):
    for row in app.get_command(None, name).rows:
        if isinstance(row.parameter, click.Option):
            assert row.help and row.help[0].isascii(), row.parameter.opts


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two cores")
@pytest.mark.parametrize("chosen", [None, "2"])
def test_commands_use_one_thread_for_small_matrices_unless_the_user_chose_a_number(chosen):
    code = (
        "import os, sys; from motionloom.cli import main; sys.argv[1:] = ['info', 'nosuch.bvh']\n"
        "try: main()\nexcept SystemExit: pass\nassert 'numpy' in sys.modules\n"
        "from threadpoolctl import threadpool_info as info; import numpy\n"
        "print(max(pool['num_threads'] for pool in info() if pool['user_api'] == 'blas'))"
    )
    unset = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"}
    usual = {name: text for name, text in os.environ.items() if name not in unset}
    given = {} if chosen is None else {"OPENBLAS_NUM_THREADS": chosen}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**usual, **given}, capture_output=True, text=True
    )
    assert done.stdout.strip() == (chosen or "1"), done.stderr
