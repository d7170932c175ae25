"""Storage of parametric motions in a library, from which they are loaded without recomputation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motionloom.blending import Registration
from motionloom.blending.contact_matching import MatchedContacts
from motionloom.blending.examples import Example
from motionloom.blending.poses import ClipPoses
from motionloom.blending.registration_curve import RegistrationCurve
from motionloom.checked_arrays import check_offsets, check_shapes
from motionloom.configuration import is_trusted, trust
from motionloom.errors import InvalidInput, LibraryError
from motionloom.motion import Motion
from motionloom.motion.feet.contacts import FOOT_PARTS, FootContacts, Plant
from motionloom.motion.segment import positive_rate
from motionloom.parametric.parameter import Parameter, Scores, is_reference
from motionloom.parametric.parameter_space import ParameterSpace
from motionloom.parametric.parameter_text import as_parameters, parameter
from motionloom.parametric.parameters import own, scores
from motionloom.parametric.parametric_motion import ParametricMotion
from motionloom.store.records import skeleton_from, skeleton_json
from motionloom.store.store import Store

KIND = "parametric"
_CURVE = {"times": "times", "speeds": "speeds", "transforms": "grounds", "twists": "twists"}
_CONTACTS = ("parts", "lifts", "spans", "present", "heights", "floors")
_SPACE = ("examples", "parameters", "members", "weights")
_SHAPES: dict[str, tuple[str, tuple[str | int, ...]]] = {
    "clip_rotations": ("float", ("F", "J", 4)),
    "clip_root": ("float", ("F", 3)),
    "clip_starts": ("int", ("N+1",)),
    "curve_times": ("float", ("K", "N")),
    "curve_speeds": ("float", ("K", "N")),
    "curve_grounds": ("float", ("K", "N", 3)),
    "curve_twists": ("float", ("K-1", "N", 3)),
    "contact_parts": ("int", ("M",)),
    "contact_lifts": ("bool", ("M",)),
    "contact_spans": ("float", ("M", "N", 2)),
    "contact_present": ("bool", ("M", "N")),
    "contact_heights": ("float", ("M", "N")),
    "contact_floors": ("float", ("N",)),
    "space_examples": ("float", ("N", "d")),
    "space_parameters": ("float", ("S", "d")),
    "space_members": ("int", ("S", "m")),
    "space_weights": ("float", ("S", "m")),
}


def save_parametric(library: Store, motion: ParametricMotion, name: str) -> None:
    """Save a parametric motion in a library, replacing an existing one with the same name.

    Examples
    --------
    >>> import tempfile, motionloom as ml
    >>> from motionloom.blending import register
    >>> from motionloom.parametric.parametric_motion import parametrize
    >>> from motionloom.parametric.settings import ParametrizeSettings
    >>> folder = tempfile.TemporaryDirectory()
    >>> lib = ml.Library.create(f"{folder.name}/takes.loom")
    >>> sits = register([ml.demo.clip("sit_stand"), ml.demo.clip("sit_stand_low")])
    >>> few = ParametrizeSettings(samples=5)
    >>> save_parametric(lib.store, parametrize(sits, "lowest(hips)", few), "sit")
    >>> open_parametric(lib.store, "sit").axes
    ('y',)
    """
    registration, space = motion.registration, motion.space
    for entry in motion.parameters:
        if entry.reference:
            trust(function_key(entry.reference))  # the user has just chosen it
    about = {
        "parameters": [_parameter_about(entry) for entry in motion.parameters],
        "delta": space.delta,
        "tried": space.tried,
        "shortfall": space.shortfall,
        "whole_frames": motion.whole_frames,
        "lock_feet": motion.lock_feet,
        "fps": registration.fps,
        "skeleton": json.loads(skeleton_json(registration.skeleton)),
        "parents": list(registration.parents),
        "left_out": list(registration.left_out),
        "unclear": list(registration.unclear),
        "examples": [_example_about(example) for example in registration.examples],
    }
    clips = registration.clips
    arrays = {
        "clip_rotations": clips.rotations,
        "clip_root": clips.root,
        "clip_starts": clips.offsets,
        **{f"curve_{key}": getattr(registration.curve, name) for name, key in _CURVE.items()},
        **{f"contact_{key}": getattr(registration.contacts, key) for key in _CONTACTS},
        **{f"space_{key}": getattr(space, key) for key in _SPACE},
    }
    with library.change(f"save parametric motion {name}"):
        library.artifacts.save(KIND, name, about, arrays)


def open_parametric(library: Store, name: str, *, by: Any = None) -> ParametricMotion:
    """Load a parametric motion from a library.

    Parameters
    ----------
    library : Store
    name : str
    by : optional
        The motion's parameters. They are needed only if they are custom functions that cannot be
        imported from the module that defines them.

    Raises
    ------
    LibraryError
        If the library has no parametric motion with this name, or its file is damaged.
    InvalidInput
        If a parameter is a function that cannot be imported and is not in `by`.
    """
    stored = library.artifacts.load(KIND, name)
    about, arrays = stored.about, stored.arrays
    try:
        skeleton = skeleton_from(json.dumps(about["skeleton"]))
        if skeleton is None:
            raise KeyError("skeleton")
        _check_arrays(arrays, len(skeleton), len(about["examples"]), about["parameters"])
        clips = ClipPoses(
            skeleton, positive_rate(about["fps"]),
            *(arrays[f"clip_{key}"] for key in ("rotations", "root", "starts")),
        )  # fmt: skip
        registration = Registration(
            tuple(_example(clips, n, row) for n, row in enumerate(about["examples"])),
            tuple(about["parents"]),
            RegistrationCurve(*(arrays[f"curve_{key}"] for key in _CURVE.values())),
            clips,
            MatchedContacts(*(arrays[f"contact_{key}"] for key in _CONTACTS)),
            tuple(about["left_out"]),
            tuple(about["unclear"]),
        )
        samples = {key: arrays[f"space_{key}"] for key in _SPACE}
        space = ParameterSpace(
            **samples,
            delta=float(about["delta"]),
            tried=int(about["tried"]),
            shortfall=str(about["shortfall"]),
        )
        saved = [_checked_parameter(row) for row in about["parameters"]]
    except (AttributeError, LookupError, TypeError, ValueError, OverflowError) as error:
        raise LibraryError(
            f"{library.path}: the parametric motion {name!r} is damaged: {error}"
        ) from None
    parameters = _parameters(saved, by, registration, name)
    rules = {key: bool(about.get(key, True)) for key in ("whole_frames", "lock_feet")}
    return ParametricMotion(registration, parameters, space, name=name, **rules)


def _check_arrays(
    arrays: Mapping[str, NDArray[Any]], joints: int, count: int, parameters: Sequence[dict]
) -> None:
    """Raise `LibraryError` if the arrays are inconsistent, because kernels do not check them."""
    width = sum(len(row["axes"]) for row in parameters)
    size = check_shapes(arrays, _SHAPES, J=joints, N=count, d=width)
    check_offsets(arrays["clip_starts"], size["F"], "clip_starts")
    lengths = np.diff(arrays["clip_starts"])
    times, parts, members = (
        arrays[f"{key}"] for key in ("curve_times", "contact_parts", "space_members")
    )
    if count < 1 or size["K"] < 2 or lengths.min() < 1:
        raise LibraryError("it has no examples")
    outside = (times < -1e-6) | (times > lengths - 1 + 1e-6)
    if outside.any() or (np.diff(times, axis=0) < 0).any():
        raise LibraryError("its registration curve refers to frames outside the examples")
    if parts.size and not 0 <= parts.min() <= parts.max() < len(FOOT_PARTS):
        raise LibraryError("it has contacts of unknown foot parts")
    if members.size and not 0 <= members.min() <= members.max() < count:
        raise LibraryError("its samples refer to missing examples")


def _checked_parameter(row: dict[str, Any]) -> dict[str, Any]:
    """Return a stored parameter; raise `ValueError` or `TypeError` if it is malformed."""
    values = row.get("scores", {})
    texts = [row["text"], row.get("reference", ""), *row["axes"], *values]
    if not all(isinstance(text, str) for text in texts) or not isinstance(row["ready"], bool):
        raise ValueError(f"malformed parameter {row}")
    for numbers in values.values():
        if len(numbers) != len(row["axes"]) or not np.isfinite(np.array(numbers, float)).all():
            raise ValueError(f"malformed scores {numbers}")
    return row


def parametric_names(library: Store) -> tuple[str, ...]:
    """Return the sorted names of all parametric motions in a library."""
    return library.artifacts.names(KIND)


def function_key(reference: str) -> str:
    """Return the key under which a function is trusted (see `motionloom.configuration`)."""
    return f"function {reference}"


def named_functions(library: Store) -> list[str]:
    """Return references to the functions that the library's parametric motions call."""
    references = set()
    for name in library.artifacts.names(KIND):
        for row in library.artifacts.about(KIND, name).get("parameters", ()):
            if isinstance(row, dict) and is_reference(str(row.get("reference", ""))):
                references.add(str(row["reference"]))
    return sorted(references)


