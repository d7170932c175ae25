"""``python -m retrieval_bench``: prepare and verify the data, run methods, score rankings."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from retrieval_bench.data import data_files, prepare, verify
from retrieval_bench.rankings import ranking_by, read_ranking, write_ranking
from retrieval_bench.results import (
    agreement_table,
    keep,
    leaderboard,
    read_result,
    result_of,
    shaped_table,
    write_page,
)
from retrieval_bench.scores import SECOND, Ranking, score
from retrieval_bench.sentences import find_sentences
from retrieval_bench.sets import BenchmarkSet, benchmark_set, set_table, source_names
from retrieval_bench.tables import BenchmarkError

Command = Callable[[argparse.Namespace], int]
_SHOWN = 10  # messages about files


def main(words: Sequence[str] | None = None) -> int:
    """Run a command, and return its exit code."""
    given = _parser().parse_args(words)
    try:
        code: int = given.run(given)
    except (BenchmarkError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m retrieval_bench", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Command, text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text)
        added.set_defaults(run=run)
        return added

    command("sets", _sets, "List the sets.")
    each = command("prepare", _prepare, "Make the files of the data folder from public sources.")
    each.add_argument("data", type=Path)
    each.add_argument("sources", nargs="+", metavar="NAME=FOLDER", help="such as cmu=cmu-mocap")
    each = command("verify", _verify, "Compare the files of the data folder with their hashes.")
    each.add_argument("data", type=Path)
    each.add_argument("sets", nargs="*", help="default: all sets")
    each = command("manifest", _manifest, "Print the manifest that a method receives.")
    each.add_argument("set")
    each.add_argument("data", type=Path)
    each = command("run", _run, "Rank a set by a method: MODULE:FUNCTION, FILE.py:NAME or command.")
    each.add_argument("set")
    each.add_argument("method")
    each.add_argument("data", type=Path)
    each.add_argument("--ranking", type=Path, help="also write the ranking to this CSV file")
    _add_result(each)
    each = command("score", _score, "Score a ranking from a CSV file. This needs no data.")
    each.add_argument("set")
    each.add_argument("ranking", type=Path)
    _add_result(each)
    each = command("stopped", _stopped, "Note in a result file that a method took too long.")
    each.add_argument("set")
    each.add_argument("seconds", type=float, help="processor time that the method was given")
    _add_result(each)
    each = command("page", _page, "Write the leaderboard from result files.")
    each.add_argument("results", type=Path, help="folder of result files")
    each.add_argument("page", type=Path, help="Markdown page with the markers of the leaderboard")
    return parser


def _add_result(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--result", type=Path, help="write or complete this result file")
    for name in ("method", "by", "url", "version", "settings"):
        parser.add_argument(f"--{name}", dest=f"about_{name}", help=f"'{name}' of the result file")


def _sets(given: argparse.Namespace) -> int:
    for name, each in set_table().items():
        queries = len(benchmark_set(name).queries)
        print(f"{name:16} {each['track']:10} {queries:4} queries  {each['classes']}")
    return 0


def _prepare(given: argparse.Namespace) -> int:
    sources = {}
    for word in given.sources:
        name, equals, folder = word.partition("=")
        if not equals or name not in source_names():
            names = ", ".join(source_names())
            raise BenchmarkError(f"{word!r} is not NAME=FOLDER with a source: {names}")
        if not Path(folder).is_dir():
            raise BenchmarkError(f"the folder {folder!r} of the source {name!r} does not exist")
        sources[name] = Path(folder)
    wrong = []
    if "kit" in sources:
        count, asked = find_sentences(given.data, sources.pop("kit"))
        if count < asked:
            wrong.append(f"{asked - count} of {asked} sentences are not in the KIT archive")
    wrong += prepare(given.data, sources, data_files().values())
    return _listed(wrong, "All files were made.")


def _verify(given: argparse.Namespace) -> int:
    files = data_files()
    names = [file for name in given.sets or set_table() for file in benchmark_set(name).files]
    return _listed(
        verify(given.data, [files[name] for name in sorted(set(names))]), "All files are correct."
    )


def _listed(wrong: Sequence[str], right: str) -> int:
    for message in wrong[:_SHOWN]:
        print(message, file=sys.stderr)
    if len(wrong) > _SHOWN:
        print(f"... and {len(wrong) - _SHOWN} more", file=sys.stderr)
    if not wrong:
        print(right)
    return 1 if wrong else 0


def _manifest(given: argparse.Namespace) -> int:
    print(json.dumps(benchmark_set(given.set).manifest(given.data), indent=1))
    return 0


def _run(given: argparse.Namespace) -> int:
    chosen = benchmark_set(given.set)
    _check_result(given)
    files = data_files()
    wrong = verify(given.data, [files[name] for name in chosen.files])
    if wrong:
        more = f" ({len(wrong) - 1} more files are wrong)" if len(wrong) > 1 else ""
        raise BenchmarkError(f"{wrong[0]}{more}; see the command 'prepare'")
    begun = time.process_time()
    ranking = ranking_by(given.method, chosen, given.data)
    print(f"{time.process_time() - begun:.1f} s of processor time in this process")
    if given.ranking is not None:
        write_ranking(chosen, ranking, given.ranking)
    return _scored(given, chosen, ranking)


def _score(given: argparse.Namespace) -> int:
    chosen = benchmark_set(given.set)
    _check_result(given)
    return _scored(given, chosen, read_ranking(chosen, given.ranking))


def _scored(given: argparse.Namespace, chosen: BenchmarkSet, ranking: Ranking) -> int:
    scored = score(chosen, ranking)
    print(
        f"{chosen.name}: {scored.score:.4f} ({scored.low:.4f}-{scored.high:.4f}), "
        f"{SECOND[chosen.track]} {scored.second:.4f}, {len(chosen.queries)} queries"
    )
    if given.result is not None:
        keep(given.result, _about(given), {chosen.name: result_of(chosen, scored)})
    return 0


def _stopped(given: argparse.Namespace) -> int:
    chosen = benchmark_set(given.set)
    _check_result(given)
    if given.result is None or not 0.0 < given.seconds < math.inf:
        raise BenchmarkError("stopped requires --result FILE and a number of seconds above 0")
    keep(given.result, _about(given), {}, {chosen.name: given.seconds})
    print(f"{chosen.name}: stopped after {given.seconds:.0f} s")
    return 0


def _check_result(given: argparse.Namespace) -> None:
    """Raise before the work if its result could not be kept."""
    path = given.result
    if path is not None and not path.parent.is_dir():
        raise BenchmarkError(f"the folder {str(path.parent)!r} of --result does not exist")
    if path is not None and path.exists():
        read_result(path)


def _about(given: argparse.Namespace) -> dict[str, str]:
    return {
        name: value
        for name in ("method", "by", "url", "version", "settings")
        if (value := getattr(given, f"about_{name}")) is not None
    }


def _page(given: argparse.Namespace) -> int:
    files = sorted(given.results.glob("*.json"))
    if not files:
        raise BenchmarkError(f"{given.results} contains no result files")
    kept = [read_result(path) for path in files]
    tables = {
        "shaped": shaped_table(), "leaderboard": leaderboard(kept), "agreement": agreement_table(),
    }  # fmt: skip
    write_page(given.page, tables)
    return 0


if __name__ == "__main__":
    sys.exit(main())
