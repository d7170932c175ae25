"""Humanoid robots for tests: a small one built by code, and real ones if their packages exist."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

CACHE = Path.home() / ".cache" / "motionloom-tests" / "robots"
REAL = {
    "g1": ("mjlab", "asset_zoo/robots/unitree_g1/xmls/g1.xml"),
    "g1.urdf": ("holosoma_retargeting", "models/g1/g1_29dof.urdf"),
    "t1": ("holosoma_retargeting", "models/t1/t1_23dof.xml"),
    "t1.urdf": ("holosoma_retargeting", "models/t1/t1_23dof.urdf"),
    "h1.urdf": ("holosoma_retargeting", "models/h1/h1_19dof.urdf"),
    "arm": ("mjlab", "asset_zoo/robots/i2rt_yam/xmls/yam.xml"),
    "quadruped": ("mjlab", "asset_zoo/robots/unitree_go1/xmls/go1.xml"),
}

# One limb hinge: body, joint, place, axis, range in radians, and the geom of the body.
_LEG = [
    ("hip_pitch", "0 {y} -0.08", "0 1 0", (-2.4, 2.4), ""),
    ("hip_roll", "0 0 0", "1 0 0", (-0.6, 0.6), ""),
    ("hip_yaw", "0 0 0", "0 0 1", (-1.0, 1.0), "capsule 0 0 -0.08 0 0 -0.26 0.05"),
    ("knee", "0 0 -0.34", "0 1 0", (-0.05, 2.6), "capsule 0 0 -0.06 0 0 -0.24 0.045"),
    ("ankle_pitch", "0 0 -0.33", "0 1 0", (-0.9, 0.6), ""),
    ("ankle_roll", "0 0 -0.02", "1 0 0", (-0.3, 0.3), "box 0.04 0 -0.035 0.1 0.035 0.015"),
]
_MASS = '<inertial pos="0 0 0" mass="0.1" diaginertia="0.001 0.001 0.001"/>'
_ARM = [
    ("shoulder_pitch", "0 {y} 0.3", "0 1 0", (-3.0, 3.0), ""),
    ("shoulder_roll", "0 {dy} 0", "1 0 0", (-2.0, 2.0), ""),
    ("shoulder_yaw", "0 0 -0.1", "0 0 1", (-2.0, 2.0), "capsule 0 0 0.05 0 0 -0.09 0.035"),
    ("elbow", "0 0 -0.12", "0 1 0", (-2.4, 0.1), "capsule 0 0 -0.03 0 0 -0.18 0.03"),
    ("wrist_pitch", "0 0 -0.22", "0 1 0", (-1.0, 1.0), "sphere 0 0 -0.06 0.04"),
]


def small_humanoid(folder: Path, kind: str = "xml", velocity: float = 15.0) -> Path:
    """Write a humanoid of 25 hinges, as MJCF or URDF, and return its path."""
    path = folder / f"small.{kind}"
    path.write_text(_mjcf() if kind == "xml" else _urdf(velocity), encoding="utf-8")
    return path


def _limbs():
    for side, sign in (("left", 1), ("right", -1)):
        mirror = {"y": 0.1 * sign, "dy": 0.04 * sign}
        yield side, "pelvis", [(*row[:1], row[1].format(**mirror), *row[2:]) for row in _LEG]
        mirror = {"y": 0.14 * sign, "dy": 0.04 * sign}
        yield side, "torso", [(*row[:1], row[1].format(**mirror), *row[2:]) for row in _ARM]


def _geom(text: str) -> str:
    if not text:
        return ""
    kind, *values = text.split()
    if kind == "capsule":
        return f'<geom type="capsule" fromto="{" ".join(values[:6])}" size="{values[6]}"/>'
    size = " ".join(values[3:])
    return f'<geom type="{kind}" pos="{" ".join(values[:3])}" size="{size}"/>'


def _mjcf() -> str:
    chains = {"pelvis": "", "torso": ""}
    for side, parent, rows in _limbs():
        inner = ""
        for name, place, axis, span, geom in reversed(rows):
            joint = f'<joint name="{side}_{name}" axis="{axis}" range="{span[0]} {span[1]}"/>'
            inner = (
                f'<body name="{side}_{name}_link" pos="{place}">{_MASS}{joint}{_geom(geom)}'
                f"{inner}</body>"
            )
        chains[parent] += inner
    waist = '<joint name="waist_yaw" axis="0 0 1" range="-2 2"/>'
    waist += '<joint name="waist_pitch" axis="0 1 0" range="-0.6 0.6"/>'
    waist += '<joint name="waist_roll" axis="1 0 0" range="-0.5 0.5"/>'
    torso = '<geom type="capsule" fromto="0 0 0.1 0 0 0.26" size="0.09"/>'
    torso += '<geom type="sphere" pos="0 0 0.45" size="0.08"/>'
    return f"""<mujoco model="small">
  <compiler angle="radian" autolimits="true"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1"/>
    <body name="pelvis" pos="0 0 0.85"><freejoint/>
      <geom type="sphere" size="0.08"/>
      {chains["pelvis"]}
      <body name="torso" pos="0 0 0.06">{waist}{torso}{chains["torso"]}</body>
    </body>
  </worldbody>
