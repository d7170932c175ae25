"""A user's own character: a motion on its skeleton, with its meshes, in glTF and FBX."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commands import ran

import motionloom as ml
from motionloom.character import Material, body_mesh
from motionloom.errors import InvalidInput, MotionFormatError
from motionloom.formats import fbx, gltf
from motionloom.formats.gltf.container import GltfFile, glb_bytes
from motionloom.formats.own_character import load_character
from motionloom.formats.presets import convert

WALK = ml.demo.clip("walk")[:25]
HERO = ml.demo.clip("jog", performer=2)[:10]
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360"
    "60f8cfc00000030001010018dd8db00000000049454e44ae426082"
)
BODY = body_mesh(HERO.skeleton, detail="low")
LOOK = Material("cloth", (0.2, 0.4, 0.6), PNG)


def hero_mesh():
    uvs = np.column_stack([BODY.vertices[:, 0], BODY.vertices[:, 1] / 2.0]).astype(np.float32)
    return replace(BODY, name="suit", uvs=uvs, material=LOOK)


@pytest.fixture
def hero(tmp_path):
    """The file of a character, by suffix."""

    def made(suffix):
        path = tmp_path / f"hero{suffix}"
        write = fbx.writer.write_meshes if suffix == ".fbx" else gltf.writer.write_meshes
        write(HERO, path, [hero_mesh()])
        return path

    return made


def meshes(path, skeleton):
    read = fbx.reader.meshes if path.suffix == ".fbx" else gltf.character.meshes
    return read(path, skeleton)


def in_centimeters(path):
    """The same character below a node that turns and scales it, as Mixamo's are."""
    file = GltfFile(path)
    document, binary = file.document, bytearray(file.buffer(0))
    turn = np.array([np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)])  # 90 degrees about x, xyzw
    for node in document["nodes"]:
        if "translation" in node:
            node["translation"] = [100.0 * value for value in node["translation"]]
    root = document["nodes"][0]
    x, y, z = root["translation"]
    root["translation"] = [x, z, -y]  # turned back
    root["rotation"] = (-turn * [1, 1, 1, -1]).tolist()
    holder = next(n for n in document["nodes"] if 0 in n.get("children", []))
    holder.update(scale=[0.01] * 3, rotation=turn.tolist(), name="Armature")
    for skin in document["skins"]:
        accessor = document["accessors"][skin["inverseBindMatrices"]]
        view = document["bufferViews"][accessor["bufferView"]]
        place, count = view["byteOffset"], accessor["count"]
        stored = np.frombuffer(binary, "<f4", 16 * count, place).reshape(count, 4, 4).copy()
        stored[:, :, :3] *= 100.0  # columns of the transposed matrix
        binary[place : place + stored.nbytes] = stored.astype("<f4").tobytes()
    document.pop("animations")
    path.write_bytes(glb_bytes(document, bytes(binary)))
    return path


def pairs():
    return [
        (a, b) for a in (".glb", ".fbx") for b in (".glb", ".gltf", ".fbx") if a != b or a == ".glb"
    ]


@pytest.mark.parametrize(
    ("source", "suffix"),
    [
        (".glb", ".glb"),
        (".fbx", ".fbx"),
        *(pytest.param(*pair, marks=pytest.mark.slow) for pair in pairs() if len({*pair}) > 1),
    ],
)
def test_the_character_moves_as_the_motion_says(hero, tmp_path, source, suffix):
    if ".fbx" in (source, suffix):
        pytest.importorskip("ufbx", reason="the extra fbx is not installed")
    path = hero(source)
    moved = WALK.retarget(path)
    assert moved.origin.character == str(path)
    assert moved.quality is not None
    out = moved.save(tmp_path / f"out{suffix}")
    again = ml.load(out)
    order = [again.skeleton.names.index(name) for name in moved.skeleton.names]
    assert np.abs(again.positions()[:, order] - moved.positions()).max() < 2e-5
    (mesh,) = meshes(out, again.skeleton)
    wanted = BODY.posed(moved, 11)
    result = mesh.posed(again, 11)
    # Vertices may be in another order: each has one of the others at its place.
    gaps = np.linalg.norm(result[:, None, :] - wanted[None, ::7], axis=2).min(axis=0)
    assert gaps.max() < 1e-4
    assert len(mesh.triangles) == len(BODY.triangles)
    assert mesh.material.name == "cloth" and mesh.material.texture == PNG
    assert (
        mesh.uvs is not None and np.abs(mesh.uvs[:, 1].max() - BODY.vertices[:, 1].max() / 2) < 1e-4
    )


def test_the_whole_file_of_a_gltf_character_is_kept(hero, tmp_path):
    path = hero(".glb")
    file = GltfFile(path)
    file.document["materials"][0]["extensions"] = {"KHR_materials_unlit": {}}
    file.document["extras"] = {"artist": "Ada"}
    path.write_bytes(glb_bytes(file.document, file.buffer(0)))
    out = GltfFile(WALK.retarget(path).save(tmp_path / "out.glb"))
    for kind in ("meshes", "materials", "images", "textures"):
        assert out.document[kind] == file.document[kind]
    assert out.document["extras"] == {"artist": "Ada"}
    assert [animation["name"] for animation in out.items("animations")] == [WALK.name]
    position = file.document["meshes"][0]["primitives"][0]["attributes"]["POSITION"]
    np.testing.assert_array_equal(out.accessor(position, "VEC3"), file.accessor(position, "VEC3"))