def _parameters(
    saved: Sequence[dict[str, Any]], by: Any, registration: Registration, name: str
) -> tuple[Parameter, ...]:
    if by is not None:
        given = as_parameters(by, registration.placed(0))
        want = [len(row["axes"]) for row in saved]
        if [len(entry) for entry in given] != want:
            raise InvalidInput(
                f"the parameters of {name} are {', '.join(row['text'] for row in saved)}, so the "
                f"parameters in by must return {want} numbers; got "
                f"{[len(entry) for entry in given]}"
            )
        return given
    return tuple(_parameter(row, registration, name) for row in saved)


def _parameter(row: dict[str, Any], registration: Registration, name: str) -> Parameter:
    if row["ready"]:
        measured = parameter(row["text"])
        if len(measured) != len(row["axes"]):
            raise LibraryError(
                f"the parametric motion {name!r} is damaged: malformed parameter {row}"
            )
        return measured
    if "scores" in row:
        values = {key: tuple(numbers) for key, numbers in row["scores"].items()}
        return scores(Scores(row["text"], tuple(row["axes"]), values))
    reference = row.get("reference", "")
    if not reference:
        raise InvalidInput(
            f"{name} uses the function {row['text']} as a parameter. The library could not save "
            "it, because it cannot be imported from a module. Pass the function as by="
        )
    if not is_trusted(function_key(reference)):
        raise InvalidInput(
            f"{name} uses the function {reference} as the parameter {row['text']}. Loading it "
            "would import and call that function, which is not trusted on this machine. If you "
            "trust it, run motionloom trust LIB, or pass the function as by="
        )
    try:
        measured = own(reference, registration.placed(0))
    except InvalidInput as error:
        raise InvalidInput(
            f"{name} uses the function {row['text']} as a parameter, but this function no longer "
            f"works: {error}. Pass the function as by="
        ) from error
    if len(measured) != len(row["axes"]):
        raise InvalidInput(
            f"{name} expects {len(row['axes'])} numbers from the parameter {row['text']}, but "
            f"{reference} returns {len(measured)}"
        )
    return measured


def _parameter_about(entry: Parameter) -> dict[str, Any]:
    about: dict[str, Any] = {
        "text": entry.text,
        "axes": list(entry.axes),
        "ready": entry.ready,
    }
    if entry.reference:
        about["reference"] = entry.reference
    if entry.scores is not None:
        about["scores"] = {key: list(row) for key, row in entry.scores.values.items()}
    return about


def _example_about(example: Example) -> dict[str, Any]:
    contacts = example.contacts
    return {
        "source": example.source,
        "start_frame": example.start_frame,
        "end_frame": example.end_frame,
        "floor": contacts.floor,
        "plants": {part: [asdict(p) for p in plants] for part, plants in contacts.plants.items()},
    }


def _example(clips: ClipPoses, number: int, row: dict[str, Any]) -> Example:
    rows = slice(*(int(k) for k in clips.offsets[number : number + 2]))
    motion = Motion(
        clips.skeleton, clips.rotations[rows], clips.root[rows], clips.fps, name=row["source"]
    )
    plants = {part: tuple(Plant(**p) for p in rows) for part, rows in row["plants"].items()}
    contacts = FootContacts(plants, row["floor"], len(motion), clips.fps)
    return Example(motion, contacts, row["source"], row["start_frame"], row["end_frame"])
