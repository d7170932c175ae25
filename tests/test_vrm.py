"""VRM models and VRM Animations: human bones, expressions, empty samplers."""

import numpy as np
import pytest
from gltf_files import Builder

import motionloom as ml
from motionloom.errors import MotionFormatError

BONES = {
    "hips": ("", [0, 0.9, 0]), "spine": ("hips", [0, 0.2, 0]), "head": ("spine", [0, 0.4, 0]),
    "leftUpperLeg": ("hips", [0.1, 0, 0]), "leftLowerLeg": ("leftUpperLeg", [0, -0.4, 0]),
    "leftFoot": ("leftLowerLeg", [0, -0.4, 0]), "rightUpperLeg": ("hips", [-0.1, 0, 0]),
    "rightLowerLeg": ("rightUpperLeg", [0, -0.4, 0]),
    "rightFoot": ("rightLowerLeg", [0, -0.4, 0]),
}  # fmt: skip


def document(extension="VRMC_vrm_animation", *, skin=None):
    """Human bones with names that say nothing, an expression node and a look-at node."""
    names = list(BONES)
    nodes = [{"name": f"N{k}", "translation": BONES[name][1]} for k, name in enumerate(names)]
    for k, name in enumerate(names):
        if BONES[name][0]:
            nodes[names.index(BONES[name][0])].setdefault("children", []).append(k)
    file = Builder([*nodes, {"name": "happy"}, {"name": "lookAt"}], skin)
    bones = {name: {"node": k} for k, name in enumerate(names)}
    about = {"humanoid": {"humanBones": bones}}
    if extension == "VRM":
        listed = [{"bone": name, **node} for name, node in bones.items()]
        about = {"humanoid": {"humanBones": listed}}
    if extension == "VRMC_vrm_animation":
        about["expressions"] = {"preset": {"happy": {"node": len(names)}}}
        about["lookAt"] = {"node": len(names) + 1}
    file.document["extensions"] = {extension: about}
    return file


def turned(file, node):
    return file.curve(node, "rotation", [0, 0.5, 1], [[0, 0, 0, 1], [0.6, 0, 0, 0.8], [0, 0, 0, 1]])


def test_an_animation_with_expressions_has_only_the_human_bones(tmp_path):
    file = turned(turned(document(), 4), 0)
    file.curve(9, "translation", [0, 1], [[0, 0, 0], [1, 0, 0]])  # the weight of an expression
    file.curve(10, "rotation", [0, 1], [[0, 0, 0, 1]] * 2)
    motion = ml.load(file.write(tmp_path / "a.vrma"))
    assert motion.skeleton.names == tuple(f"N{k}" for k in range(9))
    assert motion.skeleton.roles["left_knee"] == "N4"
    assert np.abs(motion.rotations[:, 4, 1]).max() == pytest.approx(0.6)


def test_empty_samplers_move_nothing(tmp_path):
    file = turned(document(), 4)
    animation = file.document["animations"][0]
    animation["samplers"].append({})
    animation["channels"].append({"sampler": 1, "target": {"node": 0, "path": "rotation"}})
    assert len(ml.load(file.write(tmp_path / "a.vrma"))) == 31
    animation["samplers"], animation["channels"] = [{}], animation["channels"][1:]
    animation["channels"][0]["sampler"] = 0
    file.document["accessors"] = []
    still = ml.load(file.write(tmp_path / "b.vrma"))
    assert len(still) == 1 and "no animation moves" in str(still.origin.warnings)


@pytest.mark.parametrize("extension", ["VRM", "VRMC_vrm"])
def test_a_model_gets_its_roles_from_its_human_bones(tmp_path, extension):
    """The first skin is that of the hair, with one joint."""
    file = document(extension, skin=[2])
    file.document["animations"] = []
    model = ml.load(file.write(tmp_path / "a.vrm"))
    assert len(model) == 1 and len(model.skeleton) == 9
    assert model.skeleton.roles["right_ankle"] == "N8"
    own = ml.load(tmp_path / "a.vrm", roles={"head": "N1"})
    assert own.skeleton.roles["head"] == "N1"


def test_a_compressed_file_says_how_to_decompress_it(tmp_path):
    file = document()
    file.document["extensionsRequired"] = ["EXT_meshopt_compression"]
    with pytest.raises(MotionFormatError, match="decompress the file with: gltfpack -i a.vrma"):
        ml.load(file.write(tmp_path / "a.vrma"))
