"""Dance routes: choreographies learned from takes, set to a music file or a generated tune."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field, model_validator
from starlette.concurrency import run_in_threadpool
from typing_extensions import TypedDict

from motionloom.errors import InvalidInput, MotionloomError
from motionloom.library import AUDIO_SUFFIXES, MIDI_SUFFIXES, load_music, tune, write_sound
from motionloom.library.requests import MOST_VALUES
from motionloom.library.settings import ChoreographySettings, DanceSettings
from motionloom.settings import PLANNED, motion_choice
from motionloom.studio.messages import scene_arrays
from motionloom.studio.requests import Name, RequestModel, Served, settings_key
from motionloom.studio.responses import (
    ArrayResponse,
    FrameCount,
    Quality,
    SceneHead,
    array_response,
    quality_head,
    request_body,
)
from motionloom.studio.routes.stage.characters import Worn
from motionloom.studio.state.app_state import AppState, State
from motionloom.studio.state.jobs import Job, JobStatus

if TYPE_CHECKING:
    from motionloom.library import Choreography, Dance, Music

router = APIRouter(prefix="/dance", tags=["dance"])

MAX_MUSIC = (
    24 << 20
)  # bytes of a music file: four minutes of CD audio, or hours of compressed audio
_MAX_SECONDS = 300.0  # per dance, which is sent in one response
_MAX_TUNE_SECONDS = 600.0  # of sound of a tune or a score: 26 MB
_MEDIA = {".wav": "audio/wav", ".mp3": "audio/mpeg", ".ogg": "audio/ogg", ".flac": "audio/flac"}


class ChoreographyRequest(RequestModel):
    """Settings of a choreography, and additional takes to learn it from."""

    takes: Annotated[list[list[Name]], Field(max_length=MOST_VALUES)] = Field(
        [], description="Names of takes; those in one inner list were danced together."
    )
    settings: Served[ChoreographySettings] = ChoreographySettings()


class TuneRequest(BaseModel):
    """Request for a generated tune."""

    meter: int = Field(4, ge=1, le=12)
    tempo_bpm: float = Field(120.0, ge=40.0, le=240.0, description="Beats per minute.")
    bars: int = Field(16, ge=2, le=200)
    seed: int = Field(0, ge=0, le=2**31)

    @model_validator(mode="after")
    def _short(self) -> TuneRequest:
        seconds = self.bars * self.meter * 60.0 / self.tempo_bpm
        if seconds > _MAX_TUNE_SECONDS:
            raise ValueError(
                f"a tune may last at most {_MAX_TUNE_SECONDS:.0f} s; {self.bars} bars at this "
                f"tempo last {seconds:.0f} s"
            )
        return self


class DanceRequest(BaseModel):
    """A dance: a choreography and a piece of music."""

    choreography: str
    music: str
    settings: Served[DanceSettings] = DanceSettings()


class MusicInfo(BaseModel):
    """Beats (seconds), bars and length of a piece of music."""

    id: str
    name: str
    file: str
    seconds: float
    bpm: float
    meter: int
    beats: list[float]
    downbeats: list[int]


class ChoreographyNode(TypedDict):
    """A group of similar movements."""

    name: str
    members: list[str]


class ChoreographyResult(TypedDict):
    """A choreography; `left_out` has the reason for each skipped take."""

    id: str
    meter: int
    tempo: float
    movements: int
    nodes: list[ChoreographyNode]
    left_out: dict[str, str]


class DancedMovement(TypedDict):
    """The take from which a part of a dance comes, with its start and end in seconds."""

    motion: str
    start: float
    end: float


class DanceLandings(TypedDict):
    """Foot landings on a music beat, and all foot landings; null if there are none."""

    landings_on_beat: int | None
    landings_total: int | None


class DanceHead(SceneHead):
    """A dance: the beats of music and motion in seconds, and how many of them coincide."""

    motion_beats: list[float]
    music_beats: list[float]
    beats_total: int
    beats_within_one_frame: int
    beat_fit: DanceLandings
    nodes: list[str]
    movements: list[DancedMovement]
    quality: Quality | None


@dataclass(frozen=True)
class LoadedMusic:
    """A piece of music and its audio data."""

    music: Music
    sound: bytes
    media_type: str
    file: str = ""  # name of the file; None for a generated tune

    def info(self, key: str) -> MusicInfo:
        """Return the description of the music for the page."""
        downbeats = [int(k) for k in self.music.downbeats]
        added = {"id": key, "file": self.file, "downbeats": downbeats}
        return MusicInfo(**{**self.music.as_dict(), **added})


@router.post("/choreographies")
def make_choreography(request: ChoreographyRequest, state: State) -> JobStatus[ChoreographyResult]:
    """Start a job that cuts takes into movements and learns their transitions."""
    text = json.dumps(
        [request.model_dump(mode="json"), state.library.store.digest()], sort_keys=True
    )
    key = hashlib.sha256(text.encode()).hexdigest()[:16]
    total = sum(1 for _ in _takes(request, state))
    if not total:
        raise InvalidInput("no takes selected; choose a label or names of takes")
    for name in {name for take in request.takes for name in take}:
        state.library.store.entry(name)  # raises immediately, not within the job

    def work(job: Job) -> ChoreographyResult:
        choreography = state.cached(
            ("choreography", key), lambda: _learn(request, state, job.advance)
        )
        return _summary(key, choreography)

    return state.jobs.start(
        "cutting movements at their beats",
        work,
        total=total,
        request=("choreography", request.model_dump_json()),
    ).status()


@router.put("/music/{filename}")
async def send_music(filename: str, request: Request, state: State) -> MusicInfo:
    """Upload a MIDI or audio file as the request body; the response has its beats."""
    data = await request_body(request, MAX_MUSIC, "a music file")
    suffix = Path(filename).suffix.lower()
    key = hashlib.sha256(data + suffix.encode()).hexdigest()[:16]
    loaded = await run_in_threadpool(
        state.cached, ("music", key), lambda: _music_file(data, suffix, filename)
    )
    return loaded.info(key)


@router.post("/tunes")
def make_tune(request: TuneRequest, state: State) -> MusicInfo:
    """Generate a tune, for dances without a music file."""
    key = f"tune-{request.meter}-{request.tempo_bpm:g}-{request.bars}-{request.seed}"
    return state.cached(("music", key), lambda: _tune(request)).info(key)


@router.get("/music/{key}")
def music(key: str, state: State) -> MusicInfo:
    """Return the beats, bars and length of loaded music."""
    return music_of(state, key).info(key)


@router.get("/music/{key}/sound", response_class=Response)
def sound(key: str, state: State) -> Response:
    """Return the audio file; for a score, return its notes and beats as synthesized tones."""
    loaded = music_of(state, key)
    return Response(loaded.sound, media_type=loaded.media_type)


@router.post("/performances", response_model=DanceHead, response_class=ArrayResponse)
def dance(request: DanceRequest, state: State, own: Worn) -> Response:
    """Return a dance: ``positions_K`` (T, P, 3) and ``contacts_K`` (T, 4) for each character K.

    The header has the beats of music and motion, the number that coincide, and the quality. A
    single dancer is shown on the selected character, if any; couples hold hands and keep their
    original bodies.
    """
    danced = dance_of(request, state)
    alone = own if len(danced.motions) == 1 else None
    shown = (
        [motion.retarget(alone.motion) for motion in danced.motions] if alone else danced.motions
    )
    motion_beats = danced.found_beats()
    total, on_time = danced.beats_on_time(detected=motion_beats)
    characters, arrays = scene_arrays(shown)
    if alone:
        characters[0].update(alone.head(danced.motions[0].skeleton))
    names = danced.choreography.graph.names
    quality = danced.quality()
    beats = quality.beats
    head: DanceHead = {
        "fps": danced.motions[0].fps,
        "frames": len(danced.motions[0]),
        "characters": characters,
        "motion_beats": [round(float(t), 4) for t in motion_beats],
        "music_beats": [round(float(t), 4) for t in danced.music.beats],
        "beats_total": total,
        "beats_within_one_frame": on_time,
        "beat_fit": {
            "landings_on_beat": None if beats is None else beats.landings_on_beat,
            "landings_total": None if beats is None else beats.landings_total,
        },
        "nodes": [names[k] for k in danced.path],
        "movements": _movements(danced),
        "quality": quality_head(quality),
    }
    return array_response(head, **arrays)


@router.post("/rehearsals")
def rehearse(request: DanceRequest, state: State) -> JobStatus[FrameCount]:
    """Start a job that computes a dance; a later request for the same dance is then fast."""
    choreography_of(state, request.choreography)  # raises immediately, not within the job
    music_of(state, request.music)

    def work(job: Job) -> FrameCount:
        return {"frames": len(dance_of(request, state, job.advance).motions[0])}

    return state.jobs.start(
        "dancing", work, total=PLANNED, request=("dance", request.model_dump_json())
    ).status()


def choreography_of(state: AppState, key: str) -> Choreography:
    """Return a cached choreography; if it was evicted, the page requests it again."""

    def missing() -> Choreography:
        raise InvalidInput("this choreography is no longer available; create it again")

    return state.cached(("choreography", key), missing)


def music_of(state: AppState, key: str) -> LoadedMusic:
    """Return cached music; tunes are regenerated from their key."""

    def missing() -> LoadedMusic:
        parts = key.split("-")
        if len(parts) == 5 and parts[0] == "tune":
            try:
                meter, tempo, bars, seed = int(parts[1]), float(parts[2]), parts[3], parts[4]
                return _tune(
                    TuneRequest(meter=meter, tempo_bpm=tempo, bars=int(bars), seed=int(seed))
                )
            except ValueError:
                pass
        raise InvalidInput("this music is no longer available; load it again")

    return state.cached(("music", key), missing)


def wav_bytes(music: Music) -> bytes:
    """Synthesize the notes and beats of a piece of music, and return them as a WAV file."""
    with tempfile.TemporaryDirectory() as folder:
        seconds = min(music.seconds, _MAX_TUNE_SECONDS)  # a score of 50 bytes can last hours
        return write_sound(music, Path(folder) / "sound.wav", seconds=seconds).read_bytes()


def _movements(danced: Dance) -> list[DancedMovement]:
    """Return the parts of the first dancer's motion, in order of time."""
    motion = danced.motions[0]
    if motion.provenance is None:
        return []
    return [
        {
            "motion": source.motion,
            "start": round(source.start / motion.fps, 4),
            "end": round(source.end / motion.fps, 4),
        }
        for source in sorted(motion.provenance.sources, key=lambda source: source.start)
    ]


