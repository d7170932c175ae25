"""Reader for the kinematic tree, limits and shapes of robot descriptions (URDF, ``.urdf``)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.character.robot.model import quaternions_to_y_up, to_y_up
from motionloom.formats.robot.draft import Draft, Element, color_of, numbers
from motionloom.motion.rotations import quaternions as rot

Array = NDArray[np.float64]

_GRAY = (0.62, 0.66, 0.72)
_HINGES = ("revolute", "continuous")


def read(draft: Draft, root: Element) -> None:
    """Read a robot description into a draft."""
    draft.name = root.get("name") or draft.path.stem
    links = {link.get("name", ""): link for link in root.findall("link")}
    colors = {
        material.get("name", ""): color
        for material in root.findall("material")
        if (color := _color(material, {})) is not None
    }
    below: dict[str, list[Element]] = {}
    children = set()
    for joint in root.findall("joint"):
        ends = [joint.find("parent"), joint.find("child")]
        names = [end.get("link", "") if end is not None else "" for end in ends]
        label = joint.get("name", "?")
        for name in names:
            if name not in links:
                draft.refuse(f"joint {label!r} names the link {name!r}, which does not exist")
        if names[1] in children:
            draft.refuse(f"the link {names[1]!r} has two parents")
        children.add(names[1])
        below.setdefault(names[0], []).append(joint)
    tops = [name for name in links if name not in children]
    if len(tops) != 1:
        draft.refuse(f"the links must form one tree; {len(tops)} links have no parent")
    top = tops[0]
    while len(below.get(top, ())) == 1 and below[top][0].get("type") in ("floating", "fixed"):
        joint = below[top][0]
        if joint.get("type") == "fixed" and (list(links[top]) or top != "world"):
            break
        child = joint.find("child")
        top = child.get("link", "") if child is not None else top
    _link(draft, links, below, colors, top, -1, None)


def _link(
    draft: Draft,
    links: dict[str, Element],
    below: dict[str, list[Element]],
    colors: dict[str, tuple[float, float, float]],
    top: str,
    parent: int,
    joint: Element | None,
) -> None:
    waiting = [(top, parent, joint)]
    while waiting:
        name, parent, joint = waiting.pop()
        position, turn = (np.zeros(3), rot.IDENTITY)
        axis = None
        if joint is not None:
            position, turn = _origin(draft, joint)
            axis = _axis(draft, joint)
        node = draft.add_node(
            name,
            parent,
            to_y_up(position),
            quaternions_to_y_up(turn),
            None if axis is None else to_y_up(axis),
        )
        draft.bodies.append(node)
        if joint is not None and axis is not None:
            _limits(draft, joint, node)
        _shapes(draft, links[name], node, colors)
        for each in reversed(below.get(name, [])):
            child = each.find("child")
            waiting.append((child.get("link", "") if child is not None else "", node, each))


def _axis(draft: Draft, joint: Element) -> Array | None:
    kind, label = joint.get("type", "fixed"), joint.get("name", "?")
    if kind not in _HINGES:
        if kind != "fixed":
            draft.immobile.append(label)
        return None
    if joint.find("mimic") is not None:
        draft.immobile.append(label)
        return None
    element = joint.find("axis")
    axis = (
        numbers(element.get("xyz"), 3, f"axis of {label!r}", draft) if element is not None else None
    )
    axis = np.array([1.0, 0.0, 0.0]) if axis is None else axis
    length = float(np.linalg.norm(axis))
    if not length > 1e-9:
        draft.refuse(f"the axis of joint {label!r} must not be zero")
    return axis / length


def _limits(draft: Draft, joint: Element, node: int) -> None:
    label, limit = joint.get("name", "?"), joint.find("limit")
    lower, upper, speed = -np.inf, np.inf, np.inf
    if limit is not None:
        values = {}
        for key in ("lower", "upper", "velocity"):
            value = numbers(limit.get(key), 1, f"{key} of {label!r}", draft)
            values[key] = None if value is None else float(value[0])
        speed = values["velocity"] if values["velocity"] is not None else np.inf
        if joint.get("type") == "revolute":
            lower = values["lower"] if values["lower"] is not None else 0.0
            upper = values["upper"] if values["upper"] is not None else 0.0
    draft.add_hinge(label, node, lower, upper, speed)


def _origin(draft: Draft, element: Element) -> tuple[Array, Array]:
    """Return the position and rotation of an element's origin, in the coordinates of the file."""
    origin = element.find("origin")
    if origin is None:
        return np.zeros(3), rot.IDENTITY
    position = numbers(origin.get("xyz"), 3, "xyz of an origin", draft)
    angles = numbers(origin.get("rpy"), 3, "rpy of an origin", draft)
    turn = rot.IDENTITY
    if angles is not None:
        for k in range(3):  # roll, pitch and yaw about fixed axes
            turn = rot.multiply(rot.from_axis_angle(np.eye(3)[k], angles[k]), turn)
    return np.zeros(3) if position is None else position, turn


def _color(element: Element | None, colors: dict) -> tuple[float, float, float] | None:
    if element is None:
        return None
    color = element.find("color")
    return color_of(color.get("rgba")) if color is not None else colors.get(element.get("name", ""))


def _shapes(draft: Draft, link: Element, node: int, colors: dict) -> None:
    for role in ("visual", "collision"):
        for element in link.findall(role):
            geometry = element.find("geometry")
            if geometry is None or not len(geometry):
                continue
            position, turn = _origin(draft, element)
            placed: dict[str, Any] = dict(
                visual=role == "visual",
                collides=role == "collision",
                color=_color(element.find("material"), colors) or _GRAY,
            )
            _geometry(
                draft, geometry[0], node, to_y_up(position), quaternions_to_y_up(turn), placed
            )


def _geometry(
    draft: Draft, part: Element, node: int, position: Array, turn: Array, placed: dict
) -> None:
    where = f"a {part.tag} of {draft.names[node]!r}"
    if part.tag == "mesh":
        scale = numbers(part.get("scale"), 3, f"scale of {where}", draft)
        path = draft.file(part.get("filename", ""))
        mesh = (path, np.ones(3) if scale is None else scale)
        draft.add_shape(node, "mesh", (), position, turn, mesh=mesh, **placed)
        return
    if part.tag == "box":
        size = numbers(part.get("size", ""), 3, f"size of {where}", draft)
        x, y, z = (0.5 * np.asarray(size)).tolist()
        draft.add_shape(node, "box", (y, z, x), position, turn, **placed)
        return
    if part.tag not in ("sphere", "cylinder", "capsule"):
        draft.refuse(f"{where} is not a shape of a robot description")
    radius = numbers(part.get("radius", ""), 1, f"radius of {where}", draft)
    sizes: tuple[float, ...] = (float(radius[0]),)  # type: ignore[index]
    if part.tag != "sphere":
        length = numbers(part.get("length", ""), 1, f"length of {where}", draft)
        sizes += (0.5 * float(length[0]),)  # type: ignore[index]
    draft.add_shape(node, part.tag, sizes, position, turn, **placed)
