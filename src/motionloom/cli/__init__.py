"""The command line: commands by job; each parses, calls the library and prints.

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
from collections.abc import Mapping
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path

import click

from motionloom.cli.terminal import PlainOutput, did_you_mean, plain_text
from motionloom.errors import MotionloomError

# Job -> what it is for, and its commands: module (with the function, if it has another name than
# the command) and one line about it.
JOBS: Mapping[str, tuple[str, Mapping[str, tuple[str, str]]]] = {
    "library": (
        "here are my files",
        {
            "info": ("library.info", "Show what a file or library contains."),
            "doctor": ("library.doctor", "Check files: unit, axes, rate, sides, floor."),
            "clean": ("library.clean", "Remove foot skate."),
            "convert": ("library.convert", "Convert to another format, program or character."),
            "show": ("library.pictures", "Draw a motion: film strip, GIF, video."),
            "import": ("library.importing:import_", "Import motion files into a library."),
            "export": ("library.importing", "Write motions and labels into a folder."),
            "sheet": ("library.pictures", "Write a page with all motions, animated."),
            "label": ("library.labels", "Add, remove and print labels."),
            "reconstruct": ("library.reconstruct", "Reconstruct a body from a few markers."),
            "undo": ("library.upkeep", "Undo the latest change of a library."),
            "verify": ("library.upkeep", "Check and repair a library."),
            "trust": ("library.upkeep", "Trust what a folder or library names outside."),
        },
    ),
    "find": (
        "everything like this, everything called that",
        {
            "search": ("find.search", "Find what resembles a segment of motion."),
            "family": ("find.search", "Find also what resembles the matches."),
            "find": ("find.words", "Find motions by words."),
            "clusters": ("find.words", "Group similar takes."),
            "web": ("find.web", "Compare all motions in advance, for fast searches."),
        },
    ),
    "aim": (
        "a kick that lands here",
        {
            "parametrize": ("aim", "Learn a parametric motion from similar motions."),
            "synthesize": ("aim", "Synthesize the motion that reaches a target."),
        },
    ),
    "walk": (
        "along this path, forever",
        {
            "graph": ("walk.graph", "Build, edit and draw a motion graph."),
            "walk": ("walk.walk", "Synthesize a walk through a motion graph."),
            "fat-graph": ("walk.fat_graph", "Synthesize a walk by direction and speed."),
        },
    ),
    "play": (
        "let me steer it",
        {"match": ("play", "Make a character that responds, by motion matching.")},
    ),
    "dance": (
        "on the beat of this song",
        {
            "beats": ("dance.beats", "Find the beats of a motion."),
            "movements": ("dance.movements", "Learn which movements may follow which."),
            "dance": ("dance.dance", "Dance to music."),
            "ballroom": ("dance.crowd", "Let couples dance around a room."),
            "march": ("dance.crowd", "Let soldiers march in formation."),
            "dancefloor": ("dance.crowd", "Let characters dance next to each other."),
        },
    ),
    "script": (
        "walk 3 s, sit down, wave",
        {"act": ("script", "Act a script in words.")},
    ),
    "evaluate": (
        "how good are the methods",
        {
            "evaluate": ("evaluate.measures", "Compare clip measures on labeled clips."),
            "evaluate-reconstruct": ("evaluate.reconstruction", "Measure reconstruction errors."),
            "evaluate-captions": ("evaluate.words", "Compare captions with labels."),
            "evaluate-sentences": ("evaluate.words", "Score finding by sentences."),
            "study": ("evaluate.measures", "Compare feature sets and frame distances."),
        },
    ),
    "tools": (
        "and everything else",
        {
            "studio": ("tools.studio", "Open the studio in a browser."),
            "demo": ("tools.demo", "Take a tour on built-in motions."),
            "cluster": ("tools.cluster", "Run a Dask cluster on this machine."),
            "warm-up": ("tools.demo", "Compile everything now, for a quick first start."),
        },
    ),
}
COMMANDS = {name: place for _, commands in JOBS.values() for name, (place, _) in commands.items()}


class Commands(click.Group):
    """The commands by job; each is imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands, by job."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command, made from its function."""
        if cmd_name not in COMMANDS:
            return None
        if cmd_name not in self.commands:
            from motionloom.cli.command import command

            module, _, function = COMMANDS[cmd_name].partition(":")
            found = import_module(f"motionloom.cli.{module}")
            made = command(cmd_name, getattr(found, function or cmd_name.replace("-", "_")))
            self.add_command(made)
        return self.commands[cmd_name]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the jobs, and one line per command; imports none of them."""
        formatter.write_paragraph()
        for job, (purpose, commands) in JOBS.items():
            formatter.write(f"{job}: {purpose}\n")
            formatter.write("".join(f"  {n:<22}{said}\n" for n, (_, said) in commands.items()))
        formatter.write("\nmotionloom COMMAND --help shows the options of a command.\n")


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from motionloom import __version__

        click.echo(f"motionloom {__version__}")
        ctx.exit()


app = Commands(
    "motionloom",
    help="Find, cut, blend, recombine and set to music what is in a folder of motion capture.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_print_version,
            help="Print the version and stop.",
        )
    ],
)


def main() -> None:
    """Entry point: run a command; errors raised on purpose become one line and code 2."""
    # Collecting the modules of Numba and SciPy as garbage, above all when the interpreter ends,
    # is a third of the processor time of a search. Files are closed before that.
    gc.set_threshold(300_000, 10, 10)
    atexit.register(gc.freeze)
    try:
        with redirect_stdout(PlainOutput(sys.stdout)):
            code = app.main(
                sys.argv[1:] or ["--help"], prog_name="motionloom", standalone_mode=False
            )
        sys.exit(code)
    except click.Abort:  # Ctrl-C
        print(
            "interrupted; nothing is half-written, run the same command to go on", file=sys.stderr
        )
        sys.exit(130)
    except click.UsageError as error:  # a wrong option, a missing argument
        command = error.ctx.command_path if error.ctx is not None else "motionloom"
        _fail(f"{_usage(error)}; see {command} --help")
    except BrokenPipeError:  # the reader of our output has left: `motionloom ... | head`
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:
        _fail(_told(error))
    except ValueError as error:
        if not isinstance(error, MotionloomError):
            raise
        _fail(str(error))


def _usage(error: click.UsageError) -> str:
    """What is wrong with a command line, and the word that may have been meant."""
    if isinstance(error, click.NoSuchOption):
        known = [option for each in error.ctx.command.params for option in each.opts]  # type: ignore[union-attr]
        near = did_you_mean(error.option_name, known)
        return f"No such option: {error.option_name}{near}".removesuffix("?")
    said = error.format_message().rstrip(".")
    if said.startswith("No such command"):
        said = f"No such command {sys.argv[1]!r}{did_you_mean(sys.argv[1], COMMANDS)}"
    return said.removesuffix("?")


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
    print(f"motionloom: {plain_text(message)}", file=sys.stderr)
    sys.exit(2)
