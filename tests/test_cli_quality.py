"""Commands that synthesize motion print its quality, return it and draw the worst second."""

import json

import pytest
from commands import invoked

import motionloom as ml
from motionloom.cli import app
from motionloom.errors import InvalidInput

CLIPS = (
    "walk", "walk_fast", "walk_left", "kick_front_mid_right", "kick_front_high_right",
    "kick_outside_mid_right", "kick_outside_high_right", "dance_groove",
)  # fmt: skip


def run(*words):
    result = invoked(app, *words)
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    lib = ml.Library.create(folder / "takes.loom")
    for kind in CLIPS:
        lib.add_motion(ml.demo.clip(kind), name=kind, labels=["dance"] if "dance" in kind else [])
    run("graph", lib.path, "build", "--only", "walk,walk_fast")
    lib.parametrize(list(CLIPS[3:7]), "right_ankle@33", samples=20, name="kick")
    return lib.path


def words(command, place, folder):
    at = ",".join(map(str, ml.Library(place).parametric["kick"].space.examples[1]))
    out = ["-o", folder / ("made.bvh" if command in BVH else "made.glb")]
    return {
        "walk": ["walk", place, "--seconds", 4, "--seed", 1],
        "fat-graph": ["fat-graph", place, "--only", "walk,walk_left", "--seconds", 4],
        "dance": ["dance", place, "tune", "--takes", "dance_groove", "--seconds", 8],
        "ballroom": ["ballroom", "--couples", 1, "--seconds", 4],
        "march": ["march", "--ranks", 1, "--files", 2, "--seconds", 4],
        "dancefloor": ["dancefloor", place, "--count", 2, "--seconds", 4],
        "synthesize": ["synthesize", place, "kick", f"--at={at}"],
        "reconstruct": ["reconstruct", place, folder / "in.bvh"],
    }[command] + out


BVH = ("walk", "fat-graph", "dance", "synthesize", "reconstruct")
COMMANDS = (*BVH, "ballroom", "march", "dancefloor")


@pytest.mark.parametrize("command", COMMANDS)
def test_quality_is_printed_returned_and_drawn(command, place, tmp_path):
    ml.demo.clip("walk")[:20].save(tmp_path / "in.bvh")
    typed = words(command, place, tmp_path)
    said = run(*typed, "--inspect", tmp_path / "worst.png").stderr
    lines = [line for line in said.splitlines() if line.startswith("quality: ")]
    assert len(lines) == 1, said
    assert " cm" in lines[0] or "no foot contacts found" in lines[0]
    assert ("beyond limits" if "beyond" in lines[0] else "within limits") in lines[0]
    assert len(lines[0]) < 140
    assert (tmp_path / "worst.png").read_bytes().startswith(b"\x89PNG")
    if command in ("walk", "ballroom"):
        detailed = run(*typed, "--details").stderr
        assert "  feet slide" in detailed and "limbs overlap" in detailed
    quality = json.loads(run(*typed, "--json").stdout)["quality"]
    assert {"foot_slide_m", "floor_penetration_m", "seam_acceleration_ratio"} <= set(quality)
    assert {"jumps", "limb_intersection_m", "balance_m", "takes", "warnings"} <= set(quality)
    measures = "slide floor seam steps jump limbs balance drag range turn height".split()
    assert quality["worst"][0]["measure"] in measures
    warned = [line.removeprefix("warning: ") for line in said.splitlines() if "warning: " in line]
    assert warned == quality["warnings"]


def test_a_picture_of_the_worst_second_must_be_a_picture(place, tmp_path):
    typed = words("walk", place, tmp_path)
    with pytest.raises(InvalidInput, match="cannot draw to worst.doc: the suffix must be"):
        run(*typed, "--inspect", "worst.doc")
    assert not (tmp_path / "made.bvh").exists()
