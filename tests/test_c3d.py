"""C3D: every kind of file, gaps, labels, units, axes, the way back, damage."""

from __future__ import annotations

import itertools
import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from naive.c3d import c3d_bytes

import motionloom as ml
from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.formats.inference import infer_marker_up

ezc3d = pytest.importorskip("ezc3d", reason="ezc3d, the reader compared with, is not installed")

LABELS = ["LFHD", "RFHD", "LTOE", "RTOE"]
POINTS = [
    [[100.0 + t, 200.0, 1700.0], [-100.0, 200.5, 1701.5], [90.0, 180.0, 25.0], [-90.0, 181.0, 31.5]]
    for t in range(6)
]
UPRIGHT = np.array(POINTS)[..., [0, 2, 1]] * [1, 1, -1] * 0.001  # meters, y up


@pytest.fixture
def file(tmp_path):
    def written(data):
        path = tmp_path / "take.c3d"
        path.write_bytes(data)
        return path

    return written


@pytest.mark.parametrize("processor", ["intel", "dec", "mips"])
@pytest.mark.parametrize("integers", [False, True])
@pytest.mark.parametrize("analog", [0, 3])
def test_reads_all_byte_orders_and_number_types(file, processor, integers, analog):
    data = c3d_bytes(POINTS, LABELS, processor=processor, integers=integers, analog=analog)
    markers = ml.load_markers(file(data))
    assert isinstance(markers, ml.Markers)
    assert markers.labels == tuple(LABELS)
    assert (len(markers), markers.fps, markers.duration) == (6, 100.0, 0.06)
    np.testing.assert_allclose(markers.positions, UPRIGHT, atol=6e-5 if integers else 1e-6)
    answer = any("analog" in text for text in markers.origin.warnings)
    assert answer == bool(analog)
    assert not markers.repairs


@pytest.mark.parametrize("processor", ["intel", "dec"])  # it does not read MIPS files
@pytest.mark.parametrize("integers", [False, True])
def test_agrees_with_ezc3d(file, rng, processor, integers):
    points = (rng.normal(size=(40, 7, 3)) * 500).round(1).tolist()
    residuals = (-(rng.random((40, 7)) < 0.2).astype(int)).tolist()
    labels = [f"m{k}" for k in range(7)]
    data = c3d_bytes(
        points, labels, processor=processor, integers=integers, residuals=residuals, analog=2
    )
    path = file(data)
    theirs = ezc3d.c3d(str(path))["data"]["points"]
    ours = ml.load_markers(path, up="y", unit=1.0)
    np.testing.assert_allclose(
        ours.positions, theirs[:3].transpose(2, 1, 0), rtol=1e-6, equal_nan=True
    )
    np.testing.assert_array_equal(ours.present, np.array(residuals) == 0)


def test_ezc3d_reads_written_files(tmp_path, rng):
    positions = rng.normal(size=(30, 5, 3))
    positions[3:9, 2] = np.nan
    ml.Markers(["a", "b", "c", "d", "é"], positions, 119.88).save(tmp_path / "w.c3d")
    theirs = ezc3d.c3d(str(tmp_path / "w.c3d"))
    assert theirs["parameters"]["POINT"]["LABELS"]["value"][:4] == ["a", "b", "c", "d"]
    assert theirs["parameters"]["POINT"]["UNITS"]["value"] == ["mm"]
    assert theirs["parameters"]["POINT"]["RATE"]["value"][0] == pytest.approx(119.88)
    points = theirs["data"]["points"][:3].transpose(2, 1, 0) * 0.001
    np.testing.assert_allclose(
        points[..., [0, 2, 1]] * [1, 1, -1], positions, atol=1e-6, equal_nan=True
    )


@pytest.mark.parametrize("up", ["z", "y", "-z", "x"])
@pytest.mark.parametrize("unit", ["mm", "cm", "m"])
def test_a_round_trip_preserves_every_bit(tmp_path, file, rng, up, unit):
    points = rng.normal(size=(50, 6, 3)).astype(np.float32) * np.float32(1000)
    residuals = (-(rng.random((50, 6)) < 0.1).astype(int)).tolist()
    data = c3d_bytes(
        points.tolist(), list("abcdef"), residuals=residuals, units=unit, first=17, rate=240.0
    )
    first = ml.load_markers(file(data), up=up)
    first.save(tmp_path / "again.c3d")
    again = ml.load_markers(tmp_path / "again.c3d", up=up)
    assert again.first_frame == 17 and again.fps == 240.0 and again.labels == first.labels
    assert again.origin.unit_m == first.origin.unit_m
    assert again.positions.tobytes() == first.positions.tobytes()
    output = ezc3d.c3d(str(tmp_path / "again.c3d"))["data"]["points"][:3].transpose(2, 1, 0)
    seen = np.array(residuals) == 0
    assert output[seen].astype(np.float32).tobytes() == points[seen].tobytes()


