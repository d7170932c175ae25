"""The command line: one module per group of verbs; each command parses, calls and prints.

Every command that yields data takes ``--json`` and then prints nothing else on standard
output. Progress and remarks go to standard error. A wrong input ends with one clear line
and exit code 2. Only the module of the command that runs is imported, and command modules import
the heavy parts inside their functions, so that a command starts at once.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from motionloom.cli.terminal import PlainOutput, did_you_mean, plain_text
from motionloom.cli.wording import use_options, worded
from motionloom.errors import InvalidInput, MotionloomError

# Groups of the help: command -> its module, and the name of its function where that differs.
GROUPS: dict[str, dict[str, str]] = {
    "Files": {
        "info": "files.info",
        "doctor": "files.doctor",
        "clean": "files.clean",
        "convert": "files.convert",
        "show": "files.pictures",
    },
    "Library": {
        "import": "library:import_",
        "export": "library",
        "sheet": "files.pictures",
        "label": "library",
        "find": "library",
        "clusters": "library",
        "undo": "library",
        "verify": "trust",
        "trust": "trust",
        "studio": "library",
    },
    "Search": {"search": "search", "family": "search", "web": "search"},
    "Synthesis": {
        "parametrize": "synthesis.parametric",
        "synthesize": "synthesis.parametric",
        "graph": "synthesis.graph",
        "walk": "synthesis.graph",
        "fat-graph": "synthesis.fat_graph",
        "match": "synthesis.matching",
        "reconstruct": "synthesis.reconstruct",
        "act": "synthesis.acting",
    },
    "Dance": {
        "beats": "dancing.beats",
        "movements": "dancing.beats",
        "dance": "dancing.dance",
        "ballroom": "dancing.crowd",
        "march": "dancing.crowd",
        "dancefloor": "dancing.crowd",
    },
    "Evaluation": {
        "evaluate": "evaluation",
        "evaluate-reconstruct": "synthesis.reconstruct",
        "evaluate-captions": "evaluation",
        "evaluate-sentences": "evaluation",
        "study": "evaluation",
    },
    "Tools": {"demo": "demo", "cluster": "cluster", "warm-up": "demo"},
}
COMMANDS = {name: place for group in GROUPS.values() for name, place in group.items()}
# Those that take --cluster.
PARALLEL = {
    "import", "search", "family", "web", "graph", "reconstruct", "evaluate",
    "evaluate-reconstruct", "study",
}  # fmt: skip


def command_function(name: str) -> Callable[..., None]:
    """The function of a command; imports its module."""
    module, _, function = COMMANDS[name].partition(":")
    command = getattr(import_module(f"motionloom.cli.{module}"), function or name.replace("-", "_"))
    if name in PARALLEL:
        from motionloom.cli.cluster import on_clusters

        return on_clusters(command)
    return command


class _PlainValues:
    """Conversion of typed words where there is nothing to convert or check.

    Typer converts every value by Pydantic, whose import takes as long as reading a small file.
    """

    def coerce(self, value: Any, *, param: Any, ctx: Any) -> Any:
        """The value of a parameter, by Typer where it is not a word or a default."""
        described = param.type_descriptor
        kind, several = described.annotation, param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        if kind in (list[str], list[Path]) and several and not isinstance(value, str):
            return [Path(each) for each in value] if kind == list[Path] else list(value)
        if kind in (str, int, float, bool) and isinstance(value, kind):
            return value
        if kind is Path and isinstance(value, str | Path):
            return Path(value)
        if kind is str and isinstance(value, int | float):  # a default that may also be a word
            return str(value)
        from typer._coercion import build_runtime_param

        return build_runtime_param(described).coerce(value, param=param, ctx=ctx)


class _PlainParameters:
    """Of a command: its parameters convert their values by `_PlainValues`."""

    def get_params(self, ctx) -> list:
        """All parameters, also ``--help``."""
        parameters = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "_runtime_param", self) is None:
                parameter._runtime_param = _PlainValues()
        return parameters


class _Command(_PlainParameters, TyperCommand):
    def invoke(self, ctx) -> Any:
        """Run the command; messages are worded by its options."""
        use_options(self.get_params(ctx))
        return super().invoke(ctx)


class GroupedCommands(_PlainParameters, TyperGroup):
    """Commands in groups, each imported when it is called."""

    def list_commands(self, ctx) -> list[str]:
        """Names of all commands, those of `GROUPS` first."""
        return [*COMMANDS, *super().list_commands(ctx)]

    def get_command(self, ctx, name: str):
        """A command, built from its function."""
        if name in COMMANDS and name not in self.commands:
            single = typer.Typer(
                add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
            )
            single.command(name, cls=_Command, context_settings=_HELP)(command_function(name))
            self.add_command(typer.main.get_command(single), name)
        return super().get_command(ctx, name)

    def format_commands(self, ctx, formatter) -> None:
        """Write one section per group, each command with the first line of its help, wrapped."""
        for title, names in GROUPS.items():
            rows = [
                (name, (command_function(name).__doc__ or "").strip().partition("\n")[0])
                for name in names
            ]
            with formatter.section(title):
                formatter.write_dl(rows)


_HELP = {"help_option_names": ["-h", "--help"]}
app = typer.Typer(
    name="motionloom",
    cls=GroupedCommands,
    help="Find, cut, blend, recombine and set to music what is in a folder of motion capture.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings=_HELP,
)


@app.command("bench", hidden=True)
def _bench(name: str = typer.Argument("NAME")) -> None:
    """Tell where the benchmarks of release 0.1 are now."""
    raise InvalidInput(
        f"the benchmarks have left the installed package; in a clone of the repository, run: "
        f"python -m benchmarks {name}"
    )


@app.callback(invoke_without_command=True)
def _version(
    version: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    if version:
        from motionloom import __version__

        print(f"motionloom {__version__}")
        raise typer.Exit


# The class of all wrong command lines; Typer exports its children, wherever it keeps it.
_UsageError: type[Any] = typer.BadParameter.__mro__[1]


def main() -> None:
    """Entry point: run a command; errors raised on purpose become one line and code 2."""
    # Collecting the modules of Numba and SciPy as garbage, above all when the interpreter ends,
    # is a third of the processor time of a search. Files are closed before that.
    gc.set_threshold(300_000, 10, 10)
    atexit.register(gc.freeze)
    try:
        with redirect_stdout(PlainOutput(sys.stdout)):
            code = app(sys.argv[1:] or ["--help"], prog_name="motionloom", standalone_mode=False)
        if code == 130:  # how Typer passes on Ctrl-C, without a word
            print(
                "interrupted; nothing is half-written, run the same command to go on",
                file=sys.stderr,
            )
        sys.exit(code)
    except _UsageError as error:  # a wrong option, a missing argument
        command = error.ctx.command_path if error.ctx is not None else "motionloom"
        said = error.format_message().rstrip(".")
        if said.startswith("No such command"):
            said += did_you_mean(sys.argv[1], COMMANDS)
        _fail(f"{said.removesuffix('?')}; see {command} --help")
    except BrokenPipeError:  # the reader of our output has left: `motionloom ... | head`
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:
        _fail(_told(error))
    except ValueError as error:
        if not isinstance(error, MotionloomError):
            raise
        _fail(str(error))


def _told(error: OSError) -> str:
    """What the system refused, and the name that may have been meant."""
    said = error.strerror or str(error)
    if not error.filename:
        return said
    place = Path(os.fsdecode(error.filename))
    if isinstance(error, FileNotFoundError) and place.parent.is_dir():
        said += did_you_mean(place.name, os.listdir(place.parent))
    elif isinstance(error, FileExistsError | NotADirectoryError):
        said += "; a file is where a folder is needed"
    return f"{place}: {said}"


def _fail(message: str) -> None:
    print(f"motionloom: {plain_text(worded(message))}", file=sys.stderr)
    sys.exit(2)
