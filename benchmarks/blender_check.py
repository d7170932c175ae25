"""Compare joint positions of our BVH files in Blender with `Motion.positions`.

Blender's Python module ``bpy`` requires a certain Python version, so two interpreters are used:
one with motionloom, and one with ``bpy`` (``python3.11 -m venv bpyenv; bpyenv/bin/pip install
bpy``). Run the whole comparison with the interpreter of motionloom::

    python benchmarks/blender_check.py compare --blender bpyenv/bin/python takes/*.bvh

Each take is read by motionloom, written as BVH and imported by Blender; then the heads of all bones
are compared with ``Motion.positions()`` of the take, frame by frame. The script prints the largest
distance per file and overall, in millimeters; the exit code is 1 above ``--limit`` (default 1 mm).
With ``--as-is``, Blender imports the takes themselves, which compares our reader with Blender's.

Only Blender's part, without motionloom::

    bpyenv/bin/python benchmarks/blender_check.py heads takes/*.bvh -o heads.json --every 10

writes ``{file: {"bones": [...], "frames": [...], "heads": [[[x, y, z], ...], ...]}}`` in the
unit of the file, Y up; frames count from 0. Bone heads are joint positions; tails and roll
are specific to Blender and not compared. Blender truncates bone names to 63 bytes.
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
    heads = commands.add_parser("heads", help="write bone heads from Blender as JSON")
    heads.add_argument("files", nargs="+", type=Path)
    heads.add_argument("-o", "--output", type=Path, required=True)
    heads.add_argument("--every", type=int, default=1, help="use every nth frame")
    compare = commands.add_parser("compare", help="compare our positions with those of Blender")
    compare.add_argument("files", nargs="+", type=Path)
    compare.add_argument("--blender", required=True, help="Python interpreter with bpy")
    compare.add_argument("--every", type=int, default=1, help="use every nth frame")
    compare.add_argument("--limit", type=float, default=1.0, help="millimeters")
    compare.add_argument(
        "--as-is",
        action="store_true",
        help=("import the takes as they are, without rewriting them first"),
    )
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
    except Exception as error:  # the importer raises arbitrary Python errors
        lines = [line for line in str(error).splitlines() if "Error" in line]
        return {"error": (lines or [repr(error)])[-1]}
    scene = bpy.context.scene
    figure = next(thing for thing in scene.objects if thing.type == "ARMATURE")
    bones = list(figure.pose.bones)
    frames = range(0, int(figure.animation_data.action.frame_range[1]), every)
    heads = []
    for frame in frames:
        scene.frame_set(frame + 1)  # Blender's first frame is 1
        world = figure.matrix_world
        places = [world @ bone.head for bone in bones]
        # Blender is Z up, and its importer maps -Z of the file to +Y; convert back to Y up.
        heads.append([[p.x, p.z, -p.y] for p in places])
    return {"bones": [bone.name for bone in bones], "frames": list(frames), "heads": heads}


# --- our side -----------------------------------------------------------------------------


def compared(files: list[Path], blender: str, every: int, as_is: bool) -> float:
    """Print the largest distance of each file; return the largest of all, in millimeters."""
    import numpy as np

    import motionloom as ml
    from motionloom.formats.settings import FormatOptions

    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        written: dict[str, ml.Motion] = {}
        for number, file in enumerate(files):
            if as_is:
                written[str(file)] = ml.load(file, up="y", format=FormatOptions(tpose=False))
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
            print(f"{file}: rejected by Blender: {theirs['error']}")
            worst = float("inf")
            continue
        ours = motion.positions()[::every].astype(np.float64)
        index = _joint_of_bone(theirs["bones"], motion.skeleton.names)
        heads = np.array(theirs["heads"]) * motion.origin.unit_m
        if heads.shape != (len(ours), len(index), 3) or len(index) != len(motion.skeleton):
            print(
                f"{file}: Blender has {heads.shape[:2]} frames and bones; motionloom has "
                f"{ours.shape[:2]}"
            )
            worst = float("inf")
            continue
        gap = 1000.0 * float(np.linalg.norm(heads - ours[:, index], axis=-1).max())
        print(f"{file}: {gap:.4f} mm, {len(index)} bones, {len(ours)} frames")
        worst = max(worst, gap)
    return worst


def _joint_of_bone(bones: list[str], names: tuple[str, ...]) -> list[int]:
    """Joint index of each bone, by its name as written in BVH and in Blender."""
    plain = [re.sub(r"[\s:{}]+", "_", name)[:63] for name in names]
    spelled = [*plain, *(name[:63] for name in names)]
    return [spelled.index(bone) % len(names) for bone in bones if bone in spelled]


if __name__ == "__main__":
    sys.exit(main())
