"""``python -m benchmarks NAME``: motionloom and its rivals measured side by side."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from motionloom.cli.options import JSON
from motionloom.cli.terminal import print_json, remark
from motionloom.errors import InvalidInput, MotionloomError

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command()
def bench(
    name: Annotated[
        str,
        typer.Argument(
            help="Which bench: load, knn, dtw ... (a wrong name lists them); all of them; or "
            "page, which measures nothing and writes --markdown anew from --results."
        ),
    ],
    data: Annotated[Path | None, typer.Option(help="Folder with .bvh files to measure on.")] = None,
    files: Annotated[int, typer.Option(min=1, help="How many files to use.")] = 20,
    rounds: Annotated[
        int | None,
        typer.Option(min=1, help="Rounds; medians are shown. [what the bench is used to]"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Chooses the files.")] = 1,
    install_rivals: Annotated[
        bool,
        typer.Option("--install-rivals", help="Install the rivals to a cache folder first."),
    ] = False,
    json_: Annotated[bool, JSON] = False,
    results: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep the report as NAME.json in this folder."),
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option(help="Also write the figures into the bench's section of this page."),
    ] = None,
) -> None:
    """Measure motionloom and its rivals side by side, on this machine.

    Without --data the CMU data set is used where it is found (MOTIONLOOM_DATA), else the
    built-in corpus. Rivals that are not installed are listed with the reason. All benches take
    half an hour or more, one after the other.
    """
    from benchmarks import BENCHES, ROUNDS, USUAL_ROUNDS, bench_module, report
    from benchmarks.results import keep, kept, write_page

    if name == "page":
        if results is None or markdown is None:
            raise InvalidInput("bench page takes figures from --results DIR to --markdown FILE")
        write_page(markdown, kept(results))
        remark(f"figures written into {markdown}")
        return
    names = sorted(BENCHES) if name == "all" else [name]
    bench_module(names[0])  # a wrong name is told at once
    reports, failed = [], []
    for one in names:
        usual = ROUNDS.get(one, USUAL_ROUNDS)
        options = {"data": data, "files": files, "rounds": rounds or usual, "seed": seed}
        try:
            found = measured(one, {**options, "install_rivals": install_rivals})
        except MotionloomError as error:
            if name != "all":
                raise
            failed.append(one)
            remark(f"{one}: {error}")
            continue
        found["command"] = _command(one, options, usual)
        reports.append(found)
        if results is not None:
            remark(f"{keep(found, results)} ({found['seconds']:.0f} s)")
        if markdown is not None:
            report.write_section(markdown, one, report.markdown(found))
            remark(f"figures written into {markdown}")
        if not json_:
            _print(found)
    if json_:
        print_json(reports if name == "all" else reports[0])
    if failed:
        remark(f"not measured: {', '.join(failed)}")
        raise typer.Exit(1)


def _print(found: dict[str, Any]) -> None:
    from rich.console import Console

    from benchmarks import report

    Console().print(report.table(found))
    if found.get("credit"):
        print(found["credit"])


def measured(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """The report of a process in which every library uses one thread."""
    from benchmarks.machine import one_thread_environment

    data = options["data"]
    options = {**options, "data": str(data.absolute()) if data else None}
    command = [sys.executable, "-m", "benchmarks.measure", name, json.dumps(options)]
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


def _command(name: str, options: dict[str, Any], usual_rounds: int) -> str:
    """What to type to have it again; options left at their defaults are not repeated."""
    defaults = {"data": None, "files": 20, "rounds": usual_rounds, "seed": 1}
    changed = [f"--{key} {value}" for key, value in options.items() if value != defaults[key]]
    return " ".join(["python -m benchmarks", name, *changed])


def main() -> None:
    """Run the command; errors raised on purpose become one line and exit code 2."""
    try:
        app(prog_name="python -m benchmarks")
    except MotionloomError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
