"""Parametric motions: parameters, targets, accuracy."""

import importlib
import json
import shutil
import sys

import numpy as np
import pytest
from commands import error_lines, invoked
from commands import ran as run
from naive.parameter_space import interpolated_weights, is_valid, sampled

import motionloom as ml
from motionloom.blending import Blend, register
from motionloom.cli import app
from motionloom.errors import InvalidInput, LibraryError
from motionloom.motion.diagnostics.quality import floor_penetration, foot_slide, joint_accelerations
from motionloom.parametric.artifact import open_parametric, save_parametric
from motionloom.parametric.parameter_text import parameter
from motionloom.parametric.parametric_motion import parametrize
from motionloom.parametric.settings import ParametrizeSettings

KINDS = ("front_mid", "front_low", "front_high", "inside_mid", "outside_mid", "outside_low")
HIT = 33


@pytest.fixture(scope="module")
def kicks():
    return register([ml.demo.clip(f"kick_{kind}_right") for kind in KINDS])


@pytest.fixture(scope="module")
def kick(kicks):
    return parametrize(
        kicks, ml.at("right_ankle", HIT), ParametrizeSettings(samples=150, seed=1), name="kick"
    )


@pytest.fixture(scope="module")
def targets(kick):
    random = np.random.default_rng(4)
    samples = random.choice(np.arange(len(KINDS), len(kick.accessible)), 12, replace=False)
    return kick.accessible[samples] + random.normal(0.0, 0.004, (12, 3))


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    lib = ml.Library.create(tmp_path_factory.mktemp("parametric") / "kicks.loom")
    for kind in KINDS:
        for performer in (0, 1):
            lib.add_motion(ml.demo.clip(f"kick_{kind}_right", performer=performer), labels=["kick"])
    return lib


def test_an_example_requested_by_its_own_parameters_comes_back(kick, kicks):
    for number in range(len(KINDS)):
        result = kick.reach(kick.space.examples[number])
        assert result.error < 1e-6 and result.weights[number] == 1.0
        example = kicks.placed(number).starting_at_origin()
        assert len(result.motion) == len(example)
        assert np.abs(result.motion.positions() - example.positions()).max() < 1e-3


def test_a_kick_also_lands_on_its_target_in_the_written_file(kick, targets, tmp_path):
    errors = []
    for k, target in enumerate(targets):
        result = kick.reach(target)
        written = ml.load(result.motion.save(tmp_path / f"{k}.bvh"))
        (frame,) = result.frames
        landed = written.role_positions(["right_ankle"])[frame, 0]
        assert np.linalg.norm(landed - result.reached) < 1e-3
        errors.append(np.linalg.norm(landed - target))
    assert np.median(errors) < 0.01 and max(errors) < 0.03


def test_refinement_beats_interpolation_which_beats_the_examples(kick, targets):
    alone = parametrize(
        kick.registration, ml.at("right_ankle", HIT), ParametrizeSettings(samples=0)
    )
    mean = {
        "refined": np.mean([kick.reach(t).error for t in targets]),
        "sampled": np.mean([kick.reach(t, refine=False).error for t in targets]),
        "alone": np.mean([alone.reach(t, refine=False).error for t in targets]),
    }
    assert mean["refined"] < mean["sampled"] < 0.5 * mean["alone"]


def test_a_kick_out_of_reach_is_approached_with_valid_weights(kick):
    for away in ([0.0, 0.7, 2.0], [1.5, 0.7, 0.0], [0.0, 2.5, 0.5], [-1.0, -1.0, -1.0]):
        result = kick.reach(away)
        nearest = np.linalg.norm(kick.accessible - away, axis=1).min()
        assert result.error <= nearest + 0.01
        assert is_valid(result.weights, kick.space.delta)


def test_blends_have_no_measurable_flaws(kick, kicks, targets):
    most = max(joint_accelerations(example.motion).max() for example in kicks.examples)
    slides = []
    for target in targets:
        motion = kick(target)
        assert joint_accelerations(motion).max() < 1.5 * most
        assert floor_penetration(motion) < 0.01
        slides.append(foot_slide(motion).per_contact_m)
    assert np.mean(slides) < 0.01


