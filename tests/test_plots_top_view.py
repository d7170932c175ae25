"""Crowds from above: pictures, films and pages."""

import shutil

import numpy as np
import pytest
from packed_clips import clips_of

import motionloom as ml
from motionloom.dance.music import Music
from motionloom.errors import InvalidInput
from motionloom.plots.figures.top_view import write_top_view

SONG = Music(np.arange(0.0, 3.0, 0.5), 4, np.array([0, 4]), 3.0)


@pytest.fixture(scope="module")
def agents():
    walk = ml.demo.clip("walk")[:60]
    return [[walk.transform(shift=(float(k), 0.0, 0.0)), walk] for k in (1, 2, 3)]


@pytest.mark.parametrize(
    ("suffix", "start"),
    [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF"), (".gif", b"GIF89a")],
)
def test_pictures_and_gifs(tmp_path, agents, suffix, start):
    options = {"room": (9.0, 7.0), "columns": [(2.0, 1.0, 0.4)], "radius": 0.6}
    place = write_top_view(agents, tmp_path / f"top{suffix}", **options)
    assert place.read_bytes().startswith(start)
    if suffix == ".gif":
        from PIL import Image

        with Image.open(place) as film:
            assert film.n_frames == 20 and film.info["duration"] == 100
            first = np.asarray(film.convert("RGB"))
            film.seek(19)
            assert np.any(first != np.asarray(film.convert("RGB")))


def test_a_film_has_the_music(tmp_path, agents):
    if shutil.which("ffmpeg") is None:
        pytest.skip("no ffmpeg here")
    place = write_top_view(agents, tmp_path / "top.mp4", music=SONG)
    data = place.read_bytes()
    assert data[4:8] == b"ftyp" and b"soun" in data and b"vide" in data


def test_the_page_holds_all_places_to_a_centimeter(tmp_path, agents):
    line = np.array([(0.0, 0.0), (0.0, 9.0)])
    text = write_top_view(agents, tmp_path / "top.html", line=line).read_text()
    assert "http:" not in text and "https:" not in text  # nothing from outside
    (clip,) = clips_of(text)
    size = (clip["agents"], clip["bodies"], 3, clip["frames"])
    assert size == (3, 2, 3, 20) and clip["fps"] == 10.0
    places = clip["values"].reshape(size)
    wanted = agents[2][0].root[::3][:20]
    np.testing.assert_allclose(places[2, 0, 0] / 100, wanted[:, 0], atol=0.006)
    np.testing.assert_allclose(places[2, 0, 1] / 100, wanted[:, 2], atol=0.006)
    turns = agents[2][0].headings()[::3][:20]
    np.testing.assert_allclose(np.cos(places[2, 0, 2] / 1000), np.cos(turns), atol=2e-3)


def test_one_frame_of_one_body_is_enough(tmp_path, agents):
    for suffix in (".png", ".gif", ".html"):
        assert write_top_view([[agents[0][0][:1]]], tmp_path / f"one{suffix}").exists()


def test_mistakes_are_explained(tmp_path, agents):
    with pytest.raises(InvalidInput, match="the suffix must be one of .png, .svg"):
        write_top_view(agents, tmp_path / "top.jpg")
    with pytest.raises(InvalidInput, match="at least one agent with at least one frame"):
        write_top_view([], tmp_path / "top.png")
