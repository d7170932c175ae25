"""The command line: one verb each, thin: parse, call, print.

Every command that yields data takes ``--json`` and then prints nothing else on standard
output. Progress and remarks go to standard error. A wrong input ends with one clear line
and exit code 2. Command modules import the heavy parts inside their functions, so that
``motionloom --help`` answers at once.
"""

from __future__ import annotations

import sys
from typing import Any

import typer

from motionloom.cli import beats as rhythm
from motionloom.cli import (
    clean,
    convert,
    demo,
    doctor,
    evaluate,
    imports,
    info,
    parametric,
    pictures,
    study,
)
from motionloom.cli import cluster as clusters
from motionloom.cli import crowd as crowds
from motionloom.cli import dance as dancing
from motionloom.cli import dance_floor as floors
from motionloom.cli import graph as graphs
from motionloom.cli import reconstruct as reconstruction
from motionloom.cli import search as searching
from motionloom.cli import studio as browser
from motionloom.cli import walk as walking
from motionloom.cli import web as webs
from motionloom.cli.cluster import on_clusters
from motionloom.cli.command_list import CommandList

app = typer.Typer(
    name="motionloom",
    cls=CommandList,
    help="Find, cut, blend, recombine and set to music what is in a folder of motion capture.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.command("info")(info.info)
app.command("doctor")(doctor.doctor)
app.command("clean")(clean.clean)
app.command("convert")(convert.convert)
app.command("import")(on_clusters(imports.import_))
app.command("show")(pictures.show)
app.command("sheet")(pictures.sheet)
app.command("search")(on_clusters(searching.search))
app.command("family")(on_clusters(searching.family))
app.command("web")(on_clusters(webs.web))
app.command("parametrize")(parametric.parametrize)
app.command("synthesize")(parametric.synthesize)
app.command("evaluate")(on_clusters(evaluate.evaluate))
app.command("graph")(on_clusters(graphs.graph))
app.command("walk")(walking.walk)
app.command("reconstruct")(on_clusters(reconstruction.reconstruct))
app.command("evaluate-reconstruct")(on_clusters(reconstruction.evaluate_reconstruct))
app.command("study")(on_clusters(study.study))
app.command("beats")(rhythm.beats)
app.command("movements")(rhythm.movements)
app.command("dance")(dancing.dance)
app.command("ballroom")(crowds.ballroom)
app.command("march")(crowds.march)
app.command("dancefloor")(floors.dancefloor)
app.command("cluster")(clusters.cluster)
app.command("studio")(browser.studio)
app.command("warm-up")(demo.warm_up)


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
        from motionloom.errors import MotionloomError

        if not isinstance(error, MotionloomError):
            raise
        _fail(str(error))


def _fail(message: str) -> None:
    print(f"motionloom: {message}", file=sys.stderr)
    sys.exit(2)
