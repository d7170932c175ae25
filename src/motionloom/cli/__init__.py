"""The command line: one module per group of verbs; each command parses, calls and prints.

Every command that yields data takes ``--json`` and then prints nothing else on standard
output. Progress and remarks go to standard error. A wrong input ends with one clear line
and exit code 2. Command modules import the heavy parts inside their functions, so that
``motionloom --help`` answers at once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperGroup

from motionloom.cli import (
    beats,
    clean,
    cluster,
    convert,
    crowd,
    dance,
    demo,
    doctor,
    evaluation,
    graph,
    info,
    library,
    parametric,
    pictures,
    reconstruct,
    search,
)
from motionloom.cli.cluster import on_clusters
from motionloom.errors import InvalidInput, MotionloomError


class GroupedCommands(TyperGroup):
    """Commands in groups, each with the first line of its help, wrapped instead of cut."""

    def format_commands(self, ctx, formatter) -> None:
        """Write one section per group of `GROUPS`."""
        for title, names in GROUPS.items():
            rows = [
                (name, (self.commands[name].help or "").strip().partition("\n")[0])
                for name in names
            ]
            with formatter.section(title):
                formatter.write_dl(rows)


# Command -> function; those that can run on a cluster take --cluster.
COMMANDS: dict[str, Callable[..., None]] = {
    "info": info.info,
    "doctor": doctor.doctor,
    "clean": clean.clean,
    "convert": convert.convert,
    "show": pictures.show,
    "import": on_clusters(library.import_),
    "sheet": pictures.sheet,
    "label": library.label,
    "find": library.find,
    "studio": library.studio,
    "search": on_clusters(search.search),
    "family": on_clusters(search.family),
    "web": on_clusters(search.web),
    "parametrize": parametric.parametrize,
    "synthesize": parametric.synthesize,
    "graph": on_clusters(graph.graph),
    "walk": graph.walk,
    "reconstruct": on_clusters(reconstruct.reconstruct),
    "beats": beats.beats,
    "movements": beats.movements,
    "dance": dance.dance,
    "ballroom": crowd.ballroom,
    "march": crowd.march,
    "dancefloor": crowd.dancefloor,
    "evaluate": on_clusters(evaluation.evaluate),
    "evaluate-reconstruct": on_clusters(reconstruct.evaluate_reconstruct),
    "study": on_clusters(evaluation.study),
    "demo": demo.demo,
    "cluster": cluster.cluster,
    "warm-up": demo.warm_up,
}
GROUPS = {
    "Files": ("info", "doctor", "clean", "convert", "show"),
    "Library": ("import", "sheet", "label", "find", "studio"),
    "Search": ("search", "family", "web"),
    "Synthesis": ("parametrize", "synthesize", "graph", "walk", "reconstruct"),
    "Dance": ("beats", "movements", "dance", "ballroom", "march", "dancefloor"),
    "Evaluation": ("evaluate", "evaluate-reconstruct", "study"),
    "Tools": ("demo", "cluster", "warm-up"),
}

app = typer.Typer(
    name="motionloom",
    cls=GroupedCommands,
    help="Find, cut, blend, recombine and set to music what is in a folder of motion capture.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _name, _command in COMMANDS.items():
    app.command(_name)(_command)


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
    try:
        code = app(sys.argv[1:] or ["--help"], prog_name="motionloom", standalone_mode=False)
        if code == 130:  # how Typer passes on Ctrl-C, without a word
            print(
                "interrupted; nothing is half-written, run the same command to go on",
                file=sys.stderr,
            )
        sys.exit(code)
    except _UsageError as error:  # a wrong option, a missing argument
        command = error.ctx.command_path if error.ctx is not None else "motionloom"
        _fail(f"{error.format_message().rstrip('.')}; see {command} --help")
    except BrokenPipeError:  # the reader of our output has left: `motionloom ... | head`
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        _fail(f"{place}{error.strerror or error}")
    except ValueError as error:
        if not isinstance(error, MotionloomError):
            raise
        _fail(str(error))


def _fail(message: str) -> None:
    print(f"motionloom: {message}", file=sys.stderr)
    sys.exit(2)
