"""Where Blender puts the joints of the BVH files we write, against where we put them.

Blender's Python module ``bpy`` wants a Python version of its own, so two interpreters take
part: the one motionloom is installed in, and one with ``bpy`` (``python3.11 -m venv bpyenv;
bpyenv/bin/pip install bpy``). From motionloom's side, in one go::

    python benchmarks/blender_check.py compare --blender bpyenv/bin/python takes/*.bvh

Each take is read by motionloom, written again as BVH, imported by Blender, and the heads of
all bones are compared with ``Motion.positions()`` of the take, frame by frame. Printed are
the largest distance per file, in millimetres, and in all; exit code 1 above ``--limit``
(default 1 mm). ``--as-is`` gives Blender the takes themselves instead of what we write:
then two readers are compared, ours and Blender's.

Blender's side alone, which needs nothing of motionloom::

    bpyenv/bin/python benchmarks/blender_check.py heads takes/*.bvh -o heads.json --every 10

writes ``{file: {"bones": [...], "frames": [...], "heads": [[[x, y, z], ...], ...]}}`` in the
file's own unit, Y up; frames count from 0. Bone heads are joint positions; tails and roll
are Blender's own and not compared. Blender keeps 63 bytes of a bone's name.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    heads = commands.add_parser("heads", help="bone heads as Blender has them, to JSON")
    heads.add_argument("files", nargs="+", type=Path)
    heads.add_argument("-o", "--output", type=Path, required=True)
    heads.add_argument("--every", type=int, default=1, help="take every nth frame")
    compare = commands.add_parser("compare", help="ours against Blender's")
    compare.add_argument("files", nargs="+", type=Path)
    compare.add_argument("--blender", required=True, help="a Python that has bpy")
    compare.add_argument("--every", type=int, default=1, help="take every nth frame")
    compare.add_argument("--limit", type=float, default=1.0, help="millimetres")
    compare.add_argument("--as-is", action="store_true", help="do not write the takes again")
    arguments = parser.parse_args()
    if arguments.command == "heads":
        table = {str(file): bone_heads(file, arguments.every) for file in arguments.files}
        arguments.output.write_text(json.dumps(table))
        return 0
    worst = compared(arguments.files, arguments.blender, arguments.every, arguments.as_is)
    print(f"largest distance in {len(arguments.files)} files: {worst:.4f} mm")
    return int(not worst <= arguments.limit)


# --- Blender's side -----------------------------------------------------------------------


def bone_heads(file: Path, every: int = 1) -> dict:
    """Import one file and read the head of every bone in every nth frame."""
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    try:
        bpy.ops.import_anim.bvh(
            filepath=str(file),
            axis_forward="-Z",
            axis_up="Y",
            global_scale=1.0,
            frame_start=1,
            rotate_mode="NATIVE",
            update_scene_fps=False,
        )
    except Exception as error:  # Blender's importer raises whatever Python raised in it
        told = [line for line in str(error).splitlines() if "Error" in line]
        return {"error": (told or [repr(error)])[-1]}
    scene = bpy.context.scene
    figure = next(thing for thing in scene.objects if thing.type == "ARMATURE")
    bones = list(figure.pose.bones)
    frames = range(0, int(figure.animation_data.action.frame_range[1]), every)
    heads = []
    for frame in frames:
        scene.frame_set(frame + 1)  # Blender's first frame is 1
        world = figure.matrix_world
        places = [world @ bone.head for bone in bones]
        # Blender is Z up; its importer took the file's -Z to +Y. Back to Y up.
        heads.append([[p.x, p.z, -p.y] for p in places])
    return {"bones": [bone.name for bone in bones], "frames": list(frames), "heads": heads}


# --- our side -----------------------------------------------------------------------------


def compared(files: list[Path], blender: str, every: int, as_is: bool) -> float:
    """Largest distance in millimetres between Blender's joints and ours; prints each file's."""
    import numpy as np

    import motionloom as ml

    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        written: dict[str, ml.Motion] = {}
        for number, file in enumerate(files):
            if as_is:
                written[str(file)] = ml.load(file, up="y", tpose=False)
            else:
                motion = ml.load(file)
                written[str(motion.save(f"{folder}/{number}-{file.stem}.bvh"))] = motion
        answer = Path(folder) / "heads.json"
        command = [blender, __file__, "heads", *written, "-o", str(answer), "--every", str(every)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        table = json.loads(answer.read_text())
    for file, (path, motion) in zip(files, written.items(), strict=True):
        theirs = table[path]
        if "error" in theirs:
            print(f"{file}: Blender refuses it: {theirs['error']}")
            worst = float("inf")
            continue
        ours = motion.positions()[::every].astype(np.float64)
        index = _joint_of_bone(theirs["bones"], motion.skeleton.names)
        heads = np.array(theirs["heads"]) * motion.origin.unit_m
        if heads.shape != (len(ours), len(index), 3) or len(index) != len(motion.skeleton):
            print(f"{file}: Blender has {heads.shape[:2]} frames and bones, we {ours.shape[:2]}")
            worst = float("inf")
            continue
        gap = 1000.0 * float(np.linalg.norm(heads - ours[:, index], axis=-1).max())
        print(f"{file}: {gap:.4f} mm, {len(index)} bones, {len(ours)} frames")
        worst = max(worst, gap)
    return worst


def _joint_of_bone(bones: list[str], names: tuple[str, ...]) -> list[int]:
    """Index of the joint that each bone stands for, by name as BVH and Blender spell it."""
    plain = [re.sub(r"[\s:{}]+", "_", name)[:63] for name in names]
    spelt = [*plain, *(name[:63] for name in names)]
    return [spelt.index(bone) % len(names) for bone in bones if bone in spelt]


if __name__ == "__main__":
    sys.exit(main())