def test_a_motion_becomes_points_and_meters_keep_every_bit(tmp_path):
    skeleton = ml.Skeleton(
        ["hips", "knee"], [-1, 0], [[0, 0, 0], [0, -0.4, 0]], ["toe"], [1], [[0, -0.45, 0.1]]
    )
    turns = np.tile([0.8, 0.6, 0, 0], (9, 2, 1))
    motion = ml.Motion(skeleton, turns, np.random.default_rng(1).random((9, 3)), 60.0)
    path = motion.save(tmp_path / "m.c3d", unit="m")
    markers = ml.load_markers(path)
    assert markers.labels == ("hips", "knee", "toe")
    positions = markers.positions.astype(np.float32)
    np.testing.assert_array_equal(positions, motion.positions(end_sites=True))


def test_negative_residuals_and_bad_numbers_are_gaps(file):
    points = [[list(p) for p in frame] for frame in POINTS]
    residuals = [[0] * 4 for _ in POINTS]
    residuals[2][1] = -1
    points[3][0][1] = float("nan")
    points[4][3][2] = 1e30
    markers = ml.load_markers(file(c3d_bytes(points, LABELS, residuals=residuals)))
    gaps = np.argwhere(~markers.present).tolist()
    assert gaps == [[2, 1], [3, 0], [4, 3]]
    assert markers.repairs == ("1 points farther than 100 km away were read as gaps",)


def test_points_at_the_origin_can_be_gaps(file):
    points = [[list(p) for p in frame] for frame in POINTS]
    points[1][2] = points[2][2] = [0.0, 0.0, 0.0]
    path = file(c3d_bytes(points, LABELS))
    markers = ml.load_markers(path)
    assert markers.present.all()
    assert any("2 points are at exactly (0, 0, 0)" in text for text in markers.origin.warnings)
    assert np.argwhere(~ml.load_markers(path, zero_gaps=True).present).tolist() == [[1, 2], [2, 2]]


def test_first_frame_need_not_be_one(file):
    markers = ml.load_markers(file(c3d_bytes(POINTS, LABELS, first=481)))
    assert (len(markers), markers.first_frame) == (6, 481)


@pytest.mark.parametrize("how", ["trial", "long", "nothing"])
def test_more_than_65535_frames(file, how):
    count = 65_600
    points = [[[float(t), 1.0, 2.0]] for t in range(count)]
    extra = {
        "trial": [
            (2, "ACTUAL_START_FIELD", 2, [2], [1, 0]),
            (2, "ACTUAL_END_FIELD", 2, [2], [count & 0xFFFF, count >> 16]),
        ],
        "long": [(1, "LONG_FRAMES", 4, [], [float(count)])],
        "nothing": [],
    }[how]
    markers = ml.load_markers(file(c3d_bytes(points, ["A"], extra=extra)), up="y", unit=1.0)
    assert len(markers) == count
    assert markers.positions[-1, 0, 0] == count - 1
    assert bool(markers.repairs) == (how == "nothing")


def test_a_long_take_survives_a_round_trip(tmp_path):
    positions = np.arange(70_000 * 3, dtype=float).reshape(-1, 1, 3) / 4
    path = ml.Markers(["A"], positions, 100.0, first_frame=12).save(tmp_path / "long.c3d", unit="m")
    markers = ml.load_markers(path, up="z")
    assert (len(markers), markers.first_frame) == (70_000, 12)
    np.testing.assert_array_equal(markers.positions, positions)
    assert ezc3d.c3d(str(path))["data"]["points"].shape == (4, 1, 70_000)