def _takes(request: ChoreographyRequest, state: AppState) -> Iterator[list[str]]:
    yield from request.takes
    given = request.settings.label or ()
    for label in dict.fromkeys([given] if isinstance(given, str) else given):
        choice = {**motion_choice(request.settings), "label": label}
        yield from ([name] for name in state.library.select(**choice))


def _learn(
    request: ChoreographyRequest, state: AppState, progress: Callable[[int], None]
) -> Choreography:
    takes = list(dict.fromkeys(tuple(take) for take in _takes(request, state)))
    given = [take[0] if len(take) == 1 else list(take) for take in takes]
    return state.library.choreography(request.settings, takes=given, progress=progress)


def _summary(key: str, choreography: Choreography) -> ChoreographyResult:
    graph = choreography.graph
    texts = [movement.text for movement in choreography.movements]
    return {
        "id": key,
        "meter": choreography.meter,
        "tempo": 60.0 / choreography.period,
        "movements": len(choreography.movements),
        "nodes": [
            {"name": name, "members": [texts[k] for k in group]}
            for name, group in zip(graph.names, graph.members, strict=True)
        ],
        "left_out": dict(choreography.left_out or {}),
    }


def _music_file(data: bytes, suffix: str, filename: str) -> LoadedMusic:
    if suffix not in (*MIDI_SUFFIXES, *AUDIO_SUFFIXES):
        suffixes = ", ".join((*MIDI_SUFFIXES, *AUDIO_SUFFIXES))
        raise InvalidInput(
            f"the suffix of a music file must be one of {suffixes}; got {suffix or 'no suffix'}"
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"music{suffix}"
        path.write_bytes(data)
        try:
            music = replace(load_music(path), name=Path(filename).stem, path="")
        except MotionloomError as error:  # hide the path of the temporary file
            raise InvalidInput(str(error).replace(str(path), filename)) from None
    if suffix in AUDIO_SUFFIXES:
        media_type = _MEDIA.get(suffix, "application/octet-stream")
        return LoadedMusic(music, data, media_type, filename)
    return LoadedMusic(music, wav_bytes(music), _MEDIA[".wav"], filename)


def _tune(request: TuneRequest) -> LoadedMusic:
    music = tune(
        meter=request.meter, tempo_bpm=request.tempo_bpm, bars=request.bars, seed=request.seed
    )
    return LoadedMusic(music, wav_bytes(music), _MEDIA[".wav"])


def dance_of(
    request: DanceRequest, state: AppState, progress: Callable[[int], None] | None = None
) -> Dance:
    """Return the requested dance, from the cache if possible."""
    choreography = choreography_of(state, request.choreography)
    music = music_of(state, request.music).music
    seconds = min(request.settings.seconds or music.seconds, _MAX_SECONDS)
    settings = replace(request.settings, seconds=seconds)
    key = ("dance", request.choreography, request.music, settings_key(settings))
    return state.cached(key, lambda: choreography.dance_to(music, settings, progress=progress))
