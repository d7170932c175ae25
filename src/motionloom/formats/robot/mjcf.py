"""Reader for the kinematic tree, limits and shapes of MuJoCo models (MJCF, ``.xml``)."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.character.robot.model import quaternions_to_y_up, to_y_up
from motionloom.formats.robot.draft import Draft, Element, color_of, numbers
from motionloom.motion.rotations import quaternions as rot

Array = NDArray[np.float64]

_GRAY = (0.62, 0.66, 0.72)
_SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3, "ellipsoid": 3}
_SKIPPED = ("plane", "hfield", "sdf")
_DEFAULTED = ("joint", "geom", "mesh", "material")  # elements that are read with defaults
_MOST_CLASSES, _MOST_ATTRIBUTES = 1_000, 100  # each class contains the attributes of those above


@dataclass
class _Model:
    """Compiler options, defaults and assets of a model."""

    draft: Draft
    radians: bool = False
    sequence: str = "xyz"
    autolimits: bool = True
    meshdir: str = ""
    defaults: dict[str, dict[str, dict[str, str]]] = field(default_factory=lambda: {"main": {}})
    meshes: dict[str, tuple[Path, Array]] = field(default_factory=dict)
    materials: dict[str, tuple[float, float, float]] = field(default_factory=dict)

    def attributes(self, element: Element, childclass: str) -> dict[str, str]:
        """Return the attributes of an element, completed from its default class."""
        chosen = element.get("class") or childclass
        given = self.defaults.get(chosen, self.defaults["main"]).get(element.tag, {})
        return {**given, **element.attrib}

    def angle(self, value: float) -> float:
        return value if self.radians else float(np.radians(value))

    def turn(self, attributes: dict[str, str]) -> Array:
        """Return the rotation of a frame, ``wxyz`` in the coordinates of the file."""
        draft = self.draft
        if (q := numbers(attributes.get("quat"), 4, "quat", draft)) is not None:
            if not np.linalg.norm(q) > 1e-9:
                draft.refuse("a quat must not be zero")
            return rot.normalize(q)
        if (e := numbers(attributes.get("euler"), 3, "euler", draft)) is not None:
            turn = rot.IDENTITY
            for axis, value in zip(self.sequence, e, strict=True):
                step = rot.from_axis_angle(np.eye(3)["xyz".index(axis.lower())], self.angle(value))
                turn = rot.multiply(turn, step) if axis.islower() else rot.multiply(step, turn)
            return turn
        if (a := numbers(attributes.get("axisangle"), 4, "axisangle", draft)) is not None:
            return rot.from_axis_angle(a[:3], self.angle(a[3]))
        if (xy := numbers(attributes.get("xyaxes"), 6, "xyaxes", draft)) is not None:
            x = xy[:3] / max(float(np.linalg.norm(xy[:3])), 1e-12)
            y = xy[3:] - x * (x @ xy[3:])
            y /= max(float(np.linalg.norm(y)), 1e-12)
            return rot.from_matrix(np.stack([x, y, np.cross(x, y)], axis=1))
        if (z := numbers(attributes.get("zaxis"), 3, "zaxis", draft)) is not None:
            return rot.between(np.array([0.0, 0.0, 1.0]), z)
        return rot.IDENTITY


def read(draft: Draft, root: Element) -> None:
    """Read a MuJoCo model into a draft."""
    model = _Model(draft)
    draft.name = root.get("model") or draft.path.stem
    _include(draft, root, 0)
    for compiler in root.findall("compiler"):
        model.radians = compiler.get("angle", "radian" if model.radians else "degree") == "radian"
        model.sequence = compiler.get("eulerseq", model.sequence)
        model.autolimits = compiler.get("autolimits", "true") == "true"
        model.meshdir = compiler.get("meshdir", compiler.get("assetdir", model.meshdir))
    if sorted(model.sequence.lower()) != ["x", "y", "z"]:
        draft.refuse(f"eulerseq must contain x, y and z once; got {model.sequence[:10]!r}")
    for default in root.findall("default"):
        _defaults(model, default, {}, top=True)
    for asset in root.findall("asset"):
        _assets(model, asset)
    tops = [body for world in root.findall("worldbody") for body in world.iter("body")]
    direct = [body for world in root.findall("worldbody") for body in _bodies(world)]
    free = [body for body in tops if _is_free(body)]
    if not tops:
        draft.refuse("the model has no bodies")
    body = max(free or direct, key=lambda each: sum(1 for _ in each.iter("joint")))
    _body(model, body, -1, "main", (np.zeros(3), rot.IDENTITY))


def _include(draft: Draft, element: Element, depth: int) -> None:
    """Replace include elements by the content of the files they name."""
    if depth > 8:
        draft.refuse("files include each other more than 8 deep")
    for child in list(element):
        if child.tag != "include":
            _include(draft, child, depth)
            continue
        place = list(element).index(child)
        element.remove(child)
        part = draft.parsed(draft.file(child.get("file", "")))
        _include(draft, part, depth + 1)
        for offset, inner in enumerate(part):
            element.insert(place + offset, inner)


def _defaults(model: _Model, element: Element, above: dict, *, top: bool = False) -> None:
    name = element.get("class") or "main"
    here = {tag: dict(values) for tag, values in above.items()}
    if top:
        here = {tag: dict(values) for tag, values in model.defaults["main"].items()}
    for child in element:
        if child.tag in _DEFAULTED:
            here.setdefault(child.tag, {}).update(child.attrib)
            if len(here[child.tag]) > _MOST_ATTRIBUTES:
                model.draft.refuse(f"a {child.tag} has more than {_MOST_ATTRIBUTES} attributes")
    model.defaults[name] = here
    if len(model.defaults) > _MOST_CLASSES:
        model.draft.refuse(f"the model has more than {_MOST_CLASSES} default classes")
    for child in element.findall("default"):
        _defaults(model, child, here)


def _assets(model: _Model, asset: Element) -> None:
    for material in asset.findall("material"):
        if (color := color_of(material.get("rgba"))) is not None:
            model.materials[material.get("name", "")] = color
    for mesh in asset.findall("mesh"):
        given = model.attributes(mesh, "main")
        if file := given.get("file"):
            path = model.draft.file(file, model.meshdir)
            scale = numbers(given.get("scale"), 3, "scale", model.draft)
            name = given.get("name") or Path(file.replace("\\", "/")).stem
            model.meshes[name] = (path, np.ones(3) if scale is None else scale)


def _bodies(element: Element) -> list[Element]:
    """Return the bodies directly below an element, also inside of frames."""
    bodies = []
    for child in element:
        if child.tag == "body":
            bodies.append(child)
        elif child.tag == "frame":
            bodies += _bodies(child)
    return bodies


def _is_free(body: Element) -> bool:
    return body.find("freejoint") is not None or any(
        joint.get("type") == "free" for joint in body.findall("joint")
    )


def _body(
    model: _Model, body: Element, parent: int, childclass: str, frame: tuple[Array, Array]
) -> None:
    draft = model.draft
    childclass = body.get("childclass") or childclass
    name = body.get("name") or f"body_{len(draft.names)}"
    position = numbers(body.get("pos"), 3, f"pos of body {name!r}", draft)
    position = np.zeros(3) if position is None else position
    turn = model.turn(dict(body.attrib))
    position = frame[0] + rot.rotate(frame[1], position)
    turn = rot.multiply(frame[1], turn)
    if parent < 0:  # the place of the floating base is part of each pose
        position, turn = np.zeros(3), rot.IDENTITY
    joints = [joint for joint in body.findall("joint") if joint.get("type") != "free"]
    node, anchor = _hinges(model, name, joints, parent, childclass, (position, turn))
    draft.bodies.append(node)
    _contents(model, body, node, childclass, (-anchor, rot.IDENTITY))


def _hinges(
    model: _Model,
    name: str,
    joints: list[Element],
    parent: int,
    childclass: str,
    frame: tuple[Array, Array],
) -> tuple[int, Array]:
    """Add the nodes of a body. Return the node with the body's frame, and a remaining offset."""
    draft = model.draft
    position, turn = frame
    hinges = []
    for joint in joints:
        given = model.attributes(joint, childclass)
        label = given.get("name") or f"{name}_joint"
        if given.get("type", "hinge") != "hinge":
            draft.immobile.append(label)
        elif parent < 0:
            draft.refuse(f"the base {name!r} has a hinge; a humanoid's base must float")
        else:
            hinges.append((label, given))
    if not hinges:
        node = draft.add_node(name, parent, to_y_up(position), quaternions_to_y_up(turn))
        return node, np.zeros(3)
    node, done = parent, np.zeros(3)
    for k, (label, given) in enumerate(hinges):
        axis = numbers(given.get("axis"), 3, f"axis of joint {label!r}", draft)
        axis = np.array([0.0, 0.0, 1.0]) if axis is None else axis
        length = float(np.linalg.norm(axis))
        if not length > 1e-9:
            draft.refuse(f"the axis of joint {label!r} must not be zero")
        anchor = numbers(given.get("pos"), 3, f"pos of joint {label!r}", draft)
        anchor = np.zeros(3) if anchor is None else anchor
        first = k == 0
        offset = position + rot.rotate(turn, anchor) if first else anchor - done
        last = k == len(hinges) - 1 and not anchor.any()
        node = draft.add_node(
            name if last else f"{name}_{label}",
            node,
            to_y_up(offset),
            quaternions_to_y_up(turn if first else rot.IDENTITY),
            to_y_up(axis / length),
        )
        done = anchor
        reference = model.angle(float(given.get("ref", "0") or 0.0))
        lower, upper = -np.inf, np.inf
        limits = numbers(given.get("range"), 2, f"range of joint {label!r}", draft)
        limited = given.get("limited", "auto")
        if limits is not None and (
            limited == "true" or (limited == "auto" and model.autolimits and limits.any())
        ):
            lower, upper = (model.angle(float(value)) for value in limits)
        if reference:
            draft.refuse(f"joint {label!r} has a ref angle, which is not supported")
        draft.add_hinge(label, node, lower, upper, np.inf)
    if done.any():
        node = draft.add_node(name, node, to_y_up(-done), quaternions_to_y_up(rot.IDENTITY))
    return node, np.zeros(3)


