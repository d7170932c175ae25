"""Two studios and a third process work on one library, with half-open connections to both studios.

``MOTIONLOOM_SOAK=300 pytest tests/test_soak.py -m slow -s`` runs it for five minutes.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from urllib.parse import quote

import pytest
from studio_takes import TAKES, StudioServer, corpus_library

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

SECONDS = float(os.environ.get("MOTIONLOOM_SOAK", "20"))
CLIENTS = 6  # per studio
HALF_OPEN = 200
WARM = 400  # requests before the memory is measured
PATIENCE = 90.0  # seconds in which the memory returns
_PAGE = 4096

# Adds, renames, labels and removes motions of its own, and checks what it did.
THIRD = """
import sys, time
import motionloom as ml
path, seconds = sys.argv[1], float(sys.argv[2])
walk, end, number = ml.demo.clip("walk")[:60], time.monotonic() + seconds, 0
while time.monotonic() < end:
    with ml.Library(path) as library:
        name = f"third_{number}"
        library.add_motion(walk, name=name, labels=["third"])
        library.labels[name] = ["third", "again"]
        assert set(library.labels[name]) == {"third", "again"}
        library.remove(name)
        assert name not in library.names
    number += 1
    time.sleep(0.2)
print(number)
"""


class Client:
    """Requests to a studio over one connection."""

    def __init__(self, port: int, seen: Counter) -> None:
        self.port, self.seen = port, seen
        self.line = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        """Status and content of a response; a connection that was closed is opened again."""
        content = None if body is None else json.dumps(body)
        for attempt in range(3):
            try:
                headers = {"Content-Type": "application/json"} if content else {}
                self.line.request(method, path, content, headers)
                answer = self.line.getresponse()
                data = answer.read()
                self.seen[answer.status] += 1
                assert answer.status < 500 or answer.status == 503, (
                    f"{method} {path} {data[:300]!r}"
                )
                return answer.status, data
            except (http.client.HTTPException, OSError):
                self.line.close()
                if attempt == 2:
                    raise
        raise AssertionError


def labels_in(data: bytes, name: str) -> list[str]:
    (row,) = [row for row in json.loads(data)["motions"] if row["name"] == name]
    return row["labels"]


def work(number: int, ours: Client, other: Client, names: list[str], end: float) -> None:
    """Mixed requests; what one studio wrote is read from the other."""

    def expected(*request: object) -> None:
        status, data = ours.ask(*request)
        assert status in (200, 503), f"{status} {request[:2]} {data.decode()[:300]}"

    name, step = names[number % len(names)], 0
    place = quote(name)
    while time.monotonic() < end:
        step += 1
        start = (7 * step + number) % 20
        query = {"query": f"{name}:{start}-{start + 30}"}
        clip = {"motion": name, "start_frame": start, "end_frame": start + 12}
        subject = {"kind": "segment", **clip}
        kind = step % 9
        if kind == 0:
            mark = f"c{number}-{step}"
            status, data = ours.ask("PUT", f"/api/library/labels/{place}", {"labels": [mark]})
            assert status == 200, data
            status, data = other.ask("GET", "/api/library")
            assert labels_in(data, name) == [mark], "a stale answer"
        elif kind == 1:
            expected("POST", "/api/search", query)
        elif kind == 2:
            expected("POST", "/api/find", {"text": "kicks high"})
        elif kind == 3:
            expected("GET", f"/api/motions/{place}/frames")
        elif kind == 4:
            expected("POST", "/api/families", query)
        elif kind == 5:
            expected("POST", "/api/export", {"clips": [clip], "format": "glb"})
        elif kind == 6:
            expected("POST", "/api/subjects/file", {"subject": subject, "suffix": "glb"})
        elif kind == 7:
            expected("POST", "/api/dance/tunes", {"bars": 4 + step % 8, "seed": step})
        else:
            expected("GET", f"/api/motions/{place}/beats")


def half_open(ports: list[int], end: float) -> None:
    """Keep connections that have sent half of a request; closed ones are replaced."""
    lines: list[socket.socket] = []
    while time.monotonic() < end:
        while len(lines) < HALF_OPEN:
            line = socket.create_connection(("127.0.0.1", ports[len(lines) % len(ports)]), 30)
            line.sendall(b"GET /api/library HTTP/1.1\r\nHost: loc")
            lines.append(line)
        time.sleep(1.0)
        for line in list(lines):
            line.setblocking(False)
            try:
                closed = line.recv(1) == b""
            except BlockingIOError:
                closed = False
            except OSError:
                closed = True
            if closed:
                line.close()
                lines.remove(line)
    for line in lines:
        line.close()


def resident(server: StudioServer) -> float:
    """Megabytes of a server in memory, without files that are only mapped."""
    fields = Path(f"/proc/{server.process.pid}/statm").read_text().split()
    return (int(fields[1]) - int(fields[2])) * _PAGE / 1e6


def mixed(servers: list[StudioServer], library: Path, names: list[str], seconds: float) -> Counter:
    """Work with both servers and a third process; counts of statuses."""
    end, seen = time.monotonic() + seconds, Counter()
    failures: list[BaseException] = []

    def guarded(function, *given) -> None:
        try:
            function(*given)
        except BaseException as error:
            failures.append(error)

    ports = [server.port for server in servers]
    third = subprocess.Popen(
        [sys.executable, "-c", THIRD, str(library), str(seconds)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    threads = [threading.Thread(target=guarded, args=(half_open, ports, end))]
    for number in range(CLIENTS * len(ports)):
        ours, other = ports[number % 2], ports[(number + 1) % 2]
        given = (number, Client(ours, seen), Client(other, seen), names, end)
        threads.append(threading.Thread(target=guarded, args=(work, *given)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    out, said = third.communicate()
    assert third.returncode == 0, said
    for failure in failures[:5]:
        print("failure:", repr(failure)[:3000])
    if failures:
        print(*(server.stop()[1][-3000:] for server in servers), sep="\n")
    assert not failures
    seen["third"] = int(out)
    return seen


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_two_studios_and_a_third_process(tmp_path):
    names = list(TAKES[:14])
    corpus_library(tmp_path / "takes.loom", names).close()
    path = tmp_path / "takes.loom"
    with StudioServer(path) as first, StudioServer(path) as second:
        servers = [first, second]
        cold = [resident(server) for server in servers]
        warm = Counter()
        while warm[200] < WARM:  # kernels are compiled, and caches are full
            warm += mixed(servers, path, names, 10.0)
        time.sleep(15.0)
        before = [resident(server) for server in servers]
        seen = mixed(servers, path, names, SECONDS)
        most = [resident(server) for server in servers]
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            after = [resident(server) for server in servers]
            if all(late < 1.2 * early for early, late in zip(before, after, strict=True)):
                break
            time.sleep(2.0)
        print("warm", dict(warm), "then", dict(seen))
        print("MB at start, before, at the end, at rest:", *(
            [round(size) for size in sizes] for sizes in (cold, before, most, after)))  # fmt: skip
        assert all(late < 1.2 * early for early, late in zip(before, after, strict=True))
