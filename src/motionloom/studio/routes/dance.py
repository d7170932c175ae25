"""Dances: a choreography from takes, music from a file or made up, and both together."""

from __future__ import annotations

import hashlib
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from motionloom.errors import InvalidInput
from motionloom.search.filters import labelled
from motionloom.studio.app_state import Workshop
from motionloom.studio.dependencies import Shop, arrays, body_of, scene_answer, sound_of
from motionloom.studio.jobs import Job
from motionloom.studio.motion_response import troupe

if TYPE_CHECKING:
    from motionloom.rhythm.choreography import Choreography
    from motionloom.rhythm.dance import Dance
    from motionloom.rhythm.music.music import Music

router = APIRouter(prefix="/dance", tags=["dance"])

_LARGEST = 24 << 20  # bytes of a music file: four minutes of CD sound, hours of anything packed
_LONGEST = 300.0  # seconds of a dance that is sent whole
_MEDIA = {".wav": "audio/wav", ".mp3": "audio/mpeg", ".ogg": "audio/ogg", ".flac": "audio/flac"}


class Steps(BaseModel):
    """Which takes are danced."""

    within: list[str] = Field([], description="Only motions with one of these labels.")
    takes: list[list[str]] = Field([], description="Names; several in one list dance together.")
    meter: int | None = Field(None, ge=1, le=16, description="Beats per movement; estimated.")


class Tune(BaseModel):
    """A tune made up on the spot."""

    meter: int = Field(4, ge=1, le=12)
    tempo: float = Field(120.0, ge=40.0, le=240.0, description="Beats per minute.")
    bars: int = Field(16, ge=2, le=200)
    seed: int = 0


class Performance(BaseModel):
    """A choreography danced to a piece of music."""

    choreography: str
    music: str
    seed: int = Field(0, ge=0)
    synced: bool = True
    seconds: float | None = Field(None, gt=0.0, le=_LONGEST)


@dataclass(frozen=True)
class Heard:
    """A piece of music, and how it sounds."""

    music: Music
    sound: bytes
    media_type: str

    def told(self, key: str) -> dict[str, Any]:
        """What the page shows of it."""
        facts = self.music.as_dict()
        return {**facts, "id": key, "downbeats": [int(k) for k in self.music.downbeats]}


@router.post("/choreographies")
def make_choreography(steps: Steps, shop: Shop) -> dict[str, Any]:
    """Begin to cut takes into movements and learn what follows what; the job's result tells."""
    key = _key(steps, shop)
    total = sum(1 for _ in _takes(steps, shop))
    if not total:
        raise InvalidInput("no take to dance: choose a label or name takes of the library")

    def work(job: Job) -> dict[str, Any]:
        made = shop.once(("choreography", key), lambda: _cut(steps, shop, job.advance))
        return {"id": key, **_steps_told(made)}

    return shop.jobs.start("cutting movements at their beats", work, total=total).told()


@router.put("/music/{filename}")
async def load_song(filename: str, request: Request, shop: Shop) -> dict[str, Any]:
    """Send a MIDI or sound file as the body; its beats come back."""
    from starlette.concurrency import run_in_threadpool

    data = await body_of(request, _LARGEST, "a music file")
    suffix = Path(filename).suffix.lower()
    key = hashlib.sha256(data + suffix.encode()).hexdigest()[:16]
    name = Path(filename).stem
    heard = await run_in_threadpool(
        shop.once, ("music", key), lambda: _listened(data, suffix, name)
    )
    return heard.told(key)


@router.post("/tunes")
def make_tune(tune: Tune, shop: Shop) -> dict[str, Any]:
    """A tune made up by code: nobody needs a file to dance."""
    key = f"tune-{tune.meter}-{tune.tempo:g}-{tune.bars}-{tune.seed}"
    return shop.once(("music", key), lambda: _tune(tune)).told(key)


@router.get("/music/{key}")
def music(key: str, shop: Shop) -> dict[str, Any]:
    """A piece of music that is open: its beats, bars and length."""
    return music_of(shop, key).told(key)


@router.get("/music/{key}/sound", response_class=Response)
def sound(key: str, shop: Shop) -> Response:
    """What is heard: the file itself, or the notes and beats of a score as plain tones."""
    heard = music_of(shop, key)
    return Response(heard.sound, media_type=heard.media_type)


@router.post("/performances", response_class=Response)
def perform(asked: Performance, shop: Shop) -> Response:
    """The dance: for every character ``positions_K`` (T, P, 3) and ``contacts_K`` (T, 4).

    The head tells the beats of music and motion, and how many of them agree.
    """
    made = _danced(asked, shop)
    return _packed(made, choreography_of(shop, asked.choreography))


