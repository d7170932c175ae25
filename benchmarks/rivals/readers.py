"""BVH readers of other libraries, each used in its fastest documented way.

A reader converts a file to an object of its library (`parse`) and to world positions of the joints
in the unit of the file (`positions`). If forward kinematics can be called separately, `kinematics`
prepares a file and returns the call.

``python -m benchmarks.rivals.readers NAME FILE`` reads one file in a new process, to measure the
time to the first result.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rivals import Package, open_cache

OURS = "motionloom"


@dataclass(frozen=True)
class Reader:
    """Functions of a library that convert a file to joint positions (T, J, 3)."""

    parse: Callable[[Path], Any]
    positions: Callable[[Path], NDArray[np.floating]]
    kinematics: Callable[[Path], Callable[[], Any]] | None = None
    parse_note: str = ""
    positions_note: str = ""
    kinematics_note: str = ""


def _motionloom() -> Reader:
    from motionloom.formats import load

    return Reader(load, lambda path: load(path).positions())


def _pybvh() -> Reader:
    pybvh = import_module("pybvh")

    def parse(path: Path):
        return pybvh.read_bvh_file(path, world_up="+y")  # skip the guess of the axis

    def kinematics(path: Path):
        take = parse(path)
        tree = take.fk_topology
        return lambda: pybvh.frames_to_node_positions(tree, take.root_pos, take.joint_angles)

    def positions(path: Path):
        take = parse(path)
        return pybvh.frames_to_node_positions(take)[:, take.fk_topology.joint_idx >= 0]

    return Reader(parse, positions, kinematics, kinematics_note="starts from Euler angles, float64")


def _pymotion() -> Reader:
    BVH = import_module("pymotion.io.bvh").BVH
    fk = import_module("pymotion.ops.skeleton_np").fk

    def parse(path: Path):
        take = BVH()
        take.load(str(path))
        return take

    def kinematics(path: Path):
        turns, local, parents, offsets, _, _ = parse(path).get_data()
        return lambda: fk(turns, local[:, 0], offsets, parents)

    return Reader(
        parse,
        lambda path: kinematics(path)()[0],
        kinematics,
        kinematics_note="its `fk`, which is faster than its `fk_quat`; float64",
    )


def _bvhsdk() -> Reader:
    bvh = import_module("bvhsdk.bvh")

    def parse(path: Path):
        return bvh.GetBVHDataFromFile(str(path), supresswarnings=True)

    return Reader(parse, lambda path: parse(path).getJointPositions())


def _fairmotion() -> Reader:
    bvh = import_module("fairmotion.data.bvh")

    def parse(path: Path):
        return bvh.load(str(path))

    return Reader(
        parse,
        lambda path: parse(path).positions(local=False),
        parse_note="computes local matrices while reading",
        positions_note="installed without its pinned torch 1.4, which is not used for reading",
    )


RIVALS: dict[Package, Callable[[], Reader]] = {
    Package("pybvh", "pybvh"): _pybvh,
    Package("upc-pymotion", "pymotion.io.bvh"): _pymotion,
    Package("bvhsdk", "bvhsdk.bvh"): _bvhsdk,
    Package("fairmotion", "fairmotion.data.bvh"): _fairmotion,
}


def _main(name: str, file: str) -> None:
    makers = {OURS: _motionloom, **{package.name: make for package, make in RIVALS.items()}}
    open_cache(package for package in RIVALS if package.name == name)
    makers[name]().positions(Path(file))


if __name__ == "__main__":
    _main(*sys.argv[1:])
