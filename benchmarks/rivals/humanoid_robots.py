"""Other ways to move a humanoid robot: mink's plain loop, GMR and holosoma-retargeting.

None of them is part of this repository. GMR (https://github.com/YanjieZe/GMR) is read from a clone
that ``MOTIONLOOM_GMR`` names. holosoma-retargeting runs in its own Python
(``MOTIONLOOM_HOLOSOMA_PYTHON``) from its unpacked wheel (``MOTIONLOOM_HOLOSOMA``).
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
import types
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.character.robot.model import Robot, quaternions_to_z_up, to_z_up
from motionloom.character.robot.targets import neutral_angles, proxy_skeleton
from motionloom.formats.robot import load_robot
from motionloom.motion import Motion
from motionloom.motion.retargeting.retarget import retarget
from motionloom.motion.rotations import quaternions as rot

Array = NDArray[np.float64]

# LAFAN1's joint -> role; GMR's map for LAFAN1 names the same joints.
LAFAN = {
    "Hips": "hips", "RightUpLeg": "right_hip", "RightLeg": "right_knee",
    "RightFoot": "right_ankle", "RightToeBase": "right_foot", "LeftUpLeg": "left_hip",
    "LeftLeg": "left_knee", "LeftFoot": "left_ankle", "LeftToeBase": "left_foot",
    "Spine": "hips", "Spine1": "spine", "Spine2": "chest", "Neck": "neck", "Head": "head",
    "RightShoulder": "right_shoulder", "RightArm": "right_shoulder",
    "RightForeArm": "right_elbow", "RightHand": "right_wrist", "LeftShoulder": "left_shoulder",
    "LeftArm": "left_shoulder", "LeftForeArm": "left_elbow", "LeftHand": "left_wrist",
}  # fmt: skip


def role_places(motion: Motion) -> dict[str, Array]:
    """Positions (T, 3) of all roles, y up, with the floor at zero; missing roles are guessed."""
    has = motion.skeleton.roles
    places = {role: motion.role_positions([role])[:, 0].astype(float) for role in has}
    places.setdefault("chest", places.get("spine", places["hips"]))
    places.setdefault("spine", places["chest"])
    places.setdefault("neck", places["chest"])
    places.setdefault("head", places["neck"])
    floor = min(
        np.percentile(places[f"{side}_{part}"][:, 1], 2)
        for side in ("left", "right")
        for part in ("foot", "toe")
        if f"{side}_{part}" in places
    )
    return {role: place - [0.0, floor, 0.0] for role, place in places.items()}


def stature(motion: Motion) -> float:
    """Height of the performer in meters, from the lengths of leg, trunk and head."""
    from motionloom.motion.kinematics.body import leg_length

    return leg_length(motion.skeleton) / 0.45


class PlainMink:
    """mink's loop with 14 frame tasks and 10 iterations a frame, on the same targets as ours."""

    name = "mink, plain loop"

    def __init__(self, robot: Robot) -> None:
        self.robot = robot

    def retarget(self, motion: Motion) -> tuple[Array, float]:
        """Return MuJoCo's qpos (T, 7 + D) and processor seconds."""
        import mink
        import mujoco

        robot, anatomy = self.robot, self.robot.anatomy
        proxy, turns0 = _proxy(motion, robot)
        nodes = {"hips": anatomy.pelvis, "chest": anatomy.chest}
        for k, side in enumerate(("left", "right")):
            leg, arm = anatomy.legs[k], anatomy.arms[k]
            nodes |= {
                f"{side}_hip": leg.root, f"{side}_knee": leg.middle, f"{side}_ankle": leg.last,
                f"{side}_shoulder": arm.root, f"{side}_elbow": arm.middle,
                f"{side}_wrist": arm.last,
            }  # fmt: skip
        model = mujoco.MjModel.from_xml_path(robot.path)
        configuration = mink.Configuration(model)
        tasks = {
            role: mink.FrameTask(
                frame_name=robot.names[node], frame_type="body", position_cost=1.0,
                orientation_cost=0.5, lm_damping=1.0,
            )
            for role, node in nodes.items()
        }  # fmt: skip
        places = {r: proxy.role_positions([r])[:, 0].astype(float) for r in nodes}
        turns = dict(
            zip(proxy.skeleton.names, np.moveaxis(proxy.global_rotations(), 1, 0), strict=True)
        )
        limits = [mink.ConfigurationLimit(model)]
        result = np.zeros((len(motion), model.nq))
        start = time.process_time()
        for t in range(len(motion)):
            for role, task in tasks.items():
                q = rot.multiply(turns[role][t].astype(float), turns0[nodes[role]])
                task.set_target(
                    mink.SE3.from_rotation_and_translation(
                        mink.SO3(quaternions_to_z_up(q)), to_z_up(places[role][t])
                    )
                )
            for _ in range(10):
                velocity = mink.solve_ik(
                    configuration, list(tasks.values()), 0.02, "daqp", 1e-1, limits=limits
                )
                configuration.integrate_inplace(velocity, 0.02)
            result[t] = configuration.q
        return result, time.process_time() - start