def test_more_than_255_labels(file, tmp_path):
    labels = [f"point{k}" for k in range(600)]
    points = [[[float(k), 0.0, float(t)] for k in range(600)] for t in range(2)]
    markers = ml.load_markers(file(c3d_bytes(points, labels)))
    assert markers.labels == tuple(labels)
    again = ml.load_markers(markers.save(tmp_path / "many.c3d"))
    assert again.labels == tuple(labels)
    assert again.positions.tobytes() == markers.positions.tobytes()


def test_subjects_and_unlabeled_points(file):
    path = file(c3d_bytes(POINTS, ["Anna:LFHD", "Anna:LTOE", "*12", "Anna:*13"]))
    assert ml.load_markers(path).labels == ("LFHD", "LTOE")
    assert ml.load_markers(path, unlabeled=True).labels == (
        "Anna:LFHD",
        "Anna:LTOE",
        "*12",
        "Anna:*13",
    )
    path = file(c3d_bytes(POINTS, ["Anna:LFHD", "Bob:LFHD", "Bob:LTOE", "*9"]))
    two = ml.load_markers(path)
    assert two.labels == ("Anna:LFHD", "Bob:LFHD", "Bob:LTOE")
    np.testing.assert_array_equal(two["LTOE"], two["Bob:LTOE"])
    with pytest.raises(InvalidInput, match="'LFHD' is ambiguous; it matches Anna:LFHD, Bob:LFHD"):
        two["LFHD"]
    with pytest.raises(InvalidInput, match="no marker is labeled 'RTOE'; the labels are: Anna"):
        two["RTOE"]
    assert ml.load_markers(path, subject="Bob").labels == ("LFHD", "LTOE")
    with pytest.raises(
        MotionFormatError, match="no subject is called 'Eve'. Subjects in the file: 'Anna', 'B"
    ):
        ml.load_markers(path, subject="Eve")
    path = file(c3d_bytes(POINTS, ["*1", "*2", "*3", "*4"]))
    with pytest.raises(MotionFormatError, match="none of the 4 points .*set unlabeled"):
        ml.load_markers(path)


def test_missing_and_repeated_labels_are_repaired(file):
    markers = ml.load_markers(file(c3d_bytes(POINTS, ["A", "A"])), unlabeled=True)
    assert markers.labels == ("A", "A_2", "*2", "*3")
    assert markers.repairs == (
        "the file has 2 labels for 4 points; the other points are unnamed",
        "the duplicate marker 'A' was labeled 'A_2'",
    )
    with pytest.raises(MotionFormatError, match="strict mode: the file has 2 labels for 4 points"):
        ml.load_markers(file(c3d_bytes(POINTS, ["A", "A"])), strict=True)


@pytest.mark.parametrize(
    ("units", "meters", "reason"),
    [("mm", 0.001, "POINT:UNITS is mm"), ("M", 1.0, "POINT:UNITS is m"), ("cm ", 0.01, "is cm"),
     ("inches", 0.0254, "is inches"), ("", 0.001, "the markers extend 1.68 m"),
     ("furlong", 0.001, "the markers extend")],
)  # fmt: skip
def test_units(file, units, meters, reason):
    markers = ml.load_markers(file(c3d_bytes(POINTS, LABELS, units=units)))
    assert markers.origin.unit_m == meters
    assert reason in markers.origin.unit_reason
    assert ml.load_markers(file(c3d_bytes(POINTS, LABELS)), unit="cm").origin.unit_m == 0.01


@pytest.mark.parametrize("up", ["x", "y", "z", "-x", "-y", "-z"])
def test_the_up_axis_follows_from_head_above_feet(file, up):
    axes = {"x": [1, 2, 0], "y": [2, 0, 1], "z": [0, 1, 2]}[up[-1]]
    standing = np.array(POINTS)
    turned = np.zeros_like(standing)
    turned[..., axes] = standing
    if up.startswith("-"):
        turned *= [-1, -1, -1]
    markers = ml.load_markers(file(c3d_bytes(turned.tolist(), LABELS)))
    assert markers.origin.up == up
    assert markers["LFHD"][0, 1] - markers["LTOE"][0, 1] == pytest.approx(1.675, abs=1e-5)
    nameless = ml.load_markers(file(c3d_bytes(turned.tolist(), list("abcd"))))
    assert nameless.origin.up == "z"
    assert any("up axis is assumed to be z" in text for text in nameless.origin.warnings)