def test_several_parameters_and_functions_at_once(kicks):
    def seconds(motion):
        return motion.duration

    both = parametrize(
        kicks, ["highest(right_ankle)", seconds], ParametrizeSettings(samples=30, spacing=0.001)
    )
    assert both.axes == ("y", "seconds")
    target = both.accessible[-1]
    result = both.reach(target, tolerance=0.02)
    assert result.error < 0.02 and result.frames == (None, None)


@pytest.mark.parametrize("rule", ["interpolated", "refined"])
def test_examples_that_the_others_reach_are_dropped(kicks, rule):
    options = {"redundant": 0.1 if rule == "interpolated" else 0.02, "redundant_by": rule}
    kept = parametrize(
        kicks, "highest(right_ankle)", ParametrizeSettings.of({"samples": 5, **options})
    )
    assert 2 <= len(kept.examples) < len(KINDS)
    assert kept.examples[0] == kicks.names[0]
    for height in kept.space.examples[:, 0]:
        assert kept.reach([height]).error < 0.02


def test_a_measured_frame_follows_the_query_and_an_extreme_each_motion(kicks):
    by = ["mean(height(right_ankle))@25-40", "left_wrist@highest(right_ankle)"]
    motion = parametrize(kicks, by, ParametrizeSettings(samples=20, spacing=0.001))
    assert motion.axes == ("height (m)", "x", "y", "z")
    for number, placed in enumerate(kicks.placed(n).starting_at_origin() for n in range(6)):
        frames = kicks.frames_at(25)[number], kicks.frames_at(39)[number]
        ankle, wrist = (
            placed.role_positions(["right_ankle", "left_wrist"]).astype(float).swapaxes(0, 1)
        )
        between = ankle[round(frames[0]) : round(frames[1]) + 1, 1]
        assert motion.space.examples[number, 0] == pytest.approx(between.mean(), abs=0.005)
        at_the_top = wrist[ankle[:, 1].argmax()]
        np.testing.assert_allclose(motion.space.examples[number, 1:], at_the_top, atol=0.01)
    result = motion.reach(motion.accessible[10], tolerance=0.02)
    assert result.within_tolerance and result.frames == (None, None)


def test_the_apex_is_where_most_examples_are_farthest_out(kicks):
    motion = parametrize(kicks, "right_ankle@apex", ParametrizeSettings(samples=20))
    (by,) = motion.parameters
    assert by.text == f"right_ankle@{by.frame}"  # a frame of the query, as if it had been given
    apexes = []
    for number, example in enumerate(kicks.examples):
        path = example.motion.role_positions(["right_ankle"])[:, 0]
        path = path - example.motion.role_positions(["hips"])[:, 0]
        out = np.linalg.norm(path - path[0], axis=1) + np.linalg.norm(path - path[-1], axis=1)
        times = kicks.curve.times[:, number].round().astype(int)
        apexes.append(out[times.clip(0, len(out) - 1)].argmax())
    assert by.frame == kicks.examples[0].start_frame + round(np.median(apexes))
    ahead = motion.space.examples[:, 2]
    early = parametrize(kicks, f"right_ankle@{by.frame - 12}", ParametrizeSettings(samples=1))
    assert ahead.mean() > early.space.examples[:, 2].mean() + 0.3  # not on the way


def test_an_apex_needs_a_joint_and_a_joint_has_one_in_each_motion():
    kick = ml.demo.clip("kick_front_mid_right")
    highest = ml.at("right_ankle", "apex")(kick)[1]
    assert highest > 0.9 * kick.role_positions(["right_ankle"])[:, 0, 1].max()
    jump = ml.demo.clip("jump_up")
    top = jump.role_positions(["hips"])[:, 0, 1].max()
    assert ml.at("hips", "apex")(jump)[1] == pytest.approx(top, abs=0.02)
    with pytest.raises(
        InvalidInput, match="the apex of a joint needs a joint.*center_of_mass@apex"
    ):
        parameter("center_of_mass@apex")


