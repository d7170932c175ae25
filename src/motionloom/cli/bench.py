"""``motionloom bench``: how fast is it here, next to its rivals."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from motionloom.cli.terminal import print_json, remark


def bench(
    name: Annotated[str, typer.Argument(help="Which bench: load, knn, lazy or dtw.")],
    data: Annotated[Path | None, typer.Option(help="Folder with .bvh files to measure on.")] = None,
    files: Annotated[int, typer.Option(min=1, help="How many files to use.")] = 20,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds; medians are shown.")] = 7,
    seed: Annotated[int, typer.Option(help="Chooses the files.")] = 1,
    install_rivals: Annotated[
        bool,
        typer.Option("--install-rivals", help="Install the rivals to a cache folder first."),
    ] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    markdown: Annotated[
        Path | None,
        typer.Option(help="Also write the figures into the bench's section of this page."),
    ] = None,
) -> None:
    """Measure motionloom and its rivals side by side, on this machine.

    Without --data the CMU data set is used where it is found (MOTIONLOOM_DATA), else the
    built-in corpus. Rivals that are not installed are listed with the reason.
    """
    from motionloom.bench import bench_module, report

    bench_module(name)  # a wrong name is told at once
    options = {"data": data, "files": files, "rounds": rounds, "seed": seed}
    found = _measured(name, {**options, "install_rivals": install_rivals})
    found["command"] = _command(name, options)
    if json_:
        print_json(found)
    else:
        from rich.console import Console

        Console().print(report.table(found))
        if found.get("credit"):
            print(found["credit"])
    if markdown is not None:
        report.write_section(markdown, name, report.markdown(found))
        remark(f"figures written into {markdown}")


def _measured(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """The report of a process in which every library uses one thread."""
    from motionloom.bench.machine import one_thread_environment
    from motionloom.errors import InvalidInput, MotionloomError

    data = options["data"]
    options = {**options, "data": str(data.absolute()) if data else None}
    command = [sys.executable, "-m", "motionloom.bench", name, json.dumps(options)]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        text=True,
        env=one_thread_environment(),
        check=False,
    )
    if done.returncode:
        raise MotionloomError(f"the measuring process ended with code {done.returncode}")
    found = json.loads(done.stdout)
    if "error" in found:
        raise InvalidInput(found["error"])
    return found


def _command(name: str, options: dict[str, Any]) -> str:
    """What to type to have it again; options left at their defaults are not repeated."""
    defaults = {"data": None, "files": 20, "rounds": 7, "seed": 1}
    changed = [f"--{key} {value}" for key, value in options.items() if value != defaults[key]]
    return " ".join(["motionloom bench", name, *changed])