def test_markers_are_cut_and_resampled(file):
    markers = ml.load_markers(file(c3d_bytes(POINTS, LABELS, first=10)))
    part = markers[2:5]
    assert (len(part), part.first_frame) == (3, 12)
    np.testing.assert_array_equal(part.positions, markers.positions[2:5])
    assert markers[::2].fps == 50.0
    assert markers[["RTOE", "LFHD"]].labels == ("RTOE", "LFHD")
    assert len(markers[-1]) == 1
    with pytest.raises(IndexError, match="frame 6 is out of range: this take has 6 frames"):
        markers[6]
    double = markers.resample(200)
    assert len(double) == 11
    np.testing.assert_array_equal(double.positions[::2], markers.positions)
    middle = 0.5 * (markers.positions[1:] + markers.positions[:-1])
    np.testing.assert_allclose(double.positions[1::2], middle)


def test_resampling_keeps_gaps():
    positions = np.arange(15.0).reshape(5, 1, 3)
    positions[2] = np.nan
    half = ml.Markers(["a"], positions, 60.0).resample(30)
    assert np.isnan(half.positions[:, 0, 0]).tolist() == [False, True, False]
    finer = ml.Markers(["a"], positions, 60.0).resample(120)
    missing = np.isnan(finer.positions[:, 0, 0])
    assert missing.tolist() == [False] * 3 + [True] * 3 + [False] * 3


@pytest.mark.parametrize(
    ("labels", "shape", "fps", "message"),
    [
        (["a", "a"], (2, 2, 3), 60.0, "'a' occurs twice"),
        (["a"], (2, 2, 3), 60.0, r"positions must have shape \(frames, 1, 3\)"),
        (["a"], (2, 1, 3), 0.0, "fps must be positive"),
    ],
)
def test_markers_report_invalid_input(labels, shape, fps, message):
    with pytest.raises(InvalidInput, match=message):
        ml.Markers(labels, np.zeros(shape), fps)


def patched(place, value, **options):
    data = bytearray(c3d_bytes(POINTS, LABELS, **options))
    data[place : place + len(value)] = value
    return bytes(data)


def restated(data, name, value):
    """A 16-bit parameter of the points, changed."""
    place = data.index(name, 512) + len(name) + 4
    return data[:place] + struct.pack("<H", value) + data[place + 2 :]


def walking(frames=60, points=5):
    """Smooth trajectories (T, P, 3) in mm."""
    t = np.linspace(0.0, 2.0, frames)[:, None]
    phase = np.arange(points)
    x, y = 500.0 * t + 60.0 * phase, 200.0 * np.sin(3.0 * t + phase)
    return np.stack([x + 0.0 * y, y, 300.0 * phase + 40.0 * np.cos(5.0 * t) + 20.0], axis=-1)


WALK = walking()
NAMES = ["LTOE", "LKNE", "LASI", "C7", "LFHD"]
WALKED = WALK[..., [0, 2, 1]] * [1, 1, -1] * 0.001


def walk_bytes(**options):
    return c3d_bytes(WALK.tolist(), NAMES, analog=6, **options)


@pytest.mark.parametrize("integers", [False, True])
@pytest.mark.parametrize(
    ("place", "value", "repair"),
    [
        (2, 9, "the header states 9 points, but 5 were read, as in POINT:USED"),
        (4, 2, "the header states 2 analog values per frame; the file has 6"),
        (4, 0, "the header states 0 analog values per frame; the file has 6"),
        (8, 90, "the header states 90 frames and POINT:FRAMES 60; 60 were read"),
        (8, 20, "the header states 20 frames and POINT:FRAMES 60; 60 were read"),
    ],
)
def test_a_wrong_header_is_found_by_the_size_and_the_data(file, integers, place, value, repair):
    data = walk_bytes(integers=integers)
    markers = ml.load_markers(file(data[:place] + struct.pack("<H", value) + data[place + 2 :]))
    np.testing.assert_allclose(markers.positions, WALKED, atol=6e-5)
    assert repair in "; ".join(markers.repairs)


@pytest.mark.parametrize("integers", [False, True])
@pytest.mark.parametrize(
    ("name", "value", "repair"),
    [
        (b"USED", 3, "POINT:USED states 3 points, but 5 were read, as in the header"),
        (b"FRAMES", 71, "the header states 60 frames and POINT:FRAMES 71; 60 were read"),
        (b"DATA_START", 3, ""),
    ],
)
def test_wrong_parameters_are_found_by_the_size_and_the_data(file, integers, name, value, repair):
    markers = ml.load_markers(file(restated(walk_bytes(integers=integers), name, value)))
    np.testing.assert_allclose(markers.positions, WALKED, atol=6e-5)
    assert repair in "; ".join(markers.repairs)


