"""A training set: sound takes, no near-duplicates, balanced, and split by performer."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
import seeded_issues as seeded
from commands import ran

import motionloom as ml
from motionloom.errors import InvalidInput
from motionloom.library.curation import curate, near_duplicates, pose_vector, unsound
from motionloom.store.settings import TrainingSet

ACTIONS = ("walk", "jog", "kick_front_mid_left", "jump_up", "cartwheel_left", "walk_slow")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    made = ml.Library.create(tmp_path_factory.mktemp("curation") / "takes.loom")
    for performer in range(4):
        for action in ACTIONS:
            made.add_motion(
                ml.demo.clip(action, performer=performer), name=f"{action}_p{performer}"
            )
    walk = ml.demo.clip("walk")
    made.add_motion(walk.transform(yaw=1.0, shift=(2.0, 0.0, 1.0)), name="walk_twice_p0")
    made.add_motion(shaken(walk), name="shaken_p0")
    return made


def shaken(motion):
    noise = np.random.default_rng(0).normal(scale=0.01, size=motion.root.shape)
    return replace(motion, root=motion.root + noise)


def test_unsound_takes_have_a_reason():
    walk = ml.demo.clip("walk")
    assert unsound(walk) is None
    assert unsound(shaken(walk)).startswith("jitter")
    assert unsound(seeded.with_swapped_names(walk)).startswith("sides")
    assert unsound(walk[:10]) == "shorter than half a second"
    in_place = walk.root.copy()
    in_place[:, [0, 2]] = in_place[0, [0, 2]]
    assert unsound(replace(walk, root=in_place)) == "walks in place, as on a treadmill"
    hanging = walk.root.astype(float)
    hanging[:, 1] += 0.6 * np.clip((np.arange(len(walk)) - 40) / 30.0, 0.0, 1.0)
    assert unsound(replace(walk, root=hanging)).startswith("carried by a prop")


def test_a_t_pose_is_not_training_data():
    rest = ml.demo.clip("walk").rest_pose()
    still = replace(
        rest,
        rotations=np.repeat(rest.rotations, 60, axis=0),
        root=np.repeat(rest.root, 60, axis=0),
    )
    assert unsound(still) == "T-pose in most frames"


def test_pose_vectors_ignore_where_a_take_stands_and_faces(rng):
    walk = ml.demo.clip("walk")
    moved = walk.transform(yaw=2.0, shift=(3.0, 0.0, -1.0))
    np.testing.assert_allclose(pose_vector(moved), pose_vector(walk), atol=1e-3)
    assert np.abs(pose_vector(walk.mirror()) - pose_vector(walk)).max() > 0.1


def test_near_duplicates_match_their_definition(rng):
    vectors = rng.normal(size=(40, 9)).round(0) * 0.02 + rng.normal(scale=0.003, size=(40, 9))
    seconds = rng.choice([2.0, 2.01, 3.0], size=40)
    first = near_duplicates(vectors, seconds, 0.02)
    for k in range(40):
        earlier = [
            j for j in range(k)
            if first[j] == j and abs(seconds[k] - seconds[j]) <= 0.03 * seconds[j]
            and np.sqrt(np.mean(np.sum((vectors[k] - vectors[j]).reshape(3, 3) ** 2, 1))) < 0.02
        ]  # fmt: skip
        assert first[k] == (earlier[0] if earlier else k)


def test_a_set_is_sound_unique_and_split_by_performer(library):
    chosen = curate(library.store, library.names, TrainingSet(splits="50/25/25"))
    assert chosen.excluded["walk_twice_p0"] == "near-duplicate of walk_p0"
    assert chosen.excluded["shaken_p0"].startswith("jitter")
    split_of = {}
    for take in chosen.takes:
        split_of.setdefault(take.performer, set()).add(take.split)
    assert len(split_of) == 4 and all(len(splits) == 1 for splits in split_of.values())
    assert {take.split for take in chosen.takes} == {"train", "validation", "test"}


def test_a_balanced_set_covers_every_action(library):
    chosen = curate(library.store, library.names, TrainingSet(takes=10))
    assert len(chosen.takes) == 10
    kinds = {take.motion.rsplit("_p", 1)[0] for take in chosen.takes}
    assert len(kinds) >= 5


def test_performers_may_be_named_by_a_pattern(library):
    settings = TrainingSet(performers=r"_p(\d)$", splits="1/1/2")
    chosen = curate(library.store, library.names, settings)
    assert {take.performer for take in chosen.takes} == {"0", "1", "2", "3"}
    with pytest.raises(InvalidInput, match="must be a regular expression"):
        curate(library.store, library.names, TrainingSet(performers="("))
    with pytest.raises(InvalidInput, match="splits must be three percentages"):
        curate(library.store, library.names, TrainingSet(splits="80/20"))


def test_the_command_writes_a_manifest_and_labels(library, tmp_path):
    ran("export", library.path, tmp_path / "set", "--to", "training-set", "--takes", "8")
    manifest = json.loads((tmp_path / "set" / "manifest.json").read_text())
    assert len(manifest["takes"]) == 8
    assert set(manifest["excluded"]) | {t["motion"] for t in manifest["takes"]} == set(
        library.names
    )
    with (tmp_path / "set" / "labels.csv").open() as file:
        rows = {row["motion"]: row["label"] for row in csv.DictReader(file)}
    assert rows == {take["motion"]: take["split"] for take in manifest["takes"]}
