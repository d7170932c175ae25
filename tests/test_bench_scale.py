"""The benchmark of large libraries: synthetic rows, brute force, memory, and the cost model."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import motionloom as ml
from benchmarks import Settings
from benchmarks.__main__ import app
from benchmarks.cost_model import Cluster, reports, section, simulated
from benchmarks.scale import Memory, brute_force, run, tree_bytes
from benchmarks.scale_rows import motion_starts, similar_frames, write_rows
from motionloom.errors import InvalidInput
from motionloom.search import open_index


@pytest.fixture(scope="module")
def features(tmp_path_factory):
    lib = ml.Library.create(tmp_path_factory.mktemp("scale") / "takes.loom")
    for name in ("walk", "jog", "kick_front_high_right"):
        lib.add_motion(ml.demo.clip(name))
    return lib, lib.features("e15")


def test_synthetic_rows_move_like_captured_ones(features, tmp_path):
    lib, captured = features
    similar = similar_frames(captured, open_index(lib.store, captured, "bucket"))
    starts = motion_starts(20_000, 3)
    assert starts[0] == 0 and starts[-1] == 20_000
    assert np.diff(starts).min() >= 300
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        write_rows(tmp_path / name, captured, similar, starts, seed)
    a, b, c = (np.load(tmp_path / name) for name in "abc")
    assert a.shape == (20_000, 15) and np.isfinite(a).all()
    assert np.array_equal(a, b) and not np.array_equal(a, c)  # by the seed
    # As fast as captured motion, and within its poses; no jump where it goes on elsewhere.
    inner = np.setdiff1d(np.arange(20_000 - 1), starts[1:-1] - 1)
    steps = np.linalg.norm(np.diff(a, axis=0)[inner], axis=1)
    own = np.linalg.norm(np.diff(captured.rows, axis=0), axis=1)
    assert 0.5 * np.median(own) < np.median(steps) < 2.0 * np.median(own)
    assert steps.max() < 3.0 * own.max()
    assert np.abs(a).max() < 1.5 * np.abs(captured.rows).max() + 0.2


def test_brute_force_is_the_definition(rng):
    rows = rng.normal(size=(300, 4)).astype(np.float32)
    rows[200] = rows[7]  # a tie: the first counts
    numbers, distances = brute_force(rows[5:9], rows, 3)
    every = np.linalg.norm(rows[5:9, None].astype(float) - rows[None].astype(float), axis=2)
    order = np.argsort(every, axis=1, kind="stable")[:, :3]
    np.testing.assert_array_equal(numbers, order.ravel())
    np.testing.assert_allclose(distances, np.take_along_axis(every, order, axis=1).ravel())


def test_memory_is_the_current_memory_of_the_process():
    if not tree_bytes(1) and not Memory().stage("none"):
        pytest.skip("this system does not report the memory of a process")
    memory = Memory()
    before = memory.stage("before")
    with memory.sampled():
        block = np.ones(30_000_000)
        memory.sample()
    assert memory.stage("after") - before > 0.9 * block.nbytes


def test_simulated_workers_can_be_slow_and_fail():
    rng = np.random.default_rng(1)
    calm = Cluster(workers=10, spread=0.0, straggling=0.0, failure_hours=1e12, overhead_s=0.0)
    done = simulated(calm, [2.0] * 20, rng)
    assert (done.seconds, done.core_seconds, done.lost) == (4.0, 40.0, 0)
    slow = simulated(Cluster(workers=10, straggling=1.0, slowdown=3.0), [2.0] * 20, rng)
    assert slow.seconds > 2.0 * done.seconds
    weak = Cluster(workers=10, spread=0.0, straggling=0.0, failure_hours=0.01, restart_s=5.0)
    lossy = simulated(weak, [10.0] * 40, rng)
    assert lossy.lost > 0 and lossy.core_seconds > 400.0  # lost work also costs time


def test_the_cost_model_follows_the_measured_constants(tmp_path):
    stage = {"wall_s": 1.0, "cpu_s": 2.0, "bytes": 0}
    measured = {
        "frames": 10_000_000,
        "stages": {"index": stage, "boxes": stage},
        "sizes": {"rows": 600_000_000},
        "nearest_cpu_s": [0.5],
        "subsequence_cpu_s": [1.0],
        "greatest_bytes": 1_500_000_000,
    }
    with pytest.raises(InvalidInput, match=r"has no reports\. .* run: python -m benchmarks scale"):
        reports(tmp_path)
    (tmp_path / "scale.json").write_text(json.dumps({"measured": measured}), encoding="utf-8")
    calm = Cluster(spread=0.0, straggling=0.0, failure_hours=1e12, overhead_s=0.0)
    text = section(reports(tmp_path), calm)
    assert "| 20 best subsequences of 3 s, exact | 1 s | 1 s | 0.028 | 0.0014 | 0 |" in text
    assert "share of each of 100 workers" in text and "60 GB in total" in text


@pytest.mark.slow
def test_the_benchmark_compares_all_answers(tmp_path, monkeypatch):
    monkeypatch.setenv("MOTIONLOOM_DATA", str(tmp_path))
    ml.demo.write(tmp_path)
    done = CliRunner().invoke(app, ["scale", "--frames", "5e4", "--json"])
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    assert result["command"] == "python -m benchmarks scale --frames 50000"
    checks = result["measured"]["checks"]
    assert all(checks[name] for name in ("nearest", "subsequences", "cluster_nearest"))
    assert checks["cluster_subsequences"]


def test_too_few_frames_are_refused():
    with pytest.raises(InvalidInput, match="frames must be at least 20000; got 100"):
        run(Settings(frames=100), print)