@pytest.mark.parametrize("integers", [False, True])
def test_the_sign_of_the_scale_is_decided_by_the_data(file, integers):
    """Floating point if negative; here the header says the opposite of POINT:SCALE."""
    data = walk_bytes(integers=integers)
    scale = struct.pack("<f", -0.1 if integers else 0.1)
    markers = ml.load_markers(file(data[:12] + scale + data[16:]))
    np.testing.assert_allclose(markers.positions, WALKED, atol=6e-5)
    kind = "integers" if integers else "floating point"
    assert f"header and POINT:SCALE differ; the data were read as {kind}" in "; ".join(
        markers.repairs
    )


def test_the_scale_of_integers_is_that_of_a_body(file):
    data = walk_bytes(integers=True)
    place = data.index(b"SCALE", 512) + 9
    small = data[:place] + struct.pack("<f", 0.02) + data[place + 4 :]
    markers = ml.load_markers(file(small))
    np.testing.assert_allclose(markers.positions, WALKED, atol=6e-5)
    assert "POINT:SCALE is 0.02, but the header says 0.1; using the header" in markers.repairs


def test_two_of_three_rates_agree(file):
    data = walk_bytes(rate=100.0)
    place = data.index(b"RATE", 512) + 8
    wrong = data[:place] + struct.pack("<f", 50.0) + data[place + 4 :]
    markers = ml.load_markers(file(wrong))
    assert markers.fps == 100.0  # the header's, and that of the analog data
    assert "POINT:RATE is 50 fps, but the header says 100; using the header" in markers.repairs
    assert ml.load_markers(file(wrong), fps=50).fps == 50.0


def test_contradictions_that_the_data_do_not_resolve_are_refused(file, rng):
    noise = rng.uniform(-900.0, 900.0, size=(60, 5, 3)).tolist()
    data = c3d_bytes(noise, NAMES, analog=6)
    twice = data[:2] + struct.pack("<HH", 7, 3) + data[6:]
    with pytest.raises(
        MotionFormatError, match=r"contradict each other \(points 7 and 5, ana.*3 and"
    ):
        ml.load_markers(file(twice + bytes(5000)))
    agreeing = ml.load_markers(file(data))
    assert any("points jump from frame to frame" in text for text in agreeing.origin.warnings)


@pytest.mark.parametrize(("screen", "up"), [("-Z", "z"), ("+Z", "z"), ("", "z"), ("-Y", "-y")])
def test_markers_that_stand_on_the_floor_correct_the_sign_of_up(screen, up):
    """Qualisys writes -Z for files in which z points upwards."""
    positions = walking(points=7)
    assert infer_marker_up([f"M{k}" for k in range(7)], positions, screen)[0] == up


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a C3D file"),
        (b"x" * 5000, "its second byte is not 0x50"),
        (patched(0, b"\xff"), "should start in block 255"),
        (patched(0, b"\x01"), "should start in block 1"),
        (patched(512 + 3, b"\x00"), "processor type must be 84 .*got 0"),
        (c3d_bytes([[]] * 6, []), "has no points"),
        (
            restated(patched(16, b"\xff\xff"), b"DATA_START", 0xFFFF),
            "the data should start at byte 33553408",
        ),
        (
            restated(patched(8, b"\xf0\x00"), b"FRAMES", 240),
            "declares 240 frames but has room for 8.*partial",
        ),
        (
            patched(6, b"\x09\x00", frames_told=0),
            "no frames, because its last frame .0. is before its first .9.",
        ),
        (
            c3d_bytes(POINTS, LABELS, rate=float("nan")),
            "the frame rate is missing; set it with fps",
        ),
        (c3d_bytes(POINTS, LABELS, integers=True, scale=float("inf")), "POINT:SCALE is inf"),
    ],
)
def test_reports_invalid_input(file, data, message):
    path = file(data)
    with pytest.raises(MotionFormatError, match=message) as caught:
        ml.load_markers(path)
    assert str(caught.value).startswith(str(path))


