"""Joints and vertices of FBX files in Blender; run by a Python that has bpy.

python blender_fbx.py TASKS.json OUTPUT.npz

TASKS is a list of {"file", "fps", "frames", "importer", "vertices"}. OUTPUT has for task K
`heads_K` (F, B, 3) and `turns_K` (F, B, 4), wxyz, of the bones named in `names_K`, and with
"vertices" `vertices_K` (F, V, 3): in the world, z up, meters.
"""

import json
import sys


def main(tasks, output):
    import bpy
    import numpy as np

    with open(tasks) as file:
        given = json.load(file)
    arrays = {}
    for number, task in enumerate(given):
        bpy.ops.wm.read_factory_settings(use_empty=True)
        scene = bpy.context.scene
        scene.render.fps = round(task["fps"])
        scene.render.fps_base = scene.render.fps / task["fps"]
        if task["importer"] == "wm":
            bpy.ops.wm.fbx_import(filepath=task["file"])
        else:
            if not hasattr(bpy.types, "IMPORT_SCENE_OT_fbx"):
                bpy.ops.preferences.addon_enable(module="io_scene_fbx")
            bpy.ops.import_scene.fbx(filepath=task["file"])
        figure = next(thing for thing in bpy.data.objects if thing.type == "ARMATURE")
        names = [bone.name for bone in figure.data.bones]
        first = round(min(action.frame_range[0] for action in bpy.data.actions))
        heads, turns, vertices = [], [], []
        for frame in task["frames"]:
            scene.frame_set(first + frame)
            graph = bpy.context.evaluated_depsgraph_get()
            shown = figure.evaluated_get(graph)
            heads.append([shown.matrix_world @ shown.pose.bones[name].head for name in names])
            turns.append(
                [
                    (shown.matrix_world @ shown.pose.bones[name].matrix).to_quaternion()
                    for name in names
                ]
            )
            if task.get("vertices"):
                mesh = next(thing for thing in bpy.data.objects if thing.type == "MESH")
                body = mesh.evaluated_get(graph)
                places = np.empty(3 * len(body.data.vertices), np.float32)
                body.data.vertices.foreach_get("co", places)
                matrix = np.array(body.matrix_world)
                vertices.append(places.reshape(-1, 3) @ matrix[:3, :3].T + matrix[:3, 3])
        arrays[f"names_{number}"] = np.array(names)
        arrays[f"heads_{number}"] = np.array(heads, np.float64)
        arrays[f"turns_{number}"] = np.array(turns, np.float64)
        if vertices:
            arrays[f"vertices_{number}"] = np.array(vertices)
    np.savez(output, **arrays)


if __name__ == "__main__":
    main(*sys.argv[1:])
