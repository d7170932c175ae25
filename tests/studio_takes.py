"""A small library of the built-in corpus and a studio server for it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from waiting import LIMIT, wait_until

import motionloom as ml
from motionloom import demo

MOST_BYTES = 1e9  # of memory that a server of these tests may take, whatever its jobs
TAKES = (
    "walk_p0", "walk_p1", "walk_slow_p0", "walk_fast_p0", "walk_left_p0", "walk_right_p0",
    "march_p0", "march_p1", "jog_p0", "kick_front_low_right_p0", "kick_front_mid_right_p0",
    "kick_front_high_right_p0", "kick_front_high_right_p1", "kick_inside_mid_right_p0",
    "kick_outside_mid_right_p0", "kick_side_mid_right_p0", "kick_side_high_right_p0",
    "kick_front_mid_left_p0", "punch_low_right_p0", "punch_mid_right_p0",
    "punch_high_right_p0", "punch_cross_right_p0", "punch_mid_left_p0", "reach_front_mid_right_p0",
    "reach_front_high_right_p0", "jump_up_p0", "cartwheel_left_p0", "sit_stand_p0",
    "dance_groove_p0", "dance_sway_p0", "waltz_leader_p0", "waltz_follower_p1",
    "waltz_leader_p2", "waltz_follower_p3",
)  # fmt: skip


def corpus_library(path: Path, names: Iterable[str] = TAKES) -> ml.Library:
    """A library of motions of the corpus, labeled by action."""
    library = ml.Library.create(path, fps=30.0)
    for name in names:
        made = demo.annotated(name)
        library.add_motion(made.motion, labels=[made.truth.action])
    return library


def studio_client(library: ml.Library | None, **options):
    """A client of the studio of a library, in this process; `options` as of `create_app`."""
    from fastapi.testclient import TestClient

    from motionloom.studio import create_app

    return TestClient(create_app(library, **options), base_url="http://localhost")


class StudioServer:
    """``motionloom studio`` in a separate process; `address` once it listens.

    As a context it ends with it.

    Parameters
    ----------
    library : Path or None
        None: the page starts with a list of libraries.
    port : int
        0: any free one.
    *options : str
        Further options of the command. Without one about tokens or hosts, no token is needed;
        ``--own-token`` stands for the default, the token of the user.
    """

    def __init__(self, library: Path | None, *options: str, port: int = 0) -> None:
        self.library = library
        self.options = options
        self._start(port)

    def __enter__(self) -> StudioServer:
        return self

    def __exit__(self, kind, *error) -> None:
        peak = self.peak_bytes()
        self.stop()
        assert kind or peak < MOST_BYTES, f"the server took {peak / 1e6:.0f} MB of memory"

    def peak_bytes(self) -> int:
        """Largest memory of the server so far; 0 if it has ended, or if this is not Linux."""
        status = Path(f"/proc/{self.process.pid}/status")
        text = status.read_text() if status.exists() else ""
        peak = re.search(r"VmHWM:\s+(\d+) kB", text)
        return 1024 * int(peak.group(1)) if peak else 0

    def _start(self, port: int) -> None:
        command = [sys.executable, "-c", "from motionloom.cli import main; main()", "studio"]
        command += [str(self.library)] if self.library is not None else []
        command += ["--no-browser", "--port", str(port), *self.options]
        if not {"--host", "--token", "--own-token"} & set(self.options):
            command.append("--no-token")
        command = [word for word in command if word != "--own-token"]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline()  # printed once the socket listens
        match = re.search(r"http://\S+", line)
        if match is None:
            raise RuntimeError(f"the studio did not start: {line}{self.process.stderr.read()}")
        self.address = match.group()
        self.port = int(re.search(r":(\d+)/", self.address).group(1))

    def kill(self) -> None:
        """Kill it, as in a crash."""
        self.process.kill()
        self._collect()

    def restart(self) -> None:
        """Restart on the same port."""

        def started() -> bool:
            try:
                self._start(self.port)
            except RuntimeError as error:  # the port is freed a moment after the process has gone
                if "Address already in use" not in str(error):
                    raise
                return False
            return True

        wait_until(started, f"port {self.port} is free")

    def stop(self) -> tuple[str, str]:
        """Stop it; returns its output."""
        if self.process.poll() is None:
            self.process.terminate()
        return self._collect()

    def _collect(self) -> tuple[str, str]:
        try:
            return self.process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.communicate()