@router.post("/performances/file", response_class=Response)
def save_performance(asked: Performance, shop: Shop) -> Response:
    """The dance as one GLB file with all its characters."""
    return scene_answer(_danced(asked, shop).motions)


def choreography_of(shop: Workshop, key: str) -> Choreography:
    """A choreography that was made here; the page makes it anew where it was forgotten."""

    def gone() -> Choreography:
        raise InvalidInput("this choreography is not open; make it again")

    return shop.once(("choreography", key), gone)


def music_of(shop: Workshop, key: str) -> Heard:
    """A piece of music that was loaded here; tunes are made anew from their name."""

    def again() -> Heard:
        parts = key.split("-")
        if len(parts) == 5 and parts[0] == "tune":
            try:
                meter, tempo, bars, seed = int(parts[1]), float(parts[2]), parts[3], parts[4]
                return _tune(Tune(meter=meter, tempo=tempo, bars=int(bars), seed=int(seed)))
            except ValueError:
                pass
        raise InvalidInput("this music is not open; load it again")

    return shop.once(("music", key), again)


def _key(steps: Steps, shop: Workshop) -> str:
    """A name for these steps of the library as it is now: takes and labels may change."""
    text = json.dumps([steps.model_dump(), shop.library.digest()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _takes(steps: Steps, shop: Workshop):
    if steps.takes:
        yield from steps.takes
    for label in dict.fromkeys(steps.within):
        yield from ([name] for name in labelled(shop.library, label))


def _cut(steps: Steps, shop: Workshop, advance) -> Choreography:
    takes = list({tuple(take): list(take) for take in _takes(steps, shop)}.values())
    alone = [take[0] if len(take) == 1 else take for take in takes]
    return shop.library.choreography(meter=steps.meter, takes=alone, progress=advance)


def _steps_told(made: Choreography) -> dict[str, Any]:
    graph = made.graph
    texts = [movement.text for movement in made.movements]
    return {
        "meter": made.meter,
        "tempo": 60.0 / made.period,
        "movements": len(made.movements),
        "nodes": [
            {"name": name, "members": [texts[k] for k in group]}
            for name, group in zip(graph.names, graph.members, strict=True)
        ],
        "left_out": dict(made.left_out or {}),
    }


def _listened(data: bytes, suffix: str, name: str) -> Heard:
    from dataclasses import replace

    from motionloom.rhythm.music.music import AUDIO_SUFFIXES, MIDI_SUFFIXES, load_music

    if suffix not in (*MIDI_SUFFIXES, *AUDIO_SUFFIXES):
        known = ", ".join((*MIDI_SUFFIXES, *AUDIO_SUFFIXES))
        raise InvalidInput(f"music is read from {known}; got {suffix or 'no suffix'}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"music{suffix}"
        path.write_bytes(data)
        music = replace(load_music(path), name=name, path="")
    if suffix in AUDIO_SUFFIXES:
        return Heard(music, data, _MEDIA.get(suffix, "application/octet-stream"))
    return Heard(music, sound_of(music), _MEDIA[".wav"])


def _tune(tune: Tune) -> Heard:
    from motionloom.rhythm.music.music import tune as generated

    music = generated(meter=tune.meter, tempo_bpm=tune.tempo, bars=tune.bars, seed=tune.seed)
    return Heard(music, sound_of(music), _MEDIA[".wav"])


def _danced(asked: Performance, shop: Workshop) -> Dance:
    steps = choreography_of(shop, asked.choreography)
    music = music_of(shop, asked.music).music
    seconds = min(asked.seconds or music.seconds, _LONGEST)
    key = ("dance", asked.choreography, asked.music, asked.seed, asked.synced, seconds)
    return shop.once(
        key, lambda: steps.dance_to(music, seed=asked.seed, synced=asked.synced, seconds=seconds)
    )


def _packed(made: Dance, steps: Choreography) -> Response:
    from motionloom.rhythm.dance import beats_on_time, found_beats

    found = found_beats(made.motions, made.music)
    total, on_time = beats_on_time(made.motions, made.music, found=found)
    who, values = troupe(made.motions)
    meta = {
        "fps": made.motions[0].fps,
        "frames": len(made.motions[0]),
        "characters": who,
        "motion_beats": [round(float(t), 4) for t in found],
        "music_beats": [round(float(t), 4) for t in made.music.beats],
        "beats_total": total,
        "beats_within_one_frame": on_time,
        "nodes": [steps.graph.names[k] for k in made.path],
    }
    return arrays(meta, **values)
