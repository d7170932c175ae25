"""Names of actions, and joint positions in each, of files in Blender; run by a Python with bpy.

python blender_takes.py TASKS.json OUTPUT.json

A task is {"file", "fps", "frames": {take: [frame, ...]}} and, for FBX, "importer": "new".
"""

import json
import sys


def read(task):
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.fps = round(task["fps"])
    if task["file"].endswith(".glb"):
        bpy.ops.import_scene.gltf(filepath=task["file"])
    elif task.get("importer") == "new":
        bpy.ops.wm.fbx_import(filepath=task["file"])
    else:
        bpy.ops.import_scene.fbx(filepath=task["file"])
    figures = [thing for thing in bpy.data.objects if thing.type == "ARMATURE"]
    figure = figures[0]
    names = [action.name for action in bpy.data.actions]
    meshes = [thing.name for thing in bpy.data.objects if thing.type == "MESH"]
    places = {}
    figure.animation_data_create()
    for track in list(figure.animation_data.nla_tracks):
        figure.animation_data.nla_tracks.remove(track)
    for take, frames in task["frames"].items():
        action = max(
            (action for action in bpy.data.actions if take in action.name.split("|")),
            key=lambda action: len(action.name),
            default=None,
        )
        if action is None:
            continue
        for bone in figure.pose.bones:
            bone.matrix_basis.identity()
        figure.animation_data.action = action
        if not figure.animation_data.action_slot and action.slots:
            figure.animation_data.action_slot = action.slots[0]
        first = int(round(action.frame_range[0]))
        rows = []
        for frame in frames:
            scene.frame_set(first + frame)
            posed = figure.evaluated_get(bpy.context.evaluated_depsgraph_get())
            row = {}
            for bone in posed.pose.bones:
                x, y, z = posed.matrix_world @ bone.head
                row[bone.name] = [x, z, -y]  # z up to y up
            rows.append(row)
        places[take] = rows
    return {"figures": len(figures), "actions": names, "meshes": meshes, "places": places}


if __name__ == "__main__":
    with open(sys.argv[1]) as given:
        tasks = json.load(given)
    scenes = [read(task) for task in tasks]
    with open(sys.argv[2], "w") as out:
        json.dump(scenes, out)
