"""The neutral body: closed, symmetric, smooth weights, no collapse where joints bend."""

from dataclasses import replace

import numpy as np
import pytest
from naive.character import edge_counts, enclosed_volume, skinned_vertex

import motionloom as ml
from motionloom.character import body_mesh, figure_mesh, has_body, transform_matrices
from motionloom.character.implicit_surface import surface_mesh
from motionloom.errors import InvalidInput
from motionloom.motion import Motion
from motionloom.motion.kinematics.two_bone import with_global_rotations
from motionloom.motion.rotations import quaternions as rot

WALK = ml.demo.clip("walk")
# Joints, and the axes about which bodies bend them, in the world of the bind pose.
BENDS = [
    ("left_knee", (1, 0, 0)),
    ("right_knee", (1, 0, 0)),
    ("left_elbow", (0, -1, 0)),
    ("right_elbow", (0, 1, 0)),
    ("left_hip", (-1, 0, 0)),
    ("right_hip", (-1, 0, 0)),
    ("left_shoulder", (0, 0, 1)),
    ("right_shoulder", (0, 1, 0)),
    ("left_wrist", (0, 0, 1)),
    ("head", (1, 0, 0)),
]


def bent(mesh, skeleton, role, axis, degrees):
    """The bind pose with one joint turned in the world."""
    world = rot.from_matrix(mesh.bind[: len(skeleton), :3, :3])
    above = np.where(skeleton.parents[:, None] < 0, rot.IDENTITY, world[skeleton.parents])
    local = rot.multiply(rot.inverse(above), world)
    joint = skeleton.point(role)
    turn = rot.from_axis_angle(np.array(axis, float), np.radians(degrees))
    local = with_global_rotations(local[None], skeleton, {joint: rot.multiply(turn, world[joint])})
    return Motion(skeleton, local, mesh.bind[:1, :3, 3], 1.0)


def volume_near(mesh, vertices, near):
    """Volume of the part of a mesh whose vertices are marked, closed by a fan over each hole."""
    faces = mesh.triangles[near[mesh.triangles].all(axis=1)].tolist()
    edges = edge_counts(faces)
    loops: dict[int, list[int]] = {}
    for a, b in edges:
        if (b, a) not in edges:
            loops.setdefault(a, []).append(b)
    points, fans = vertices.tolist(), []
    while any(loops.values()):
        here = next(a for a in loops if loops[a])
        loop = []
        while loops[here]:
            loop.append(here)
            here = loops[here].pop()
        points.append(vertices[loop].mean(axis=0).tolist())
        fans += [(b, a, len(points) - 1) for a, b in zip(loop, loop[1:] + loop[:1], strict=True)]
    return enclosed_volume(points, faces + fans)


@pytest.mark.parametrize("detail", ["low", pytest.param("high", marks=pytest.mark.slow)])
@pytest.mark.parametrize("performer", [0, 3])
def test_the_surface_is_closed_and_of_one_piece(detail, performer):
    mesh = body_mesh(ml.demo.clip("walk", performer=performer).skeleton, detail=detail)
    counts = edge_counts(mesh.triangles.tolist())
    assert set(counts.values()) == {1}  # no edge has two triangles on one side ...
    assert all((b, a) in counts for a, b in counts)  # ... and each has one on the other
    vertices, edges, faces = len(mesh.vertices), len(counts) // 2, len(mesh.triangles)
    assert vertices - edges + faces == 2  # a sphere: one piece, no handle
    assert 0.03 < mesh.volume() < 0.12
    assert mesh.volume() == pytest.approx(
        enclosed_volume(mesh.vertices.tolist(), mesh.triangles.tolist()), rel=1e-4
    )


def test_it_is_meshed_once_per_skeleton_shape():
    again = replace(WALK.skeleton)
    assert body_mesh(again, detail="low") is body_mesh(WALK.skeleton, detail="low")
    assert 2_000 < len(body_mesh(WALK.skeleton, detail="low").vertices) < 4_000
    assert 10_000 < len(body_mesh(WALK.skeleton).vertices) < 16_000


