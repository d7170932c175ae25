"""Coverage-guided fuzzing, if the package atheris is installed: ``python -m fuzz --guided``.

The first byte of an input selects the file: one of the small files of `seed_files`, or a file of
the library of `seed_library`, which is then used. The other bytes are its content. libFuzzer keeps
inputs that reach new branches of motionloom and mutates them further. Half of the mutations are
those of `fuzz.mutations`, which know JSON, arrays, zips, webs and SQLite; half are libFuzzer's.

Modules with compiled kernels are not instrumented, because Numba cannot compile the code that
atheris adds. FBX and USD are excluded: they are read in separate processes, where coverage is not
measured.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import traceback
import zlib
from collections import Counter
from pathlib import Path

LONGEST = 10.0  # seconds of processor time of one input
_WAIT = 900  # seconds on the clock: the machine may be loaded
_LARGEST_MB = 2048
_LARGEST_INPUT = 1 << 19
_FOUND = "found.jsonl"


def run(minutes: float, seed: int) -> int:
    """Fuzz in processes that may die; print counts, and return 1 if there were failures."""
    if importlib.util.find_spec("atheris") is None:
        print("coverage-guided fuzzing needs atheris: pip install atheris")
        return 2
    end = time.monotonic() + 60.0 * minutes
    ended: list[str] = []
    inputs, reached = 0, "no input ran"
    with tempfile.TemporaryDirectory(prefix="motionloom-guided-") as folder:
        place = Path(folder)
        (place / "corpus").mkdir()
        while (left := end - time.monotonic()) > 1.0:
            command = [sys.executable, "-m", "fuzz", "--guided", "--worker", folder]
            command += ["--minutes", f"{left / 60.0:.3f}", "--seed", str(seed + len(ended))]
            with open(place / "errors", "wb") as errors:
                code = subprocess.run(command, stderr=errors, check=False).returncode
            output = (place / "errors").read_text(errors="replace")
            counts = re.findall(r"^#(\d+).* cov: (\d+) ft: \d+ corp: (\d+)", output, re.M)
            inputs += int(counts[-1][0]) if counts else 0
            if counts:
                reached = f"{counts[-1][1]} branches reached, {counts[-1][2]} inputs kept"
            if code:
                ended.append(f"the process ended with code {code}\n{output[-3000:]}")
        result = _found(place)
    print(f"{inputs} inputs in {minutes:g} minutes; {reached}")
    for text, count in result.items():
        print(f"FOUND {count} times: {text}")
    for text in ended:
        print("FOUND", text)
    print(f"{len(result) + len(ended)} kinds of failures")
    return 1 if result or ended else 0


def _found(place: Path) -> Counter[str]:
    """Failures found by all workers, with their counts."""
    path = place / _FOUND
    return Counter(map(json.loads, path.read_text().splitlines() if path.exists() else []))


def work(place: Path, minutes: float, seed: int) -> None:
    """Fuzz until the time is over or libFuzzer ends the process."""
    import atheris

    with atheris.instrument_imports(include=["motionloom"], exclude=_compiled()):
        from fuzz import targets

        os.environ["XDG_CONFIG_HOME"] = f"{place}/configuration"
        scratch = Path(tempfile.mkdtemp(dir=place))
        (scratch / "files").mkdir()
        files = [
            path
            for path in targets.seed_files(scratch / "files")
            if path.suffix not in targets.CHILDREN
        ]
        library = targets.seed_library(scratch)
        parts = sorted(
            path for path in library.rglob("*") if path.is_file() and path.name != "lock"
        )
        own = targets.own_library(library, scratch)
    chosen = [*files, *parts][:256]
    for number, path in enumerate(chosen):
        (place / "corpus" / f"seed{number}").write_bytes(bytes([number]) + path.read_bytes())
    logging.disable()
    os.chdir(scratch)

    def fuzz_one(data: bytes) -> None:
        if not data:
            return
        path, rng = chosen[data[0] % len(chosen)], random.Random(zlib.crc32(data))
        began = time.process_time()
        try:
            if path in files:
                targets.read_content(path, data[1:], scratch, own, rng)
            else:
                targets.use_changed(library, path.relative_to(library), data[1:], scratch, rng)
        except targets.ALLOWED:
            pass
        except Exception:
            _note(place, path.name, data, traceback.format_exc()[-1500:])
        if (seconds := time.process_time() - began) > LONGEST:
            _note(place, path.name, data, f"{seconds:.0f} s of processor time")

    def mutated(data: bytes, largest: int, seed: int) -> bytes:
        from fuzz.mutations import mutated_file

        rng = random.Random(seed)
        if not data or rng.random() < 0.5:
            return atheris.Mutate(data, largest)
        path = chosen[data[0] % len(chosen)]
        return (data[:1] + mutated_file(path, data[1:], rng, scratch))[:largest]

    options = [
        f"-max_total_time={max(1, int(60 * minutes))}", f"-timeout={_WAIT}", f"-seed={seed + 1}",
        f"-rss_limit_mb={_LARGEST_MB}", f"-max_len={_LARGEST_INPUT}", "-len_control=0",
        f"-artifact_prefix={scratch}/", str(place / "corpus"),
    ]  # fmt: skip
    atheris.Setup([sys.argv[0], *options], fuzz_one, custom_mutator=mutated)
    atheris.Fuzz()


def _note(place: Path, name: str, data: bytes, text: str) -> None:
    """Record a failure, and save its input in the system's temporary folder."""
    kept = Path(tempfile.gettempdir()) / f"motionloom-guided-{zlib.crc32(data):08x}-{name}"
    reports = (place / _FOUND).read_text() if (place / _FOUND).exists() else ""
    line = json.dumps(f"{name}: {text}")
    if line not in reports:
        kept.write_bytes(data[1:])
        print("FOUND", kept, text, flush=True)
    with open(place / _FOUND, "a") as out:
        out.write(line + "\n")


def _compiled() -> list[str]:
    """Names of the modules that define kernels."""
    root = Path(importlib.util.find_spec("motionloom").origin).parent  # type: ignore[union-attr,arg-type]
    return [
        ".".join(["motionloom", *path.relative_to(root).with_suffix("").parts])
        for path in root.rglob("*.py")
        if "kernel" in path.read_text(encoding="utf-8")
    ]