</mujoco>"""


def _urdf(velocity: float) -> str:
    links, joints = [], []

    def link(name: str, *geoms: str) -> None:
        shapes = ""
        for geom in filter(None, geoms):
            kind, *values = geom.split()
            numbers = [float(v) for v in values]
            if kind == "capsule":
                middle = [0.5 * (numbers[k] + numbers[k + 3]) for k in range(3)]
                shape = f'<capsule radius="{numbers[6]}" length="{abs(numbers[2] - numbers[5])}"/>'
            elif kind == "box":
                middle = numbers[:3]
                shape = '<box size="{} {} {}"/>'.format(*(2 * v for v in numbers[3:]))
            else:
                middle, shape = numbers[:3], f'<sphere radius="{numbers[3]}"/>'
            place = " ".join(map(str, middle))
            shapes += f'<collision><origin xyz="{place}"/><geometry>{shape}</geometry></collision>'
        links.append(f'<link name="{name}">{shapes}</link>')

    def joint(name, parent, child, place, axis, span) -> None:
        joints.append(
            f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin xyz="{place}"/><axis xyz="{axis}"/>'
            f'<limit lower="{span[0]}" upper="{span[1]}" velocity="{velocity}" effort="1"/></joint>'
        )

    link("pelvis", "sphere 0 0 0 0.08")
    for side, parent, rows in _limbs():
        if parent == "torso" and side == "left":
            link("waist_yaw_link")
            link("waist_pitch_link")
            link("torso", "capsule 0 0 0.1 0 0 0.26 0.09", "sphere 0 0 0.45 0.08")
            joint("waist_yaw", "pelvis", "waist_yaw_link", "0 0 0.06", "0 0 1", (-2, 2))
            joint(
                "waist_pitch", "waist_yaw_link", "waist_pitch_link", "0 0 0", "0 1 0", (-0.6, 0.6)
            )
            joint("waist_roll", "waist_pitch_link", "torso", "0 0 0", "1 0 0", (-0.5, 0.5))
        above = parent
        for name, place, axis, span, geom in rows:
            link(f"{side}_{name}_link", geom)
            joint(f"{side}_{name}", above, f"{side}_{name}_link", place, axis, span)
            above = f"{side}_{name}_link"
    return f'<robot name="small">{"".join(links)}{"".join(joints)}</robot>'


def real_robot(name: str) -> Path:
    """Return the model of a real robot from an installed package or the tests' cache, or skip."""
    package, inside = REAL[name]
    places = [CACHE / package / inside]
    spec = importlib.util.find_spec(package)
    if spec is not None and spec.submodule_search_locations:
        places.insert(0, Path(spec.submodule_search_locations[0]) / inside)
    for place in places:
        if place.is_file():
            return place
    pytest.skip(f"the package {package} is not installed (pip download it into {CACHE})")
