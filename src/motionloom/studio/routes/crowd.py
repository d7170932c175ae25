"""Crowds: couples in a ballroom, soldiers on a street, everybody on the stage at once."""

from __future__ import annotations

import hashlib
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from motionloom.errors import InvalidInput
from motionloom.studio.app_state import Workshop
from motionloom.studio.dependencies import Shop, arrays, scene_answer, sound_of
from motionloom.studio.jobs import Job
from motionloom.studio.motion_response import troupe

if TYPE_CHECKING:
    from motionloom.crowd.player import CrowdMotion
    from motionloom.crowd.settings import BallroomSettings, MarchSettings
    from motionloom.library import Library

router = APIRouter(prefix="/crowds", tags=["crowds"])

_MOST = 150_000  # frames of all characters together: 50 MB for the page


class Crowd(BaseModel):
    """Who moves where; the same settings as ``motionloom ballroom`` and ``motionloom march``."""

    kind: Literal["ballroom", "march"] = "ballroom"
    couples: int = Field(20, ge=1, le=200)
    width: float = Field(14.0, gt=0.0, le=100.0, description="Of the ballroom, metres.")
    depth: float = Field(10.0, gt=0.0, le=100.0)
    ranks: int = Field(10, ge=1, le=50)
    files: int = Field(4, ge=1, le=12)
    tempo: float = Field(90.0, ge=40.0, le=240.0, description="Beats a minute.")
    seconds: float = Field(20.0, ge=1.0, le=120.0)
    seed: int = Field(0, ge=0, le=2**31)
    within: str | None = Field(None, max_length=300, description="Takes with this label move so.")

    def key(self, library: Library) -> str:
        """A short name for these settings, and for the library as it is where its takes move."""
        told = self.model_dump_json() + (library.digest() if self.within is not None else "")
        return hashlib.sha256(told.encode()).hexdigest()[:16]

    def line(self, library: Path) -> str:
        """The same for a terminal."""
        if self.kind == "ballroom":
            words = ["ballroom", "--couples", f"{self.couples}"]
            words += ["--room", f"{self.width:g}x{self.depth:g}"]
        else:
            words = ["march", "--ranks", f"{self.ranks}", "--files", f"{self.files}"]
        words += ["--music", "tune", "--tempo", f"{self.tempo:g}", "--seconds", f"{self.seconds:g}"]
        words += ["--seed", f"{self.seed}"]
        if self.within is not None:
            words += ["--library", str(library), "--within", self.within]
        return shlex.join(["motionloom", *words, "-o", f"{self.kind}.glb"])

    def python(self) -> str:
        """The same in Python, with the built-in takes; empty for one's own."""
        if self.within is not None:
            return ""
        common = (
            f'music="tune", tempo_bpm={self.tempo:g}, seconds={self.seconds:g}, seed={self.seed}'
        )
        if self.kind == "ballroom":
            given = f"couples={self.couples}, room=({self.width:g}, {self.depth:g}), {common}"
        else:
            given = f"ranks={self.ranks}, files={self.files}, {common}"
        return (
            "from motionloom.library.crowd_plan import CrowdPlan\n"
            f'plan = CrowdPlan("{self.kind}", dict({given}))\n'
            "crowd = plan.run(plan.choreography())"
        )


@dataclass(frozen=True)
class Shown:
    """A crowd that was made: everybody's motion, and the scene as it was played."""

    made: CrowdMotion
    scene: BallroomSettings | MarchSettings


@router.post("")
def make(crowd: Crowd, shop: Shop) -> dict[str, Any]:
    """Begin to move a crowd; the job's result has its ``id`` and how well it went."""
    characters = 2 * crowd.couples if crowd.kind == "ballroom" else crowd.ranks * crowd.files
    frames = round(characters * crowd.seconds * 30.0)
    if frames > _MOST:
        raise InvalidInput(
            f"{characters} characters for {crowd.seconds:g} s are {frames:,} frames; the page "
            f"shows {_MOST:,} at most. Take fewer seconds or characters, or do it in a terminal: "
            f"{crowd.line(shop.library.path)}"
        )

    def work(job: Job) -> dict[str, Any]:
        key = crowd.key(shop.library)
        shown = shop.once(("crowd", key), lambda: _moved(crowd, shop, job))
        return {"id": key, **_told(crowd, shown, shop)}

    return shop.jobs.start(f"moving {characters} characters", work).told()


@router.get("/{id}", response_class=Response)
def crowd(id: str, shop: Shop) -> Response:
    """Everybody: ``positions_K`` (T, P, 3) and ``contacts_K`` (T, 4), and where the floor ends."""
    shown = crowd_of(shop, id)
    motions = shown.made.scene
    who, values = troupe(motions)
    meta = {
        "fps": motions[0].fps,
        "frames": len(motions[0]),
        "characters": who,
        "bodies": len(shown.made.motions[0]),
        "room": getattr(shown.scene, "room", None),
    }
    street = getattr(shown.scene, "street", None)
    if street is not None:
        values["street"] = street.places
    return arrays(meta, **values)


@router.get("/{id}/sound", response_class=Response)
def sound(id: str, shop: Shop) -> Response:
    """The music they move to, as a WAV file."""
    return Response(sound_of(crowd_of(shop, id).made.music), media_type="audio/wav")


@router.post("/{id}/file", response_class=Response)
def save(id: str, shop: Shop) -> Response:
    """Everybody in one GLB file, as the command line writes it."""
    return scene_answer(crowd_of(shop, id).made.scene, compact=True)


def crowd_of(shop: Workshop, key: str) -> Shown:
    """A crowd that was made here; the page makes it anew where it was forgotten."""

    def gone() -> Shown:
        raise InvalidInput("this crowd is not open; make it again")

    return shop.once(("crowd", key), gone)


def _moved(asked: Crowd, shop: Workshop, job: Job) -> Shown:
    from motionloom.library.crowd_plan import CrowdPlan

    given: dict[str, Any] = {
        "music": "tune", "tempo_bpm": asked.tempo, "seconds": asked.seconds, "seed": asked.seed,
    }  # fmt: skip
    if asked.kind == "ballroom":
        given |= {"couples": asked.couples, "room": (asked.width, asked.depth)}
    else:
        given |= {"ranks": asked.ranks, "files": asked.files}
    if asked.within is not None:
        given |= {"library": str(shop.library.path), "label": (asked.within,)}
    plan = CrowdPlan(asked.kind, given, library=shop.library)
    of = None if asked.within is None else (asked.within, shop.library.digest())
    steps = shop.once(("crowd-steps", asked.kind, of), plan.choreography)
    job.advance(0)  # somebody may have asked to stop
    made = plan.run(steps)
    return Shown(made, made.settings)


def _told(asked: Crowd, shown: Shown, shop: Workshop) -> dict[str, Any]:
    made = shown.made
    total, within = made.beats_on_time()
    told: dict[str, Any] = {
        "characters": len(made.scene),
        "beats_total": total,
        "beats_within_one_frame": within,
        "cli": asked.line(shop.library.path),
        "python": asked.python(),
    }
    if asked.kind == "ballroom":
        told["clearance_m"] = float(made.clearance())  # type: ignore[attr-defined]
        told["radius_m"] = shown.scene.disc_radius  # type: ignore[union-attr]
    else:
        told["left_feet_in_step"] = float(made.left_feet_in_step())  # type: ignore[attr-defined]
        told["misplacement_m"] = float(made.misplacement().mean())  # type: ignore[attr-defined]
    return told
