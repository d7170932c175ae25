"""``python -m benchmarks browser``: the search of exported controllers, in Chromium.

Takes that walk, jog or run make a controller of about 60,000 frames, mirrored copies included. A
player in the page is steered at random for ten minutes: sharp turns, changes of speed, facing and
gait. The searches that it makes are recorded and timed one at a time, in JavaScript. Each is timed
in three passes over all of them, and the fastest pass counts. The rival is a plain search over all
frames that stops adding columns when a frame is too far.
"""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import Settings
from benchmarks.takes import data_folder, everything
from benchmarks.timing import Log, Result
from motionloom.errors import MotionloomError

SUMMARY = "search of an exported controller in Chromium's JavaScript"
PACKAGES = ()
_FRAMES = 31_500  # of the takes; their mirrored copies double them
_SECONDS = 600
_WORDS = ("walk", "jog", "run")
_STUDIO = Path(__file__).parents[1] / "studio"
_RUNTIME = Path(__file__).parents[1] / "src" / "motionloom" / "studio" / "static" / "runtime"
_HOST = "http://localhost"
# Clocks of isolated pages have a step of 5 microseconds, those of others 100.
_ISOLATED = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
}


def run(settings: Settings, log: Log) -> dict[str, Any]:
    """Return the results and a description of the data."""
    if not (_RUNTIME / "index.js").is_file():
        raise MotionloomError("the run-time is not built; run: python build_page.py")
    with tempfile.TemporaryDirectory() as scratch:
        folder, source, credit = everything(settings, Path(scratch) / "files", log=log)
        files = _walks(folder, settings)
        log(f"a controller of {len(files)} takes, steered for {_SECONDS} s")
        trace = Path(scratch) / "trace"
        record = [sys.executable, str(_STUDIO / "golden.py"), str(trace), str(_SECONDS)]
        subprocess.run([*record, *map(str, files)], check=True, stdout=sys.stderr)
        log("searching in Chromium")
        times = _in_chromium(trace)
    results = []
    for name, words in (("median", "median"), ("p90", "90 %"), ("p99", "99 %"), ("worst", "worst")):
        ours, plain = times["ours"][name] / 1e3, times["plain"][name] / 1e3
        note = f"of {times['queries']} searches for 16 frames; {times['browser']}"
        what = f"one search, {words}, {times['frames']} frames x {times['columns']}"
        results.append(Result(what, ours, "plain search", plain, plain / ours, note))
    return {
        "data": f"{source}: {len(files)} takes, {times['frames']} frames with mirrored copies",
        "credit": credit,
        "results": [row.as_dict() for row in results],
    }


def _walks(folder: Path, settings: Settings) -> list[Path]:
    """Takes described or named as walks, jogs and runs, until they have `_FRAMES` frames."""
    files = {path.stem: path for path in sorted(folder.rglob("*.bvh"))}
    place = settings.data or data_folder()
    table = None if place is None else place / "cmu30-metadata.csv"
    if table is None or not table.exists():
        named = [path for name, path in files.items() if any(word in name for word in _WORDS)]
        return named or list(files.values())
    chosen: list[Path] = []
    frames = 0
    with table.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            described = any(word in row["description"].lower() for word in _WORDS)
            if described and not row["duplicate_of"] and row["file"] in files:
                chosen.append(files[row["file"]])
                frames += int(row["frames30"])
            if frames >= _FRAMES:
                break
    return chosen


def _in_chromium(trace: Path) -> dict[str, Any]:
    """Return the times in milliseconds that ``studio/search-time.js`` measures."""
    try:
        from playwright.sync_api import Route, sync_playwright
    except ImportError:
        raise MotionloomError("Chromium is steered by playwright: pip install playwright") from None
    program = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    served = {
        "/search-time.js": (_STUDIO / "search-time.js", "text/javascript"),
        "/index.js": (_RUNTIME / "index.js", "text/javascript"),
        "/controller.bin": (trace / "controller.bin", "application/octet-stream"),
    }

    def answer(route: Route) -> None:
        path, kind = served.get(route.request.url.removeprefix(_HOST), (None, "text/html"))
        body = b"<!doctype html><title>search</title>" if path is None else path.read_bytes()
        route.fulfill(body=body, headers={**_ISOLATED, "Content-Type": kind})

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(0)
        page.route("**/*", answer)
        page.goto(f"{_HOST}/")
        if not page.evaluate("crossOriginIsolated"):
            raise MotionloomError("the page is not isolated, so its clock is too coarse")
        times = page.evaluate(
            """async (trace) => {
                const { searchTimes } = await import("/search-time.js");
                const raw = await (await fetch("/controller.bin")).arrayBuffer();
                return searchTimes(await import("/index.js"), new Uint8Array(raw), trace); }""",
            json.loads((trace / "trace.json").read_text(encoding="utf-8")),
        )
        times["browser"] = f"Chromium {browser.version.partition('.')[0]}"
        browser.close()
    return times
