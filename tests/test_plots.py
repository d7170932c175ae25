"""Pictures: film strips, animations, the player and contact sheets."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
import stat
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgb
from packed_clips import clips_of, positions_of, read_clip
from PIL import Image
from plain_motions import ball, beast, snake, walker

from motionloom import demo
from motionloom.errors import InvalidInput, MissingExtra, MotionloomError
from motionloom.motion import Motion
from motionloom.plots import (
    Budget,
    SheetClip,
    contact_sheet,
    film_strip,
    player_html,
    write_gif,
    write_mp4,
    write_strip,
)
from motionloom.plots.figures.drawing import VIEWS, Camera, figure_strokes, grid_step
from motionloom.plots.figures.stick_figure import COLORS, LEFT, MIDDLE, RIGHT, stick_figure
from motionloom.plots.pages import player
from motionloom.plots.pages.html_pages import write_player_page
from motionloom.plots.pages.player import packed_clip, packed_motion, quantize_positions

ROOT = Path(__file__).parents[1]
BUILT = Path(player.__file__).parent / "built" / "player.js"
ANY = pytest.mark.parametrize("make", [walker, beast, snake, ball])


def words(page) -> list[str]:
    texts = [*page.texts, *(text for axes in page.axes for text in axes.texts)]
    return [text.get_text() for text in texts]


def bones_painted(page) -> int:
    """Strokes in the color, or a paler shade, of a left or right limb."""
    painted = 0
    for axes in page.axes:
        for lines in axes.findobj(LineCollection):
            if lines.get_zorder() == 4:
                painted += len(lines.get_colors()) // 2
    return painted


# --- the stick figure -----------------------------------------------------------------


def test_left_and_right_limbs_are_distinguished_by_role():
    motion = walker()
    figure = stick_figure(motion)
    x = motion.rest_pose().positions(end_sites=True)[0, figure.points, 0]
    upper, lower = x[figure.bones].T
    assert np.all(lower[figure.sides == LEFT] > 0.01)  # the character's left is +X
    assert np.all(lower[figure.sides == RIGHT] < -0.01)
    # The trunk, out to shoulders and hips, is neither.
    assert np.all(np.abs(upper[figure.sides == MIDDLE]) < 0.01)
    assert [np.count_nonzero(figure.sides == side) for side in (LEFT, RIGHT)] == [6, 6]


def test_sides_come_from_names_where_there_are_no_roles():
    motion = beast()
    figure = stick_figure(motion)
    names = np.array(motion.skeleton.point_names)[figure.points]
    limbs = {names[tip]: side for (_, tip), side in zip(figure.bones, figure.sides, strict=True)}
    assert limbs["L_fore_lower"] == limbs["L_hind_paw"] == LEFT
    assert limbs["R_fore_lower"] == limbs["R_hind_paw"] == RIGHT
    assert limbs["L_fore_upper"] == limbs["tail_tip"] == limbs["nose"] == MIDDLE


def test_a_thigh_is_thicker_than_a_shin_and_a_spine_thicker_than_both():
    motion = walker()
    figure = stick_figure(motion)
    names = [motion.skeleton.point_names[figure.points[tip]] for _, tip in figure.bones]
    width = dict(zip(names, figure.widths, strict=True))
    assert width["chest"] > width["left_knee"] > width["left_ankle"] > width["left_toe"]


def test_joints_on_top_of_their_parent_make_no_bone_but_their_children_do():
    from motionloom.motion import Skeleton

    tree = Skeleton(["a", "b", "c"], [-1, 0, 1], [[0, 0, 0], [0, 0, 0], [0, 1, 0]])
    figure = stick_figure(Motion(tree, np.tile([1.0, 0, 0, 0], (2, 3, 1)), np.zeros((2, 3)), 30))
    assert figure.points.tolist() == [0, 2]
    assert figure.bones.tolist() == [[0, 1]]


def test_a_joint_that_carries_the_hips_from_the_floor_is_not_drawn():
    from motionloom.motion import Skeleton

    motion = walker()
    old = motion.skeleton
    tree = Skeleton(
        ["reference", *old.names],
        [-1, *(old.parents + 1)],
        np.vstack([np.zeros(3), old.offsets]),
        old.end_names,
        old.end_parents + 1,
        old.end_offsets,
    )
    still = np.tile([1.0, 0, 0, 0], (len(motion), 1, 1))
    moved = np.tile(tree.offsets, (len(motion), 1, 1))
    moved[:, 1] = motion.root
    carried = Motion(
        tree,
        np.concatenate([still, motion.rotations], axis=1),
        np.zeros((len(motion), 3)),
        motion.fps,
        translations=moved,
    )
    plain, figure = stick_figure(motion), stick_figure(carried)
    assert len(figure.bones) == len(plain.bones)
    assert figure.size == pytest.approx(plain.size, rel=1e-4)
    hips = figure.positions(carried)[:, figure.anchor]
    np.testing.assert_allclose(hips, motion.root, atol=1e-5)


def test_fewer_points_lose_the_tips_first():
    motion = walker()
    full, few = stick_figure(motion), stick_figure(motion, max_points=12)
    assert len(full.points) > 12
    assert len(few.points) <= 12
    names = [motion.skeleton.point_names[p] for p in few.points]
    assert "left_knee" in names
    assert "left_toe" not in names


def test_far_bones_are_painted_before_near_ones():
    motion = walker()[:1]
    figure = stick_figure(motion)
    painted = figure_strokes(figure, figure.positions(motion)[0], Camera(0.0, "side"))
    colors = painted.colors[1::2]
    # From the side the right limbs are nearer: the last arm or leg painted is a right one.
    is_left = colors[:, 2] > colors[:, 0] + 0.3
    is_right = colors[:, 0] > colors[:, 2] + 0.3
    assert np.flatnonzero(is_left).mean() < np.flatnonzero(is_right).mean()
    np.testing.assert_allclose(colors[is_right].min(axis=0)[2], to_rgb(COLORS[RIGHT])[2], atol=0.1)


def test_bones_with_a_missing_end_are_omitted():
    motion = walker()[:1]
    figure = stick_figure(motion)
    pose = figure.positions(motion)[0].astype(float)
    whole = len(figure_strokes(figure, pose, Camera()))
    pose[figure.bones[-1, 1]] = np.nan
    assert 0 < len(figure_strokes(figure, pose, Camera())) < whole


@pytest.mark.parametrize(("size", "step"), [(1.75, 0.5), (0.1, 0.02), (300.0, 100.0)])
def test_grid_steps_are_round_numbers(size, step):
    assert grid_step(size) == pytest.approx(step)


# --- film strips ----------------------------------------------------------------------


def test_a_strip_shows_name_length_sides_and_the_time_of_every_figure():
    motion = walker()
    page = film_strip(motion, frames=5)
    said = words(page)
    assert motion.name in said
    assert f"{len(motion)} frames at 30 fps · {motion.duration:.2f} s" in said
    assert [f"frame {f}" for f in (0, 22, 44, 67, 89)] == [
        w for w in said if w.startswith("frame ")
    ]
    assert {"● left", "● right"} <= set(said)


@ANY
@pytest.mark.parametrize("view", VIEWS)
def test_every_figure_is_painted_from_every_side(make, view):
    motion = make()
    figure = stick_figure(motion)
    each = len(figure.bones) + (figure.head is not None)
    assert bones_painted(film_strip(motion, frames=4, view=view)) == 4 * each


def test_a_walk_is_drawn_where_it_goes_with_meter_marks():
    said = words(film_strip(walker(), frames=5))
    assert {"0 m", "1 m", "2 m"} <= set(said)
    assert "path from above" not in said


def test_a_walk_there_and_back_is_drawn_on_stages_with_a_plan():
    there = walker()
    away = there.transform(yaw=np.pi, shift=there.root[-1] * [1, 0, 1])
    said = words(film_strip(there + away, frames=6))
    assert "path from above" in said
    assert "0 m" not in said


def test_a_motion_in_place_needs_no_plan():
    still = walker(speed=0.0)
    assert "path from above" not in words(film_strip(still, frames=6))


def test_a_limb_that_comes_at_the_viewer_is_seen_more_from_the_front():
    from motionloom.motion.rotations import quaternions as rot
    from motionloom.plots.figures.drawing import camera_for

    still = walker(speed=0.0)
    lift = np.sin(np.linspace(0.0, np.pi, len(still))) * 1.4
    seen = {}
    for name, axis in (("front", [-1.0, 0, 0]), ("side", [0, 0, -1.0])):
        turns = np.tile([1.0, 0, 0, 0], (len(still), len(still.skeleton), 1))
        turns[:, still.skeleton.joint("right_hip")] = rot.from_axis_angle(axis, lift)
        kick = replace(still, rotations=turns)
        seen[name] = camera_for(kick, stick_figure(kick), kick.root, view="three-quarter")
    assert seen["front"].direction == pytest.approx(0.0, abs=1e-6)
    assert seen["side"].direction > 0.3


def test_many_frames_wrap_into_rows():
    one_row = film_strip(walker(speed=0.0), frames=10).get_size_inches()
    three_rows = film_strip(walker(speed=0.0), frames=30).get_size_inches()
    assert three_rows[0] == pytest.approx(one_row[0], rel=0.02)
    assert three_rows[1] > 2.4 * one_row[1]


def test_a_tiny_and_a_huge_figure_look_the_same():
    sizes = [film_strip(snake(scale), frames=4).get_size_inches() for scale in (1e-3, 1, 1e3)]
    np.testing.assert_allclose(sizes[0], sizes[1], rtol=1e-3)
    np.testing.assert_allclose(sizes[2], sizes[1], rtol=1e-3)


def test_one_frame_makes_one_figure(tmp_path):
    said = words(film_strip(walker()[:1]))
    assert [w for w in said if w.startswith("frame ")] == ["frame 0"]
    assert any("1 frame at" in w for w in said)


def test_a_single_point_is_painted_as_a_ball(tmp_path):
    path = write_strip(ball(), tmp_path / "ball.png", frames=6, view="side")
    dark = np.asarray(Image.open(path).convert("RGB")).sum(axis=2) < 260
    dark[:130] = False  # the heading
    columns = np.flatnonzero(dark[:-110].any(axis=0))
    assert 1 + np.count_nonzero(np.diff(columns) > 5) == 6


def test_names_are_not_read_as_formulas(tmp_path):
    motion = replace(walker(), name="100$ of $x^ \x07 " + "long " * 60)
    write_strip(motion, tmp_path / "x.png", frames=2)
    assert any("100$ of $x^" in w for w in words(film_strip(motion, frames=2)))


@pytest.mark.filterwarnings("error")
def test_letters_without_a_glyph_do_not_cause_warnings(tmp_path):
    write_strip(replace(walker(), name="歩く \udc80"), tmp_path / "x.png", frames=2)
    write_gif(replace(walker()[:3], name="歩く \udc80"), tmp_path / "x.gif", width=64)
    sheet = contact_sheet([("歩く \udc80", walker(), "歩")], tmp_path / "x.html")
    assert "歩く ?" in sheet.path.read_text(encoding="utf-8")


def test_missing_frames_leave_the_rest_of_the_strip():
    motion = walker(speed=0.0)
    broken = motion.rotations.copy()
    broken[40:] = np.nan
    page = film_strip(replace(motion, rotations=broken), frames=4)
    assert 0 < bones_painted(page) < bones_painted(film_strip(motion, frames=4))


def test_strips_are_written_as_png_svg_and_pdf(tmp_path):
    motion = walker()[:5]
    png = write_strip(motion, tmp_path / "a.png", frames=2)
    assert Image.open(png).size[0] > 400
    assert b"<svg" in write_strip(motion, tmp_path / "a.svg", frames=2).read_bytes()
    assert write_strip(motion, tmp_path / "a.pdf", frames=2).read_bytes().startswith(b"%PDF")
    again = write_strip(motion, tmp_path / "b.png", frames=2)
    assert again.read_bytes() == png.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.pdf", "a.png", "a.svg", "b.png"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"view": "below"}, r"view must be one of three-quarter, side.*got 'below'"),
        ({"frames": 0}, r"frames must be at least 1; got 0"),
        ({"layout": "row"}, r"layout must be one of auto, world, stages; got 'row'"),
    ],
)
def test_strips_explain_mistakes(options, message):
    with pytest.raises(InvalidInput, match=message):
        film_strip(walker(), **options)


def test_nothing_to_draw_is_said_so(tmp_path):
    empty = walker()[:0]
    with pytest.raises(InvalidInput, match=r"cannot draw walker, because it has no frames"):
        film_strip(empty)
    with pytest.raises(InvalidInput, match=r"suffix must be one of \.png, \.svg, \.pdf"):
        write_strip(walker(), tmp_path / "x.jpg")


def test_a_body_covers_its_bones_and_its_near_side_is_painted_last():
    from motionloom.plots.figures.drawing import body_figure

    walk = demo.clip("walk")
    camera = Camera(view="side")
    body = body_figure(walk, detail="low")
    seen = body.triangles(walk, 30, camera)
    knee = camera.project(walk[30].role_positions(["right_knee"])[0, 0])[:2]
    assert np.abs(seen.corners.mean(axis=1) - knee).max(axis=1).min() < 0.03
    blue, orange = (to_rgb(COLORS[side]) for side in (LEFT, RIGHT))
    near = seen.colors[-50:].mean(axis=0)  # from this side the right limbs are in front
    assert near @ orange / np.linalg.norm(near) > near @ blue / np.linalg.norm(near)
    from_behind = body.triangles(walk, 30, Camera(view="back"))
    assert (
        0.3 * len(body.mesh.triangles) < len(from_behind.corners) < 0.7 * len(body.mesh.triangles)
    )


def test_strips_and_films_of_bodies(tmp_path):
    walk = demo.clip("walk")
    bones = film_strip(walk, frames=2)
    bodies = film_strip(walk, frames=2, body=True)
    drawn = lambda figure: len(figure.axes[0].collections)  # noqa: E731
    assert any(isinstance(each, PolyCollection) for each in bodies.axes[0].collections)
    assert drawn(bodies) == drawn(bones)  # a body for each set of bones
    made = write_gif(walk[:4], tmp_path / "walk.gif", width=120, body=True)
    with Image.open(made) as film:
        assert film.n_frames > 1


def test_a_skeleton_without_limbs_is_drawn_as_sticks():
    strip = film_strip(snake(), frames=2, body=True)
    assert not any(isinstance(each, PolyCollection) for each in strip.axes[0].collections)


# --- moving pictures ------------------------------------------------------------------


@ANY
def test_a_gif_has_a_picture_for_every_step_and_keeps_time(tmp_path, make):
    motion = make()[:31]
    path = write_gif(motion, tmp_path / "m.gif", width=120, fps=10)
    image = Image.open(path)
    assert image.format == "GIF"
    assert image.size[0] == 120
    expected = len(motion.resample(10))
    assert image.n_frames == expected
    assert image.info["duration"] == 100
    assert image.info["loop"] == 0


def test_a_gif_follows_a_character_that_travels(tmp_path):
    far = walker(speed=4.0)
    image = Image.open(write_gif(far, tmp_path / "m.gif", width=120, fps=5))
    for frame in range(image.n_frames):
        image.seek(frame)
        pixels = np.asarray(image.convert("RGB")).astype(int)
        limbs = np.flatnonzero((np.ptp(pixels, axis=2) > 120).any(axis=0))
        assert 20 < limbs.mean() < 100, frame


def test_a_long_gif_is_cut_and_says_so(tmp_path):
    from motionloom.plots.figures.animation import film_for

    motion = walker()
    film = film_for(motion, 200, 10.0, 1.0, "side")
    assert film.caption == "walker (first 1 of 3.0 s)"
    image = Image.open(write_gif(motion, tmp_path / "m.gif", width=100, fps=10, seconds=1.0))
    assert image.n_frames == len(motion[:30].resample(10))


def test_a_film_is_piped_to_ffmpeg(tmp_path, monkeypatch):
    program = tmp_path / "bin" / "ffmpeg"
    program.parent.mkdir()
    program.write_text(
        "#!/usr/bin/env python3\n"
        "import sys\n"
        "data = sys.stdin.buffer.read()\n"
        "size = sys.argv[sys.argv.index('-s') + 1]\n"
        "open(sys.argv[-1], 'w').write(f'{size} {len(data)}')\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    motion = walker()[:10]
    path = write_mp4(motion, tmp_path / "m.mp4", width=101)
    size, received = path.read_text().split()
    width, height = map(int, size.split("x"))
    assert (width % 2, height % 2, width) == (0, 0, 102)
    assert int(received) == 10 * 3 * width * height


def test_what_ffmpeg_complains_about_is_passed_on(tmp_path, monkeypatch):
    program = tmp_path / "bin" / "ffmpeg"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'Unknown encoder libx264' >&2\nexit 1\n")
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    with pytest.raises(MotionloomError, match=r"m\.mp4: ffmpeg failed: Unknown encoder libx264"):
        write_mp4(walker()[:10], tmp_path / "m.mp4")
    assert [p.name for p in tmp_path.iterdir()] == ["bin"]


def test_without_ffmpeg_a_film_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(__import__("sys").modules, "imageio_ffmpeg", None)
    with pytest.raises(MissingExtra, match=r"install it \(apt install ffmpeg, .* write a GIF"):
        write_mp4(walker()[:10], tmp_path / "m.mp4")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 10}, r"width must be between 64 and 4096 pixels; got 10"),
        ({"fps": 0}, r"fps must be positive; got 0"),
        ({"seconds": -1.0}, r"seconds must be positive; got -1.0"),
        ({"view": "x"}, r"view must be one of"),
    ],
)
def test_animations_explain_mistakes(tmp_path, options, message):
    with pytest.raises(InvalidInput, match=message):
        write_gif(walker()[:3], tmp_path / "m.gif", **options)


# --- the player -----------------------------------------------------------------------


@ANY
def test_the_player_carries_the_positions_to_within_rounding(make):
    motion = make()
    (clip,) = clips_of(player_html(motion))
    figure = stick_figure(motion)
    truth = figure.positions(motion)
    assert clip["frames"] == len(motion)
    assert clip["note"] == ""
    error = np.abs(positions_of(clip) - truth).max()
    assert error <= 0.51 * clip["scale"] + 1e-6 * figure.size
    assert clip["scale"] <= 2.6e-4 * figure.size  # less than a tenth of a pixel


def test_missing_points_stay_missing_and_do_not_disturb_the_others():
    motion = walker()
    rotations = motion.rotations.copy()
    rotations[10:14, 3] = np.nan
    rotations[0, 5] = np.nan
    body = replace(motion, rotations=rotations)
    figure = stick_figure(body)
    truth = figure.positions(body)
    (clip,) = clips_of(player_html(body))
    gone = ~np.isfinite(truth).all(axis=-1)
    assert gone.any() and not gone.all()
    assert np.array_equal(clip["missing"], gone)
    np.testing.assert_allclose(
        positions_of(clip), np.where(gone[..., None], np.nan, truth), atol=1e-3
    )


def test_a_figure_far_from_the_origin_keeps_its_accuracy(rng):
    values = rng.normal(size=(4, 3, 3)) + [1e4, 0.0, -3e4]
    codes, origin, scale = quantize_positions(values, 1.75)
    np.testing.assert_allclose(codes * scale + origin, values, atol=0.51 * scale)
    assert scale < 1e-3


def test_points_that_are_too_far_apart_are_refused():
    values = np.array([[0, 2**40, 0, 2**40]])
    with pytest.raises(InvalidInput, match="too far apart"):
        packed_clip({}, values)


@pytest.mark.parametrize("top", [1, 63, 64, 8191, 8192, 2**20, 2**30 - 1])
def test_numbers_of_all_lengths_are_packed(rng, top):
    series = rng.integers(-top // 4, top // 4 + 1, size=(3, 50))
    assert np.array_equal(read_clip(packed_clip({"a": 1}, series))["values"], series)


def test_ten_minutes_are_cut_down_and_the_caption_says_so():
    step = walker()
    long = Motion(
        step.skeleton,
        np.tile(step.rotations, (200, 1, 1)),
        np.tile(step.root, (200, 1)),
        30.0,
        name="long",
    )
    page = player_html(long)
    (clip,) = clips_of(page)
    assert clip["frames"] <= 900
    assert len(page) < 150_000
    assert clip["note"] == "Shown here: the first 90 of 600.0 s, at 10 frames per second."
    assert "18,000 frames" in clip["facts"]
    expected = stick_figure(long).positions(long)[30]
    np.testing.assert_allclose(positions_of(clip)[10], expected, atol=1e-3)


def test_a_minute_keeps_its_length_at_a_lower_rate():
    step = walker()
    minute = Motion(
        step.skeleton, np.tile(step.rotations, (20, 1, 1)), np.tile(step.root, (20, 1)), 30.0
    )
    (clip,) = clips_of(player_html(minute))
    assert clip["frames"] / clip["fps"] == pytest.approx(60.0, abs=0.1)
    assert clip["note"] == "Shown here: at 15 frames per second."


def test_a_slow_motion_is_not_blown_up():
    (clip,) = clips_of(player_html(walker().resample(5)))
    assert clip["fps"] == 5.0


HOSTILE = '</script><script>alert(1)</script><img src=x onerror="alert(2)">\' {{clips}} \u2028'


def test_a_hostile_name_stays_text():
    motion = replace(walker(), name=HOSTILE)
    page = player_html(motion)
    assert page.count("<script>") == page.count("</script>") == 1
    assert "<img" not in page
    assert clips_of(page)[0]["name"] == HOSTILE


def test_a_notebook_shows_the_player_and_an_empty_motion_shows_its_facts():
    assert walker()._repr_html_() == player_html(walker())
    assert "0 frames" in walker()[:0]._repr_html_()


def test_the_player_asks_for_nothing_outside():
    page = player_html(walker())
    assert not re.search(r"https?:|//cdn|@import|url\(|<link|src=", page)


@pytest.mark.parametrize("name", ["fps", "frames", "seconds", "points"])
def test_a_budget_explains_mistakes(name):
    with pytest.raises(InvalidInput, match=rf"{name} must be positive; got 0"):
        Budget(**{name: 0})


# --- contact sheets -------------------------------------------------------------------


def test_the_player_is_built_from_its_sources():
    """The built script is in the repository, so that pages can be written without Node."""
    first = BUILT.read_text(encoding="utf-8").split("\n")[0]
    names, digest = re.search(r"studio/\{(.*)\}, sha256 (\w+)", first).groups()
    sources = [ROOT / "studio" / name for name in names.split(",")]
    if not (ROOT / "studio").is_dir():
        pytest.skip("an sdist has no sources of the page")
    data = b"".join(path.read_bytes() for path in sources)
    assert hashlib.sha256(data).hexdigest() == digest, "run python build_page.py"
    assert {path.name for path in sources} >= {"player.ts", "sheet.ts", "clock.ts"}
    assert len(gzip.compress(BUILT.read_bytes())) < 12_000  # the limit is 250 kB


def test_a_page_may_run_nothing_but_the_player(tmp_path):
    page = write_player_page(walker(), tmp_path / "p.html").read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    code = zlib.decompress(base64.b64decode(re.search(r'atob\("([^"]*)"', script)[1]), -15)
    hashes = [
        base64.b64encode(hashlib.sha256(text).digest()).decode()
        for text in (script.encode(), code, style.encode())
    ]
    assert policy == (
        f"default-src 'none'; script-src 'sha256-{hashes[0]}' 'sha256-{hashes[1]}'; "
        f"style-src 'sha256-{hashes[2]}'; img-src data:; base-uri 'none'"
    )
    assert code.decode() == BUILT.read_text(encoding="utf-8").split("\n", 1)[1]
    assert "unsafe" not in page and " style=" not in page


def test_a_sheet_has_a_card_for_every_clip_and_needs_nothing_else(tmp_path):
    clips = [(f"walk {k}", walker(), f"walk, take {k}") for k in range(30)]
    sheet = contact_sheet(clips, tmp_path / "sheet.html", title="Takes & more")
    page = sheet.path.read_text(encoding="utf-8")
    assert (sheet.clips, sheet.cut, sheet.bytes) == (30, 0, sheet.path.stat().st_size)
    assert page.count('<article class="clip"') == 30
    assert '<button type="button" class="chip">take 7</button>' in page
    assert "<h1>Takes &amp; more</h1>" in page
    assert not re.search(r"https?:|//cdn|@import|url\(|<link|src=", page)
    assert sheet.bytes / sheet.clips < 5_000


def test_long_clips_show_their_beginning_and_say_so(tmp_path):
    sheet = contact_sheet([walker(), walker()[:20]], tmp_path / "s.html", seconds=1.5)
    page = sheet.path.read_text(encoding="utf-8")
    assert sheet.cut == 1
    assert "1.5 of 3.0 s" in page
    assert re.search(r"[^.\d]1\.5 s\b", page)
    long, short = clips_of(page)
    assert "1.5 of 3.0 s" in long["note"]
    assert (long["frames"], short["note"]) == (18, "")


def test_clips_are_taken_one_at_a_time(tmp_path):
    alive = 0
    most = 0

    class Counted:
        def __init__(self):
            nonlocal alive, most
            alive += 1
            most = max(most, alive)

        def __del__(self):
            nonlocal alive
            alive -= 1

    def clips():
        for _ in range(6):
            motion = walker()
            object.__setattr__(motion, "counted", Counted())
            yield motion
            del motion

    contact_sheet(clips(), tmp_path / "s.html")
    assert most <= 2


def test_hostile_titles_and_labels_stay_text(tmp_path):
    motion = replace(walker(), name=HOSTILE)
    sheet = contact_sheet(
        [SheetClip(HOSTILE, motion, (HOSTILE,))], tmp_path / "s.html", title=HOSTILE
    )
    page = sheet.path.read_text(encoding="utf-8")
    assert page.count("<script>") == page.count("</script>") == 1
    assert "<img" not in page
    assert page.count('<article class="clip"') == 1


def test_a_sheet_that_fails_leaves_nothing_behind(tmp_path):
    def clips():
        yield walker()
        raise MotionloomError("the disk is gone")

    with pytest.raises(MotionloomError, match=r"the disk is gone"):
        contact_sheet(clips(), tmp_path / "s.html")
    assert list(tmp_path.iterdir()) == []


def test_a_sheet_drops_fingers_before_it_grows(tmp_path):
    clip = read_clip(packed_motion(snake(joints=90), Budget(points=40)))
    assert clip["points"] <= 40


def test_a_head_without_a_known_top_is_a_ball_at_its_joint():
    walk = demo.clip("walk")
    skeleton = walk.skeleton
    flat = [name == skeleton.roles["head_top"] for name in skeleton.end_names]
    assert any(flat)
    ends = np.where(np.array(flat)[:, None], 0.0, skeleton.end_offsets)
    body = replace(walk, skeleton=replace(skeleton, end_offsets=ends))
    figure = stick_figure(body)
    base, top = figure.head
    assert base == top and skeleton.point_names[figure.points[base]] == skeleton.roles["head"]
    assert stick_figure(walk).head[0] != stick_figure(walk).head[1]
