"""Joint positions of a file in Blender, frame by frame; run by a Python that has bpy.

python blender_positions.py FILE FPS OUTPUT.json FRAME...
"""

import json
import sys


def main(file, fps, output, *frames):
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.fps = round(float(fps))
    if file.endswith((".glb", ".gltf")):
        bpy.ops.import_scene.gltf(filepath=file)
    elif file.endswith(".bvh"):
        bpy.ops.import_anim.bvh(filepath=file, axis_forward="-Z", axis_up="Y")
    else:
        bpy.ops.wm.usd_import(filepath=file)
    first = min(int(action.frame_range[0]) for action in bpy.data.actions)
    places = {}
    for frame in frames:
        scene.frame_set(first + int(frame))
        graph = bpy.context.evaluated_depsgraph_get()
        for thing in bpy.data.objects:
            if thing.type == "ARMATURE":
                figure = thing.evaluated_get(graph)
                for bone in figure.pose.bones:
                    x, y, z = figure.matrix_world @ bone.head
                    places.setdefault(bone.name, []).append([x, z, -y])  # z up to y up
    with open(output, "w") as out:
        json.dump(places, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
