# SPDX-License-Identifier: GPL-3.0-or-later
"""The region in which a motion can be aimed, as a cloud of dots to which the target snaps.

The cloud is a mesh of vertices below the armature, so it moves with the armature. Every vertex
shows an instance of a small dot. The target snaps by a Shrinkwrap constraint, which Blender
evaluates while the target is dragged.
"""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Matrix, Quaternion

from .poses import Placement

SNAP = "motionloom reach"  # name of the constraint
_DOT = 0.008  # meters from the center of a dot to its corners
_COLOR = (0.95, 0.62, 0.22, 1.0)
_CORNERS = ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1))
_FACES = (
    (0, 2, 4), (2, 1, 4), (1, 3, 4), (3, 0, 4), (2, 0, 5), (1, 2, 5), (3, 1, 5), (0, 3, 5),
)  # fmt: skip


def show(
    context: bpy.types.Context, figure: bpy.types.Object, name: str, points: np.ndarray
) -> bpy.types.Object:
    """Draw points (S, 3) of the studio's space around an armature, instead of its last cloud."""
    chosen = context.scene.motionloom
    remove(chosen.cloud)
    placement = Placement.from_matrix(np.array(figure.matrix_world), figure.name)
    mesh = bpy.data.meshes.new(f"reach of {name}")
    x, y, z = np.asarray(points, np.float64).T
    mesh.from_pydata(np.stack([x, -z, y], axis=1).tolist(), [], [])
    cloud = bpy.data.objects.new(mesh.name, mesh)
    dot = bpy.data.objects.new(f"{mesh.name}, dot", _dot_mesh())
    dot.parent, dot.color = cloud, _COLOR
    for thing in (cloud, dot):
        # Beside the armature, so that it is in the same view layers.
        for collection in figure.users_collection:
            collection.objects.link(thing)
        thing.hide_select = thing.hide_render = True
    cloud.instance_type = "VERTS"
    here = (
        Matrix.Translation(placement.position) @ Quaternion(placement.heading).to_matrix().to_4x4()
    )
    cloud.parent = figure
    cloud.matrix_parent_inverse = figure.matrix_world.inverted()
    cloud.matrix_basis = here
    chosen.cloud = cloud
    context.view_layer.update()
    return cloud


def remove(cloud: bpy.types.Object | None) -> None:
    """Delete a cloud and its dots."""
    if cloud is None:
        return
    for thing in (*cloud.children, cloud):
        mesh = thing.data
        bpy.data.objects.remove(thing)
        if mesh is not None and mesh.users == 0:
            bpy.data.meshes.remove(mesh)


def middle(cloud: bpy.types.Object) -> np.ndarray:
    """World position (3,) of the vertex nearest to the center of a cloud."""
    points = np.array([cloud.matrix_world @ vertex.co for vertex in cloud.data.vertices])
    return points[np.linalg.norm(points - points.mean(axis=0), axis=1).argmin()]


def snap(scene: bpy.types.Scene) -> None:
    """Bind the target of a scene to its cloud, or release it, as its settings say."""
    chosen = scene.motionloom
    for thing in scene.objects:
        constraint = thing.constraints.get(SNAP)
        if constraint is not None and not (
            chosen.snap and thing == chosen.target and constraint.target == chosen.cloud
        ):
            thing.matrix_world = thing.matrix_world.copy()  # keep it where it is shown
            thing.constraints.remove(constraint)
    target, cloud = chosen.target, chosen.cloud
    if not chosen.snap or target is None or cloud is None or target.constraints.get(SNAP):
        return
    if target.library is not None or target == cloud.parent:
        return  # it cannot move on its own
    constraint = target.constraints.new("SHRINKWRAP")
    constraint.name, constraint.target = SNAP, cloud
    constraint.shrinkwrap_type, constraint.distance = "NEAREST_VERTEX", 0.0


def _dot_mesh() -> bpy.types.Mesh:
    mesh = bpy.data.meshes.new("motionloom dot")
    mesh.from_pydata([tuple(_DOT * x for x in corner) for corner in _CORNERS], [], _FACES)
    material = bpy.data.materials.get(mesh.name) or bpy.data.materials.new(mesh.name)
    material.diffuse_color = _COLOR
    mesh.materials.append(material)
    return mesh