def test_the_preset_is_the_method_of_the_paper(kicks, kick, targets):
    few = ParametrizeSettings.kg04(samples=30, seed=2)
    made = parametrize(kicks, ml.at("right_ankle", HIT), few)
    space = made.space
    assert space.tried == 30 and space.shortfall == ""  # generated, not kept
    expected = sampled(space.examples, made.measure, 30, 0.1, 0.0127, np.random.default_rng(2))
    np.testing.assert_allclose(space.parameters, [parameters for parameters, _ in expected])
    dense = kick.space.dense(np.arange(len(kick.space)))
    for target in targets[:4]:
        weights = interpolated_weights(target, kick.accessible, dense, 12)
        np.testing.assert_allclose(
            kick.reach(target, ml.SynthesisSettings.kg04()).weights, weights, atol=1e-9
        )


def test_parameters_may_be_measured_between_frames_and_feet_left_alone(kicks, kick, lib):
    """The method of the paper: at a point of the timewarp curve, on the average of the poses."""
    rules = ParametrizeSettings.of({"samples": 5, "whole_frames": False, "lock_feet": False})
    made = parametrize(kicks, ml.at("right_ankle", HIT), rules)
    weights = np.array([0.3, 0.2, 0.5, 0.0, 0.0, 0.0])
    plain = Blend(kicks)
    motion = plain(weights, lock_feet=False).starting_at_origin()
    time = plain.frame_at(HIT, weights)
    ankle = motion.role_positions(["right_ankle"])[:, 0].astype(float)
    expected = [np.interp(time, np.arange(len(ankle)), column) for column in ankle.T]
    assert 0.1 < time % 1.0 < 0.9
    np.testing.assert_allclose(made.measure(weights), expected, atol=1e-5)
    assert np.abs(made.measure(weights) - kick.measure(weights)).max() > 1e-4
    save_parametric(lib.store, made, "between")
    np.testing.assert_array_equal(lib.parametric["between"].measure(weights), made.measure(weights))
    del lib.parametric["between"]


def test_refined_weights_are_bounded_like_those_of_the_samples(kick, targets):
    dense = kick.space.dense(np.arange(len(kick.space)))
    most = np.minimum(dense, 0.0).sum(axis=1).min()
    for target in [*targets, [0.3, 1.0, 0.3], [0.0, 0.2, 1.5]]:
        weights = kick.weights_for(target)
        assert is_valid(weights, kick.space.delta)
        assert np.minimum(weights, 0.0).sum() >= most - 1e-9


def test_a_player_follows_a_target_that_moves_without_a_jump(kick, kicks):
    player = kick.player(kick.space.examples[0])
    first = player.record(frames=12)
    player.steer(target=kick.space.examples[1])
    whole = first + player.record(frames=500)
    most = max(joint_accelerations(example.motion).max() for example in kicks.examples)
    assert joint_accelerations(whole).max() < 1.5 * most
    assert np.abs(whole.root[0, [0, 2]]).max() < 0.02
    landed = whole.role_positions(["right_ankle"])[:, 0]
    wanted, before = kick.space.examples[1], kick.space.examples[0]
    arrived = np.linalg.norm(landed - wanted, axis=1).min()
    assert arrived < 0.6 * np.linalg.norm(wanted - before)


def test_the_cardinal_scheme_reaches_examples_and_runs_away_outside(kick):
    result = kick.reach(kick.space.examples[2], scheme="cardinal")
    assert result.error < 1e-3
    far = kick.reach([0.0, 0.7, 1.9], scheme="cardinal")
    assert np.abs(far.weights).max() > 1.0 + kick.space.delta


def test_a_saved_motion_is_reopened_bit_for_bit(kick, targets, tmp_path):
    lib = ml.Library.create(tmp_path / "takes.loom")
    save_parametric(lib.store, kick, "kick")
    again = ml.Library(lib.path).parametric["kick"]
    assert tuple(lib.parametric) == ("kick",)
    assert again.examples == kick.examples and again.axes == kick.axes
    for target in targets[:3]:
        a, b = kick.reach(target), again.reach(target)
        np.testing.assert_array_equal(a.motion.rotations, b.motion.rotations)
        np.testing.assert_array_equal(a.weights, b.weights)


