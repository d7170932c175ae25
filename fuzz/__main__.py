"""``python -m fuzz --minutes 15``: run the fuzzers in worker processes that may die."""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import json
import logging
import os
import random
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import motionloom as ml

LONGEST = 10.0  # seconds of one input
LARGEST = 2.0e9  # bytes of memory
_START_SECONDS = 600.0  # to make the seeds; kernels may have to be compiled


def main() -> int:
    """Run until the time is over; print counts, and return 1 if there were failures."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=["files", "library"], help="one kind of input")
    parser.add_argument("--input", type=int, help="this input only, in this process")
    parser.add_argument("--guided", action="store_true", help="coverage-guided, with atheris")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.guided:
        from fuzz import guided

        if options.worker:
            guided.work(Path(options.worker), options.minutes, options.seed)
            return 0
        return guided.run(options.minutes, options.seed)
    if options.worker:
        _work(Path(options.worker), options.seed, options.first, options.only)
        return 0
    with tempfile.TemporaryDirectory(prefix="motionloom-fuzz-") as place:
        _make_seeds(Path(place))
        if options.input is not None:
            _work(Path(place), options.seed, options.input, options.only, last=options.input)
            return 0
        return _watch(options, Path(place))


def _make_seeds(place: Path) -> None:
    from fuzz.targets import seed_files, seed_library

    os.environ["XDG_CONFIG_HOME"] = f"{place}/configuration"
    os.environ.setdefault("MOTIONLOOM_READ_SECONDS", "300")  # on the clock
    (place / "files").mkdir()
    seed_files(place / "files")
    seed_library(place)


def _watch(options: argparse.Namespace, place: Path) -> int:
    """Keep a worker running, and record why it ends."""
    end = time.monotonic() + 60.0 * options.minutes
    counts: Counter[str] = Counter()
    result: list[str] = []
    number, most, slowest, longest = 0, 0.0, 0.0, "none"
    while time.monotonic() < end:
        command = [sys.executable, "-m", "fuzz", "--worker", str(place)]
        command += ["--seed", str(options.seed), "--first", str(number)]
        if options.only:
            command += ["--only", options.only]
        with open(place / "errors", "wb") as errors:
            worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors)
        out, begun, used = worker.stdout, time.monotonic(), 0.0
        assert out is not None
        why = ""
        while time.monotonic() < end:
            if not select.select([out], [], [], 1.0)[0]:
                now = _cpu_seconds(worker.pid)
                if time.monotonic() - begun > LONGEST and now - used > LONGEST:
                    why = f"more than {LONGEST:g} s"
                    break
                if time.monotonic() - begun > _START_SECONDS:
                    why = "it waits for something"
                    break
                continue
            line = out.readline()
            if not line:
                why = f"died with code {worker.wait()}"
                break
            report = json.loads(line)
            number, begun, used = report["number"], time.monotonic(), report["cpu"]
            if not report["outcome"]:
                continue  # the beginning of an input
            number += 1
            counts[f"{report['kind']}: {report['outcome']}"] += 1
            if report["seconds"] > slowest:
                slowest, longest = report["seconds"], f"input {report['number']}, {report['kind']}"
            most = max(most, report["memory"])
            if report["seconds"] > LONGEST:
                result.append(
                    f"input {report['number']} ({report['kind']}): {report['seconds']:.1f} s"
                )
            if report["trace"]:
                result.append(f"input {report['number']} ({report['kind']}): {report['trace']}")
            if report["memory"] > LARGEST:
                number -= 1
                why = f"{report['memory'] / 1e9:.1f} GB of memory, {report['kind']}"
                break
        worker.kill()
        worker.wait()
        if why:
            told_last = (place / "errors").read_text(errors="replace")[-2500:]
            result.append(f"input {number} of seed {options.seed}: {why}\n{told_last}")
            number += 1
    for name, count in sorted(counts.items()):
        print(f"{count:8d}  {name}")
    print(
        f"{sum(counts.values())} inputs, slowest {slowest:.1f} s ({longest}), memory "
        f"{most / 1e9:.2f} GB"
    )
    causes: dict[str, list[str]] = {}
    for item in result:
        causes.setdefault("\n".join(item.strip().splitlines()[-3:]), []).append(item)
    for some in causes.values():
        print(f"FOUND {len(some)} times:", some[0])
    print(f"{len(result)} failures of {len(causes)} kinds")
    return 1 if result else 0


def _cpu_seconds(pid: int) -> float:
    with contextlib.suppress(OSError, IndexError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return time.monotonic()


def _work(place: Path, seed: int, first: int, only: str | None, last: int | None = None) -> None:
    """Try inputs one after the other, and print one line of JSON for each."""
    from fuzz import targets

    faulthandler.enable()
    # `faulthandler.dump_traceback_later` counts seconds on the clock, and can itself crash.
    faulthandler.register(signal.SIGPROF)
    files = sorted((place / "files").iterdir())
    scratch = Path(tempfile.mkdtemp(dir=place))
    os.chdir(scratch)
    library = targets.own_library(place / "seed.loom", scratch)
    number = first
    logging.disable()
    while last is None or number <= last:
        signal.setitimer(signal.ITIMER_PROF, LONGEST + 2.0)  # shows the position of a hang
        rng = random.Random(f"{seed} {number}")
        kind = only or rng.choice(["files", "library"])
        _tell(number, kind, "", "", 0.0)
        began = time.process_time()
        outcome, trace = "read", ""
        try:
            if kind == "files":
                chosen = rng.choice(files)
                if chosen.suffix in targets.CHILDREN and rng.random() < 0.8:
                    chosen = rng.choice(files)
                kind = _one_file(chosen, scratch, library, rng)
            else:
                targets.forget_verified()
                path = targets.mutated_library(place / "seed.loom", scratch, rng)
                targets.use_library(path, rng=rng)
        except targets.ALLOWED:
            outcome = "refused"
            kind = f"file {chosen.name}" if kind == "files" else kind
        except MemoryError:
            outcome, trace = "memory", traceback.format_exc()[-1500:]
        except Exception as error:
            outcome, trace = f"FOREIGN {type(error).__name__}", traceback.format_exc()[-1500:]
        _tell(number, kind, outcome, trace, time.process_time() - began)
        number += 1


def _one_file(chosen: Path, scratch: Path, library: ml.Library, rng: random.Random) -> str:
    from fuzz import targets
    from fuzz.mutations import mutated_file

    content = mutated_file(chosen, chosen.read_bytes(), rng, scratch)
    targets.read_content(chosen, content, scratch, library, rng)
    return f"file {chosen.name}"


def _tell(number: int, kind: str, outcome: str, trace: str, seconds: float) -> None:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    of_children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    line = {
        "number": number, "kind": kind, "outcome": outcome, "trace": trace, "seconds": seconds,
        "memory": max(usage.ru_maxrss, of_children) * 1024,
        "cpu": usage.ru_utime + usage.ru_stime,
    }  # fmt: skip
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    sys.exit(main())
