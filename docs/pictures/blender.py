"""Render blender.png: kicks aimed inside their reach with the extension, rendered by Blender.

MOTIONLOOM_BLENDER=/path/to/python/with/bpy python docs/pictures/blender.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
KICKS = (
    "kick_front_low_right_p0", "kick_front_mid_right_p0", "kick_front_high_right_p0",
    "kick_inside_mid_right_p0", "kick_outside_mid_right_p0", "kick_side_mid_right_p0",
    "kick_side_high_right_p0",
)  # fmt: skip
TOKEN = "the-token-of-this-picture"


def main() -> None:
    """Start a studio with some kicks, and run the rest of this script in Blender."""
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    import numpy as np
    from PIL import Image
    from studio_takes import StudioServer, corpus_library

    import motionloom as ml
    from build_extension import build
    from motionloom.motion.kinematics.body import leg_length

    python = os.environ.get("MOTIONLOOM_BLENDER", "").split(os.pathsep)[0]
    if not python:
        print(
            "docs/pictures/blender.py: set MOTIONLOOM_BLENDER to a Python interpreter that has bpy"
        )
        return
    with tempfile.TemporaryDirectory() as folder:
        lib = corpus_library(Path(folder) / "takes.loom", KICKS)
        apex = int(np.argmax(lib[KICKS[1]].role_positions(["right_ankle"])[:, 0, 1]))
        kick = lib.parametrize(KICKS, ml.at("right_ankle", frame=apex), samples=300, name="kick")
        person = ml.demo.clip("walk", performer=2)
        person.rest_pose().save(Path(folder) / "hero.glb")
        size = leg_length(person.skeleton) / leg_length(kick.registration.skeleton)
        targets = size * kick.accessible[np.argsort(kick.accessible[:, 1])]
        with StudioServer(lib.path, "--token", TOKEN) as server:
            task = {
                "extension": str(build(Path(folder))),
                "hero": str(Path(folder) / "hero.glb"),
                "address": server.address.partition("/?")[0],
                "token": TOKEN,
                "targets": [targets[int(share * len(targets))].tolist() for share in (0.15, 0.75)],
                "output": str(HERE / "blender.png"),
            }
            (Path(folder) / "task.json").write_text(json.dumps(task))
            subprocess.run(
                [python, __file__, str(Path(folder) / "task.json")],
                env={**os.environ, "BLENDER_USER_RESOURCES": folder},
                check=True,
            )
    picture = Image.open(HERE / "blender.png").convert("RGB")
    picture.quantize(256, method=Image.Quantize.MAXCOVERAGE).save(
        HERE / "blender.png", optimize=True
    )


def render(task: dict) -> None:
    """Run in Blender: install the extension, aim two kicks, render them with Cycles."""
    import math

    import bpy
    from mathutils import Vector

    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.fps = 30
    bpy.ops.extensions.package_install_files(
        filepath=task["extension"], repo="user_default", enable_on_install=True
    )
    chosen = bpy.context.preferences.addons["bl_ext.user_default.motionloom"].preferences
    chosen.address, chosen.token = task["address"], task["token"]
    bpy.ops.motionloom.connect()

    def material(name, color, alpha=1.0):
        made = bpy.data.materials.new(name)
        made.use_nodes = True
        shader = made.node_tree.nodes["Principled BSDF"]
        shader.inputs["Base Color"].default_value = (*color, 1.0)
        shader.inputs["Roughness"].default_value = 0.6
        shader.inputs["Alpha"].default_value = alpha
        return made

    orange, ball = material("body", (0.9, 0.45, 0.12)), material("target", (0.02, 0.12, 0.8))
    dots = material("dots", (0.02, 0.35, 0.12))
    ghosts = [
        material(f"ghost {k}", (0.9, 0.6, 0.4), alpha) for k, alpha in enumerate((0.12, 0.25))
    ]
    for side, target in zip((-1.0, 1.0), task["targets"], strict=True):
        bpy.ops.import_scene.gltf(filepath=task["hero"])
        figure = next(o for o in bpy.context.selected_objects if o.type == "ARMATURE")
        body = next(o for o in bpy.context.selected_objects if o.type == "MESH")
        figure.animation_data_clear()
        figure.location.x += 1.1 * side
        bpy.context.view_layer.objects.active = figure
        empty = bpy.data.objects.new("target", None)
        scene.collection.objects.link(empty)
        empty.location = figure.location + Vector((target[0], -target[2], target[1]))
        bpy.context.view_layer.update()
        scene.frame_set(1)
        scene.motionloom.cloud = None  # keep that of the first character
        scene.motionloom.parametric, scene.motionloom.target = "kick", empty
        bpy.ops.motionloom.show_reach()
        cloud = scene.motionloom.cloud
        for thing in (cloud, *cloud.children):
            thing.hide_render = False
        cloud.children[0].data.materials.clear()
        cloud.children[0].data.materials.append(dots)
        bpy.context.view_layer.update()
        goal = empty.matrix_world.translation.copy()  # on a dot
        bpy.ops.motionloom.aim()
        print(bpy.context.window_manager.motionloom.status)
        # The foot reaches the target in one frame only; ghosts show the way there.
        first, last = (round(f) for f in figure.animation_data.action.frame_range)

        def away(frame, figure=figure, goal=goal):
            scene.frame_set(frame)
            shown = figure.evaluated_get(bpy.context.evaluated_depsgraph_get())
            place = shown.matrix_world @ shown.pose.bones["RightFoot"].head
            return (place - goal).length

        apex = min(range(first, last + 1), key=away)
        for back, look in ((14, ghosts[0]), (7, ghosts[1]), (0, orange)):
            scene.frame_set(max(first, apex - back))
            shown = body.evaluated_get(bpy.context.evaluated_depsgraph_get())
            mesh = bpy.data.meshes.new_from_object(shown)
            mesh.materials.clear()
            mesh.materials.append(look)
            copy = bpy.data.objects.new("pose", mesh)
            copy.matrix_world = shown.matrix_world
            scene.collection.objects.link(copy)
        body.hide_render = True
        bpy.ops.mesh.primitive_uv_sphere_add(radius=0.05, location=goal)
        bpy.context.object.data.materials.append(ball)
        bpy.ops.object.shade_smooth()
    bpy.ops.mesh.primitive_plane_add(size=40)
    bpy.context.object.data.materials.append(material("floor", (0.55, 0.56, 0.58)))
    sun = bpy.data.objects.new("sun", bpy.data.lights.new("sun", "SUN"))
    sun.data.energy, sun.data.angle, sun.rotation_euler = 2.2, 0.2, (0.6, 0.3, 0.4)
    scene.collection.objects.link(sun)
    scene.world = bpy.data.worlds.new("world")
    scene.world.use_nodes = True
    scene.world.node_tree.nodes["Background"].inputs[0].default_value = (0.9, 0.93, 1.0, 1.0)
    scene.world.node_tree.nodes["Background"].inputs[1].default_value = 0.5
    camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    camera.location, camera.rotation_euler = (
        (-2.6, -5.6, 1.7),
        (math.radians(82), 0, math.radians(-24)),
    )
    camera.data.lens = 45
    scene.collection.objects.link(camera)
    scene.camera = camera
    scene.render.engine = "CYCLES"
    scene.cycles.samples, scene.cycles.use_denoising = 32, False
    scene.render.resolution_x, scene.render.resolution_y = 900, 500
    scene.view_settings.view_transform = "Standard"
    scene.render.filepath = task["output"]
    bpy.ops.render.render(write_still=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        with open(sys.argv[1]) as given:
            render(json.load(given))
    else:
        main()