def test_a_function_without_a_module_must_be_passed_again(kicks, tmp_path):
    def seconds(motion):
        return motion.duration

    lib = ml.Library.create(tmp_path / "takes.loom")
    save_parametric(
        lib.store, parametrize(kicks, seconds, ParametrizeSettings(samples=3, spacing=1e-4)), "long"
    )
    with pytest.raises(
        InvalidInput, match="the function seconds as a parameter. The library could not save"
    ):
        open_parametric(lib.store, "long")
    with pytest.raises(InvalidInput, match="the parameters in by must return"):
        open_parametric(lib.store, "long", by="right_ankle@33")
    assert open_parametric(lib.store, "long", by=seconds).axes == ("seconds",)


def test_a_function_of_a_module_is_imported_again(lib, tmp_path, monkeypatch):
    source = tmp_path / "kick_measures.py"
    source.write_text("def seconds(motion):\n    return motion.duration\n")
    monkeypatch.syspath_prepend(tmp_path)
    by = "kick_measures:seconds"
    made = lib.parametrize(lib.names[:3], by=by, samples=5, spacing=1e-3, name="long")
    again = ml.Library(lib.path).parametric["long"]
    np.testing.assert_array_equal(again.measure([0.5, 0.5, 0.0]), made.measure([0.5, 0.5, 0.0]))
    target = f"--at={made.accessible[0, 0]:.4f}"
    done = invoked(app, "synthesize", lib.path, "long", target, "-o", tmp_path / "new.bvh")
    assert done.exit_code == 0 and "seconds from the target" in done.stdout

    monkeypatch.delitem(sys.modules, "kick_measures")
    source.write_text("def seconds(motion):\n    return motion.root[0]\n")
    importlib.invalidate_caches()
    shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
    with pytest.raises(
        InvalidInput,
        match="expects 1 numbers from the parameter seconds, but kick_measures:seconds",
    ):
        lib.parametric["long"]
    monkeypatch.delitem(sys.modules, "kick_measures")
    source.unlink()
    with pytest.raises(
        InvalidInput, match="the function seconds as a parameter, but this function"
    ):
        lib.parametric["long"]
    del lib.parametric["long"]


def test_scores_per_example_need_no_samples_and_are_stored(lib, tmp_path):
    names = lib.names[:4]
    moods = dict(zip(names, (0.1, 0.9, 0.4, 0.6), strict=True))
    made = lib.parametrize(names, by={"mood": moods}, name="mood")
    assert made.axes == ("mood",) and len(made.accessible) == 4
    assert made.space.shortfall == "0 samples: scores are interpolated directly from the examples"
    again = ml.Library(lib.path).parametric["mood"]
    for wanted in (0.1, 0.25, 0.5, 0.77):
        result = again.reach([wanted], tolerance=1e-3)
        assert result.error < 1e-3
        assert result.weights @ again.space.examples[:, 0] == pytest.approx(wanted, abs=1e-3)
        assert is_valid(result.weights, 0.0)
    plain = again.reach([0.25], refine=False).weights  # equations 2 and 3 over the examples
    expected = interpolated_weights([0.25], again.space.examples, np.eye(4), 12)
    np.testing.assert_allclose(plain, expected)
    del lib.parametric["mood"]


def test_scores_and_measured_parameters_may_be_combined(lib):
    names = lib.names[:4]
    ages = dict(zip(names, (20, 30, 40, 50), strict=True))
    both = lib.parametrize(names, by=["highest(right_ankle)", ages], samples=30)
    assert both.axes == ("y", "score") and both.space.shortfall == ""
    target = both.accessible[-1]
    assert both.reach(target, tolerance=0.01).error < 0.01
    with pytest.raises(InvalidInput, match=f"there is none for {names[3]}"):
        lib.parametrize(names, by={name: 1.0 for name in names[:3]})


@pytest.mark.slow
def test_scores_come_from_a_file_on_the_command_line(lib, tmp_path):
    table = tmp_path / "styles.csv"
    rows = [f"{name},{k / 10},{20 + k}" for k, name in enumerate(lib.names)]
    table.write_text("\n".join(["motion,mood,age", *rows]))
    first = lib.names[0]
    made = invoked(
        app, "parametrize", lib.path, first, "--whole", "--by", f"{table}:mood", "--name", "styled",
        "--drop-unmatched",
    )  # fmt: skip
    assert made.exit_code == 0, made.stderr
    assert "0 samples: scores are interpolated" in made.stdout and "mood: 0.000 to" in made.stdout
    table.unlink()
    done = invoked(
        app, "synthesize", lib.path, "styled", "--at", "0.33", "-o", tmp_path / "new.bvh", "--json"
    )
    answer = json.loads(done.stdout)
    assert answer["reached"] == pytest.approx([0.33], abs=0.01) and answer["frame"] is None
    del lib.parametric["styled"]


