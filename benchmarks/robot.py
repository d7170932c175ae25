"""``python -m benchmarks robot``: any take onto the Unitree G1, compared with other programs.

60 takes (CMU, Bandai-Namco, the built-in corpus) of walks, runs, kicks, reaches, dances and
get-ups, at most 3 s each at 30 fps. All programs are judged by one evaluator on the G1 of the
package mjlab: penetration, sliding and contacts as OmniRetarget's evaluator defines them, with
MuJoCo's own geometry, and tracking errors that are relative to each program's own scale. If
holosoma-retargeting is available, its own evaluator also judges all programs.

Rivals are found by ``MOTIONLOOM_GMR``, ``MOTIONLOOM_HOLOSOMA`` and ``MOTIONLOOM_HOLOSOMA_PYTHON``;
the robot by the package mjlab or ``MOTIONLOOM_G1``.
"""

from __future__ import annotations

import importlib.util
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import motionloom as ml
from benchmarks import Settings
from benchmarks.rivals import Package
from benchmarks.rivals.humanoid_robots import Gmr, Holosoma, PlainMink, role_places
from benchmarks.timing import Log, Result
from motionloom.character.robot.model import Robot, quaternions_to_z_up, to_y_up, to_z_up
from motionloom.character.robot.report import heading_error, limb_error, path_error
from motionloom.character.robot.retarget import retarget_to_robot
from motionloom.errors import InvalidInput
from motionloom.formats.robot import load_robot
from motionloom.motion import Motion

SUMMARY = "motion capture onto a humanoid robot"
PACKAGES = (Package("mujoco", "mujoco"), Package("mink", "mink"), Package("daqp", "daqp"))
Array = NDArray[np.float64]

# CMU take and the first of its 90 frames at 30 fps.
_CMU = {
    "02_01": 0, "07_01": 0, "08_01": 0, "16_15": 0, "35_01": 0, "02_03": 0, "09_01": 0, "16_35": 0,
    "10_01": 40, "10_02": 40, "11_01": 40, "13_10": 120, "15_06": 150, "26_09": 30, "05_02": 60,
    "05_03": 0, "05_11": 20, "49_09": 90, "111_06": 150, "77_16": 120,
}  # fmt: skip
_BANDAI: tuple[str, ...] = (
    "walk",
    "run",
    "walk-turn-left",
    "walk-turn-right",
    "raise-up-both-hands",
)
_BANDAI += ("raise-up-left-hand", "raise-up-right-hand", "wave-both-hands", "wave-left-hand")
_CORPUS = (
    "walk_p1", "walk_fast_p2", "spiral_walk_p0", "jog_p0", "jog_left_p2", "kick_front_high_left_p1",
    "kick_side_mid_right_p0", "kick_leap_front_left_p0", "punch_mid_right_p1",
    "reach_front_high_left_p0", "reach_across_low_right_p2", "reach_behind_mid_left_p1",
    "jump_up_p0", "jump_far_p1", "cartwheel_left_p0", "sit_stand_p0", "dance_groove_p0",
    "dance_sway_p1", "pick_up_low_p0", "waltz_leader_p0",
)  # fmt: skip
_FRAMES = 90
_FEW, _FEW_FRAMES = 12, 45  # holosoma takes half a second of processor time per frame


@dataclass
class Score:
    """Means over all takes that a program could retarget."""

    program: str
    takes: int
    penetration_duration: float
    penetration_depth_m: float
    sliding_duration: float
    sliding_speed_m_s: float
    contact_preservation: float
    hand_error_m: float
    foot_error_m: float
    pelvis_error_m: float
    heading_error_deg: float
    limits_passed: int  # frames with a joint beyond its range
    speeds_passed: int  # frames with a joint faster than its limit
    self_collision: float
    cpu_ms_per_frame: float
    own_evaluator: tuple[float, ...] = ()


