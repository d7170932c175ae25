"""Work on a real Dask cluster: the same as on one machine, whatever dies."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from cluster_tasks import die, square, whereabouts
from commands import MOTIONLOOM, ran
from waiting import random_pause, wait_until

import motionloom as ml
from motionloom import parallel
from motionloom.cli import app
from motionloom.cli.tools.cluster import cluster_from
from motionloom.cli.tools.demo import steps as spreading
from motionloom.cli.tools.demo.tour import Tour
from motionloom.configuration import trust_settings
from motionloom.errors import InvalidInput, LibraryError, MissingExtra
from motionloom.evaluation.reconstruction import evaluate_reconstructions
from motionloom.motion_graph import GraphSettings
from motionloom.parallel import (
    ClusterError,
    ClusterExecutor,
    WorkerDied,
    completed,
    executor,
    local_cluster,
    on_cluster,
    one_thread,
)
from motionloom.parallel.cluster import pass_on
from motionloom.search.clips.measures import clip_distances
from motionloom.search.clips.retrieval import clip_table
from motionloom.search.match_web import build as web_tasks
from motionloom.search.match_web.store import WebStore

NAMES = ("walk", "jog", "kick_front_high_right", "kick_front_low_right", "punch_high_left")


@pytest.fixture
def address(dask_cluster):
    return dask_cluster.scheduler_address


def library_at(path):
    library = ml.Library.create(path)
    for name in NAMES:
        library.add_motion(ml.demo.clip(name)[:80], name=name)
    return library


@pytest.fixture
def many_tasks(monkeypatch):
    """Every row of a web is a task of its own."""
    monkeypatch.setattr(web_tasks, "MAX_TASK_CELLS", 1)


def _has_only(folder, names):
    return {path.name for path in Path(folder).rglob("*.web")} == names


def bytes_below(folder):
    return {path.name: path.read_bytes() for path in Path(folder).rglob("*.web")}


# --- the engine -----------------------------------------------------------------------------


def test_every_item_comes_back_once_and_exceptions_with_their_items(address):
    with executor(cluster=address) as pool:
        assert isinstance(pool, ClusterExecutor)
        assert pool.workers == 2
        done = list(completed(square, range(40), pool))
    assert {task.item: task.result for task in done if task.error is None} == {
        n: n * n for n in range(40) if n != 5
    }
    (failed,) = [task for task in done if task.error]
    assert (failed.item, type(failed.error), str(failed.error)) == (
        5, ValueError, "five is right out"
    )  # fmt: skip


def test_work_is_done_by_the_workers_and_little_of_it_here(address):
    with on_cluster(address):
        with executor(tasks=9) as pool:
            there = {task.result for task in completed(whereabouts, range(9), pool)}
        with executor(1) as pool:
            here = {task.result for task in completed(whereabouts, range(9), pool)}
        assert parallel.available_workers() == 2
    assert here == {os.getpid()}
    assert os.getpid() not in there
    with executor(1, tasks=3) as pool:
        assert not isinstance(pool, ClusterExecutor)


@pytest.mark.slow
def test_an_item_that_kills_its_workers_costs_itself_only(address):
    with executor(cluster=address) as pool:
        done = list(completed(partial(die, deadly=7), range(12), pool))
    assert sorted(task.item for task in done) == list(range(12))
    (failed,) = [task for task in done if task.error]
    assert failed.item == 7
    assert isinstance(failed.error, WorkerDied)
    assert "died repeatedly" in str(failed.error)


class Awaited:
    """A task that ends with an error, or with a result."""

    def __init__(self, error=None):
        self.error = error

    def __await__(self):
        yield
        if self.error is not None:
            raise self.error
        return 3


def test_the_outcome_of_a_task_always_reaches_its_future():
    """Also if its result was there, was lost with its worker, and the second try failed."""
    done, failed, cancelled, given_up = (Future() for _ in range(4))
    given_up.cancel()
    asyncio.run(pass_on(Awaited(), done))
    asyncio.run(pass_on(Awaited(ValueError("all workers died")), failed))
    asyncio.run(pass_on(Awaited(asyncio.CancelledError()), cancelled))
    asyncio.run(pass_on(Awaited(), given_up))
    assert done.result() == 3
    assert str(failed.exception()) == "all workers died"
    assert cancelled.cancelled() and given_up.cancelled()


def test_what_has_not_begun_is_given_up_when_the_loop_ends_early(address):
    with on_cluster(address):
        with pytest.raises(RuntimeError, match="enough"):
            with executor() as pool:
                for _ in completed(time.sleep, [0.0, 0.2], pool):
                    raise RuntimeError("enough")
        with executor() as pool:  # the cluster is as it was
            assert len(list(completed(square, range(8), pool))) == 8


def test_an_address_where_nobody_answers_is_reported(monkeypatch):
    monkeypatch.setattr("motionloom.parallel.cluster.CONNECT_SECONDS", 0.3)
    with pytest.raises(ClusterError, match=r"no cluster answers at tcp://127.0.0.1:9 "):
        with on_cluster("tcp://127.0.0.1:9"):
            pass
    with pytest.raises(InvalidInput, match=r"must be an address such as tcp://.*carrier"):
        with on_cluster("carrier://pigeon"):
            pass


def test_a_cluster_without_workers_is_reported(monkeypatch):
    from distributed import LocalCluster

    monkeypatch.setattr("motionloom.parallel.cluster.WORKERS_SECONDS", 0.3)
    with LocalCluster(n_workers=0, dashboard_address=":0") as empty:
        with pytest.raises(ClusterError, match=r"the cluster at tcp://\S+ has no workers. Start"):
            with on_cluster(empty.scheduler_address):
                pass


def test_dask_is_named_when_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtra, match=r"pip install 'motionloom\[cluster\]'"):
        with on_cluster("tcp://127.0.0.1:8786"):
            pass


# --- the same bytes -------------------------------------------------------------------------


def test_webs_are_the_same_bytes_as_on_one_machine(address, tmp_path, monkeypatch, many_tasks):
    monkeypatch.chdir(tmp_path)  # workers are in another folder: paths must not be relative
    library_at("here.loom")
    library_at("there.loom")
    WebStore(ml.Library("here.loom").store).build(workers=2)
    seen = []
    with on_cluster(address):
        report = WebStore(ml.Library("there.loom").store).build(workers=2, progress=seen.append)
    assert report.built == report.pairs == sum(seen) == 15
    assert bytes_below("here.loom") == bytes_below("there.loom") != {}


def test_imports_and_features_are_the_same_bytes_as_on_one_machine(address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in NAMES[:3]:
        ml.demo.clip(name)[:60].save(tmp_path / "takes" / f"{name}.bvh")
    (tmp_path / "takes" / "bad.bvh").write_text("HIERARCHY\n")
    reports, rows = [], []
    for place in ("here.loom", "there.loom"):
        lib = ml.Library.create(place)
        with on_cluster(address) if place == "there.loom" else parallel.executor(1):
            reports.append(lib.add("takes", workers=2))
            monkeypatch.setattr("motionloom.store.artifacts.row_table.MIN_POOL_FRAMES", 0)
            monkeypatch.setattr("motionloom.store.artifacts.row_table.BATCH_FRAMES", 1)
            rows.append(np.array(lib.features("e15").rows))
    assert (reports[0].added, len(reports[0].failed)) == (3, 1)
    assert reports[0].failed == reports[1].failed
    assert np.array_equal(rows[0], rows[1])
    frames = [
        {path.name: path.read_bytes() for path in Path(place, "frames").iterdir()}
        for place in ("here.loom", "there.loom")
    ]
    assert frames[0] == frames[1]


@pytest.fixture
def small_portions(monkeypatch):
    """Every row of clips, every pair of takes is a task of its own."""
    monkeypatch.setattr("motionloom.motion_graph.transitions.pair_candidates.MIN_TASK_CELLS", 1)
    monkeypatch.setattr("motionloom.motion_graph.transitions.pair_candidates.MAX_TASK_CELLS", 1)


@pytest.mark.slow
def test_clips_graphs_and_bodies_are_the_same_to_the_bit(address, tmp_path, small_portions):
    library = library_at(tmp_path / "takes.loom")
    for name in NAMES:
        library.labels[name] = [name.split("_")[0]]
    methods = ["dtw-clip", "emd", "scaling", "dtw-jrd"]  # one of each kind
    walks = GraphSettings(only=("walk", "jog"), per_minute=60)
    bodies = {"names": ["walk", "kick_front_high_right"], "options": {"missing": 0.05}}

    def everything(**options):
        scores = library.evaluate(methods=methods, **options).methods
        errors = list(evaluate_reconstructions(library.store, **bodies, **options))
        shutil.rmtree(next(library.path.glob("derived/motion-graph.*")), ignore_errors=True)
        seen = []
        graph = library.graphs.edited(walks, progress=seen.append, **options).graph
        assert sum(seen) == 3
        return scores, errors, graph

    (library.path / "derived" / "motion-graph.none").mkdir(parents=True)
    scores, errors, graph = everything(workers=1)
    with on_cluster(address):
        there = everything()
    for name in methods:
        wanted = scores[name].distances
        assert np.array_equal(there[0][name].distances, wanted, equal_nan=True), name
        assert np.array_equal(wanted, distance_matrix_of(library, name, scores), equal_nan=True)
        assert there[0][name].seconds > 0.0
    assert [error.motion for error in there[1]] == bodies["names"]
    for a, b in zip(errors, there[1], strict=True):
        assert np.array_equal(a.frames, b.frames)
        assert np.array_equal(a.result.rotations, b.result.rotations)
    for name in ("source", "target", "errors", "means", "transforms", "accelerations"):
        wanted = getattr(graph.transitions, name)
        assert np.array_equal(getattr(there[2].transitions, name), wanted)


def distance_matrix_of(library, name, scores):
    """All distances of a measure at once, in the order of the evaluation."""
    table = clip_table(library.store, scores[name].measure)
    order = sorted(table.names, key=lambda clip: (clip.split("_")[0], clip))
    some = table.some(np.array([table.names.index(clip) for clip in order]))
    with one_thread():
        return clip_distances(scores[name].measure, some.clips)


# --- faults ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_workers_killed_during_a_build_cost_nothing_but_time(dask_cluster, tmp_path, many_tasks):
    _build_among_kills(dask_cluster, tmp_path, seeds=(0, 1))


@pytest.mark.slow
def test_ten_builds_among_kills(dask_cluster, tmp_path, many_tasks):
    _build_among_kills(dask_cluster, tmp_path, seeds=range(2, 12))


def _build_among_kills(cluster, tmp_path, seeds):
    wanted_at = library_at(tmp_path / "wanted.loom")
    WebStore(wanted_at.store).build(workers=1)
    wanted = bytes_below(wanted_at.path)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        library = library_at(tmp_path / f"{seed}.loom")
        kill = Killer(cluster, rng)
        with on_cluster(cluster.scheduler_address):
            report = WebStore(library.store).build(workers=2, progress=kill)
        recover(cluster)
        assert kill.killed
        assert report.built == report.pairs == sum(kill.done) == 15
        assert WebStore(library.store).missing() == 0
        # A file that a worker was writing when it was killed may stay until the next build, and a
        # task given to two workers may still be written.
        WebStore(library.store).build(workers=1)
        wait_until(partial(_has_only, library.path, wanted.keys()), "nothing else is there")
        assert bytes_below(library.path) == wanted


def recover(cluster):
    """Wait until killed workers have come up again."""
    wait_until(
        lambda: len(cluster.scheduler.workers) >= len(cluster.workers), "workers come up again"
    )


def begun_tasks_end(address):
    """Wait until the workers have ended the tasks that had begun when the loop was left."""
    from distributed import Client

    def running(dask_worker):
        return len(dask_worker.state.executing)

    with Client(address, set_as_default=False) as client:
        wait_until(lambda: not any(client.run(running).values()), "begun tasks end")


class Killer:
    """Called as progress; kills one worker or another after some of the first four tasks.

    If no worker is up at that moment, one is killed after the next task.
    """

    def __init__(self, cluster, rng):
        self.cluster, self.rng = cluster, rng
        self.moments = rng.choice(4, size=2, replace=False)
        self.killed, self.done, self.due = [], [], 0

    def __call__(self, steps=1):
        self.done.append(steps)
        alive = [
            nanny.pid
            for nanny in self.cluster.workers.values()
            # One that dies before it has come up is not started again.
            if nanny.pid and nanny.worker_address in self.cluster.scheduler.workers
        ]
        self.due += len(self.done) - 1 in self.moments
        if self.due and alive:
            self.due -= 1
            random_pause(self.rng, 0.005)
            chosen = int(self.rng.choice(alive))
            with suppress(ProcessLookupError):  # dead from the last time
                os.kill(chosen, signal.SIGKILL)
                self.killed.append(chosen)


@pytest.mark.slow
def test_imports_and_builds_in_a_store_among_kills(dask_cluster, tmp_path, many_tasks, monkeypatch):
    monkeypatch.setenv("MOTIONLOOM_CACHE", str(tmp_path / "cache"))
    names = (*NAMES, "walk_left", "walk_right", "jump_up")
    for name in names:
        ml.demo.clip(name)[:80].save(tmp_path / "takes" / f"{name}.bvh")
    wanted = ml.Library.create(tmp_path / "wanted.loom")
    wanted.add(tmp_path / "takes", workers=1)
    WebStore(wanted.store).build(workers=1)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        store = f"file://{tmp_path}/store{seed}"
        library = ml.Library.create(tmp_path / f"{seed}.loom", store=store)
        kills = Killer(dask_cluster, rng), Killer(dask_cluster, rng)
        with on_cluster(dask_cluster.scheduler_address):
            report = library.add(tmp_path / "takes", workers=2, progress=kills[0])
            recover(dask_cluster)
            built = WebStore(library.store).build(workers=2, progress=kills[1])
        recover(dask_cluster)
        assert all(kill.killed for kill in kills)
        assert (report.added, report.failed) == (len(names), ())
        assert built.built == built.pairs == len(names) * (len(names) + 1) // 2
        assert library.store.digest() == wanted.store.digest()
        assert library.store.damage() == []
        files = library.store.catalogue.artifact_files(WebStore(library.store).folder.name)
        there = {name: library.store.files.local(item[0].name) for name, item in files.items()}
        assert {name: path.read_bytes() for name, path in there.items()} == bytes_below(wanted.path)
        # Nothing is there twice: what a dead worker had written has been swept away.
        assert len(library.store.files.names("derived")) == len(files)
        library.add(tmp_path / "takes", workers=1)
        assert len(library.store.files.names("frames")) == len(names)


@pytest.mark.slow
def test_a_scheduler_that_is_killed_is_reported_and_a_rerun_goes_on(tmp_path, many_tasks):
    library = library_at(tmp_path / "takes.loom")
    started = subprocess.Popen(
        [*MOTIONLOOM, "cluster", "--workers", "1", "--port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    address = started.stdout.readline().strip()
    store = WebStore(library.store)
    done = []

    def kill_after_the_first(pairs):
        done.append(pairs)
        started.kill()

    with pytest.raises(ClusterError, match="is lost. Finished work is saved. Run the same command"):
        with on_cluster(address):
            store.build(workers=2, progress=kill_after_the_first)
    started.wait()
    started.stdout.close()
    left = store.missing()
    assert 0 < left <= 15 - sum(done)
    assert WebStore(library.store).build(workers=1).built == left
    whole = library_at(tmp_path / "whole.loom")
    WebStore(whole.store).build(workers=1)
    covered = [sorted(WebStore(lib.store).covered()) for lib in (library, whole)]
    assert covered[0] == covered[1]


@pytest.mark.slow
def test_two_builds_of_one_library_at_once_both_succeed(address, tmp_path, many_tasks):
    library_at(tmp_path / "takes.loom").close()
    reports = []

    def build():
        with on_cluster(address):
            store = WebStore(ml.Library(tmp_path / "takes.loom").store)
            reports.append(store.build(workers=2))

    both = [threading.Thread(target=build) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert sorted(report.built for report in reports) == [0, 15]  # one waited
    assert WebStore(ml.Library(tmp_path / "takes.loom").store).missing() == 0


def test_a_pair_that_was_written_twice_counts_once(tmp_path):
    library = library_at(tmp_path / "takes.loom")
    store = WebStore(library.store)
    store.build(workers=1)
    wanted = [(row, column, web.chain_count) for row, column, web in store.pieces()]
    kept = bytes_below(library.path)
    for name in kept:
        (store.folder / name).unlink()
    # Left behind by a build that was stopped.
    WebStore(library.store).build(only=NAMES[1:3], workers=1)
    for name, content in kept.items():
        (store.folder / name).write_bytes(content)
    twice = [(row, column, web) for row, column, web in WebStore(library.store).pieces()]
    cells = sum(web.shape[0] * web.shape[1] for _, _, web in twice)
    assert cells == sum(web.shape[0] * web.shape[1] for _, _, web in store.pieces())
    assert sum(web.chain_count for _, _, web in twice) == sum(count for _, _, count in wanted)


def test_a_file_left_by_a_killed_worker_is_not_a_web(tmp_path):
    library = library_at(tmp_path / "takes.loom")
    store = WebStore(library.store)
    store.build(only=NAMES[:2], workers=1)
    begun = store.folder / ".0123456789abcdef-0123-x.part.web"
    begun.write_bytes(b"MLWEB")
    assert WebStore(library.store).missing() == 12
    assert len(list(WebStore(library.store).pieces())) > 0
    WebStore(library.store).build(workers=1)
    assert not begun.exists()


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 400 kB, where we may make one."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "none", str(place)]
    try:
        if subprocess.run(mount, capture_output=True).returncode:
            pytest.skip("making a small file system needs root")
    except FileNotFoundError:
        pytest.skip("this system has no mount")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(disk, *, but=0):
    """A file that takes all the room there is, but so many bytes."""
    filler = disk / "filler"
    with open(filler, "wb", buffering=0) as out:
        try:
            while True:
                out.write(b"x" * 4096)
        except OSError:
            pass
        out.truncate(max(0, out.tell() - but))
    return filler


@pytest.mark.slow
@pytest.mark.parametrize("room", [0, 20_000, 60_000, 90_000])
@pytest.mark.parametrize("on", ["this machine", "a cluster"])
def test_an_import_onto_a_full_disk_is_reported_and_goes_on(
    address, small_disk, tmp_path, on, room
):
    for name in NAMES:
        ml.demo.clip(name)[:60].save(tmp_path / "takes" / f"{name}.bvh")
    wanted = ml.Library.create(tmp_path / "wanted.loom")
    wanted.add(tmp_path / "takes", workers=1)
    library = ml.Library.create(small_disk / "takes.loom")
    library.add(tmp_path / "takes" / "jog.bvh", workers=1)
    stored = library["jog"].rotations.copy()
    filler = fill(small_disk, but=room)
    with on_cluster(address) if on == "a cluster" else nullcontext():
        with pytest.raises(LibraryError, match="No space left on device|the disk is full"):
            library.add(tmp_path / "takes", workers=2)
    if on == "a cluster":
        begun_tasks_end(address)
    whole = ml.Library(library.path)
    assert whole.store.damage() == []
    assert np.array_equal(whole["jog"].rotations, stored)
    assert not list((library.path / "frames").glob(".*part*"))
    filler.unlink()
    report = library.add(tmp_path / "takes", workers=1)
    assert report.failed == ()
    assert report.added + report.skipped == len(NAMES)
    assert library.names == wanted.names
    assert library.store.damage() == []


@pytest.mark.slow
def test_a_full_disk_is_reported_and_leaves_the_library_whole(address, small_disk, many_tasks):
    library = library_at(small_disk / "takes.loom")
    store = WebStore(library.store)
    frames = {name: library[name].rotations.copy() for name in library.names}
    filler = fill(small_disk)
    with on_cluster(address):
        with pytest.raises(LibraryError, match="No space left on device"):
            store.build(workers=2)
        begun_tasks_end(address)
        assert list(store.folder.glob(".*part*")) == []
        assert len(frames) == len(NAMES)
        for name, rotations in frames.items():
            assert np.array_equal(ml.Library(library.path)[name].rotations, rotations)
        filler.unlink()
        missing = store.missing()
        assert store.build(workers=2).built == missing > 0
    assert store.missing() == 0


# --- the command line -----------------------------------------------------------------------


@pytest.mark.slow
def test_commands_take_a_cluster(address, tmp_path):
    library_at(tmp_path / "takes.loom").close()
    outcome = CliRunner().invoke(
        app, ["web", str(tmp_path / "takes.loom"), "build", "--workers", "2", "--cluster", address]
    )
    assert outcome.exit_code == 0, outcome.output
    assert "15 of them built" in outcome.output


def test_the_settings_file_names_the_cluster(tmp_path, monkeypatch):
    settings = tmp_path / "motionloom.toml"
    assert cluster_from(settings) is None
    settings.write_text('[engine]\ncluster = "tcp://127.0.0.1:9"\n')
    assert cluster_from(settings) is None  # it came with the folder
    assert ran("trust", tmp_path).returncode == 0
    assert cluster_from(settings) == "tcp://127.0.0.1:9"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("motionloom.parallel.cluster.CONNECT_SECONDS", 0.3)
    library_at(tmp_path / "takes.loom").close()
    outcome = CliRunner().invoke(app, ["web", "takes.loom", "build"])
    assert isinstance(outcome.exception, ClusterError)
    settings.write_text("[engine]\ncluster = 8786\n")
    assert cluster_from(settings) is None  # it has changed since
    trust_settings(settings)
    with pytest.raises(InvalidInput, match="must be an address in quotes"):
        cluster_from(settings)
    settings.write_text("[engine\n")
    with pytest.raises(InvalidInput, match="cannot be read as TOML"):
        trust_settings(settings)


def test_the_users_own_settings_name_the_cluster(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "motionloom").mkdir()
    own = tmp_path / "motionloom" / "motionloom.toml"
    own.write_text('[engine]\ncluster = "tcp://127.0.0.1:9"\n')
    assert cluster_from(tmp_path / "motionloom.toml") == "tcp://127.0.0.1:9"


def test_a_local_cluster_needs_a_worker():
    with pytest.raises(InvalidInput, match="workers must be at least 1; got 0"):
        local_cluster(0)


def test_the_tour_skips_missing_parts(tmp_path, monkeypatch, capsys):
    library = ml.Library.create(tmp_path / "demo.loom")
    library.add_motion(ml.demo.clip("kick_front_mid_right"), name="kick_front_mid_right_p0")
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert spreading.cluster(Tour(tmp_path, 0, quiet=True)) == {"cluster": None}
    assert "skipped: a cluster needs Dask. Install it with" in capsys.readouterr().err


def listening(pids):
    """Addresses at which processes listen, from /proc."""
    open_sockets = {}
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if words[3] == "0A":
            open_sockets[f"socket:[{words[9]}]"] = words[1].split(":")[0]
    results = set()
    for pid in pids:
        for handle in Path(f"/proc/{pid}/fd").glob("*"):
            with suppress(OSError):
                results.add(open_sockets.get(os.readlink(handle)))
    return results - {None}


@pytest.mark.skipif(sys.platform != "linux", reason="read from /proc")
def test_everything_of_a_local_cluster_listens_on_this_machine_only(tmp_path, monkeypatch):
    if shutil.which("openssl") is None:
        pytest.skip("certificates are made by openssl")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with local_cluster(1, tls=True) as started:
        address = started.scheduler_address
        assert address.startswith("tls://127.0.0.1:")
        workers = [worker.process.pid for worker in started.workers.values()]
        assert listening([os.getpid(), *workers]) == {"0100007F"}
        key = tmp_path / "motionloom" / "tls" / "key.pem"
        assert key.stat().st_mode & 0o077 == 0
        with on_cluster(address), executor(tasks=2) as pool:
            assert sorted(done.result for done in completed(square, [2, 3], pool)) == [4, 9]
        monkeypatch.setattr("motionloom.parallel.cluster.CONNECT_SECONDS", 2.0)
        with (
            pytest.raises(ClusterError, match="no cluster answers"),
            on_cluster(address.replace("tls://", "tcp://")),
        ):
            pass
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "of another user"))
        with (
            pytest.raises(InvalidInput, match="needs .*key.pem and certificate.pem"),
            on_cluster(address),
        ):
            pass
