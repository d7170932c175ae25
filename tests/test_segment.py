"""Segments in text: frames, seconds, both, and invalid ones."""

import pytest

import motionloom as ml
from motionloom.cli.arguments import segment_from
from motionloom.errors import InvalidInput
from motionloom.motion import Segment
from motionloom.motion.segment import split_segment


@pytest.fixture(scope="module")
def walk():
    return ml.demo.clip("walk")


@pytest.mark.parametrize(
    ("text", "name", "frames"),
    [
        ("walk:10-40", "walk", (10, 40)),
        ("walk:0.5s-1.5s", "walk", (15, 45)),
        ("walk:10-1.5s", "walk", (10, 45)),
        ("takes.loom:a:b:3-4", "takes.loom:a:b", (3, 4)),
        (":0-2", "", (0, 2)),
    ],
)
def test_a_range_is_parsed_from_the_end(walk, text, name, frames):
    segment = Segment.parse(text, walk)
    assert segment == Segment(name, *frames, 30.0)
    assert Segment.parse(str(segment), walk) == segment
    assert len(segment) == len(segment.cut(walk)) == frames[1] - frames[0]
    assert (segment.start, segment.end) == (frames[0] / 30.0, frames[1] / 30.0)


@pytest.mark.parametrize("text", ["walk", "walk:10", "walk:-3-4", "walk:a-b", "walk:1e3-2", ""])
def test_text_without_a_range_is_a_name(walk, text):
    assert split_segment(text) == (text, None)
    assert Segment.parse(text, walk) == Segment(text, 0, len(walk), 30.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("walk:40-10", "walk:40-10: the range .* got 40 to 10; the start must come before the end"),
        ("walk:10-10", "got 10 to 10"),
        ("walk:0-9999", r"frames \(.* s\); got 0 to 9999"),
        ("walk:1.5-3", "frames must be whole numbers; for seconds, append an s"),
        ("walk:1.5-3s", "frames must be whole numbers"),
        ("walk:1s-2.5", "frames must be whole numbers"),
    ],
)
def test_reports_invalid_input(walk, text, message):
    with pytest.raises(InvalidInput, match=message):
        Segment.parse(text, walk)


def test_seconds_need_a_frame_rate():
    with pytest.raises(InvalidInput, match="walk:3-4: times in seconds need a frame rate"):
        _ = Segment("walk", 3, 4).start


def test_a_file_may_be_called_like_a_range(walk, tmp_path):
    path = walk.save(tmp_path / "walk.bvh")
    odd = path.rename(tmp_path / "walk:0-9.bvh")
    assert len(segment_from(str(odd))[0]) == len(walk)
    part, first = segment_from(f"{odd}:5-25")
    assert (len(part), first) == (20, 5)
