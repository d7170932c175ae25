"""Read unusual BVH files with motionloom and other readers: correct, refused, or silently wrong.

The files are those of ``tests/odd_bvh.py``: dialects of exporters, odd channels and tables, damaged
files, each with the joint positions that follow from the description of the format. Readers run in
separate interpreters, so their packages need not be installed in the environment of motionloom::

    python benchmarks/odd_files.py                                   # motionloom alone
    python benchmarks/odd_files.py --pybvh PYTHON --fairmotion PYTHON --blender PYTHON

where each PYTHON has the package (``bpy`` for Blender). The script prints one line per reader: how
many of the files with one sensible reading are read correctly (joint positions within 0.5 % of the
size of the body), are refused, or are read as something else; and how many of the files without a
sensible reading are refused. Files for which motionloom needs an option are excluded. The files
were written for the tests of motionloom, so its line shows that these tests pass, not that it reads
every file.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
TOLERANCE = 0.005  # relative to the size of the body

# Each reads the files of a folder and saves positions (T, J, 3), in the joint order of the file.
READERS = {
    "motionloom": """
import motionloom as ml
def positions(path):
    motion = ml.load(path, unit="cm", up="y", keep_carrier=True)
    return 100.0 * motion.positions(), motion.skeleton.names
""",
    "pybvh": """
import pybvh
def positions(path):
    take = pybvh.read_bvh_file(path, world_up="+y")
    return take.node_positions()[:, take.fk_topology.joint_idx >= 0], take.joint_names
""",
    "fairmotion": """
from fairmotion.data import bvh
def positions(path):
    take = bvh.load(str(path))
    return take.positions(local=False), [joint.name for joint in take.skel.joints]
""",
    "blender": """
import bpy
import numpy as np
def positions(path):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.import_anim.bvh(filepath=str(path), axis_forward="Y", axis_up="Z")
    armature = bpy.context.view_layer.objects.active
    bones = armature.pose.bones
    first, last = (round(end) for end in armature.animation_data.action.frame_range)
    heads = []
    for frame in range(first, last + 1):
        bpy.context.scene.frame_set(frame)
        heads.append([tuple(bone.head) for bone in bones])
    return np.array(heads), [bone.name for bone in bones]
""",
}
CHILD = """
import contextlib, io, json, sys, warnings
from pathlib import Path
warnings.simplefilter("ignore")
{reader}
import numpy as np
folder = Path(sys.argv[1])
for path in sorted(folder.glob("*.bvh")):
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            places, names = positions(path)
        names = np.array(list(names), str)
        np.savez(path.with_suffix(".npz"), places=np.asarray(places, float), names=names)
    except Exception:
        pass
"""


def main() -> None:
    """Print one line per reader."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("pybvh", "fairmotion", "blender"):
        parser.add_argument(f"--{name}", metavar="PYTHON", help=f"interpreter with {name}")
    options = vars(parser.parse_args())
    sys.path.insert(0, str(ROOT / "tests"))
    from odd_bvh import CORPUS

    cases = [odd for odd in CORPUS if not odd.options]
    for name in READERS:
        python = sys.executable if name == "motionloom" else options[name]
        if python:
            print(f"{name}: {counts(name, python, cases)}", flush=True)


def counts(name: str, python: str, cases) -> str:
    """Count the cases that a reader reads correctly, refuses, or reads as something else."""
    with tempfile.TemporaryDirectory() as folder:
        for odd in cases:
            (Path(folder) / f"{odd.name}.bvh").write_bytes(odd.data)
        subprocess.run(
            [python, "-c", CHILD.format(reader=READERS[name]), folder],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        right = refused = wrong = rejected = 0
        readable = [odd for odd in cases if odd.verdict == "read" and odd.reading is not None]
        for odd in readable:
            answer = Path(folder) / f"{odd.name}.npz"
            good = answer.exists() and _is_right(np.load(answer), odd.reading)
            right += good
            refused += not answer.exists()
            wrong += answer.exists() and not good
        senseless = [odd for odd in cases if odd.verdict == "refuse"]
        rejected = sum(not (Path(folder) / f"{odd.name}.npz").exists() for odd in senseless)
    return (
        f"{len(readable)} readable files: {right} correct, {refused} refused, {wrong} read as "
        f"something else; {len(senseless)} files without a sensible reading: {rejected} "
        "refused"
    )


def _is_right(answer, wanted) -> bool:
    places, names = answer["places"], list(answer["names"])
    if wanted.names is not None and set(wanted.names) <= set(names):
        places = places[:, [names.index(name) for name in wanted.names]]
    frames = range(wanted.frames) if wanted.compare is None else wanted.compare
    if len(places) != wanted.frames or places.shape[1:] != wanted.positions.shape[1:]:
        return False
    size = np.ptp(wanted.positions.reshape(-1, 3), axis=0).max()
    off = np.abs(places[list(frames)] - wanted.positions[list(frames)]).max(initial=0.0)
    return bool(off <= TOLERANCE * max(size, 1e-9))


if __name__ == "__main__":
    main()
