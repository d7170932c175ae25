from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from functools import partial

import pytest
from threadpoolctl import threadpool_info, threadpool_limits
from waiting import wait_until

from motionloom.errors import InvalidInput
from motionloom.parallel import WorkerDied, available_cores, completed, executor

FOREVER = 1e6  # seconds

needs_fork = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux")


def square(number):
    if number == 5:
        raise ValueError("five is right out")
    return number * number


def square_unless_deadly(number, *, deadly):
    if number == deadly:
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def die_the_first_time(number, *, marker):
    if number == 3 and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def worker_facts(_):
    limits = [pool["num_threads"] for pool in threadpool_info()]
    return os.getpid(), limits, signal.getsignal(signal.SIGINT)


@pytest.mark.parametrize("workers", [1, 2])
def test_every_item_comes_back_once(workers):
    with executor(workers) as pool:
        done = list(completed(square, range(50), pool))
    results = {task.item: task.result for task in done if task.error is None}
    assert len(done) == 50
    assert results == {n: n * n for n in range(50) if n != 5}


@pytest.mark.parametrize("workers", [1, 2])
def test_an_exception_comes_back_with_its_item(workers):
    with executor(workers) as pool:
        (failed,) = [task for task in completed(square, range(9), pool) if task.error]
    assert failed.item == 5
    assert isinstance(failed.error, ValueError)
    assert str(failed.error) == "five is right out"


def test_a_worker_that_dies_costs_its_own_item_only():
    with executor(2) as pool:
        done = list(completed(partial(square_unless_deadly, deadly=7), range(30), pool))
    assert sorted(task.item for task in done) == list(range(30))
    (failed,) = [task for task in done if task.error]
    assert failed.item == 7
    assert isinstance(failed.error, WorkerDied)
    assert "died twice" in str(failed.error)


def test_an_item_is_tried_again_when_its_worker_was_killed_by_chance(tmp_path):
    with executor(2) as pool:
        work = partial(die_the_first_time, marker=tmp_path / "died")
        done = list(completed(work, range(20), pool))
    assert (tmp_path / "died").exists()
    assert sorted(task.result for task in done) == list(range(20))


@pytest.mark.parametrize("workers", [1, 2])
def test_items_are_taken_as_they_are_needed(workers):
    taken = 0

    def items():
        nonlocal taken
        while taken < 100:
            taken += 1
            yield taken

    with executor(workers) as pool:
        for number, _ in enumerate(completed(abs, items(), pool), 1):
            assert taken - number <= 2 * workers


def test_workers_use_one_thread_each_and_leave_ctrl_c_to_the_parent():
    with threadpool_limits(2), executor(2) as pool:
        facts = [task.result for task in completed(worker_facts, range(8), pool)]
    assert os.getpid() not in {pid for pid, _, _ in facts}
    assert all(limit == 1 for _, limits, _ in facts for limit in limits)
    assert {handler for _, _, handler in facts} == {signal.SIG_IGN}


def test_no_more_workers_than_tasks_or_than_requested():
    with executor(8, tasks=1) as pool:
        (done,) = completed(worker_facts, [0], pool)
    assert done.result[0] == os.getpid()
    with executor(None) as pool:
        assert pool.workers == available_cores()


def test_an_error_in_the_loop_ends_the_workers_at_once():
    before = set(multiprocessing.active_children())
    with pytest.raises(RuntimeError, match="enough"):  # noqa: SIM117
        with executor(2) as pool:
            for _ in completed(time.sleep, [0.0, FOREVER, FOREVER, FOREVER], pool):
                raise RuntimeError("enough")
    # Reaching this line is the proof: nothing slept to the end.
    # The pool's own thread may be reaping the last process, which is then listed a moment longer.
    wait_until(lambda: set(multiprocessing.active_children()) <= before, "the workers end")


@needs_fork
def test_workers_end_with_a_parent_that_is_killed():
    script = (
        "import multiprocessing, os, sys, time\n"
        "from motionloom.parallel import executor\n"
        "def work(n): return os.getpid()\n"
        "with executor(2) as pool:\n"
        "    pids = {pool.submit(work, n).result() for n in range(20)}\n"
        "    pids |= {child.pid for child in multiprocessing.active_children()}\n"
        "    print(*pids, flush=True)\n"
        "    sys.stdin.read()\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(pids) == 2
    parent.kill()
    parent.wait()
    parent.stdout.close()
    wait_until(lambda: not any(_alive(pid) for pid in pids), "workers end with their parent")
    parent.stdin.close()


def test_a_number_of_workers_below_one_is_refused():
    with pytest.raises(InvalidInput, match="workers must be at least 1; got 0"):
        with executor(0):
            pass


def _alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