def test_whole_frames_of_a_cut_file(file):
    data = c3d_bytes(POINTS, LABELS)
    markers = ml.load_markers(file(data[:-300]), partial=True, fps=50)
    assert 0 < len(markers) < 6
    assert "the file declares" in markers.repairs[0]
    np.testing.assert_allclose(markers.positions, UPRIGHT[: len(markers)], atol=1e-6)


def test_a_failed_write_leaves_nothing(tmp_path):
    markers = ml.Markers(["x" * 250 + str(k) for k in range(1000)], np.zeros((1, 1000, 3)), 60.0)
    with pytest.raises(InvalidInput, match="do not fit into the 255"):
        markers.save(tmp_path / "a.c3d")
    with pytest.raises(
        InvalidInput, match="the unit of a C3D file must be one of m, dm, cm, mm; got 'inch'"
    ):
        ml.Markers(["a"], np.zeros((1, 1, 3)), 60.0).save(tmp_path / "a.c3d", unit="inch")
    with pytest.raises(InvalidInput, match="at least one frame"):
        ml.Markers(["a"], np.zeros((0, 1, 3)), 60.0).save(tmp_path / "a.c3d")
    with pytest.raises(InvalidInput, match="cannot write markers to .*a.bvh: .* one of .c3d"):
        ml.Markers(["a"], np.zeros((1, 1, 3)), 60.0).save(tmp_path / "a.bvh")
    assert not list(tmp_path.iterdir())


WHOLE = [
    c3d_bytes(POINTS, LABELS, processor=processor, integers=integers, analog=1)
    for processor, integers in itertools.product(["intel", "dec", "mips"], [False, True])
]


@settings(
    max_examples=200, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(data=st.data())
def test_mutated_files_are_read_or_refused(file, data):
    raw = bytearray(data.draw(st.sampled_from(WHOLE)))
    for _ in range(data.draw(st.integers(1, 6))):
        # Most blows fall on the header and the parameters.
        place = data.draw(st.integers(0, 23) | st.integers(512, 1023) | st.integers(0, len(raw)))
        kind = data.draw(st.sampled_from(["set", "set", "set", "insert", "delete", "cut"]))
        if kind == "set" and place < len(raw):
            raw[place] = data.draw(st.integers(0, 255))
        elif kind == "insert":
            raw[place:place] = data.draw(st.binary(max_size=8))
        elif kind == "delete":
            del raw[place : place + data.draw(st.integers(0, 40))]
        elif kind == "cut":
            del raw[max(place, 1000) :]
    tracemalloc.start()
    try:
        markers = ml.load_markers(
            file(bytes(raw)), unlabeled=data.draw(st.booleans()), partial=data.draw(st.booleans())
        )
    except MotionFormatError as error:
        assert "take.c3d: " in str(error)
    else:
        assert markers.positions.shape == (len(markers), len(markers.labels), 3)
        assert not np.isinf(markers.positions).any()
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 30e6


def test_outputs_of_a_biomechanical_model_are_not_markers(file):
    """Angles of 170 degrees made a body of 0.17 m; the up axis and unit were then wrong."""
    labels = [*LABELS, "Jo:LKneeAngles", "RHipMoment", "Speed", "CentreOfMass"]
    more = [[170.0, 2.0, -40.0], [1e5, 0.0, 3.0], [1.0, 0.0, 0.0], [0.0, 150.0, 900.0]]
    points = [frame + more for frame in POINTS]
    groups = {"ANGLES": ["LKneeAngles"], "SCALARS": ["Speed"], "MODELED_MARKERS": ["CentreOfMass"]}
    extra = [(1, name, -1, [], values) for name, values in groups.items()]
    for integers in (False, True):
        data = c3d_bytes(points, labels, extra=extra, integers=integers, scale=4.0)
        markers = ml.load_markers(file(data))
        assert markers.labels == (*LABELS, "CentreOfMass")
        np.testing.assert_allclose(
            markers.positions[:, :4], UPRIGHT, atol=3e-3 if integers else 1e-6
        )
        (warning,) = [text for text in markers.origin.warnings if "biomechanical" in text]
        assert warning.startswith("3 of the points") and "LKneeAngles" in warning


def test_a_file_with_only_model_outputs_is_rejected(file):
    data = c3d_bytes([[[170.0, 2.0, -40.0]]] * 4, ["LKneeAngles"])
    with pytest.raises(MotionFormatError, match="the file has no markers: 1 of its 1 points"):
        ml.load_markers(file(data))
