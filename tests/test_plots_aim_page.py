"""Pages on which a parametric motion is aimed: their blends against the blends of Python."""

import numpy as np
import pytest
from commands import run
from packed_clips import clips_of, read_clip

import motionloom as ml
from motionloom.blending import register
from motionloom.errors import InvalidInput
from motionloom.parametric.parametric_motion import parametrize
from motionloom.parametric.settings import ParametrizeSettings
from motionloom.plots.figures.stick_figure import stick_figure
from motionloom.plots.pages import aim_page

_SIDES = ("front", "inside", "outside")
_HEIGHTS = ("low", "mid", "high")


@pytest.fixture(scope="module")
def examples():
    kicks = [
        ml.demo.annotated(f"kick_{side}_{height}_right") for side in _SIDES for height in _HEIGHTS
    ]
    return register([kick.motion for kick in kicks]), kicks[0].truth.parameters["hit_frame"]


@pytest.fixture(scope="module")
def kick(examples):
    registered, hit = examples
    return parametrize(
        registered, f"right_ankle@{hit}", ParametrizeSettings(samples=100), name="kick"
    )


@pytest.fixture(scope="module")
def page(kick, tmp_path_factory):
    path = aim_page.write_aim_page(kick, tmp_path_factory.mktemp("aim") / "kick.html")
    assert path.stat().st_size < 400_000
    (clip,) = clips_of(path.read_text(encoding="utf-8"))
    return clip


def poses_of(clip):
    """Positions (samples, frames, points, 3) in meters."""
    shape = (len(clip["samples"]), clip["points"], 3, clip["frames"])
    codes = clip["values"].reshape(shape).astype(float)
    for point in range(clip["points"]):
        for above, below, *_ in clip["bones"]:
            if below == point and above < point:
                codes[:, point] += codes[:, above]
    return np.moveaxis(codes, -1, 1) * clip["scale"] + clip["origin"]


def test_the_parameter_is_met_at_the_key_frame_of_every_sample(page, kick):
    poses, samples = poses_of(page), np.array(page["samples"])
    skeleton = kick.registration.placed(0).skeleton
    figure = stick_figure(kick.blend(np.eye(len(kick.examples))[0]), max_points=40)
    ankle = skeleton.point_names.index(skeleton.roles["right_ankle"])
    point = figure.points.tolist().index(ankle)
    assert page["space"] == [0, 1, 2] and page["axes"] == ["x", "y", "z"]
    np.testing.assert_allclose(poses[:, page["knots"][1], point], samples, atol=1e-3)
    assert 9 < len(samples) <= 140


def test_mixed_poses_are_those_of_real_blends(page, kick, rng):
    poses, samples = poses_of(page), np.array(page["samples"])
    figure = stick_figure(kick.blend(np.eye(len(kick.examples))[0]), max_points=40)
    for number in rng.choice(len(page["cells"]), 6, replace=False):
        cell = page["cells"][number]
        shares = rng.dirichlet(np.ones(len(cell)))
        blend = kick.reach(shares @ samples[cell])
        there = figure.positions(blend.motion)[blend.frames[0]]
        mixed = np.tensordot(shares, poses[cell][:, page["knots"][1]], axes=1)
        assert np.linalg.norm(there - mixed, axis=1).max() < 0.025
        moment = shares @ np.array(page["times"])[cell, 1]
        assert moment == pytest.approx(blend.frames[0] / blend.motion.fps, abs=0.05)


def test_bones_keep_their_length_inside_cells_and_every_sample_is_in_reach(page):
    poses = poses_of(page)
    ends = np.array([bone[:2] for bone in page["bones"]])
    lengths = np.linalg.norm(poses[:, :, ends[:, 1]] - poses[:, :, ends[:, 0]], axis=-1)
    usual = np.median(lengths, axis=(0, 1))
    long = usual > 0.05 * page["size"]
    shrunk = []
    for cell in page["cells"]:
        middle = poses[cell].mean(axis=0)
        bones = np.linalg.norm(middle[:, ends[:, 1]] - middle[:, ends[:, 0]], axis=-1)
        shrunk.append((1.0 - bones / usual)[:, long].max())
    assert np.mean(np.array(shrunk) < 0.04) > 0.9  # the others keep a sample in reach
    assert set(np.concatenate(page["cells"]).tolist()) == set(range(len(poses)))


def test_one_and_two_parameters_make_pairs_and_triangles(examples):
    registered, hit = examples
    settings = ParametrizeSettings(samples=30)
    for by, corners, space in (
        (f"height(right_ankle)@{hit}", 2, []),
        (["final_root_position"], 3, [0, 2]),
    ):
        motion = parametrize(registered, by, settings)
        clip = read_clip(aim_page.packed_aim(motion, samples=20))
        assert {len(cell) for cell in clip["cells"]} == {corners}
        assert clip["space"] == space and len(clip["samples"]) <= 20


def test_more_than_three_parameters_are_refused(examples):
    registered, hit = examples
    by = [f"right_ankle@{hit}", f"height(left_wrist)@{hit}"]
    motion = parametrize(registered, by, ParametrizeSettings(samples=5), name="kick")
    with pytest.raises(InvalidInput, match="a page can aim at most 3 parameters; kick has 4: x, y"):
        aim_page.packed_aim(motion)


def test_parametrize_writes_a_page_as_its_picture(tmp_path):
    names = [f"kick_{side}_{height}_right_p0" for side in _SIDES for height in _HEIGHTS]
    place, page = tmp_path / "kicks.loom", tmp_path / "kick.html"
    ml.Library.create(place).add(ml.demo.write(tmp_path / "takes", only=names))
    done = run(
        "parametrize", place, names[0], "--whole", "--by", "right_ankle@32",
        "--samples", "20", "--name", "a kick", "--picture", page,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    (clip,) = clips_of(page.read_text(encoding="utf-8"))
    assert clip["kind"] == "aim" and clip["name"] == "a kick"
