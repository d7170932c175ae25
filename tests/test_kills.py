"""Writers that are killed at any moment: nothing is lost, and the library verifies clean."""

from __future__ import annotations

import os
import random
import signal
import sys
from contextlib import suppress

import pytest
from waiting import random_pause

import motionloom as ml
from motionloom.errors import MotionloomError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked")
KICKS = [f"kick_front_{height}_right" for height in ("low", "mid", "high")]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for name in ("walk", "walk_fast", "jog", *KICKS):
        ml.demo.clip(name)[:70].save(folder / f"{name}.bvh")
    return folder


def imported(path, files, rng):
    ml.Library.create(path, exist_ok=True).add(files, workers=1, force=rng.random() < 0.5)


def webbed(path, files, rng):
    ml.Library(path).webs.build(only=["walk", "jog"], workers=1)


def graphed(path, files, rng):
    ml.Library(path).motion_graph(only=["walk", "walk_fast"], per_minute=rng.choice([8, 9]))


def parametrized(path, files, rng):
    library = ml.Library(path)
    family = library.family(KICKS[2], only=KICKS, expansion=ml.Expansion(join_distance=9.0))
    library.parametrize(family, by="right_ankle@20", samples=4, name="kick")


def labeled(path, files, rng):
    library = ml.Library(path)
    for name in rng.sample(list(library.names), min(3, len(library))):
        library.labels.remove(name, rng.choice(["calm", "tired"]))
        library.labels.remove(f"{name}:5-20", "part")


def kept(path, files, rng):
    library = ml.Library(path)
    library.artifacts.save("choreography", "kept", {"number": rng.random()})


def undone(path, files, rng):
    library = ml.Library(path)
    library.artifacts.delete("choreography", "kept")
    library.add_motion(ml.demo.clip("walk")[: rng.randrange(20, 60)], name="own", replace=True)
    if rng.random() < 0.5:
        library.remove("own")


def taken_back(path, files, rng):
    """Changes of one motion, undone and redone: the latest changes, so that no other is touched."""
    library = ml.Library(path)
    own = {"own", "other"}
    library.add_motion(ml.demo.clip("walk")[: rng.randrange(20, 60)], name="own", replace=True)
    for _ in range(rng.randrange(1, 5)):
        there = [name for name in library.names if name in own]
        change = rng.choice(["label", "rename", "remove", "undo", "undo", "redo"])
        if change in ("undo", "redo"):
            past = [item for item in library.history() if item.undone == (change == "redo")]
            some = past[:1] if change == "undo" else past[-1:]
            if some and some[0].names and set(some[0].names) <= own:
                getattr(library, change)()
        elif there and change == "label":
            library.labels.add(there[0], rng.choice(["calm", "tired", "sad"]))
        elif len(there) == 1 and change == "rename":
            library.rename(there[0], (own - set(there)).pop())
        elif there:
            library.remove(there[0])


WRITERS = [imported, webbed, graphed, parametrized, labeled, kept, undone, taken_back]


def killed(writer, path, files, rng) -> bool:
    """Run a writer in a process that is killed after a random time; whether it was."""
    pid = os.fork()
    if pid == 0:
        code = 1
        with suppress(BaseException):
            try:
                writer(path, files, rng)
                code = 0
            except MotionloomError:
                code = 2
        os._exit(code)
    random_pause(rng, rng.choice([0.0, 0.002, 0.02, 0.1, 0.4]))
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) in (0, 2)
    return os.WIFSIGNALED(status)


def check_kills(tmp_path, files, *, kills: int, seed: int) -> None:
    rng = random.Random(seed)
    path = tmp_path / "takes.loom"
    imported(path, files, rng)
    for writer in (graphed, parametrized):  # compiled kernels are inherited
        with suppress(MotionloomError):
            writer(path, files, rng)
    sources = {entry.name: entry.digest for entry in ml.Library(path).entries()}
    done = 0
    while done < kills:
        done += killed(rng.choice(WRITERS), path, files, rng)
        library = ml.Library(path)
        assert library.store.damage() == []
        stored = {entry.name: entry.digest for entry in library.entries()}
        assert sources.items() <= stored.items()
        library.close()
    for writer in WRITERS:
        with suppress(MotionloomError):
            writer(path, files, rng)
    library = ml.Library(path)
    report = library.verify(repair=True)
    assert report.problems == ()
    assert library.verify().problems == () and sources.items() <= {
        (entry.name, entry.digest) for entry in library.entries()
    }


def test_a_few_killed_writers_lose_nothing(tmp_path, files):
    check_kills(tmp_path, files, kills=6, seed=0)


@pytest.mark.slow
def test_a_hundred_killed_writers_lose_nothing(tmp_path, files):
    check_kills(tmp_path, files, kills=100, seed=1)
