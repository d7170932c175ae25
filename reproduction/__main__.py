"""``python -m reproduction [PAPER ...]``: recompute the tables and figures of the papers."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Annotated, Any

from motionloom.cli.command import Argument, Option, command
from motionloom.cli.options import JSON
from motionloom.cli.terminal import print_json, remark
from motionloom.errors import InvalidInput, MotionloomError
from reproduction import PAPERS, run


def main(
    papers: Annotated[
        list[str] | None,
        Argument(
            f"Papers to reproduce: {', '.join(PAPERS)} [all]; or page, which runs nothing and "
            "rewrites the pages of the documentation."
        ),
    ] = None,
    only: Annotated[
        str, Option("Run only the parts whose name contains this string.", metavar="TEXT")
    ] = "",
    write: Annotated[
        bool,
        Option("Write results, pictures and docs/evidence/papers.", "--write"),
    ] = False,
    jobs: Annotated[int, Option("Number of papers to run in parallel.", min=1)] = os.cpu_count()
    or 1,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Recompute the tables and figures of the papers and compare them with the published ones.

    Without captured data (MOTIONLOOM_DATA), only the statements that the built-in corpus can test
    are tested.
    """
    from reproduction.page import PAGE, RESULTS, write_pages

    if papers == ["page"]:
        write_pages()
        remark(f"wrote {PAGE} from the results in {RESULTS}")
        return
    names = papers or list(PAPERS)
    for name in names:
        if name not in PAPERS:
            raise InvalidInput(f"paper must be one of {', '.join(PAPERS)}; got {name!r}")
    if write and only:
        raise InvalidInput(
            "--write requires all parts of a paper and cannot be combined with --only"
        )
    if jobs == 1 or len(names) == 1:
        reports = [run(name, only, write) for name in names]
    else:
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            running = [pool.submit(run, name, only, write) for name in names]
            reports = [each.result() for each in running]
    if write:
        write_pages()
        remark(f"wrote {PAGE}")
    if json:
        print_json(reports[0] if len(reports) == 1 else reports)
    else:
        for report in reports:
            show(report)


app = command("reproduction", main)


def show(report: dict[str, Any]) -> None:
    """Print the claims of a report."""
    print(f"{report['authors']}  ({sum(report['seconds'].values()):.0f} s of processor time)")
    for claim in report["claims"]:
        print(f"  {claim['outcome']:14}  {claim['place']}: {claim['statement']}")
        detail = claim["reason"] or f"{claim['rule']}   {_listed(claim['ours'])}"
        print(f"  {'':14}  {detail}")


def _listed(figures: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in figures.items())


if __name__ == "__main__":
    try:
        app()
    except MotionloomError as error:
        print(f"reproduction: {error}", file=sys.stderr)
        sys.exit(2)
