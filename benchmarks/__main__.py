"""``python -m benchmarks NAME``: motionloom and its rivals measured side by side."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

from click.exceptions import Exit

from motionloom.cli.command import Argument, Option, command
from motionloom.cli.options import JSON
from motionloom.cli.terminal import print_json, remark
from motionloom.errors import InvalidInput, MotionloomError


def bench(
    name: Annotated[
        str,
        Argument(
            "Benchmark: load, knn, dtw ... (an unknown name lists them); all; or page, which "
            "measures nothing and rewrites --markdown from --results."
        ),
    ],
    data: Annotated[Path | None, Option("Folder with .bvh files.")] = None,
    files: Annotated[int, Option("Number of files to use.", min=1)] = 20,
    rounds: Annotated[
        int | None,
        Option("Number of rounds; medians are reported. [default of the benchmark]", min=1),
    ] = None,
    seed: Annotated[int, Option("Random seed for the choice of files.", min=0)] = 1,
    frames: Annotated[
        float | None,
        Option(
            "Number of synthetic frames (scale), for example 1e8; or of each set (recall).", min=1.0
        ),
    ] = None,
    install_rivals: Annotated[
        bool,
        Option("Install the rivals into a cache folder first."),
    ] = False,
    json: Annotated[bool, JSON] = False,
    results: Annotated[
        Path | None,
        Option("Write the report to NAME.json in this folder.", metavar="DIR"),
    ] = None,
    markdown: Annotated[
        Path | None,
        Option("Write the results into the section of this Markdown page."),
    ] = None,
) -> None:
    """Measure motionloom and its rivals side by side, on this machine.

    Without --data the CMU data set is used where it is found (MOTIONLOOM_DATA), else the
    built-in corpus. Rivals that are not installed are listed with the reason. All benchmarks
    together take half an hour or more.
    """
    from benchmarks import BENCHMARKS, DEFAULT_ROUNDS, ROUNDS, benchmark_module, report

    if name == "page":
        if results is None or markdown is None:
            raise InvalidInput("page requires --results DIR and --markdown FILE")
        report.write_page(markdown, report.kept(results))
        remark(f"results written to {markdown}")
        return
    names = sorted(BENCHMARKS) if name == "all" else [name]
    benchmark_module(names[0])  # an unknown name is an error
    reports, failed = [], []
    for one in names:
        default = ROUNDS.get(one, DEFAULT_ROUNDS)
        options = {
            "data": data,
            "files": files,
            "rounds": rounds or default,
            "seed": seed,
            "frames": frames,
        }
        try:
            found = measured(one, {**options, "install_rivals": install_rivals})
        except MotionloomError as error:
            if name != "all":
                raise
            failed.append(one)
            remark(f"{one}: {error}")
            continue
        found["command"] = _command(one, options, default)
        reports.append(found)
        if results is not None:
            remark(f"{report.keep(found, results)} ({found['seconds']:.0f} s)")
        if markdown is not None:
            report.write_section(markdown, one, report.markdown(found))
            remark(f"results written to {markdown}")
        if not json:
            _print(found)
    if json:
        print_json(reports if name == "all" else reports[0])
    if failed:
        remark(f"not measured: {', '.join(failed)}")
        raise Exit(1)


app = command("benchmarks", bench)


def _print(found: dict[str, Any]) -> None:
    from benchmarks import report
    from motionloom.cli.terminal import print_table

    print_table(report.table(found))
    if found.get("credit"):
        print(found["credit"])


def measured(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Report of a benchmark, run in a process in which every library uses one thread."""
    from benchmarks.process import one_thread_environment

    data = options["data"]
    options = {**options, "data": str(data.absolute()) if data else None}
    command = [sys.executable, "-m", "benchmarks.process", name, json.dumps(options)]
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


def _command(name: str, options: dict[str, Any], default_rounds: int) -> str:
    """Command that repeats the run; options at their defaults are omitted."""
    defaults = {"data": None, "files": 20, "rounds": default_rounds, "seed": 1, "frames": None}
    changed = [
        f"--{key} {_typed(value)}" for key, value in options.items() if value != defaults[key]
    ]
    return " ".join(["python -m benchmarks", name, *changed])


def _typed(value: Any) -> str:
    """A value as it is typed: 1e+08 as 1e8."""
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text.replace("e+0", "e")


def main() -> None:
    """Run the command; our own errors become one line and exit code 2."""
    try:
        app(prog_name="python -m benchmarks")
    except MotionloomError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
