"""``python -m benchmarks NAME``: measure motionloom and other libraries side by side."""

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

_UNSET = {"files": 20, "seed": 1, "frames": None}  # options that were not typed


def bench(
    name: Annotated[
        str,
        Argument(
            "Benchmark to run: load, knn, dtw ... (an unknown name lists them); all; "
            "headlines, those with headline figures; or page, which measures nothing and "
            "rewrites the pages of --markdown from --results."
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
            "Number of synthetic frames (scale), for example 1e8, or number of frames per "
            "set (recall).",
            min=1.0,
        ),
    ] = None,
    before: Annotated[
        Path | None,
        Option(
            "Program of an earlier release, such as VENV/bin/motionloom, that runs the same "
            "commands (waits).",
            metavar="PROGRAM",
        ),
    ] = None,
    install_rivals: Annotated[
        bool,
        Option("Install the rivals into a cache folder first."),
    ] = False,
    json: Annotated[bool, JSON] = False,
    results: Annotated[
        Path | None,
        Option(
            "Compare the report with NAME.json in this folder, then replace it. If a headline "
            "figure fell by more than 20 % twice, the file is kept and the command fails.",
            metavar="DIR",
        ),
    ] = None,
    markdown: Annotated[
        Path | None,
        Option(
            "Page of the documentation whose tables are rewritten, for example "
            "docs/evidence/benchmarks.md."
        ),
    ] = None,
) -> None:
    """Measure motionloom and other libraries side by side, on this machine.

    Without --data, the CMU data set is used if it is available (MOTIONLOOM_DATA), otherwise the
    built-in corpus. Rivals that are not installed are listed with the reason. All benchmarks
    together take more than an hour; ``all`` runs them with the options of the published figures.
    """
    from benchmarks import (
        BENCHMARKS,
        DEFAULT_ROUNDS,
        PUBLISHED,
        ROUNDS,
        benchmark_module,
        report,
    )
    from benchmarks.headlines import HEADLINES, fallen, not_compared, reason_to_keep, slower
    from benchmarks.report import OVERVIEW

    if name == "page":
        if results is None or markdown is None:
            raise InvalidInput("page requires --results DIR and --markdown FILE")
        report.write_pages(markdown, report.kept(results))
        remark(f"wrote the tables of {markdown}")
        return
    headlines = {benchmark for benchmark, _ in HEADLINES.values()}
    groups = {"all": sorted(BENCHMARKS), "headlines": sorted(headlines)}
    names = groups.get(name, [name])
    benchmark_module(names[0])  # raise early if the name is unknown
    reports, failed, fell, unstored = [], [], [], []
    for each in names:
        default = ROUNDS.get(each, DEFAULT_ROUNDS)
        options = {
            "data": data,
            "files": files,
            "rounds": rounds or default,
            "seed": seed,
            "frames": frames,
            "before": before,
        }
        if name == "all":
            published = PUBLISHED.get(each, {})
            options |= {key: published[key] for key in published if options[key] == _UNSET[key]}
        typed = {"command": _command(each, options, default)}
        options["install_rivals"] = install_rivals
        try:
            result = measured(each, options) | typed
            if results is not None and fallen(result, results):
                remark(f"{each}: a headline fell; measuring again")
                result = measured(each, options) | typed
        except MotionloomError as error:
            if name not in groups:
                raise
            failed.append(each)
            remark(f"{each}: {error}")
            continue
        reports.append(result)
        if hasattr(module := benchmark_module(each), "too_slow"):
            for line in module.too_slow(result):
                remark(f"{each}: {line}")
        if results is not None:
            lost = fallen(result, results)
            for line in (lost or slower(result, results)) + not_compared(result, results):
                remark(f"{each}: {line}")
            reason = reason_to_keep(result, results)
            if lost or reason:
                (fell if lost else unstored).append(each)
                why = f" ({reason})" if reason else ""
                remark(f"kept {results / each}.json{why}; remove it to accept the new figures")
            else:
                remark(f"{report.keep(result, results)} ({result['seconds']:.0f} s)")
        if markdown is not None and each not in [*fell, *unstored]:
            report.write_section(markdown, each, report.markdown(result))
            remark(f"wrote the table of {markdown}")
        if not json:
            _print(result)
    if json:
        print_json(reports if name in groups else reports[0])
    if (
        results is not None
        and markdown is not None
        and report.has_section(markdown, report.OVERVIEW)
    ):
        report.write_section(markdown, OVERVIEW, report.overview(report.kept(results)))
    if failed:
        remark(f"benchmarks that could not be measured: {', '.join(failed)}")
    if fell:
        remark(f"benchmarks with a headline that fell: {', '.join(fell)}")
    if failed or fell:
        raise Exit(1)


app = command("benchmarks", bench)


def _print(result: dict[str, Any]) -> None:
    from benchmarks import report
    from motionloom.cli.terminal import print_table

    print_table(report.table(result))
    if result.get("credit"):
        print(result["credit"])


def measured(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Run a benchmark in a process in which every library uses one thread; return its report."""
    from benchmarks.process import one_thread_environment

    places = {name: options[name] for name in ("data", "before")}
    absolute = {name: str(place.absolute()) if place else None for name, place in places.items()}
    options = {**options, **absolute}
    command = [sys.executable, "-m", "benchmarks.process", name, json.dumps(options)]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        text=True,
        env=one_thread_environment(),
        check=False,
    )
    if done.returncode:
        raise MotionloomError(f"the benchmark process exited with code {done.returncode}")
    result = json.loads(done.stdout)
    if "error" in result:
        raise InvalidInput(result["error"])
    return result


def _command(name: str, options: dict[str, Any], default_rounds: int) -> str:
    """Command that repeats the run, without options that have their default value."""
    options = {**options, "before": "PROGRAM" if options["before"] else None}
    defaults = {"data": None, "files": 20, "rounds": default_rounds, "seed": 1}
    changed = [
        f"--{key} {_typed(value)}" for key, value in options.items() if value != defaults.get(key)
    ]
    return " ".join(["python -m benchmarks", name, *changed])


def _typed(value: Any) -> str:
    """Format a value as a user would type it, for example 1e8 instead of 1e+08."""
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text.replace("e+0", "e")


def main() -> None:
    """Run the command; motionloom errors become one line and exit code 2."""
    try:
        app(prog_name="python -m benchmarks")
    except MotionloomError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