def test_fewer_samples_are_explained_on_the_command_line(lib, tmp_path):
    made = invoked(
        app, "parametrize", lib.path, lib.names[0], "--whole", "--only", ",".join(lib.names[:3]),
        "--by", "lowest(hips)", "--samples", 400, "--spacing", 0.02, "--name", "low",
        "--sampling", "nearest", "--redundant", 0.001, "--redundant-by", "refined",
        "-o", tmp_path / "low.json",
    )  # fmt: skip
    assert made.exit_code == 0, made.stderr
    assert "of 400 samples: the space is full. The last 100 of" in made.stdout
    about = json.loads((tmp_path / "low.json").read_text())
    assert about["tried"] >= 100 and "within 0.02 (spacing)" in about["shortfall"]
    assert ml.Library(lib.path).parametric["low"].space.shortfall == about["shortfall"]
    del lib.parametric["low"]


def test_a_function_that_fails_ends_with_one_line(lib, tmp_path, monkeypatch):
    (tmp_path / "bad_measures.py").write_text("def pace(motion):\n    return motion.pace\n")
    monkeypatch.syspath_prepend(tmp_path)
    done = run("parametrize", lib.path, lib.names[0], "--whole", "--by", "bad_measures:pace")
    assert done.returncode == 2
    (line,) = error_lines(done.stderr)
    assert "parameter pace failed on" in line and "AttributeError" in line


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        ([1.0, 2.0], {}, "a target must be 3 finite numbers"),
        ("there", {}, "a target must be 3 finite numbers; got 'there'"),
        ([1.0, 2.0, np.nan], {}, "a target must be 3 finite numbers"),
        ([0.0, 0.7, 0.8], {"scheme": "magic"}, "scheme must be one of samples, cardinal"),
    ],
)
def test_invalid_targets_are_rejected(kick, target, options, message):
    with pytest.raises(InvalidInput, match=message):
        kick(target, **options)


def test_parameters_that_do_not_fit_the_query_are_rejected(kicks):
    with pytest.raises(InvalidInput, match="measured at a frame of the query kick_front_mid"):
        parametrize(kicks, "right_ankle@5000")
    with pytest.raises(InvalidInput, match="must be finite on every motion"):
        parametrize(kicks, lambda motion: [np.nan, 1.0])


# --- through the library and the command line ---------------------------------------------


@pytest.mark.slow
def test_examples_without_a_clear_alignment_are_named_in_one_line(lib, monkeypatch):
    monkeypatch.setattr("motionloom.blending.registration.clear_alignment", lambda *_, **__: None)
    done = invoked(
        app, "parametrize", lib.path, lib.names[0], "--whole", "--by", "lowest(hips)",
        "--samples", 10, "--name", "unclear", "--drop-unmatched",
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if "no clear time alignment" in line]
    assert "--drop-unclear" in line and " more" in line and line.count(",") == 2
    del lib.parametric["unclear"]