def _contents(
    model: _Model, element: Element, node: int, childclass: str, frame: tuple[Array, Array]
) -> None:
    for child in element:
        if child.tag == "geom":
            _geom(model, child, node, childclass, frame)
        elif child.tag == "body":
            _body(model, child, node, childclass, frame)
        elif child.tag == "frame":
            position = numbers(child.get("pos"), 3, "pos of a frame", model.draft)
            position = np.zeros(3) if position is None else position
            inner = (
                frame[0] + rot.rotate(frame[1], position),
                rot.multiply(frame[1], model.turn(dict(child.attrib))),
            )
            _contents(model, child, node, child.get("childclass") or childclass, inner)


def _geom(
    model: _Model, geom: Element, node: int, childclass: str, frame: tuple[Array, Array]
) -> None:
    draft = model.draft
    given = model.attributes(geom, childclass)
    mesh = given.get("mesh")
    kind = given.get("type", "mesh" if mesh else "sphere")
    if kind in _SKIPPED:
        return
    where = f"a geom of {draft.names[node]!r}"
    position = numbers(given.get("pos"), 3, f"pos of {where}", draft)
    position = np.zeros(3) if position is None else position
    turn = model.turn(given)
    size = [float(value) for value in _floats(given.get("size", ""), where, draft)]
    fromto = numbers(given.get("fromto"), 6, f"fromto of {where}", draft)
    if fromto is not None and kind != "mesh":
        line = fromto[3:] - fromto[:3]
        position, half = 0.5 * (fromto[:3] + fromto[3:]), 0.5 * float(np.linalg.norm(line))
        turn = rot.between(np.array([0.0, 0.0, 1.0]), line)
        if not size:
            draft.refuse(f"{where} has no size")
        size = [size[0], half] if kind != "box" else [size[0], size[-1], half]
    contype, affinity = given.get("contype", "1"), given.get("conaffinity", "1")
    collides = contype != "0" or affinity != "0"
    color = color_of(given.get("rgba")) if "rgba" in geom.attrib else None
    color = color or model.materials.get(given.get("material", "")) or color_of(given.get("rgba"))
    placed: dict[str, Any] = dict(
        visual=given.get("group", "0") in ("0", "1", "2"),
        collides=collides,
        color=color or _GRAY,
    )
    position = to_y_up(frame[0] + rot.rotate(frame[1], position))
    turn = quaternions_to_y_up(rot.multiply(frame[1], turn))
    if kind == "mesh":
        if mesh is None or mesh not in model.meshes:
            draft.refuse(f"{where} uses the mesh {mesh!r}, which the model does not list")
        draft.add_shape(node, "mesh", (), position, turn, mesh=model.meshes[mesh], **placed)
        return
    if kind not in _SIZES:
        draft.refuse(f"{where} has the unknown type {kind[:20]!r}")
    if len(size) < _SIZES[kind]:
        draft.refuse(f"size of {where} must be {_SIZES[kind]} numbers; got {len(size)}")
    size = size[: _SIZES[kind]]
    if kind in ("box", "ellipsoid"):
        kind, size = "box", [size[1], size[2], size[0]]
    draft.add_shape(node, kind, tuple(size), position, turn, **placed)


def _floats(text: str, where: str, draft: Draft) -> list[float]:
    try:
        return [float(word) for word in text.split()]
    except ValueError:
        draft.refuse(f"size of {where} must be numbers; got {text[:40]!r}")
