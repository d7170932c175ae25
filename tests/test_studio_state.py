"""Shared state of the windows of a studio: cached values, jobs, and packed arrays."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from studio_takes import studio_client
from waiting import LIMIT, wait_until

pytest.importorskip("fastapi")

import motionloom as ml  # noqa: E402
from motionloom.errors import InvalidInput  # noqa: E402
from motionloom.studio import messages  # noqa: E402
from motionloom.studio.state.app_state import AppState  # noqa: E402
from motionloom.studio.state.jobs import AT_ONCE, Jobs  # noqa: E402


@pytest.fixture(scope="module")
def small_library(tmp_path_factory):
    with ml.Library.create(tmp_path_factory.mktemp("state") / "small.loom") as library:
        for name in ("walk_p0", "walk_left_p0", "dance_groove_p0"):
            library.add_motion(ml.demo.clip(name))
        yield library


@pytest.fixture
def state(tmp_path):
    return AppState(ml.Library.create(tmp_path / "a.loom"))


def test_two_windows_wait_for_one_making(state):
    made, begun = [], threading.Event()

    def make():
        made.append(1)
        begun.wait(LIMIT)
        return "thing"

    results = []
    threads = [
        threading.Thread(target=lambda: results.append(state.cached(("key",), make)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    begun.set()
    for thread in threads:
        thread.join(LIMIT)
    assert (results, made) == (["thing"] * 4, [1])


def test_only_the_latest_few_of_a_kind_are_kept(state):
    state.cached(("graph", "a"), lambda: "graph")
    for number in range(100):
        state.cached(("thing", number), lambda number=number: number)
    assert state.cached(("thing", 99), lambda: "rebuilt") == 99
    assert state.cached(("thing", 0), lambda: "rebuilt") == "rebuilt"
    assert state.cached(("graph", "a"), lambda: "rebuilt") == "graph"
    assert len(state.cached_keys) < 30


def test_changes_of_other_processes_are_followed(state):
    """Nothing stale is answered, and windows hear of each change once."""
    walk, heard = ml.demo.clip("walk")[:20], []
    state.library.add_motion(walk, name="walk")
    state.follow()
    with ml.Library(state.library.path) as other, state.listening(heard.append):
        state.cached(("family", "a"), lambda: "before")
        state.cached(("parametric", "kick"), lambda: "before")
        state.follow()
        assert heard == []
        other.add_motion(walk, name="jog")
        assert state.stamp() != state.followed
        state.follow()
        state.follow()
        assert heard == ["motions"]
        wait_until(lambda: state.follow() or state.stamp() == state.followed, "the clock has moved")
        assert state.cached(("family", "a"), lambda: "after") == "after"
        assert state.cached(("parametric", "kick"), lambda: "after") == "before"
        other.labels["walk"] = ["calm"]
        state.follow()
        state.library.labels["walk"] = ["quick"]
        state.notify("labels")  # as the route does
        state.follow()
        assert heard == ["motions", "motions", "labels"]
        other.beats.set("walk", times=[0.1, 0.4])
        state.follow()
        assert "parametric" not in {key[0] for key in state.cached_keys}

        def slow():
            other.remove("jog")
            state.follow()  # another request notices it
            return "out of date"

        assert state.cached(("family", "b"), slow) == "out of date"
        assert state.cached(("family", "b"), lambda: "current") == "current"


def test_what_could_not_be_made_leaves_nothing(state):
    def fails():
        raise InvalidInput("it cannot be")

    for number in range(50):
        with pytest.raises(InvalidInput, match="it cannot be"):
            state.cached(("thing", number), fails)
    assert state.cached_keys == ()
    assert state.cached(("thing", 0), lambda: "now it can") == "now it can"


@pytest.mark.parametrize("what", ["motions", "labels"])
def test_a_changed_library_is_read_again(state, what):
    state.cached(("family", "a"), lambda: "old")
    state.cached(("music", "b"), lambda: "song")
    state.notify(what)
    assert state.cached(("family", "a"), lambda: "new") == "new"
    assert state.cached(("music", "b"), lambda: "other") == "song"


def test_only_a_replaced_artifact_is_opened_again(state):
    state.cached(("movements", "disco"), lambda: "old")
    state.cached(("family", "a"), lambda: "grown")
    state.artifact_changed(("movements", "disco"))
    assert state.cached(("movements", "disco"), lambda: "new") == "new"
    assert state.cached(("family", "a"), lambda: "again") == "grown"


def test_a_job_reports_its_progress_and_outcome():
    jobs = Jobs()
    steps = threading.Event()

    def work(job):
        job.advance(2)
        steps.wait(LIMIT)
        return {"made": 3}

    job = jobs.start("making", work, total=5)
    wait_until(lambda: job.done == 2, "two steps are done")
    assert (jobs[job.id].status().state, job.status().total) == ("running", 5)
    steps.set()
    status = jobs.wait(job.id, LIMIT)
    assert (status.state, status.result) == ("done", {"made": 3})


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (InvalidInput("no such take"), "no such take"),
        (KeyError("x"), "internal error of motionloom; please report it (KeyError: 'x')"),
    ],
)
def test_a_job_that_fails_says_why(error, words):
    def work(job):
        raise error

    jobs = Jobs()
    status = jobs.wait(jobs.start("making", work).id, LIMIT)
    assert (status.state, status.error) == ("failed", words)


def endless(job):
    between = threading.Event()
    while True:
        job.advance()
        between.wait(0.005)


def test_a_job_can_be_stopped():
    jobs = Jobs()
    job = jobs.start("counting", endless)
    job.stop()
    assert jobs.wait(job.id, LIMIT).state == "stopped"


def test_a_job_with_a_key_is_started_once():
    jobs = Jobs()
    go = threading.Event()
    starts = []

    def work(job):
        starts.append(job.id)
        go.wait(LIMIT)
        return "made"

    first = jobs.start("making", work, key=("thing", 1))
    assert jobs.start("making", work, key=("thing", 1)) is first  # while it runs
    other = jobs.start("making", work, key=("thing", 2))
    assert other is not first
    go.set()
    assert jobs.wait(first.id, LIMIT).result == jobs.wait(other.id, LIMIT).result == "made"
    assert jobs.start("making", work, key=("thing", 1)) is first  # and once it has ended
    assert len(starts) == 2


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("act", {"script": "walk 2 s"}),
        ("crowds", {"kind": "march"}),
        ("dance/choreographies", {"takes": [["dance_groove_p0"]]}),
        ("families/grow", {"query": "walk_p0:0-30"}),
        ("graphs", {"settings": {"only": ["walk_p0", "walk_left_p0"]}}),
        ("matching", {"settings": {"only": ["walk_p0"]}}),
        ("matching/coverage", {"settings": {"only": ["walk_p0"]}}),
        ("parametric", {"query": "walk_p0:0-30", "by": ["turn"], "name": "turns"}),
        ("search/web", {"query": "walk_p0:0-30", "settings": {"method": {"name": "web"}}}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_no_job_is_started_twice(small_library, path, body):
    with studio_client(small_library) as client:
        jobs = client.app.state.studio.jobs
        go = threading.Event()
        for number in range(AT_ONCE):  # so that everything else waits
            jobs.start(f"busy {number}", lambda job: go.wait(LIMIT))
        try:
            first, second = (client.post(f"/api/{path}", json=body) for _ in range(2))
            assert first.status_code == second.status_code == 200, first.text
            assert first.json()["id"] == second.json()["id"]
            jobs.stop(first.json()["id"])  # a job that is being stopped is not handed out
            assert client.post(f"/api/{path}", json=body).json()["id"] != first.json()["id"]
        finally:
            for job in client.get("/api/jobs").json():
                jobs.stop(job["id"])
            go.set()


def test_a_stopped_job_is_started_again_on_request_but_not_in_the_background():
    jobs = Jobs()
    stopped = jobs.start("counting", endless, key=("count",), background=True)
    jobs.stop(stopped.id)
    assert jobs.wait(stopped.id, LIMIT).state == "stopped"
    assert jobs.start("counting", endless, key=("count",), background=True) is stopped
    again = jobs.start("counting", lambda job: 3, key=("count",))
    assert again is not stopped and jobs.wait(again.id, LIMIT).result == 3


def test_background_jobs_leave_a_thread_for_others():
    jobs = Jobs()
    slow = [
        jobs.start("counting", endless, key=(f"kind {number}",), background=True)
        for number in range(3)
    ]
    assert jobs.wait(jobs.start("quick", lambda job: "now").id, LIMIT).result == "now"
    wait_until(lambda: slow[0].done > 0, "the first one runs")
    assert [job.done for job in slow[1:]] == [0, 0]  # one at a time
    newer = jobs.start("counting", endless, key=("kind 0", "newer"), background=True)
    assert jobs.wait(slow[0].id, LIMIT).state == "stopped"  # it was outdated
    assert newer.state == "running"
    jobs.close(timeout=LIMIT)


def test_a_job_goes_on_until_everybody_has_given_it_up():
    jobs = Jobs()
    for options in ({"key": ("count",)}, {"request": ("count", "{}")}):
        job = jobs.start("counting", endless, **options)
        assert jobs.start("counting", endless, **options) is job
        assert jobs.give_up(job.id).usable
        assert not jobs.give_up(job.id).usable
        assert jobs.wait(job.id, LIMIT).state == "stopped"


def test_a_request_that_is_replaced_by_the_same_goes_on(small_library):
    body = {"takes": [["dance_groove_p0"]]}
    with studio_client(small_library) as client:
        first, second = (
            client.post("/api/dance/choreographies", json=body).json()["id"] for _ in range(2)
        )
        assert first == second
        client.delete(f"/api/jobs/{first}", params={"replaced": True})
        assert client.app.state.studio.jobs.wait(first, LIMIT).state == "done"


def test_jobs_that_wait_for_another_leave_their_place():
    jobs, lock, go = Jobs(), threading.Lock(), threading.Event()

    def work(job):
        with jobs.holding(lock):
            go.wait(LIMIT)
            return "made"

    waiting_jobs = [jobs.start("captioning", work) for _ in range(AT_ONCE + 1)]
    wait_until(lock.locked, "one has the lock")
    assert jobs.wait(jobs.start("quick", lambda job: "now").id, LIMIT).result == "now"
    go.set()
    assert [jobs.wait(job.id, LIMIT).result for job in waiting_jobs] == ["made"] * len(waiting_jobs)
    assert jobs.wait(jobs.start("quick", lambda job: "now").id, LIMIT).result == "now"


def test_jobs_end_with_the_studio(state):
    running = [state.jobs.start("counting", endless) for _ in range(3)]
    state.close()
    wait_until(lambda: [job.state for job in running] == ["stopped"] * 3, "the jobs stop")


def test_closing_does_not_wait_for_work_that_does_not_step():
    jobs = Jobs()
    waiting = threading.Event()
    jobs.start("sleeping", lambda job: waiting.wait(LIMIT))
    before = threading.active_count()
    jobs.close(timeout=0.05)
    assert threading.active_count() == before  # it goes with the process
    waiting.set()


def test_jobs_that_ended_long_ago_are_forgotten():
    jobs = Jobs()
    for _ in range(80):
        jobs.wait(jobs.start("short", lambda job: None).id, LIMIT)
    assert len(jobs.all()) < 60
    with pytest.raises(InvalidInput, match="no job 1; it may have ended long ago"):
        jobs[1]


def test_arrays_keep_their_shapes_and_values():
    given = {
        "places": np.linspace(0, 1, 30).reshape(2, 5, 3),
        "pairs": np.arange(7),
        "flags": np.array([True, False]),
        "none": np.zeros((0, 3)),
        "bytes": np.arange(5, dtype=np.uint8),
    }
    message = messages.pack({"name": "größer"}, **given)
    meta, results = messages.unpack(message)
    assert meta == {"name": "größer"}
    kinds = {name: str(values.dtype) for name, values in results.items()}
    assert kinds == {
        "places": "float32", "pairs": "int32", "flags": "uint8", "none": "float32",
        "bytes": "uint8",
    }  # fmt: skip
    for name, values in given.items():
        assert results[name].shape == values.shape
        assert np.allclose(results[name], values)


def test_arrays_lie_where_a_browser_can_use_them_without_copying():
    message = messages.pack({"odd": "x"}, a=np.zeros(3, np.uint8), b=np.ones(2), c=np.arange(3))
    length = int.from_bytes(message[:4], "little")
    assert (4 + length) % 8 == 0
    assert len(message) % 8 == 0


def test_what_javascript_cannot_read_is_not_sent():
    with pytest.raises(ValueError, match="not JSON compliant"):
        messages.pack({"speed": float("nan")})
    with pytest.raises(TypeError, match="cannot send an array of"):
        messages.pack({}, words=np.array(["a"]))
