"""Write the result files of the baselines and of other libraries.

    python methods/run_all.py DATA RESULTS [METHOD ...]

Every method runs on each of its sets in a process of its own, for at most `MOST_SECONDS` of
processor time. The table shows "over 600 s" for a set that takes longer.
"""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
MOST_SECONDS = 600
CLIPS = (
    "exercises", "sword-shield", "kaykit", "cmu-groups", "cmu-directions", "cmu-kinds", "bandai",
    "bandai-styles",
)  # fmt: skip
SEGMENTS = ("exercise-bouts", "cmu-queries", "cmu-marks", "bandai-sessions")
RANKED = ("kit-cmu", "films")
POSES = "wrists, ankles and head in the body frame"
# name: file, function, package, sets, settings
METHODS = {
    "chance": ("baselines", "chance", "", (*CLIPS, *SEGMENTS, *RANKED), "a random order"),
    "duration": ("baselines", "duration", "", CLIPS, "difference of the logarithmic durations"),
    "mean pose": ("baselines", "mean_pose", "", CLIPS, f"mean and deviation of {POSES}"),
    "euclidean": ("baselines", "euclidean", "", CLIPS, f"{POSES}, 64 frames"),
    "sliding window": ("baselines", "sliding", "", SEGMENTS, f"Euclidean distance of {POSES}"),
    "aeon DTW": ("rivals", "aeon_dtw", "aeon", CLIPS, f"{POSES}, 64 frames, 10 % band"),
    "aeon MSM": ("rivals", "aeon_msm", "aeon", CLIPS, f"{POSES}, 64 frames, 10 % band"),
    "dtaidistance DTW": (
        "rivals", "dtai_dtw", "dtaidistance", CLIPS, f"{POSES}, 64 frames, 10 % band",
    ),
    "tslearn DTW": (
        "rivals", "tslearn_dtw", "tslearn", CLIPS,
        f"{POSES}, at most 128 frames, band of 12 frames",
    ),
    "stumpy MPdist": (
        "rivals", "stumpy_mpdist", "stumpy", ("exercises",),
        f"each coordinate of {POSES}, half a second; only the smallest set, because it is slow",
    ),
    "stumpy MASS": ("rivals", "stumpy_mass", "stumpy", SEGMENTS, f"{POSES}, z-normalized"),
    "dtaidistance subsequences": (
        "rivals", "dtai_subsequences", "dtaidistance", SEGMENTS,
        f"{POSES}, at least half as long as the query",
    ),
    "aeon DTW of windows": (
        "rivals", "aeon_windows", "aeon", SEGMENTS,
        f"{POSES}, windows of 0.8, 1 and 1.25 times the query's length, 32 frames, 10 % band",
    ),
}  # fmt: skip
URLS = {
    "aeon": "https://www.aeon-toolkit.org", "stumpy": "https://stumpy.readthedocs.io",
    "dtaidistance": "https://dtaidistance.readthedocs.io",
    "tslearn": "https://tslearn.readthedocs.io",
}  # fmt: skip


def main(data: str, results: str, *chosen: str) -> None:
    """Run the methods, and print the processor time of each set."""
    for name in chosen or METHODS:
        file, function, package, sets, settings = METHODS[name]
        for given in sets:
            about = [
                "--result", f"{results}/{name.lower().replace(' ', '-')}.json",
                "--method", name, "--by", "the motionloom developers",
                "--version", f"{package} {version(package)}" if package else "",
                "--url", URLS.get(package, ""), "--settings", settings,
            ]  # fmt: skip
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = _bench(
                ["run", given, f"{HERE / file}.py:{function}", data, *about], MOST_SECONDS
            )
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL) and spent > MOST_SECONDS - 1:
                done = _bench(["stopped", given, f"{MOST_SECONDS}", *about], MOST_SECONDS)
            lines = (done.stderr if done.returncode else done.stdout).strip().splitlines()
            line = lines[-1] if lines else f"exit code {done.returncode}"
            print(f"{name}: {spent:.0f} s, {line}", flush=True)


def _bench(words: list[str], most_seconds: int) -> subprocess.CompletedProcess[str]:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (most_seconds, most_seconds))

    return subprocess.run(
        [sys.executable, "-m", "retrieval_bench", *words],
        cwd=HERE.parent, capture_output=True, text=True, check=False, preexec_fn=limit,
    )  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
