"""Xsens files (``.mvnx``): XML with the orientation and position of every body segment.

Each frame lists the orientations (``wxyz``) and positions of all segments in world axes: meters, z
up, x forward. The joints of the file say which segments are connected. Its points give the ends of
segments without a child, such as the top of the head. In the identity pose, a T-pose, all segments
have the identity rotation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import Any, NoReturn
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from motionloom.errors import MotionFormatError
from motionloom.formats.conventions import (
    file_bytes,
    nominal_rate,
    scaled_to_meters,
    started,
    to_y_up,
    unique_names,
    with_user_roles,
)
from motionloom.formats.inference import Unit, unit_from
from motionloom.formats.scene_nodes import NodeTrajectory, motion_from_nodes
from motionloom.formats.takes import FileTake, check_takes, choices, named_takes
from motionloom.motion import Motion
from motionloom.motion.rotations import quaternions as rot

_MOST_SEGMENTS = 1_000
_DEEPEST, _MOST_PARTS = 100, 10_000  # levels of elements, and elements in one that is read
_READ = ("frame", "segment", "joint")  # elements whose children are read
# The order and the parents of segments in files that do not list their joints.
_PARENTS = {
    "L5": "Pelvis", "L3": "L5", "T12": "L3", "T8": "T12", "Neck": "T8", "Head": "Neck",
    **{f"{side}{part}": parent.format(side) for side in ("Right", "Left") for part, parent in (
        ("Shoulder", "T8"), ("UpperArm", "{}Shoulder"), ("ForeArm", "{}UpperArm"),
        ("Hand", "{}ForeArm"), ("UpperLeg", "Pelvis"), ("LowerLeg", "{}UpperLeg"),
        ("Foot", "{}LowerLeg"), ("Toe", "{}Foot"))},
}  # fmt: skip
_STILL = 1e-3  # meters; offsets that change less are constant


@dataclass
class _Subject:
    """One person: segments with their points, connections, and frames as text."""

    label: str = ""
    rate: str = ""
    segments: list[str] = field(default_factory=list)
    points: list[list[NDArray[np.float64]]] = field(default_factory=list)
    joints: list[tuple[str, str]] = field(default_factory=list)  # segments: parent, child
    orientations: list[str] = field(default_factory=list)
    positions: list[str] = field(default_factory=list)


def read(
    path: str | Path,
    *,
    skeleton: str | int | None = None,
    fps: float | None = None,
    unit: str | float | None = None,
    up: str | None = None,
    roles: str | Path | Mapping[str, str] | None = None,
    strict: bool = False,
) -> Motion:
    """Read one motion from an Xsens file; see `motionloom.load` for the options.

    `skeleton` is the label or number of a subject. The default is the first.
    """
    subjects = _subjects(Path(path))
    return _read(
        Path(path), subjects, skeleton, fps=fps, unit=unit, up=up, roles=roles, strict=strict
    )


def _read(
    path: Path,
    subjects: list[_Subject],
    skeleton: str | int | None,
    *,
    fps: float | None = None,
    unit: str | float | None = None,
    up: str | None = None,
    roles: str | Path | Mapping[str, str] | None = None,
    strict: bool = False,
) -> Motion:
    repairs = started(path, up=up, fps=fps, strict=strict)
    warnings = []
    if skeleton is None and len(subjects) > 1:
        warnings.append(
            f"the first of {len(subjects)} subjects was read. Choose one with the option skeleton"
        )
    subject = _chosen(subjects, skeleton, path)
    motion = _motion(subject, _rate(subject, fps, path), path)
    motion = replace(motion, skeleton=with_user_roles(motion.skeleton, roles))
    meters = 1.0 if unit is None else unit_from(unit)
    motion = scaled_to_meters(to_y_up(motion, up or "z"), meters)
    scale = Unit(meters, "Xsens files are in meters" if unit is None else "given")
    origin = repairs.origin(
        "mvnx", scale, up=up or "z", frame_time=1.0 / motion.fps, warnings=warnings
    )
    return replace(motion, name=path.stem, origin=origin)


def takes(path: str | Path) -> list[FileTake]:
    """List the subjects of an Xsens file."""
    return _takes(_subjects(Path(path)))


def read_takes(
    path: str | Path, **options: Any
) -> Iterator[tuple[FileTake, Motion | MotionFormatError]]:
    """Read all subjects of an Xsens file, which is parsed once."""
    path = Path(path)
    subjects = _subjects(path)
    for take in _takes(subjects):
        try:
            yield take, _read(path, subjects, take.skeleton, **options)
        except MotionFormatError as error:
            if len(subjects) == 1:
                raise
            yield take, error


def _takes(subjects: list[_Subject]) -> list[FileTake]:
    names = [subject.label for subject in subjects]
    which = choices(names) if len(names) > 1 else [None]
    listed = [
        FileTake(skeleton=each, joints=len(subject.segments))
        for each, subject in zip(which, subjects, strict=True)
    ]
    return named_takes(listed, [""] * len(names), names)


def _subjects(path: Path) -> list[_Subject]:
    data = file_bytes(path, "an Xsens file")
    # Entities can make a small file large. In UTF-16, they could hide from this search.
    if b"<!ENTITY" in data or b"\x00" in data:
        raise MotionFormatError("XML with entities or in UTF-16 is not read", path=path)
    subjects: list[_Subject] = []
    try:
        for element, name in _elements(data):
            if name == "subject#start":
                check_takes(len(subjects) + 1, path)
                subjects.append(_Subject(element.get("label", ""), element.get("frameRate", "")))
            elif subjects:
                _add(subjects[-1], element, name, path)
    except ElementTree.ParseError as error:
        raise MotionFormatError(f"the XML cannot be read ({error})", path=path) from None
    subjects = [subject for subject in subjects if subject.orientations]
    if not subjects:
        raise MotionFormatError(
            "the file contains no frames with the orientations of segments", path=path
        )
    return subjects


def _elements(data: bytes) -> Iterator[tuple[ElementTree.Element, str]]:
    """Yield elements and their names without namespace, and remove those that were read."""
    above: list[ElementTree.Element] = []
    inside = 0  # elements above that are read as a whole
    for event, element in ElementTree.iterparse(BytesIO(data), events=("start", "end")):
        name = element.tag.rpartition("}")[2]
        if event == "start":
            if len(above) > _DEEPEST or (above and len(above[-1]) > _MOST_PARTS):
                raise ElementTree.ParseError("its elements have too many levels or parts")
            above.append(element)
            inside += name in _READ
            if name == "subject":
                yield element, "subject#start"
            continue
        above.pop()
        inside -= name in _READ
        yield element, name
        if above and not inside:
            above[-1].remove(element)  # otherwise millions of elements would stay in memory


def _add(subject: _Subject, element: ElementTree.Element, name: str, path: Path) -> None:
    """Add a segment, joint or frame to a subject."""
    if name == "segment":
        if len(subject.segments) >= _MOST_SEGMENTS:
            raise MotionFormatError(f"there are more than {_MOST_SEGMENTS} segments", path=path)
        subject.segments.append(element.get("label") or f"segment_{len(subject.segments) + 1}")
        texts = [each.text or "" for each in element.iter() if each.tag.endswith("pos_b")]
        subject.points.append([_numbers(text, 3, "a point", path)[0] for text in texts])
    elif name == "joint":
        ends = {each.tag.rpartition("}")[2]: (each.text or "") for each in element}
        pair = [ends.get(f"connector{k}", "").partition("/")[0].strip() for k in (1, 2)]
        subject.joints.append((pair[0], pair[1]))
    elif name == "frame" and element.get("type", "normal") == "normal":
        parts = {each.tag.rpartition("}")[2]: (each.text or "") for each in element}
        if "orientation" in parts:
            subject.orientations.append(parts["orientation"])
            subject.positions.append(parts.get("position", ""))


def _chosen(subjects: list[_Subject], wanted: str | int | None, path: Path) -> _Subject:
    labels = [subject.label for subject in subjects]
    if wanted is None:
        return subjects[0]
    number = labels.index(str(wanted)) if str(wanted) in labels else -1
    if number < 0 and str(wanted).isdecimal():
        number = int(wanted)
    if not 0 <= number < len(subjects):
        raise MotionFormatError(
            f"no subject is called {wanted!r}. Subjects in the file: {', '.join(labels)}", path=path
        )
    return subjects[number]


def _rate(subject: _Subject, fps: float | None, path: Path) -> float:
    if fps is not None:
        return float(fps)
    try:
        rate = float(subject.rate)
    except ValueError:
        rate = 0.0
    if not 1e-3 <= rate <= 1e6:
        raise MotionFormatError(
            f"frameRate must be a positive number, found {subject.rate[:20]!r}; set the rate with "
            "fps",
            path=path,
        )
    return nominal_rate(rate)


def _motion(subject: _Subject, fps: float, path: Path) -> Motion:
    def refuse(problem: str) -> NoReturn:
        raise MotionFormatError(problem, path=path)

    if not subject.segments:
        refuse("the file lists no segments")
    turns = _rows(subject.orientations, 4, "orientation", refuse)
    count = turns.shape[1]
    if count > len(subject.segments):
        refuse(f"frames have {count} orientations for {len(subject.segments)} segments")
    names = unique_names(subject.segments)[:count]
    lengths = np.linalg.norm(turns, axis=-1, keepdims=True)
    if np.any(lengths < 0.5):
        refuse("an orientation is not a unit quaternion")
    turns = turns / lengths
    parents = _parents(names, subject.joints, refuse)
    points = [subject.points[k] for k in range(count)]
    if all(text.split() for text in subject.positions):
        places = _rows(subject.positions, 3, "position", refuse)
        if places.shape[1] != count:
            refuse(f"frames have {places.shape[1]} positions for {count} segments")
    else:
        refuse("frames have no positions of segments; export the file with positions")
    order = _parents_first(parents, refuse)
    rank = {segment: number for number, segment in enumerate(order)}
    nodes = []
    for k in order:
        step, turn = places[:, k], turns[:, k]
        if parents[k] >= 0:
            back = rot.inverse(turns[:, parents[k]])
            step = rot.rotate(back, step - places[:, parents[k]])
            turn = rot.multiply(back, turn)
        if parents[k] >= 0 and np.ptp(step, axis=0).max() < _STILL:
            step = np.median(step, axis=0)[None]  # rounded to micrometers in every frame
        nodes.append(NodeTrajectory(step, turn, np.ones(len(step)), rot.IDENTITY))
    leaves = [k for k in order if k not in parents and points[k]]
    tips = [max(points[k], key=lambda point: float(np.linalg.norm(point))) for k in leaves]
    ends = [(k, tip) for k, tip in zip(leaves, tips, strict=True) if np.linalg.norm(tip) > 1e-3]
    return motion_from_nodes(
        [],
        nodes,
        names=[names[k] for k in order],
        parents=[-1, *(rank[parents[k]] for k in order[1:])],
        end_names=unique_names([f"{names[k]}_end" for k, _ in ends], taken=names),
        end_parents=[rank[k] for k, _ in ends],
        end_offsets=[tip for _, tip in ends],
        frames=len(turns),
        fps=fps,
        refuse=refuse,
    )


def _parents(names: list[str], joints: list[tuple[str, str]], refuse) -> list[int]:
    """Return the parent of each segment, from the joints of the file or by the usual names."""
    above = {child: parent for parent, child in joints if parent and child}
    parents = []
    for number, name in enumerate(names):
        parent = above.get(name) or _PARENTS.get(name)
        if parent is not None and parent not in names:
            refuse(f"the segment {name!r} is connected to {parent!r}, which has no data")
        parents.append(-1 if parent is None else names.index(parent))
        if parents[-1] == number:
            refuse(f"the segment {name!r} is connected to itself")
    if parents.count(-1) != 1:
        loose = [name for name, parent in zip(names, parents, strict=True) if parent < 0]
        refuse(f"segments must have one root; these have no parent: {', '.join(loose[:8])}")
    return parents


def _parents_first(parents: list[int], refuse) -> list[int]:
    """Return the segments with parents first, in the order of the file if possible."""
    if all(parent < segment for segment, parent in enumerate(parents)):
        return list(range(len(parents)))
    order = [parents.index(-1)]
    for segment in order:
        order += [child for child, parent in enumerate(parents) if parent == segment]
    if len(order) < len(parents):
        refuse("segments are connected in a circle")
    return order


def _rows(texts: list[str], width: int, what: str, refuse) -> NDArray[np.float64]:
    """Return the numbers of all frames, shape (T, N, width)."""
    try:
        rows = [np.array(text.split(), np.float64) for text in texts]
    except ValueError:
        refuse(f"an {what} of a frame is not a list of numbers")
    sizes = {len(row) for row in rows}
    size = sizes.pop()
    if sizes or not size or size % width:
        refuse(f"every frame must have the same number of values in {what}, a multiple of {width}")
    table = np.stack(rows).reshape(len(rows), -1, width)
    if not np.all(np.abs(table) < 1e6):
        refuse(f"an {what} of a frame is not finite")
    return table


def _numbers(text: str, width: int, what: str, path: Path) -> NDArray[np.float64]:
    def refuse(problem: str) -> NoReturn:
        raise MotionFormatError(problem, path=path)

    return _rows([text], width, what, refuse)[0]
