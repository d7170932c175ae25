"""The command line: one module per command, grouped by job.

A command parses its arguments, calls the library and prints the result. Every command that prints
data accepts ``--json``; standard output then contains JSON and nothing else. Progress and remarks
go to standard error. Invalid input ends with a one-line message and exit code 2. To start quickly,
only the module of the command that runs is imported, and command modules import heavy dependencies
inside their functions.
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

# Job -> (purpose, commands). Each command has a module, optionally with the name of its function if
# that is not the name of the command, and a one-line description.
JOBS: Mapping[str, tuple[str, Mapping[str, tuple[str, str]]]] = {
    "library": (
        "here are my files",
        {
            "info": ("library.info", "Show the contents of a file or library."),
            "doctor": ("library.doctor", "Check files: unit, axes, rate, sides, floor."),
            "clean": ("library.clean", "Remove foot skate."),
            "convert": ("library.convert", "Convert to another format, program or character."),
            "show": ("library.pictures", "Draw a motion: film strip, GIF, video."),
            "import": ("library.importing:import_", "Import motion files into a library."),
            "export": ("library.importing", "Write motions and labels into a folder."),
            "sheet": ("library.pictures", "Write a page with all motions, animated."),
            "label": ("library.labels", "Add, remove and print labels."),
            "reconstruct": ("library.reconstruct", "Reconstruct a body from a few markers."),
            "undo": ("library.upkeep", "Undo the latest change to a library."),
            "verify": ("library.upkeep", "Check and repair a library."),
            "trust": (
                "library.upkeep",
                "Trust external code and addresses.",
            ),
        },
    ),
    "find": (
        "everything like this, everything called that",
        {
            "search": ("find.search", "Find motion similar to a segment."),
            "family": ("find.search", "Find similar motion, and motion like the matches."),
            "find": ("find.words", "Find motions by words."),
            "clusters": ("find.words", "Group similar takes."),
            "web": ("find.web", "Precompute comparisons for fast searches."),
        },
    ),
    "aim": (
        "a kick that lands here",
        {
            "parametrize": ("aim", "Learn a parametric motion from similar motions."),
            "synthesize": ("aim", "Synthesize a motion that reaches a target."),
        },
    ),
    "walk": (
        "along this path, forever",
        {
            "graph": ("walk.graph", "Build, edit and draw a motion graph."),
            "walk": ("walk.walk", "Synthesize a walk through a motion graph."),
            "fat-graph": ("walk.fat_graph", "Synthesize a walk steered by direction and speed."),
        },
    ),
    "play": (
        "let me steer it",
        {"match": ("play", "Drive a responsive character by motion matching.")},
    ),
    "dance": (
        "on the beat of this song",
        {
            "beats": ("dance.beats", "Find the beats of a motion."),
            "movements": ("dance.movements", "Learn which movements can follow each other."),
            "dance": ("dance.dance", "Synthesize a dance to music."),
            "ballroom": ("dance.crowd", "Synthesize couples dancing around a room."),
            "march": ("dance.crowd", "Synthesize soldiers marching in formation."),
            "dancefloor": ("dance.crowd", "Synthesize dancers next to each other."),
        },
    ),
    "script": (
        "walk 3 s, sit down, wave",
        {"act": ("script", "Turn a written script into a motion.")},
    ),
    "evaluate": (
        "how good are the methods",
        {
            "evaluate": ("evaluate.measures", "Compare clip measures on labeled clips."),
            "evaluate-reconstruct": ("evaluate.reconstruction", "Measure reconstruction errors."),
            "evaluate-captions": ("evaluate.words", "Compare captions with labels."),
            "evaluate-sentences": ("evaluate.words", "Score text search with sentences."),
            "study": ("evaluate.measures", "Compare feature sets and frame distances."),
        },
    ),
    "tools": (
        "and everything else",
        {
            "studio": ("tools.studio", "Open the studio in a browser."),
            "agent": ("tools.agent", "Let an AI agent use a library."),
            "demo": ("tools.demo", "Take a tour with built-in motions."),
            "cluster": ("tools.cluster", "Run a Dask cluster on this machine."),
            "warm-up": (
                "tools.demo",
                "Compile everything in advance.",
            ),
        },
    ),
}
COMMANDS = {name: place for _, commands in JOBS.values() for name, (place, _) in commands.items()}


class Commands(click.Group):
    """The top-level command group, which imports each command only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in the order of their groups."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Build a command from its function."""
        if cmd_name not in COMMANDS:
            return None
        if cmd_name not in self.commands:
            from motionloom.cli.command import command
            from motionloom.parallel.threads import THREAD_SETTINGS

            # Most of our matrices are small. While other programs are busy, a product of two
            # threads takes up to a hundred times the processor time of one, because each thread
            # spins until the other is done. NumPy reads these variables when it is imported. A
            # number that the user chose is kept.
            for setting in THREAD_SETTINGS:
                os.environ.setdefault(setting, "1")
            module, _, function = COMMANDS[cmd_name].partition(":")
            loaded = import_module(f"motionloom.cli.{module}")
            made = command(cmd_name, getattr(loaded, function or cmd_name.replace("-", "_")))
            self.add_command(made)
        return self.commands[cmd_name]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command groups and one line per command, without importing any command."""
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
    help="Find, cut, blend and recombine the motions in a folder, and set them to music.",
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
    """Run a command. Errors that motionloom raises end with a one-line message and exit code 2."""
    # Garbage collection of the Numba and SciPy modules, mostly when the interpreter exits, takes a
    # third of the processor time of a search. All files are closed by then.
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
            "interrupted; all files written so far are complete. Run the same command again to "
            "continue",
            file=sys.stderr,
        )
        sys.exit(130)
    except click.UsageError as error:  # a wrong option, a missing argument
        command = error.ctx.command_path if error.ctx is not None else "motionloom"
        _fail(f"{_usage(error)}; see {command} --help")
    except BrokenPipeError:  # the reader closed the pipe: `motionloom ... | head`
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:
        _fail(_system_error(error))
    except ValueError as error:
        if not isinstance(error, MotionloomError):
            raise
        _fail(str(error))


def _usage(error: click.UsageError) -> str:
    """Describe a usage error, and suggest a similar command or option."""
    if isinstance(error, click.NoSuchOption):
        options = [option for each in error.ctx.command.params for option in each.opts]  # type: ignore[union-attr]
        near = did_you_mean(error.option_name, options)
        return f"No such option: {error.option_name}{near}".removesuffix("?")
    if isinstance(error, click.BadParameter) and (wrong := _wrong_number(error)):
        return wrong
    said = error.format_message().rstrip(".")
    if said.startswith("No such command"):
        said = f"No such command {sys.argv[1]!r}{did_you_mean(sys.argv[1], COMMANDS)}"
    return said.removesuffix("?")


def _wrong_number(error: click.BadParameter) -> str | None:
    """Describe a number that is not valid in the words of settings, or return None."""
    value, _, reason = error.message.rstrip(".").partition(" is not ")
    kind = error.param.type if error.param is not None else None
    if isinstance(kind, click.IntRange | click.FloatRange) and reason.startswith("in the range"):
        low, high = kind.min, kind.max
        bound = f"at least {low:g}" if high is None else f"from {low or 0:g} to {high:g}"
    elif reason.startswith(("a valid integer", "a valid float")):
        bound = "a whole number" if "integer" in reason else "a number"
    else:
        return None
    return f"{error.param.name} must be {bound}; got {value}"  # type: ignore[union-attr]


def _system_error(error: OSError) -> str:
    """Describe an operating system error, and suggest a similar file name."""
    said = error.strerror or str(error)
    if not error.filename:
        return said
    place = Path(os.fsdecode(error.filename))
    if isinstance(error, FileNotFoundError) and place.parent.is_dir():
        said += did_you_mean(place.name, os.listdir(place.parent))
    elif isinstance(error, FileExistsError | NotADirectoryError):
        said += "; expected a folder, found a file"
    return f"{place}: {said}"


def _fail(message: str) -> None:
    print(f"motionloom: {plain_text(message)}", file=sys.stderr)
    sys.exit(2)
