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
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

LONGEST = 10.0  # seconds of one input
LARGEST = 2.0e9  # bytes of memory
_GRACE = 3.0  # of the limit of time, where the machine is loaded: CPU time is what counts
_START_SECONDS = 600.0  # to make the seeds; kernels may have to be compiled


def main() -> int:
    """Run until the time is over; prints counts, and returns 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=["files", "library"], help="one kind of input")
    parser.add_argument("--guided", action="store_true", help="coverage-guided, with atheris")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.guided:
        from fuzz.guided import run

        return run(options.minutes)
    if options.worker:
        _work(Path(options.worker), options.seed, options.first, options.only)
        return 0
    return _watch(options)


def _watch(options: argparse.Namespace) -> int:
    """Keep a worker running; note what ends it."""
    end = time.monotonic() + 60.0 * options.minutes
    counts: Counter[str] = Counter()
    found: list[str] = []
    number, most, slowest = 0, 0.0, 0.0
    with tempfile.TemporaryDirectory(prefix="motionloom-fuzz-") as place:
        from fuzz.targets import seed_files, seed_library

        os.environ["XDG_CONFIG_HOME"] = f"{place}/configuration"
        (Path(place) / "files").mkdir()
        seed_files(Path(place) / "files")
        seed_library(Path(place))
        while time.monotonic() < end:
            command = [sys.executable, "-m", "fuzz", "--worker", place]
            command += ["--seed", str(options.seed), "--first", str(number)]
            if options.only:
                command += ["--only", options.only]
            worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            out, begun, used = worker.stdout, time.monotonic(), 0.0
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
                told = json.loads(line)
                number, begun, used = told["number"], time.monotonic(), told["cpu"]
                if not told["outcome"]:
                    continue  # the beginning of an input
                number += 1
                counts[f"{told['kind']}: {told['outcome']}"] += 1
                slowest = max(slowest, told["seconds"])
                most = max(most, told["memory"])
                if told["trace"]:
                    found.append(f"input {told['number']} ({told['kind']}): {told['trace']}")
                if told["memory"] > LARGEST:
                    why = f"{told['memory'] / 1e9:.1f} GB of memory"
                    break
            worker.kill()
            err = worker.communicate()[1].decode(errors="replace")
            if why:
                found.append(f"input {number} of seed {options.seed}: {why}\n{err[-1500:]}")
                number += 1
    for name, count in sorted(counts.items()):
        print(f"{count:8d}  {name}")
    print(f"{sum(counts.values())} inputs, slowest {slowest:.1f} s, memory {most / 1e9:.2f} GB")
    causes: dict[str, list[str]] = {}
    for one in found:
        causes.setdefault("\n".join(one.strip().splitlines()[-3:]), []).append(one)
    for some in causes.values():
        print(f"FOUND {len(some)} times:", some[0])
    print(f"{len(found)} failures of {len(causes)} kinds")
    return 1 if found else 0


def _cpu_seconds(pid: int) -> float:
    with contextlib.suppress(OSError, IndexError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return time.monotonic()


def _work(place: Path, seed: int, first: int, only: str | None) -> None:
    """Try inputs one after the other; one line of JSON for each."""
    from fuzz import targets

    faulthandler.enable()
    files = sorted((place / "files").iterdir())
    scratch = Path(tempfile.mkdtemp(dir=place))
    os.chdir(scratch)
    number = first
    logging.disable()
    while True:
        rng = random.Random(f"{seed} {number}")
        kind = only or rng.choice(["files", "library"])
        _tell(number, kind, "", "", 0.0)
        began = time.process_time()
        outcome, trace = "read", ""
        try:
            if kind == "files":
                chosen = rng.choice(files)
                if chosen.suffix == ".usda" and rng.random() < 0.9:
                    chosen = rng.choice(files)  # read in a process of its own, which takes long
                kind = _one_file(chosen, scratch, rng)
            else:
                targets.forget_verified()
                path = targets.mutated_library(place / "seed.loom", scratch, rng)
                targets.use_library(path, rng=rng)
        except targets.ALLOWED:
            outcome = "refused"
            kind = f"file {chosen.suffix}" if kind == "files" else kind
        except MemoryError:
            outcome, trace = "memory", traceback.format_exc()[-1500:]
        except Exception as error:
            outcome, trace = f"FOREIGN {type(error).__name__}", traceback.format_exc()[-1500:]
        _tell(number, kind, outcome, trace, time.process_time() - began)
        number += 1


def _one_file(chosen: Path, scratch: Path, rng: random.Random) -> str:
    from fuzz import targets
    from fuzz.mutations import mutated_file

    folder = scratch / "file"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for companion in chosen.parent.glob(f"{chosen.stem}.*"):
        if companion.suffix in (".asf", ".amc", ".bin"):
            shutil.copy(companion, folder)
    path = folder / chosen.name
    path.write_bytes(mutated_file(chosen, chosen.read_bytes(), rng, scratch))
    if path.suffix == ".bin":
        shutil.copy(chosen.with_suffix(".gltf"), folder)
        path = path.with_suffix(".gltf")
    targets.read_file(path)
    return f"file {chosen.suffix}"


def _tell(number: int, kind: str, outcome: str, trace: str, seconds: float) -> None:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    line = {
        "number": number, "kind": kind, "outcome": outcome, "trace": trace, "seconds": seconds,
        "memory": usage.ru_maxrss * 1024, "cpu": usage.ru_utime + usage.ru_stime,
    }  # fmt: skip
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    sys.exit(main())
