"""Joint roles: what a joint is, whatever its file calls it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from motionloom.errors import RoleError

if TYPE_CHECKING:
    from motionloom.motion.skeleton import Skeleton

_LIMBS = ("collar", "shoulder", "elbow", "wrist", "hand", "hip", "knee", "ankle", "foot", "toe")
ROLES: tuple[str, ...] = (
    "hips", "spine", "chest", "neck", "head", "head_top",
    *(f"{side}_{limb}" for side in ("left", "right") for limb in _LIMBS),
)  # fmt: skip


@dataclass(frozen=True)
class RoleAssignment:
    """Roles of a skeleton's points, and how they were found."""

    roles: dict[str, str]
    scheme: str = "none"
    confidence: Mapping[str, float] = field(default_factory=dict)
    point_names: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """Roles that no point plays."""
        return tuple(role for role in ROLES if role not in self.roles)

    def require(self, roles: Sequence[str]) -> None:
        """Raise `RoleError` unless all `roles` are there."""
        absent = [role for role in roles if role not in self.roles]
        if absent:
            raise RoleError(f"no joint plays {', '.join(absent)}")


def assign_roles(skeleton: Skeleton) -> RoleAssignment:
    """Roles of a skeleton's joints and end sites."""
    return RoleAssignment({}, point_names=skeleton.point_names)