def run(settings: Settings, log: Log) -> dict[str, Any]:
    """Return the results, all figures, and a description of the data."""
    robot = load_robot(_g1())
    takes = _takes(settings, log)
    judge = _Judge(robot)
    programs: dict[str, dict[str, tuple[Array, float]]] = {"motionloom": {}}
    notes: dict[str, str] = {}
    retarget_to_robot(next(iter(takes.values())), robot)  # compile
    for name, motion in takes.items():
        start = time.process_time()
        moved = retarget_to_robot(motion, robot)
        programs["motionloom"][name] = _qpos(robot, moved), time.process_time() - start
    for rival in _rivals(robot, notes):
        log(f"retargeting with {rival.name}")
        programs[rival.name] = {}
        for name, motion in takes.items():
            try:
                programs[rival.name][name] = rival.retarget(motion)
            except Exception as error:  # a rival may fail on a take
                notes[rival.name] = f"failed on {name}: {error!r}"[:200]
    holosoma = _holosoma(notes)
    if holosoma is not None:
        log("retargeting with holosoma-retargeting")
        few = {name: takes[name][:_FEW_FRAMES] for name in list(takes)[:: len(takes) // _FEW]}
        results = holosoma.retarget_all(few)
        good = {n: r for n, r in results.items() if not isinstance(r, str)}
        notes[holosoma.name] = (
            f"{len(few)} takes of {_FEW_FRAMES} frames; it retargeted {len(good)}"
        )
        for name, result in results.items():
            if isinstance(result, str):
                notes[f"holosoma on {name}"] = result
        for program in list(programs):  # all programs on the takes that holosoma can retarget
            programs[f"{program}, same takes"] = {
                n: (programs[program][n][0][:_FEW_FRAMES], programs[program][n][1])
                for n in good
                if n in programs[program]
            }
        programs[holosoma.name] = good
    log("judging")
    scores = {name: judge.score(name, takes, results) for name, results in programs.items()}
    if holosoma is not None:
        _own_evaluator(holosoma, takes, programs, scores, notes)
    ours = scores["motionloom"]
    rows = [
        Result(
            "processor time per frame",
            ours.cpu_ms_per_frame / 1e3,
            name,
            score.cpu_ms_per_frame / 1e3,
            score.cpu_ms_per_frame / ours.cpu_ms_per_frame,
            f"ours: {_text(ours)}; {name}: {_text(score)}",
        )
        for name, score in scores.items()
        if name != "motionloom"
    ]
    return {
        "data": f"{len(takes)} takes, {sum(map(len, takes.values()))} frames at 30 fps",
        "credit": "CMU: mocap.cs.cmu.edu, NSF EIA-0196217. Bandai-Namco Research Motiondataset.",
        "results": [row.as_dict() for row in rows],
        "figures": [asdict(score) for score in scores.values()],
        "notes": notes,
    }


def _text(score: Score) -> str:
    return (
        f"{score.takes} takes, penetration {100 * score.penetration_duration:.2f} %, sliding "
        f"{100 * score.sliding_duration:.2f} %, contacts {100 * score.contact_preservation:.1f} %, "
        f"hands {100 * score.hand_error_m:.1f} cm, feet {100 * score.foot_error_m:.1f} cm, pelvis "
        f"{100 * score.pelvis_error_m:.1f} cm, heading {score.heading_error_deg:.1f} deg, "
        f"self-collision {100 * score.self_collision:.1f} %, frames beyond limits "
        f"{score.limits_passed}, too fast {score.speeds_passed}"
    )


def _g1() -> Path:
    spec = importlib.util.find_spec("mjlab")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    inside = "asset_zoo/robots/unitree_g1/xmls/g1.xml"
    places = [Path(folder) / inside for folder in folders]
    cache = Path.home() / ".cache/motionloom-tests/robots/mjlab"
    places = [Path(os.environ.get("MOTIONLOOM_G1", "-")), *places, cache / inside]
    for place in places:
        if place.is_file():
            return place
    raise InvalidInput("the G1 is missing: pip download mjlab and set MOTIONLOOM_G1 to g1.xml")


def _takes(settings: Settings, log: Log) -> dict[str, Motion]:
    """Return the takes; those whose data set is missing are skipped."""
    folder = Path(os.environ.get("MOTIONLOOM_DATA", "-"))
    cmu = settings.data or Path.home() / ".cache/motionloom-tests/cmu30"
    bandai = Path(os.environ.get("MOTIONLOOM_BANDAI", folder / "bandai"))
    takes: dict[str, Motion] = {}
    for name, first in _CMU.items():
        for file in cmu.rglob(f"{name}.bvh"):
            takes[f"cmu {name}"] = _cut(ml.load(file), first)
            break
    styles = {kind: sorted(bandai.glob(f"{kind}_*.bvh")) for kind in _BANDAI}
    for number in range(20):
        kind = _BANDAI[number % len(_BANDAI)]
        files = styles[kind]
        if files:
            file = files[(7 * number) % len(files)]
            takes[f"bandai {file.stem}"] = _cut(ml.load(file), 0)
    for name in _CORPUS:
        clip, _, performer = name.rpartition("_p")
        takes[name] = _cut(ml.demo.clip(clip, performer=int(performer)), 0)
    log(f"{len(takes)} takes")
    return {name.replace(" ", "-"): motion for name, motion in takes.items()}


def _cut(motion: Motion, first: int) -> Motion:
    motion = motion.resample(30.0) if abs(motion.fps - 30.0) > 1e-6 else motion
    first = max(min(first, len(motion) - _FRAMES), 0)
    return motion[first : first + _FRAMES]


def _qpos(robot: Robot, moved: Motion) -> Array:
    root, base, angles = robot.poses(moved)
    return np.concatenate([to_z_up(root), quaternions_to_z_up(base), angles], axis=1)


def _rivals(robot: Robot, notes: dict[str, str]) -> list[Any]:
    rivals: list[Any] = []
    try:
        rivals.append(PlainMink(robot))
        folder = os.environ.get("MOTIONLOOM_GMR")
        if folder:
            rivals.append(Gmr(Path(folder)))
        else:
            notes["GMR"] = "not available: set MOTIONLOOM_GMR to a clone"
    except (ImportError, OSError) as error:
        notes["rivals"] = str(error)
    return rivals


def _holosoma(notes: dict[str, str]) -> Holosoma | None:
    package, python = (os.environ.get(f"MOTIONLOOM_HOLOSOMA{suffix}") for suffix in ("", "_PYTHON"))
    if not package or not python:
        notes["holosoma-retargeting"] = "not available: set MOTIONLOOM_HOLOSOMA and _PYTHON"
        return None
    return Holosoma(Path(package), python)


def _own_evaluator(holosoma, takes, programs, scores, notes) -> None:
    """Judge all programs with holosoma's evaluator."""
    poses, toes = {}, {}
    for program, results in programs.items():
        for name, (qpos, _) in results.items():
            key = f"{program}|{name}"
            poses[key] = qpos
            toes[key] = _source_toes(takes[name])[: len(qpos)]
    try:
        judged = holosoma.evaluate(poses, toes)
    except (RuntimeError, ValueError) as error:
        notes["holosoma's evaluator"] = str(error)[-300:]
        return
    for program, score in scores.items():
        rows = [v for key, v in judged.items() if key.startswith(f"{program}|")]
        score.own_evaluator = tuple(np.mean(rows, axis=0).round(5).tolist())


def _source_toes(motion: Motion) -> Array:
    """Toes (T, 2, 3) of the source at the robot's scale, z up."""
    places = role_places(motion)
    scale = _scale(motion)
    return np.stack([to_z_up(scale * places[f"{s}_foot"]) for s in ("left", "right")], axis=1)


def _scale(motion: Motion) -> float:
    from motionloom.motion.kinematics.body import leg_length

    return 0.66 / leg_length(motion.skeleton)  # the G1's leg


class _Judge:
    """Evaluator of qpos on the G1, with MuJoCo's geometry."""

    def __init__(self, robot: Robot) -> None:
        import mujoco

        self.mujoco, self.robot = mujoco, robot
        spec = mujoco.MjSpec.from_file(robot.path)
        spec.worldbody.add_geom(
            name="judge_floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[50, 50, 0.1]
        )
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        anatomy = robot.anatomy
        self.feet = [self.model.body(robot.names[leg.last]).id for leg in anatomy.legs]
        self.velocity = _speed_limits(robot)

    def score(self, name, takes, results) -> Score:
        rows = [self._take(takes[take], qpos) for take, (qpos, _) in results.items()]
        mean = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
        frames = sum(len(qpos) for qpos, _ in results.values())
        cpu = sum(seconds for _, seconds in results.values())
        if name.endswith("same takes"):
            frames = sum(min(len(takes[take]), _FRAMES) for take in results)
        counts = {key: int(sum(r[key] for r in rows)) for key in ("limits_passed", "speeds_passed")}
        return Score(name, len(rows), **{**mean, **counts}, cpu_ms_per_frame=1e3 * cpu / frames)

    def _take(self, motion: Motion, qpos: Array) -> dict[str, float]:
        mujoco, model, data = self.mujoco, self.model, self.data
        motion = motion[: len(qpos)]
        floor = model.geom("judge_floor").id
        frames = len(qpos)
        depth, hits = np.zeros(frames), np.zeros(frames, bool)
        low = np.full((frames, 2), np.inf)
        points = {key: [] for key in ("places", "toes")}
        toe_sites = [leg.tip for leg in self.robot.anatomy.legs]
        for t, q in enumerate(qpos):
            data.qpos[:] = q
            mujoco.mj_fwdPosition(model, data)
            for geom in range(model.ngeom):
                if geom == floor or not (model.geom_contype[geom] or model.geom_conaffinity[geom]):
                    continue
                gap = mujoco.mj_geomDistance(model, data, geom, floor, 1.0, None)
                depth[t] = max(depth[t], -gap)
                if model.geom_bodyid[geom] in self.feet:
                    side = self.feet.index(model.geom_bodyid[geom])
                    low[t, side] = min(low[t, side], gap)
            for k in range(data.ncon):
                contact = data.contact[k]
                if floor not in (contact.geom1, contact.geom2) and contact.dist < -0.002:
                    hits[t] = True
            points["places"].append(data.xpos.copy())
            points["toes"].append(
                [
                    data.xpos[b] + data.xmat[b].reshape(3, 3) @ to_z_up(tip)
                    for b, tip in zip(self.feet, toe_sites, strict=True)
                ]
            )
        return {
            **self._contacts(motion, depth, low, np.array(points["toes"])),
            **self._tracking(motion, to_y_up(np.array(points["places"]))),
            **self._limits(qpos),
            "self_collision": float(hits.mean()),
        }

    def _contacts(self, motion, depth, low, toes) -> dict[str, float]:
        deep = depth > 0.01
        source = _source_toes(motion)
        step = [np.linalg.norm(np.diff(p[..., :2], axis=0), axis=-1) for p in (source, toes)]
        stuck = np.concatenate([np.zeros((1, 2), bool), step[0] <= 0.01])
        moved = np.concatenate([np.zeros((1, 2)), step[1]])
        slides = stuck & (moved > 0.01)
        fastest = np.where(slides, moved, 0.0).max(axis=1)
        touching = source[..., 2] <= 0.02
        kept = np.all(~touching | (low <= 0.02), axis=1)
        any_touch = touching.any(axis=1)
        return {
            "penetration_duration": float(deep.mean()),
            "penetration_depth_m": float(depth[deep].mean()) if deep.any() else 0.0,
            "sliding_duration": float(slides.any(axis=1).sum() / max(stuck.any(axis=1).sum(), 1)),
            "sliding_speed_m_s": float(30.0 * fastest[fastest > 0].mean())
            if fastest.any()
            else 0.0,
            "contact_preservation": float(kept[any_touch].mean()) if any_touch.any() else 1.0,
        }

    def _tracking(self, motion: Motion, places: Array) -> dict[str, float]:
        anatomy = self.robot.anatomy
        at = lambda node: places[:, self.model.body(self.robot.names[node]).id]  # noqa: E731
        source = role_places(motion)
        hands, feet = [], []
        for side, arm, leg in zip(("left", "right"), anatomy.arms, anatomy.legs, strict=True):
            theirs = [source[f"{side}_{part}"] for part in ("shoulder", "elbow", "wrist")]
            hands.append(limb_error([at(arm.root), at(arm.middle), at(arm.end)], theirs).mean())
            theirs = [source[f"{side}_{part}"] for part in ("hip", "knee", "ankle")]
            feet.append(limb_error([at(leg.root), at(leg.middle), at(leg.end)], theirs).mean())
        hips = [at(leg.root) for leg in anatomy.legs]
        there = [source["left_hip"], source["right_hip"]]
        turn = heading_error(hips[0] - hips[1], there[0] - there[1])
        return {
            "hand_error_m": float(np.mean(hands)),
            "foot_error_m": float(np.mean(feet)),
            "pelvis_error_m": float(
                path_error(0.5 * (hips[0] + hips[1]), 0.5 * (there[0] + there[1])).mean()
            ),
            "heading_error_deg": float(np.degrees(turn).mean()),
        }

    def _limits(self, qpos: Array) -> dict[str, float]:
        angles, robot = qpos[:, 7:], self.robot
        beyond = (angles < robot.lower - 1e-3) | (angles > robot.upper + 1e-3)
        fast = np.abs(np.diff(angles, axis=0)) * 30.0 > 1.001 * self.velocity
        return {
            "limits_passed": float(beyond.any(axis=1).sum()),
            "speeds_passed": float(fast.any(axis=1).sum()),
        }


def _speed_limits(robot: Robot) -> Array:
    """Limits of the G1's motors in rad/s, from its URDF; the MJCF has none."""
    limits = np.array(robot.velocity)
    for k, name in enumerate(robot.joint_names):
        if "wrist_pitch" in name or "wrist_yaw" in name:
            limits[k] = 22.0
        elif "knee" in name or "hip_roll" in name:
            limits[k] = 20.0
        elif "hip" in name or "waist_yaw" in name:
            limits[k] = 32.0
        else:
            limits[k] = 37.0
    return limits