def _proxy(motion: Motion, robot: Robot) -> tuple[Motion, Array]:
    from dataclasses import replace

    from motionloom.motion.feet.contacts import foot_contacts
    from motionloom.motion.kinematics.body import leg_length

    skeleton = proxy_skeleton(robot)
    contacts = foot_contacts(motion)
    proxy = retarget(motion, skeleton, contacts=contacts)
    floor = contacts.floor * leg_length(skeleton) / leg_length(motion.skeleton)
    proxy = replace(proxy, root=proxy.root - np.array([0.0, floor, 0.0]))
    return proxy, robot.zero_frames(neutral_angles(robot))[0]


class Gmr:
    """GMR with its map for LAFAN1.

    Joints are renamed. Its rotation offsets fit LAFAN1's joint frames only, so each joint gets the
    frame for which the offset is exact in the neutral pose that motionloom finds. This favors GMR:
    without it, other skeletons come out twisted.
    """

    name = "GMR"

    def __init__(self, folder: Path) -> None:
        package = types.ModuleType("general_motion_retargeting")
        package.__path__ = [str(folder / "general_motion_retargeting")]  # type: ignore[attr-defined]
        sys.modules["general_motion_retargeting"] = package  # its own __init__ needs a viewer
        self.module = importlib.import_module("general_motion_retargeting.motion_retarget")
        self.robot = load_robot(folder / "assets/unitree_g1/g1_mocap_29dof.xml")

    def retarget(self, motion: Motion) -> tuple[Array, float]:
        """Return MuJoCo's qpos (T, 7 + D) and processor seconds."""
        solver = self.module.GeneralMotionRetargeting(
            "bvh", "unitree_g1", actual_human_height=stature(motion)
        )
        proxy, turns0 = _proxy(motion, self.robot)
        turns = dict(
            zip(proxy.skeleton.names, np.moveaxis(proxy.global_rotations(), 1, 0), strict=True)
        )
        places = role_places(motion)
        joints = {}
        for body, (joint, *_, offset) in solver.ik_match_table1.items():
            role = LAFAN[joint.removesuffix("Mod")]
            node = self.robot.names.index(body)
            q = quaternions_to_z_up(rot.multiply(turns[role].astype(float), turns0[node]))
            joints[joint] = to_z_up(places[role]), rot.multiply(q, rot.inverse(np.array(offset)))
        result = np.zeros((len(motion), 7 + 29))
        for _ in range(20):  # the first frame starts from the model's zero pose
            solver.retarget({joint: [p[0].copy(), q[0]] for joint, (p, q) in joints.items()})
        start = time.process_time()
        for t in range(len(motion)):
            result[t] = solver.retarget(
                {joint: [p[t].copy(), q[t]] for joint, (p, q) in joints.items()}
            )
        return result, time.process_time() - start


_CHILD = """
import json, os, sys, time, types
for name in ("torch", "smplx"):
    sys.modules.setdefault(name, types.ModuleType(name))  # only its data loaders need them
sys.modules["torch"].Tensor = type("Tensor", (), {})
sys.path.insert(0, os.path.dirname(os.getcwd()))
import numpy as np
from pathlib import Path
from holosoma_retargeting.examples import robot_retarget as tool
from holosoma_retargeting.config_types.retargeting import RetargetingConfig
folder, names = Path(sys.argv[1]), json.loads(sys.argv[2])
for name in names:
    start = time.process_time()
    try:
        tool.main(RetargetingConfig(task_type="robot_only", data_format="lafan", task_name=name,
                                    data_path=folder, save_dir=folder / "out"))
        (folder / "out" / (name + ".cpu")).write_text(str(time.process_time() - start))
    except Exception as error:
        (folder / "out").mkdir(exist_ok=True)
        (folder / "out" / (name + ".error")).write_text(repr(error)[:300])
"""

