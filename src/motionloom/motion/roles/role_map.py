"""Role maps: files in which a user assigns roles to joints.

JSON or TOML, one line per role::

    # roles.toml
    left_hip = "Oberschenkel_links"
    head_top = ""          # no joint

Roles in the file override those found by name; other roles stay as they are. An empty name (or
``null`` in JSON) removes a role.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from motionloom.checked_files import parse_json, parse_toml, read_regular_text
from motionloom.errors import MotionFormatError, RoleError

if TYPE_CHECKING:
    from motionloom.motion.roles.assignment import RoleAssignment


def load_role_map(path: str | Path) -> dict[str, str | None]:
    """Read a mapping file, ``.json`` or ``.toml``.

    Returns
    -------
    role_map : dict of str to str or None
        Role to point name; None removes the role. For `Skeleton.with_roles`.

    Raises
    ------
    MotionFormatError
        If the file is missing, cannot be parsed or names a role that does not exist.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = save_role_map({"hips": "Becken"}, f"{folder}/roles.json")
    ...     load_role_map(file)
    {'hips': 'Becken'}
    """
    path = Path(path)
    try:
        text = read_regular_text(path, encoding="utf-8-sig")
    except OSError as error:
        reason = error.strerror or "cannot be read"
        raise MotionFormatError(f"cannot read the role map: {reason}", path=path) from None
    except UnicodeDecodeError:
        raise MotionFormatError("a role map must be text in UTF-8", path=path) from None
    entries = _parsed(text, path)
    if not isinstance(entries, dict):
        raise MotionFormatError(
            'a role map must be an object such as {"hips": "Hips"}; '
            f"got {type(entries).__name__}",
            path=path,
        )
    entries = entries["roles"] if isinstance(entries.get("roles"), dict) else entries
    return {role: _entry(role, name, path) for role, name in entries.items()}


def save_role_map(roles: RoleAssignment | Mapping[str, str | None], path: str | Path) -> Path:
    """Write roles to a ``.json`` or ``.toml`` file, atomically; returns the path.

    Parameters
    ----------
    roles : RoleAssignment or mapping of role to point name
        For example ``skeleton.role_assignment``, whose missing roles are written with empty
        names, to be filled in.
    path : str or Path
    """
    path = Path(path)
    entries: dict[str, str | None]
    if isinstance(roles, Mapping):
        entries = dict(roles)
    else:
        entries = {**roles.roles, **dict.fromkeys(roles.missing, "")}
    if _is_toml(path):
        lines = [
            f"{role} = {json.dumps(name or '', ensure_ascii=False)}\n"
            for role, name in entries.items()
        ]
        text = "".join(lines)
    else:
        text = json.dumps(entries, indent=2, ensure_ascii=False) + "\n"
    from motionloom.atomic_write import atomic_write

    with atomic_write(path) as scratch:
        scratch.write_text(text, encoding="utf-8")
    return path


def apply_role_map(
    assignment: RoleAssignment, role_map: Mapping[str, str | None]
) -> RoleAssignment:
    """`assignment` overridden by the roles of the user.

    Raises
    ------
    RoleError
        If the mapping names a role or a point that does not exist.
    """
    from motionloom.motion.roles.assignment import ROLES, RoleAssignment, unknown_role

    given: dict[str, str] = {}
    for role, name in role_map.items():
        if role not in ROLES:
            raise RoleError(unknown_role(role))
        if not name:
            continue
        if name not in assignment.point_names:
            raise RoleError(_unknown_point(role, name, assignment.point_names))
        given[role] = name
    found = {role: name for role, name in assignment.roles.items() if role not in role_map}
    roles = {role: {**found, **given}[role] for role in ROLES if role in found or role in given}
    return RoleAssignment(
        roles,
        "map" if not found else f"{assignment.scheme} + map",
        {role: 1.0 if role in given else assignment.confidence[role] for role in roles},
        assignment.point_names,
    )


def _is_toml(path: Path) -> bool:
    if path.suffix.lower() not in (".json", ".toml"):
        raise MotionFormatError("a role map must end in .json or .toml", path=path)
    return path.suffix.lower() == ".toml"


def _parsed(text: str, path: Path):
    try:
        return parse_toml(text) if _is_toml(path) else parse_json(text)
    except json.JSONDecodeError as error:
        raise MotionFormatError(error.msg, path=path, line=error.lineno) from None
    except ValueError as error:  # of TOML, or numbers that are too large
        place = re.search(r"\(at line (\d+)", str(error))
        line = int(place[1]) if place else None
        raise MotionFormatError(str(error), path=path, line=line) from None


def _entry(role: str, name: object, path: Path) -> str | None:
    from motionloom.motion.roles.assignment import ROLES, unknown_role

    if role not in ROLES:
        raise MotionFormatError(unknown_role(role), path=path)
    if name is not None and not isinstance(name, str):
        raise MotionFormatError(f"{role} must be a joint's name; got {name!r}", path=path)
    return name or None


def _unknown_point(role: str, name: str, points: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(name, points, n=3, cutoff=0.5)
    if not near:
        lower = name.lower()
        near = [point for point in points if lower in point.lower()][:3]
    if near:
        return (
            f"{role} is mapped to {name!r}, which is not in the skeleton; near: {', '.join(near)}"
        )
    shown = ", ".join(points[:40]) + (f" and {len(points) - 40} more" if len(points) > 40 else "")
    return f"{role} is mapped to {name!r}, which is not in the skeleton; it has: {shown}"