@pytest.mark.parametrize("primitives", [["x"], 3, [{"attributes": []}], [{"extensions": 1}]])
def test_invalid_primitives_are_refused(hero, primitives):
    path = hero(".glb")
    file, skeleton = GltfFile(path), ml.load(path).skeleton
    file.document["meshes"][0]["primitives"] = primitives
    path.write_bytes(glb_bytes(file.document, file.buffer(0)))
    with pytest.raises(MotionFormatError, match="must be a list of objects"):
        meshes(path, skeleton)


@pytest.mark.parametrize("suffix", [".glb", ".fbx"])
def test_characters_below_a_node_that_turns_and_scales(hero, tmp_path, suffix):
    if suffix == ".fbx":
        pytest.importorskip("ufbx", reason="the extra fbx is not installed")
    path = in_centimeters(hero(".glb"))
    moved = WALK.retarget(path)
    assert 0.9 < moved.root[:, 1].mean() / WALK.root[:, 1].mean() < 1.15
    out = moved.save(tmp_path / f"out{suffix}")
    again = ml.load(out)
    order = [again.skeleton.names.index(name) for name in moved.skeleton.names]
    assert np.abs(again.positions()[:, order] - moved.positions()).max() < 2e-5
    (mesh,) = meshes(out, again.skeleton)
    result, joints = mesh.posed(again, 11), again.positions()[11]
    for point in joints:  # the flesh is around the bones
        assert np.linalg.norm(result - point, axis=1).min() < 0.2
    assert 0.8 < mesh.volume(result) / BODY.volume() < 1.2


def test_on_the_command_line(hero, tmp_path):
    path, take = hero(".glb"), WALK.save(tmp_path / "walk.bvh")
    done = ran("convert", take, tmp_path / "out.glb", "--character", path)
    assert done.returncode == 0, done.stderr
    assert GltfFile(tmp_path / "out.glb").document["images"]
    assert len(ml.load(tmp_path / "out.glb")) == len(WALK)
    for options, message in (
        (
            ["--character", path, "--preset", "unreal"],
            "a character keeps its joint names, so it cannot",
        ),
        (["--character", path, "--onto", take], "--onto and --character cannot be combined"),
        (
            ["--character", take],
            "the suffix of a character file must be one of .glb, .gltf, .vrm, .fbx",
        ),
    ):
        done = ran("convert", take, tmp_path / "no.glb", *options)
        assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "no.glb").exists()


def test_reports_invalid_input(hero, tmp_path):
    path = hero(".glb")
    moved = WALK.retarget(path)
    other = replace(
        moved,
        skeleton=replace(moved.skeleton, names=("Pelvis", *moved.skeleton.names[1:])),
    )
    with pytest.raises(InvalidInput, match="joints that are missing in the character .*: Pelvis"):
        other.save(tmp_path / "out.glb")
    assert moved.retarget(WALK.skeleton).origin.character is None
    moved.save(tmp_path / "bones.glb", mesh="sticks")  # without the character
    assert "images" not in GltfFile(tmp_path / "bones.glb").document
    path.unlink()
    with pytest.raises(InvalidInput, match="the character file .*hero.glb no longer exists"):
        moved.save(tmp_path / "out.glb")
    bare = WALK[:2].save(tmp_path / "bare.gltf", mesh="none")
    document = json.loads(bare.read_text())
    document.pop("skins")
    bare.write_text(json.dumps(document))
    with pytest.raises(
        MotionFormatError, match="a character needs a skinned mesh, but the file has no skin"
    ):
        WALK.retarget(bare).save(tmp_path / "out.glb")
    bare = WALK[:2].save(tmp_path / "bare.glb", mesh="none")
    with pytest.raises(MotionFormatError, match="the character has no skinned mesh of triangles"):
        gltf.character.meshes(bare, WALK.skeleton)


def test_converted_in_python(hero):
    path = hero(".glb")
    moved = convert(WALK, character=str(path), fps=60)
    assert (moved.origin.character, moved.fps) == (str(path), 60.0)
    with pytest.raises(
        InvalidInput, match="retarget onto either a skeleton or a character, not both"
    ):
        convert(WALK, character=str(path), onto=WALK)


def test_a_character_of_another_kind_is_refused():
    with pytest.raises(
        InvalidInput,
        match="the suffix of a character file must be one of .glb, .gltf, .*; got a.bvh",
    ):
        load_character(Path("a.bvh"))


def test_files_next_to_a_character_have_a_limit(hero, tmp_path):
    """One image of a sparse file, or one file named a thousand times, would fill the memory."""
    path = hero(".glb")
    file = GltfFile(path)
    with open(tmp_path / "large.png", "wb") as out:
        out.truncate((1 << 30) + 1)
    images = [{"uri": "large.png"}]
    path.write_bytes(glb_bytes({**file.document, "images": images}, file.binary))
    worn = WALK.retarget(path)
    with pytest.raises(MotionFormatError, match="files that this file refers to, .*exceed 1024 MB"):
        worn.save(tmp_path / "out.glb")


@pytest.mark.parametrize(
    "change",
    [
        {"images": 3},
        {"accessors": {}},
        {"bufferViews": [1]},
        {"bufferViews": [{"buffer": 9, "byteLength": 4}]},
        {"bufferViews": [{"buffer": 0, "byteOffset": "x", "byteLength": 4}]},
    ],
)
def test_invalid_lists_of_a_character_are_refused(hero, tmp_path, change):
    path = hero(".glb")
    worn = WALK.retarget(path)
    file = GltfFile(path)
    path.write_bytes(glb_bytes({**file.document, **change}, file.binary))
    with pytest.raises(MotionFormatError, match=r"hero\.glb: "):
        worn.save(tmp_path / "out.glb")