_EVALUATE = """
import json, os, sys, types
for name in ("torch", "smplx"):
    sys.modules.setdefault(name, types.ModuleType(name))
sys.modules["torch"].Tensor = type("Tensor", (), {})
sys.path.insert(0, os.path.dirname(os.getcwd()))
import numpy as np
from holosoma_retargeting.evaluation import eval_retargeting as tool
from holosoma_retargeting.config_types.robot import RobotConfig
from holosoma_retargeting.config_types.data_type import MotionDataConfig
config, data = RobotConfig(robot_type="g1"), MotionDataConfig(data_format="lafan", robot_type="g1")
constants = tool.create_task_constants(config, data, object_name="ground")
judge = tool.RetargetingEvaluator(constants.ROBOT_URDF_FILE, None, "ground",
    constants.DEMO_JOINTS, constants.JOINTS_MAPPING, False, constants)
results = {}
archive = np.load(sys.argv[1])
for key in archive.files:
    if key.endswith("/qpos"):
        toes = archive[key.replace("/qpos", "/toes")]
        step = np.linalg.norm(np.diff(toes[..., :2], axis=0), axis=-1)
        step = np.concatenate([np.full((1, 2), 9.0), step])
        stick = [{"L_Toe": bool(a <= 0.01), "R_Toe": bool(b <= 0.01)} for a, b in step]
        share, depths = judge.evaluate_penetration(archive[key])
        duration, speeds = judge.detect_foot_sliding(archive[key], stick)
        results[key] = [share, float(np.mean(depths)) if depths else 0.0, float(duration),
                        float(np.mean(speeds)) if len(speeds) else 0.0]
print("RESULT" + json.dumps(results))
"""


class Holosoma:
    """holosoma-retargeting (OmniRetarget) with its settings for LAFAN1 and no object.

    It receives joint positions, scaled to the 1.7 m that its settings assume.
    """

    name = "holosoma-retargeting"

    def __init__(self, package: Path, python: str) -> None:
        self.package, self.python = package, python

    def retarget_all(self, motions: dict[str, Motion]) -> dict[str, tuple[Array, float] | str]:
        """Return qpos and processor seconds of every take, or the error."""
        results: dict[str, tuple[Array, float] | str] = {}
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            for name, motion in motions.items():
                places = role_places(motion)
                joints = np.stack([places[role] for role in LAFAN.values()], axis=1)
                joints *= 1.7 / stature(motion)
                # Its conversion to z up mirrors the body, which mirroring here undoes.
                np.save(folder / f"{name}.npy", joints * np.array([1.0, 1.0, -1.0]))
            self._run(_CHILD, str(folder), json.dumps(list(motions)))
            for name in motions:
                out = folder / "out" / f"{name}.npz"
                if out.is_file():
                    qpos = np.load(out, allow_pickle=False)["qpos"][:, : 7 + 29].copy()
                    # From its world (x, -z, y) to ours (z, x, y): a quarter turn about the up axis.
                    qpos[:, 0], qpos[:, 1] = -qpos[:, 1].copy(), qpos[:, 0].copy()
                    quarter = np.array([np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)])
                    qpos[:, 3:7] = rot.multiply(quarter, qpos[:, 3:7])
                    cpu = float((folder / "out" / f"{name}.cpu").read_text())
                    results[name] = qpos, cpu
                else:
                    error = folder / "out" / f"{name}.error"
                    results[name] = error.read_text() if error.is_file() else "no result"
        return results

    def evaluate(self, poses: dict[str, Array], toes: dict[str, Array]) -> dict[str, Any]:
        """Judge poses with holosoma's own evaluator: penetration and sliding."""
        with tempfile.TemporaryDirectory() as scratch:
            file = Path(scratch) / "poses.npz"
            arrays: dict[str, Any] = {f"{key}/qpos": value for key, value in poses.items()}
            arrays |= {f"{key}/toes": value for key, value in toes.items()}
            np.savez(file, **arrays)
            text = self._run(_EVALUATE, str(file))
        return json.loads(text.rpartition("RESULT")[2])

    def _run(self, code: str, *arguments: str) -> str:
        done = subprocess.run(
            [self.python, "-c", code, *arguments],
            cwd=self.package,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if not os.environ.get("MOTIONLOOM_VERBOSE") else None,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError((done.stderr or "")[-800:])
        return done.stdout