def test_weights_sum_to_one_and_change_gradually():
    mesh = body_mesh(WALK.skeleton)
    assert mesh.weights.min() >= 0.0
    np.testing.assert_allclose(mesh.weights.sum(axis=1), 1.0, atol=1e-6)
    assert mesh.joints.max() < len(WALK.skeleton)
    dense = np.zeros((len(mesh.vertices), len(WALK.skeleton)))
    for column in range(4):
        np.add.at(
            dense,
            (np.arange(len(dense)), mesh.joints[:, column]),
            mesh.weights[:, column].astype(float),
        )
    a, b = mesh.triangles[:, 0], mesh.triangles[:, 1]
    assert np.abs(dense[a] - dense[b]).max() < 0.7  # none jumps from 0 to 1 along an edge
    for side, other in (("left", "right"), ("right", "left")):  # thighs do not move each other
        mine = dense[:, WALK.skeleton.point(f"{side}_knee")] > 0.5
        assert dense[mine, WALK.skeleton.point(f"{other}_knee")].max() == 0.0


def test_skinning_follows_its_definition(rng):
    mesh = body_mesh(WALK.skeleton, detail="low")
    moved = mesh.posed(WALK, 7)
    first = WALK[7:8]
    turns = first.global_rotations()[0].astype(float)
    world = transform_matrices(first.positions()[0].astype(float), turns)
    for vertex in rng.integers(0, len(moved), 40):
        wanted = skinned_vertex(
            mesh.vertices[vertex].tolist(),
            mesh.joints[vertex].tolist(),
            mesh.weights[vertex].tolist(),
            mesh.bind.tolist(),
            world.tolist(),
        )
        np.testing.assert_allclose(moved[vertex], wanted, atol=1e-5)


@pytest.mark.parametrize(("role", "axis"), BENDS)
def test_bends_up_to_120_degrees_keep_the_volume(role, axis):
    skeleton = WALK.skeleton
    mesh = body_mesh(skeleton, detail="high")
    rest = mesh.vertices.astype(float)
    near = np.linalg.norm(rest - mesh.bind[skeleton.point(role), :3, 3], axis=1) < 0.15
    for degrees in (60, 120):
        moved = mesh.posed(bent(mesh, skeleton, role, axis, degrees))
        assert mesh.volume(moved) > 0.97 * mesh.volume()
        assert volume_near(mesh, moved, near) > 0.8 * volume_near(mesh, rest, near)


def test_the_body_follows_a_walk():
    mesh = body_mesh(WALK.skeleton, detail="low")
    inside = WALK.role_positions(["hips", "left_knee", "right_elbow", "head"])
    for frame in (0, 20):
        moved = mesh.posed(WALK, frame)
        for point in inside[frame]:  # joints are in the flesh: there is surface on all sides
            around = moved - point
            close = around[np.linalg.norm(around, axis=1) < 0.2]
            for direction in np.concatenate([np.eye(3), -np.eye(3)]):
                assert (close @ direction).max() > 0.015
        assert moved[:, 1].min() > -0.03  # feet on the floor


def test_the_head_shows_where_the_body_faces():
    mesh = body_mesh(WALK.skeleton)
    head = mesh.bind[WALK.skeleton.point("head"), :3, 3]
    face = mesh.vertices[mesh.vertices[:, 1] > head[1] + 0.03] - head
    assert face[:, 2].max() > -face[:, 2].min() + 0.012  # the nose is ahead
    sides = mesh.vertices[:, 0]
    assert abs(sides.max() + sides.min()) < 0.01


def test_skeletons_without_the_roles_of_a_body_have_sticks():
    chain = ml.Skeleton(["a", "b"], [-1, 0], [[0, 0, 0], [0, 1, 0]])
    assert not has_body(chain)
    assert figure_mesh(chain).name == "sticks"
    assert figure_mesh(WALK.skeleton, kind="none") is None
    assert figure_mesh(WALK.skeleton, kind="low") is body_mesh(WALK.skeleton, detail="low")
    with pytest.raises(
        InvalidInput, match="a body requires the roles hips, left_hip, .* the skeleton lacks"
    ):
        body_mesh(chain)
    with pytest.raises(InvalidInput, match="detail must be one of high, low; got 'fine'"):
        body_mesh(WALK.skeleton, detail="fine")
    with pytest.raises(InvalidInput, match="mesh must be one of body, low, .*; got 'clay'"):
        figure_mesh(WALK.skeleton, kind="clay")