def test_from_a_query_to_a_kick_on_the_command_line(lib, tmp_path):
    query = "kick_front_mid_right_p0:0-70"
    made = run(
        "parametrize", lib.path, query, "--by", f"right_ankle@{HIT}", "--samples", 60,
        "--join-distance", 0.15, "-o", tmp_path / "kick.json",
        "--picture", tmp_path / "kick.png", "--json",
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    about = json.loads(made.stdout)
    assert about["name"] == "kick" and len(about["examples"]) >= 4
    assert json.loads((tmp_path / "kick.json").read_text()) == about
    assert (tmp_path / "kick.png").stat().st_size > 5000
    target = ml.Library(lib.path).parametric["kick"].accessible[-1]
    at = ",".join(f"{value:.4f}" for value in target)
    output = run("synthesize", lib.path, "kick", f"--at={at}", "-o", tmp_path / "new.bvh", "--json")
    assert output.returncode == 0, output.stderr
    answer = json.loads(output.stdout)
    assert answer.keys() >= {"target", "reached", "error", "weights", "file", "quality", "frame"}
    assert answer["error"] < 0.02 and sum(answer["weights"].values()) == pytest.approx(1, abs=1e-4)
    landed = ml.load(tmp_path / "new.bvh").role_positions(["right_ankle"])[answer["frame"], 0]
    assert np.linalg.norm(landed - answer["reached"]) < 1e-3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("synthesize", "LIB", "punch", "--at", "1,2,3", "-o", "x.bvh"), "is called 'punch'"),
        (("synthesize", "LIB", "punch", "--at", "1,2,3", "-o", "x.doc"), "to x.doc: the suffix"),
        (
            ("parametrize", "LIB", "kick_front_mid_right_p0:0-70", "--by", "tail"),
            "use one of JOINT@FRAME",
        ),
        (
            ("parametrize", "LIB", "kick_front_mid_right_p0", "--by", "turn", "-o", "a.txt"),
            "the suffix must be .json",
        ),
        (
            (
                "parametrize", "LIB", "kick_front_mid_right_p0:0-70", "--by", "turn",
                "--join-distance", "0",
            ),
            "at least two examples",
        ),
    ],
)  # fmt: skip
def test_wrong_input_ends_with_one_line_and_code_2(lib, arguments, message):
    done = run(*(str(lib.path) if part == "LIB" else part for part in arguments))
    assert done.returncode == 2
    assert message in done.stderr and len(error_lines(done.stderr)) == 1


@pytest.mark.parametrize(
    ("by", "off"), [("turn", "rad from the target"), ("highest(hips)", "cm from the target")]
)
def test_the_error_is_reported_in_the_unit_of_the_target(lib, tmp_path, by, off):
    kick = lib.parametrize(lib.names[:2], by=by, samples=3, name="one_number")
    at = f"--at={kick.accessible[0, 0]:.4f}"
    done = invoked(app, "synthesize", lib.path, "one_number", at, "-o", tmp_path / "new.bvh")
    assert off in done.stdout


def test_a_damaged_artifact_is_reported(kick, tmp_path):
    lib = ml.Library.create(tmp_path / "takes.loom")
    save_parametric(lib.store, kick, "kick")
    (path,) = lib.path.glob("derived/parametric.kick.*/*.npz")
    path.write_bytes(b"nothing")
    with pytest.raises(LibraryError, match="the parametric 'kick' is damaged"):
        lib.parametric["kick"]


def change_artifact(lib, change):
    """Change the description and the arrays of the only parametric motion of a library."""
    stored = lib.artifacts.load("parametric", "kick")
    about, arrays = json.loads(json.dumps(stored.about)), dict(stored.arrays)
    change(about, arrays)
    with lib.store.change("damage"):
        lib.artifacts.save("parametric", "kick", about, arrays)


@pytest.mark.parametrize(
    "change",
    [
        lambda about, arrays: about["parameters"][0].pop("ready"),
        lambda about, arrays: about["parameters"][0].update(text=3),
        lambda about, arrays: about["parameters"][0].update(scores=[1]),
        lambda about, arrays: about["parameters"][0].update(scores={"kick": [1.0]}),
        lambda about, arrays: about["parameters"][0].update(text="turn"),
        lambda about, arrays: about.update(parameters=[["axes"]]),
        lambda about, arrays: arrays.update(space_parameters=arrays["space_parameters"] + 1e200),
    ],
    ids=["ready", "text", "list", "scores", "another", "row", "huge"],
)
def test_an_artifact_that_was_changed_is_reported(kick, tmp_path, change):
    lib = ml.Library.create(tmp_path / "takes.loom")
    save_parametric(lib.store, kick, "kick")
    change_artifact(lib, change)
    with pytest.raises(LibraryError, match="damaged"):
        lib.parametric["kick"]


def test_an_infinitely_large_target_is_an_error(kick):
    with pytest.raises(InvalidInput, match="a target must be 3 finite numbers"):
        kick.reach([1e200, 0.0, 0.0])
