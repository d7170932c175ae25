"""Writing of pictures: suffixes are checked first, bytes depend on the content only."""

from __future__ import annotations

import warnings

import pytest
from matplotlib.figure import Figure

from motionloom.errors import InvalidInput
from motionloom.plots.distance_matrix import write_error_function, write_match_web
from motionloom.plots.figures.filmstrip import write_strip
from motionloom.plots.figures.top_view import write_floor_plan
from motionloom.plots.match_graph import write_match_graph
from motionloom.plots.pages.evaluation_report import write_rank_correlations
from motionloom.plots.pages.page import write_figure
from motionloom.plots.parametric import write_parameter_space
from motionloom.plots.rhythm import write_beats, write_transition_graph

WRITERS = {
    "beats": lambda path: write_beats(None, None, path),
    "floor": lambda path: write_floor_plan(None, path),
    "error function": lambda path: write_error_function(None, path),
    "strip": lambda path: write_strip(None, path),
    "match graph": lambda path: write_match_graph(None, None, path),
    "parameters": lambda path: write_parameter_space(path, axes=(), examples=(), samples=()),
    "correlations": lambda path: write_rank_correlations(None, path),
    "transitions": lambda path: write_transition_graph(None, path),
    "web": lambda path: write_match_web(None, None, path),
}


@pytest.mark.parametrize("name", ["picture.jpg", "picture", "picture.png.txt"])
@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_an_invalid_picture_suffix_is_reported_before_anything_is_drawn(write, name, tmp_path):
    message = rf"cannot draw to .*{name}: the suffix must be one of \.png, \.svg, \.pdf"
    with pytest.raises(InvalidInput, match=message):
        write(tmp_path / name)
    assert not list(tmp_path.iterdir())


def words(text: str) -> Figure:
    figure = Figure(figsize=(2, 1))
    figure.text(0.1, 0.5, text)
    return figure


@pytest.mark.parametrize("kind", ["png", "PDF"])
def test_the_same_picture_is_the_same_bytes(kind, tmp_path):
    each, other = (write_figure(words("kick"), tmp_path / f"{n}.{kind}") for n in (1, 2))
    assert each.read_bytes() == other.read_bytes()
    assert write_figure(words("punch"), each).read_bytes() != other.read_bytes()


def test_more_dots_are_more_pixels(tmp_path):
    from PIL import Image

    sizes = [
        Image.open(write_figure(words("kick"), tmp_path / "a.png", dpi=dpi)).size
        for dpi in (None, 50, 200)
    ]
    assert sizes == [(200, 100), (100, 50), (400, 200)]


def test_letters_that_no_font_has_are_boxes_without_a_word(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert write_figure(words("\U0001f57a \u06dd"), tmp_path / "ünïcode 跳.svg").exists()
