"""Features kept with a library: built once, brought up to date, shared."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from plain_motions import snake

import motionloom as ml
from motionloom import Library, LibraryError
from motionloom.errors import InvalidInput, RoleError
from motionloom.features import (
    FEATURES,
    FeatureSet,
    feature_set,
    frame_features,
)
from motionloom.features import feature_table as store
from motionloom.features.feature_table import principal_components
from motionloom.features.principal_components import Moments, fit_basis
from motionloom.store.artifacts import row_table as batches
from motionloom.store.artifacts.row_table import build_rows, load_rows


@pytest.fixture(scope="module")
def clips():
    return {
        "kick": ml.demo.clip("kick_front_high_right"),
        "walk": ml.demo.clip("walk"),
        "stroll": ml.demo.clip("walk", performer=1),
    }


@pytest.fixture
def lib(tmp_path, clips):
    lib = Library.create(tmp_path / "takes.loom")
    for name in ("walk", "kick"):
        lib.add_motion(clips[name], name=name)
    return lib


@pytest.fixture
def computed(monkeypatch):
    """Names of the motions whose rows are computed, in the order in which they are."""
    names: list[str] = []
    real = store.motion_features

    def noted(motion, **options):
        names.append(motion.name)
        return real(motion, **options)

    monkeypatch.setattr(store, "motion_features", noted)
    return names


def folders(lib, kind=""):
    return sorted(path.name for path in (lib.path / "derived").glob(f"{kind}*"))


@pytest.mark.parametrize("name", [name for name in FEATURES if not name.startswith("pca")])
def test_rows_are_those_of_the_motions_in_order_of_their_names(name, lib, clips):
    features = lib.features(name)
    assert features.names == ("kick", "walk")
    assert features.starts.tolist() == [0, len(clips["kick"]), len(features)]
    assert features.feature_set == FEATURES[name]
    for motion in features.names:
        rows = features.rows[features.motion_rows(motion)]
        np.testing.assert_array_equal(rows, frame_features(clips[motion], name))
        np.testing.assert_array_equal(rows, features.of(clips[motion]))


def test_a_second_call_opens_the_table_that_the_first_built(lib, computed):
    first = lib.features("e15")
    assert computed == ["kick", "walk"]
    again = Library(lib.path).features("e15")
    assert computed == ["kick", "walk"]
    assert again.folder == first.folder
    assert isinstance(again.rows, np.memmap)
    np.testing.assert_array_equal(again.rows, first.rows)
    with pytest.raises(ValueError, match="read-only"):
        again.rows[0] = 0.0


def test_only_new_rows_are_computed(lib, clips, computed):
    before = np.array(lib.features("e15").rows)
    computed.clear()
    lib.add_motion(clips["stroll"], name="stroll")
    features = lib.features("e15")
    assert computed == ["stroll"]
    assert features.names == ("kick", "stroll", "walk")
    np.testing.assert_array_equal(
        features.rows[features.motion_rows("walk")], before[len(clips["kick"]) :]
    )
    np.testing.assert_array_equal(
        features.rows[features.motion_rows("stroll")], frame_features(clips["stroll"], "e15")
    )
    computed.clear()
    lib.remove("kick")
    assert lib.features("e15").names == ("stroll", "walk")
    assert computed == []
    lib.add_motion(clips["walk"][:20], name="walk", replace=True)
    assert len(lib.features("e15")) == len(clips["stroll"]) + 20
    assert computed == ["walk"]


def test_earlier_rows_are_swept_and_those_in_use_stay_readable(lib, clips):
    before = lib.features("e15")
    lib.features("e30")
    lib.add_motion(clips["stroll"], name="stroll")
    lib.features("e15")
    assert len(folders(lib, "e15")) == 1
    assert len(folders(lib, "e30")) == 1
    assert not before.folder.exists()
    np.testing.assert_array_equal(before.rows[:5], frame_features(clips["kick"], "e15")[:5])


def test_labels_and_renames_recompute_nothing(lib, clips, computed):
    folder = lib.features("e15").folder
    lib.labels["walk"] = ["gait"]
    assert lib.features("e15").folder == folder
    lib.remove("walk")
    lib.add_motion(clips["walk"], name="amble")
    computed.clear()
    assert lib.features("e15").names == ("amble", "kick")
    assert computed == []


def test_tables_with_different_options_coexist(lib, clips):
    plain = lib.features("e15")
    sizeless = lib.features("e15", scale_free=True)
    full = lib.features("e15", normalize="full")
    assert len({plain.folder, sizeless.folder, full.folder}) == 3
    np.testing.assert_array_equal(
        sizeless.rows[sizeless.motion_rows("walk")],
        frame_features(clips["walk"], "e15", scale_free=True),
    )
    np.testing.assert_array_equal(
        full.of(clips["walk"]), frame_features(clips["walk"], "e15", normalize="full")
    )


def test_many_processes_give_the_same_bytes_as_one(lib, clips, monkeypatch):
    lib.add_motion(clips["stroll"], name="stroll")
    monkeypatch.setattr(batches, "BATCH_FRAMES", 50)
    alone = lib.features("pca16", workers=1)
    rows, basis = np.array(alone.rows), alone.feature_set.basis.digest
    shutil.rmtree(lib.path / "derived")
    together = lib.features("pca16", workers=2)
    assert together.feature_set.basis.digest == basis
    np.testing.assert_array_equal(together.rows, rows)


def test_two_simultaneous_calls_build_once(lib, computed):
    with ThreadPoolExecutor(3) as pool:
        command = [pool.submit(lambda: Library(lib.path).features("e15")) for _ in range(3)]
        result = [future.result() for future in command]
    assert sorted(computed) == ["kick", "walk"]
    assert len({features.folder for features in result}) == 1


# --- rates ----------------------------------------------------------------------------------


def test_motions_of_all_rates_have_rows_at_one_rate(tmp_path, clips):
    lib = Library.create(tmp_path / "mixed.loom")
    fast = ml.demo.clip("walk", fps=120)[:400]  # the last three frames have no row
    lib.add_motion(fast, name="fast")
    long = ml.concatenate([clips["kick"]] * 10)
    lib.add_motion(replace(long, fps=29.97), name="broadcast")
    features = lib.features("e15")
    assert features.rate == 30.0
    assert features.fps.tolist() == [29.97, 120.0]
    np.testing.assert_array_equal(
        features.rows[features.motion_rows("fast")], frame_features(fast.resample(30), "e15")
    )
    # 29.97 is as good as 30: frame for frame.
    assert features.locate(701) == ("broadcast", 701)
    assert features.row_index(0, 701) == 701
    start = features.motion_rows("fast").start
    assert features.locate(start + 3) == ("fast", 12)
    assert features.row_index(1, 12) == 3
    count = len(features) - start
    assert {features.row_index(1, frame) for frame in range(len(fast))} == set(range(count))
    assert len(fast) - 4 <= features.locate(len(features) - 1)[1] <= len(fast) - 1
    finer = lib.features("e15", fps=60)
    assert finer.locate(finer.motion_rows("fast").start + 3) == ("fast", 6)
    with pytest.raises(InvalidInput, match="fps must be positive; got -1"):
        lib.features("e15", fps=-1)


def test_a_library_with_its_own_rate_keeps_it(tmp_path, clips):
    lib = Library.create(tmp_path / "slow.loom", fps=15)
    lib.add_motion(clips["walk"], name="walk")
    features = lib.features("e15")
    assert features.rate == 15.0
    assert len(features) == len(lib["walk"])
    np.testing.assert_array_equal(features.of(clips["walk"]), features.rows)


def test_every_row_leads_to_its_frame(lib, clips):
    features = lib.features("e15")
    for row in (0, len(clips["kick"]) - 1, len(clips["kick"]), len(features) - 1):
        name, frame = features.locate(row)
        np.testing.assert_array_equal(features.rows[row], frame_features(clips[name], "e15")[frame])
    for row in (-1, len(features)):
        with pytest.raises(InvalidInput, match=r"row must be between 0 and"):
            features.locate(row)


# --- principal components -------------------------------------------------------------------


def test_components_are_fitted_on_the_library(lib, clips):
    features = lib.features("pca16")
    poses = [FEATURES["pca16"].pose_rows(clips[name]) for name in ("kick", "walk")]
    basis = fit_basis(Moments.of(np.concatenate(poses)))
    expected = np.concatenate([basis.project(rows, 16) for rows in poses])
    np.testing.assert_allclose(features.rows, expected, atol=1e-5)
    assert features.feature_set.basis.explained(16) > 0.99
    eight = lib.features("pca8")
    np.testing.assert_array_equal(eight.rows, features.rows[:, :8])
    assert len(folders(lib, "basis")) == 1


def test_components_follow_the_library_as_it_grows(lib, clips, computed):
    before = lib.features("pca8").feature_set.basis.digest
    lib.add_motion(clips["stroll"], name="stroll")
    computed.clear()
    after = lib.features("pca8")
    assert after.feature_set.basis.digest != before
    assert computed == ["kick", "stroll", "walk"]  # other axes: all rows change
    np.testing.assert_array_equal(
        after.rows[after.motion_rows("walk")],
        frame_features(clips["walk"], after.feature_set),
    )
    assert len(folders(lib, "pca8")) == 1


def test_components_of_a_chosen_library_stay_when_this_one_grows(lib, clips, tmp_path, computed):
    other = Library.create(tmp_path / "other.loom")
    other.add_motion(clips["stroll"], name="stroll")
    features = lib.features("pca8", basis=other)
    expected = other.features("pca8").feature_set.basis
    assert features.feature_set.basis.digest == expected.digest
    np.testing.assert_array_equal(
        features.of(clips["walk"]),
        frame_features(clips["walk"], feature_set("pca8", basis=expected)),
    )
    lib.add_motion(clips["stroll"], name="stroll")
    computed.clear()
    assert len(lib.features("pca8", basis=expected)) == lib.store.frames
    assert computed == ["stroll"]
    with pytest.raises(
        InvalidInput, match="basis can only be used with principal components, and feature set e15"
    ):
        lib.features("e15", basis=other)


# --- what may go wrong ----------------------------------------------------------------------


def test_motions_without_the_joints_are_skipped_and_listed(lib, clips):
    lib.add_motion(snake(), name="adder")
    features = lib.features("e15")
    assert features.names == ("kick", "walk")
    assert "left_wrist" in features.left_out["adder"]
    with pytest.raises(RoleError, match="adder has no features: no joint has the role left_wrist"):
        features.motion_rows("adder")
    with pytest.raises(LibraryError, match="no motion called 'zebra' has features"):
        features.motion_rows("zebra")
    assert lib.features("pca8").names == ("kick", "walk")


@pytest.mark.parametrize("name", ["e15", "pca8"])
def test_a_library_without_anything_usable_is_reported(name, tmp_path):
    lib = Library.create(tmp_path / "empty.loom")
    with pytest.raises(LibraryError, match="the library is empty; import motions first"):
        lib.features(name)
    lib.add_motion(snake(), name="adder")
    with pytest.raises(RoleError, match="all the joints.*adder: no joint has the role"):
        lib.features(name)


@pytest.mark.parametrize(
    ("file", "damage", "message"),
    [
        ("index.json", "{", "index.json: damaged: "),
        ("index.json", "[]", "index.json: damaged: "),
        ("index.json", "{}", "index.json: damaged: 'names'"),
        ("rows.npy", "short", "rows.npy: damaged: "),
        ("rows.npy", "narrow", r"rows.npy: damaged: expected float32 of \(.*, 15\), found float32"),
    ],
)
def test_damaged_rows_are_reported_and_rebuilt(lib, file, damage, message):
    features = lib.features("e15")
    rows, folder = np.array(features.rows), features.folder
    if damage == "short":
        with open(folder / file, "rb+") as out:
            out.truncate(1000)
    elif damage == "narrow":
        np.save(folder / file, rows[:, :7])
    else:
        (folder / file).write_text(damage)
    with pytest.raises(LibraryError, match=message):
        load_rows(folder)
    np.testing.assert_array_equal(lib.features("e15").rows, rows)


def test_a_damaged_basis_is_reported_and_fitted_again(lib):
    variances = principal_components(lib.store, "pca8").variances
    (file,) = lib.path.glob("derived/basis.*/basis.npz")
    np.savez(file, mean=variances)
    np.testing.assert_array_equal(principal_components(lib.store, "pca8").variances, variances)


def test_an_unexpected_number_of_rows_is_reported(lib, tmp_path):
    with pytest.raises(LibraryError, match=r"kick: expected 1 rows of 2 numbers, got shape \(3, 2"):
        build_rows(
            tmp_path, None, lib.store, _three_rows, width=2, length=lambda entry: 1, left_out={},
            workers=1,
        )  # fmt: skip


def _three_rows(motion):
    return np.zeros((3, 2))


def test_a_failure_leaves_nothing_behind(lib, monkeypatch):
    def fails(motion, **options):
        raise InvalidInput(f"{motion.name} is broken")

    monkeypatch.setattr(store, "motion_features", fails)
    with pytest.raises(InvalidInput, match="kick is broken"):
        lib.features("e15")
    assert os.listdir(lib.path / "derived") == []
    monkeypatch.undo()
    (lib.path / "derived" / ".part-killed").mkdir()
    lib.features("e15")
    assert [path.name[:4] for path in (lib.path / "derived").iterdir()] == ["e15."]


def _speeds(motion):
    return np.linalg.norm(motion.velocities()[:, :2], axis=-1)


def test_a_set_with_custom_features_is_stored(lib, clips):
    speeds = FeatureSet("speeds", ("hips",), frame_rows=_speeds, size=2)
    features = lib.features(speeds)
    np.testing.assert_allclose(
        features.rows[features.motion_rows("walk")], _speeds(clips["walk"]), atol=1e-6
    )


def test_progress_is_reported(lib):
    steps: list[int] = []
    lib.features("e15", progress=steps.append)
    assert sum(steps) == 2


@pytest.mark.cmu
def test_captured_takes_of_many_performers(cmu30, tmp_path):
    lib = Library.create(tmp_path / "cmu.loom")
    lib.add(cmu30 / "086" / "86_01.bvh", cmu30 / "002", cmu30 / "013" / "13_11.bvh")
    features = lib.features("e39x3")
    assert len(features) == lib.store.frames
    assert np.isfinite(features.rows).all()
    assert lib.features("pca25").feature_set.basis.explained(25) > 0.99
