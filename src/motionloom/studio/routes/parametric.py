"""Parametric motions: made of a family, kept by name, asked for by what they should do."""

from __future__ import annotations

import threading
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from motionloom.errors import InvalidInput
from motionloom.search.query import library_query
from motionloom.studio.app_state import Workshop
from motionloom.studio.dependencies import Shop, Suffix, arrays, file_answer
from motionloom.studio.jobs import Job
from motionloom.studio.motion_response import bones
from motionloom.studio.search_settings import family_of

if TYPE_CHECKING:
    from motionloom.parametric.parametric_motion import ParametricMotion, SynthesisResult
    from motionloom.search import Family

router = APIRouter(prefix="/parametric", tags=["parametric"])


class Examples(BaseModel):
    """What a parametric motion is made of: one of `family`, `query` and `takes`."""

    family: str | None = Field(None, description="Id of a family that was grown here.")
    query: str | None = Field(None, description="NAME:START-END, whose family is searched.")
    takes: str | None = Field(None, description="A name; all takes `within` are used whole.")
    within: list[str] = Field([], description="Labels.")
    method: str = "dtw"
    max_distance: float | None = Field(None, gt=0.0)
    max: int = Field(100, ge=1, le=1000)


class Making(Examples):
    """A parametric motion to be made."""

    name: str = Field(description="Kept under this name, instead of what was.")
    by: list[str] = Field(min_length=1, description="right_ankle@33, turn, ...")
    samples: int = Field(1000, ge=0, le=20_000)
    delta: float = Field(0.1, ge=0.0, le=1.0)
    redundant: float | None = Field(None, gt=0.0)
    leave_out_unmatched: bool = True
    seed: int = Field(0, ge=0)


class Wanted(BaseModel):
    """A target, and the file that is wanted."""

    target: list[float]
    suffix: Suffix = "bvh"


@dataclass
class Reachable:
    """A parametric motion that several windows ask, one at a time: its feet remember."""

    motion: ParametricMotion
    lock: threading.Lock = field(default_factory=threading.Lock)

    def reach(self, target: list[float]) -> SynthesisResult:
        """As `ParametricMotion.reach`."""
        with self.lock:
            return self.motion.reach(target)


@router.get("/kinds")
def kinds() -> list[dict[str, Any]]:
    """What a motion can be asked by, as a menu: name, words, whether it has joint and frame."""
    from motionloom.parametric.parameters import parameter_kinds

    return [asdict(kind) for kind in parameter_kinds()]


@router.get("")
def kept(shop: Shop) -> list[dict[str, Any]]:
    """The parametric motions that the library keeps: name, by, examples."""
    from motionloom.parametric.artifact import KIND

    found = []
    for name in shop.library.artifacts.names(KIND):
        facts = shop.library.artifacts.about(KIND, name)
        asked = [one["text"] for one in facts["parameters"]]
        found.append({"name": name, "by": asked, "examples": len(facts["examples"])})
    return found


@router.post("")
def make(making: Making, shop: Shop) -> dict[str, Any]:
    """Begin to make one; the job's result is its name and how many examples it has."""
    chosen = [one for one in (making.family, making.query, making.takes) if one]
    if len(chosen) != 1:
        raise InvalidInput("a parametric motion is made of a family, a query or takes; say one")

    def work(job: Job) -> dict[str, Any]:
        members = _members(making, shop)
        job.total, job.title = making.samples, f"sampling blends for {making.name}"
        made = shop.library.parametrize(
            members,
            list(making.by),
            samples=making.samples,
            delta=making.delta,
            redundant=making.redundant,
            leave_out_unmatched=making.leave_out_unmatched,
            seed=making.seed,
            name=making.name,
            progress=job.advance,
        )
        shop.rekept(("parametric", making.name))
        return {
            "name": making.name,
            "examples": len(made.examples),
            "left_out": list(made.registration.left_out),
        }

    title = "finding everything that is like it" if making.query else "registering the examples"
    return shop.jobs.start(title, work).told()


@router.get("/{name}", response_class=Response)
def opened(name: str, shop: Shop) -> Response:
    """One that is kept: its body, ``accessible`` (S, d) and ``examples`` (N, d)."""
    motion = reachable(shop, name).motion
    meta = {
        "name": name,
        "by": [one.text for one in motion.parameters],
        "axes": list(motion.axes),
        "numbers": [len(one) for one in motion.parameters],
        "frames": [one.frame for one in motion.parameters],
        "examples": list(motion.examples),
        "left_out": list(motion.registration.left_out),
        "fps": motion.registration.fps,
        **bones(motion.registration.skeleton),
    }
    return arrays(meta, accessible=motion.accessible, examples=motion.space.examples)


@router.delete("/{name}")
def dropped(name: str, shop: Shop) -> dict[str, Any]:
    """Keep one no longer."""
    from motionloom.parametric.artifact import KIND

    reachable(shop, name)  # complains if there is none
    shop.library.artifacts.delete(KIND, name)
    shop.rekept(("parametric", name))
    return {"name": name}


@router.post("/{name}/file", response_class=Response)
def save(name: str, wanted: Wanted, shop: Shop) -> Response:
    """The motion for a target as a file."""
    found = reachable(shop, name).reach(wanted.target)
    return file_answer(found.motion, wanted.suffix)


def reachable(shop: Workshop, name: str) -> Reachable:
    """A kept parametric motion, opened once for all windows."""
    return shop.once(("parametric", name), lambda: Reachable(shop.library.parametric(name)))


def _members(examples: Examples, shop: Workshop) -> Family | list[str]:
    from motionloom.search.filters import whole_takes

    within = examples.within or None
    if examples.takes:
        return whole_takes(shop.library, examples.takes, label=within)
    if examples.family:
        return family_of(shop, examples.family)
    assert examples.query is not None
    return shop.library.family(
        library_query(shop.library, examples.query),  # a name of the library, never a file
        method=examples.method,
        max_distance=examples.max_distance,
        max=examples.max,
        label=within,
    )
