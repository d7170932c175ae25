"""Xsens files: segments in world axes, one or several subjects, and damage."""

import numpy as np
import pytest
from rigs import rig

import motionloom as ml
from motionloom.errors import MotionFormatError
from motionloom.formats.conventions import from_y_up
from motionloom.motion.rotations import quaternions as rot

NAMESPACE = 'xmlns="http://www.xsens.com/mvn/mvnx"'


def dance(rng, frames=5):
    """A random motion of the rig of Xsens."""
    skeleton, _ = rig("xsens mvn")
    turns = np.cumsum(rng.normal(scale=0.1, size=(frames, len(skeleton), 3)), axis=0)
    root = np.cumsum(rng.normal(scale=0.02, size=(frames, 3)), axis=0) + [0, 1, 0]
    return ml.Motion(skeleton, rot.exp(turns), root, 60.0)


def subject(motion, label="Anna", *, joints=True, rate="60"):
    """The XML of one person: every segment's orientation and position, z up."""
    motion = from_y_up(motion, "z")
    skeleton = motion.skeleton
    world = np.array(motion.rotations, np.float64)
    for joint, parent in enumerate(skeleton.parents):
        if parent >= 0:
            world[:, joint] = rot.multiply(world[:, parent], world[:, joint])
    places = motion.positions()
    ends = {skeleton.names[p]: o for p, o in zip(skeleton.end_parents, skeleton.end_offsets)}  # noqa: B905
    text = lambda values: " ".join(f"{value:.6f}" for value in np.ravel(values))  # noqa: E731
    segments = "".join(
        f'<segment label="{name}" id="{k}"><points><point label="o"><pos_b>0 0 0</pos_b></point>'
        f'<point label="p"><pos_b>{text(ends.get(name, [0, 0, 0]))}</pos_b></point></points>'
        "</segment>"
        for k, name in enumerate(skeleton.names)
    )
    links = "".join(
        f'<joint label="j{k}"><connector1>{skeleton.names[parent]}/j{k}</connector1>'
        f"<connector2>{skeleton.names[k]}/j{k}</connector2></joint>"
        for k, parent in enumerate(skeleton.parents)
        if parent >= 0
    )
    still = f"<orientation>{text([[1, 0, 0, 0]] * len(skeleton))}</orientation>"
    frames = "".join(
        f'<frame time="{frame}" index="{frame}" type="normal"><orientation>{text(world[frame])}'
        f"</orientation><position>{text(places[frame])}</position><velocity>0</velocity></frame>"
        for frame in range(len(motion))
    )
    return (
        f'<subject label="{label}" frameRate="{rate}" segmentCount="{len(skeleton)}">'
        f"<segments>{segments}</segments><joints>{links if joints else ''}</joints>"
        f'<frames><frame type="identity">{still}</frame><frame type="tpose">{still}</frame>{frames}'
        "</frames></subject>"
    )


def written(path, *subjects):
    comment = '<!-- <!DOCTYPE mvnx SYSTEM "http://www.xsens.com/mvn/mvnx/schema.dtd"> -->'
    people = "".join(subjects)
    head = f'<?xml version="1.0"?>{comment}'
    path.write_text(f'{head}<mvnx version="4" {NAMESPACE}>{people}</mvnx>')
    return path


@pytest.mark.parametrize("joints", [True, False])
def test_segments_become_joints(rng, tmp_path, joints):
    motion = dance(rng)
    again = ml.load(written(tmp_path / "a.mvnx", subject(motion, joints=joints)))
    assert (len(again), again.fps, again.origin.up) == (5, 60.0, "z")
    places = dict(zip(again.skeleton.names, np.moveaxis(again.positions(), 1, 0), strict=True))
    for joint, name in enumerate(motion.skeleton.names):
        np.testing.assert_allclose(places[name], motion.positions()[:, joint], atol=1e-4)
    assert again.translations is None
    assert not again.skeleton.role_assignment.missing
    tips = again.positions(end_sites=True)[:, len(again.skeleton) :]
    assert len(again.skeleton.end_names) == 5
    expected = motion.positions(end_sites=True)[:, len(motion.skeleton) :]
    nearest = np.linalg.norm(tips[:, :, None] - expected[:, None], axis=-1).min(axis=2)
    assert nearest.max() < 1e-4


def test_every_subject_is_imported(rng, lib, tmp_path):
    people = [subject(dance(rng), "Anna"), subject(dance(rng), "Bob")]
    written(tmp_path / "duet.mvnx", *people)
    lib.add(tmp_path)
    assert lib.names == ("duet.mvnx/Anna", "duet.mvnx/Bob")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("<mvnx ", "<!DOCTYPE a [<!ENTITY b 'c'>]><mvnx "), "XML with entities"),
        (("</mvnx>", ""), "the XML cannot be read"),
        (('type="normal"', 'type="other"'), "no frames with the orientations"),
        (('frameRate="60"', 'frameRate="fast"'), "frameRate must be a positive number"),
        (("<position>", "<place>"), "the XML cannot be read"),
        (("<connector1>Pelvis/", "<connector1>Tail/"), "connected to 'Tail', which has no data"),
        (("<connector1>L5/", "<connector1>T8/"), "connected in a circle"),
    ],
)
def test_damage_is_reported(rng, tmp_path, change, message):
    path = written(tmp_path / "a.mvnx", subject(dance(rng)))
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(MotionFormatError, match=message):
        ml.load(path)


def test_frames_of_different_lengths_are_reported(rng, tmp_path):
    path = written(tmp_path / "a.mvnx", subject(dance(rng)))
    head, _, last = path.read_text().rpartition("<orientation>")
    path.write_text(f"{head}<orientation>1 {last}")
    with pytest.raises(MotionFormatError, match="the same number of values in orientation"):
        ml.load(path)


def test_damaged_bytes_never_escape(rng, tmp_path):
    data = written(tmp_path / "a.mvnx", subject(dance(rng, 2))).read_bytes()
    for _ in range(60):
        place = int(rng.integers(len(data)))
        path = tmp_path / "b.mvnx"
        path.write_bytes(data[:place] + rng.bytes(int(rng.integers(1, 9))) + data[place + 3 :])
        try:
            motion = ml.load(path)
        except MotionFormatError:
            continue
        assert np.all(np.isfinite(motion.positions()))