def test_surface_nets_of_two_spheres_that_nearly_touch():
    centers = np.array([[0.0, 0.0, 0.0], [1.02, 1.02, 1.02]])

    def distances(points, reach):
        """Two spheres, two sheets of which pass through one cell, joined by a thin bridge."""
        away = np.linalg.norm(points[:, None] - centers, axis=2).min(axis=1) - 0.86
        return np.minimum(away, np.linalg.norm(points - [0.0, 1.02, 0.51], axis=1) - 0.62)

    vertices, triangles = surface_mesh(distances, np.array([[-0.9] * 3, [1.9] * 3]), 0.11)
    counts = edge_counts(triangles.tolist())
    assert set(counts.values()) == {1} and all((b, a) in counts for a, b in counts)
    assert np.abs(distances(vertices, 1.0)).max() < 0.05
    ball = 4.0 / 3.0 * np.pi * 0.86**3
    assert enclosed_volume(vertices.tolist(), triangles.tolist()) > 2.0 * ball


def test_surface_nets_drop_fragments():
    centers, radii = np.array([[0.0, 0.0, 0.0], [1.2, 1.2, 1.2]]), np.array([0.9, 0.12])

    def distances(points, reach):
        return (np.linalg.norm(points[:, None] - centers, axis=2) - radii).min(axis=1)

    vertices, triangles = surface_mesh(distances, np.array([[-0.9] * 3, [1.4] * 3]), 0.1)
    assert triangles.max() == len(vertices) - 1
    assert np.linalg.norm(vertices, axis=1).max() < 0.95
    assert enclosed_volume(vertices.tolist(), triangles.tolist()) == pytest.approx(
        4.0 / 3.0 * np.pi * 0.9**3, rel=0.02
    )


@pytest.mark.parametrize("suffix", [".glb", ".usda"])
def test_files_show_the_body(tmp_path, suffix):
    if suffix == ".usda":
        pytest.importorskip("pxr", reason="usd-core is not installed")
    walk = WALK[:4]
    sizes = {}
    kinds = ("body", "low", "sticks", "none", True, False)
    for mesh in kinds if suffix == ".glb" else ("low", "none"):
        path = walk.save(tmp_path / f"{mesh}{suffix}", mesh=mesh)
        sizes[mesh] = path.stat().st_size
        again = ml.load(path)
        assert np.abs(again.positions() - walk.positions()).max() < 1e-5
    assert sizes["low"] > sizes["none"] + 100_000
    if suffix == ".glb":
        assert sizes["body"] > sizes["low"] > sizes["sticks"] > sizes["none"]
        assert sizes[True] == sizes["body"] and sizes[False] == sizes["none"]


def test_vrm_animations_rest_in_a_t_pose_and_name_the_human_bones(tmp_path):
    from motionloom.formats.gltf.container import GltfFile

    walk = WALK[:5]
    down = walk.skeleton.rest_rotations.copy()
    for side, sign in (("left", -1.0), ("right", 1.0)):  # arms hang at rest
        joint = walk.skeleton.point(f"{side}_shoulder")
        turn = rot.from_axis_angle(np.array([0.0, 0.0, sign]), np.radians(80.0))
        down[joint] = rot.multiply(turn, down[joint])
    motion = replace(walk, skeleton=replace(walk.skeleton, rest=down))
    path = motion.save(tmp_path / "a.vrma")
    file = GltfFile(path)
    bones = file.document["extensions"]["VRMC_vrm_animation"]["humanoid"]["humanBones"]
    assert file.document["extensionsUsed"] == ["VRMC_vrm_animation"]
    assert {"hips", "leftUpperArm", "rightHand", "leftFoot", "head"} <= bones.keys()
    assert file.items("nodes")[bones["leftUpperLeg"]["node"]]["name"] == "LeftUpLeg"
    again = ml.load(path)
    assert np.abs(again.positions() - motion.positions()).max() < 1e-5
    rest = Motion(again.skeleton, again.skeleton.rest_rotations[None], np.zeros((1, 3)), 1.0)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        line = np.diff(rest.role_positions([f"{side}_shoulder", f"{side}_wrist"])[0], axis=0)[0]
        assert sign * line[0] / np.linalg.norm(line) > 0.999
    headless = walk.skeleton.with_roles({"head": None})
    with pytest.raises(InvalidInput, match="needs joints for roles that are missing: head"):
        replace(walk, skeleton=headless).save(tmp_path / "b.vrma")
