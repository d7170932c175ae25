"""``motionloom dance``: a dance to a piece of music, synthesized from takes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from motionloom.cli.command import Argument, Fields, Option
from motionloom.cli.dance.movements import Takes
from motionloom.cli.options import (
    DETAILS,
    INSPECT,
    JSON,
    LIB,
    PAGES,
    listed,
    open_library,
    writes,
)
from motionloom.cli.terminal import (
    counted,
    draw_worst,
    print_json,
    print_quality,
    progress,
    remark,
)
from motionloom.dance.settings import TUNE, ChoreographySettings, DanceSettings
from motionloom.errors import InvalidInput
from motionloom.settings import PLANNED, motion_choice

if TYPE_CHECKING:
    from motionloom.library import Choreography, Dance, Library, Music
    from motionloom.motion import Skeleton

ANY = "any"


def dance(
    library: Annotated[Path, LIB],
    song: Annotated[
        str,
        Argument(
            f"MIDI file, audio file (needs the extra audio), or {TUNE} for a generated tune.",
            metavar="MUSIC",
        ),
    ],
    *,
    output: Annotated[
        Path,
        Option(
            "Output file: a motion, or a video (.mp4) or page (.html) with the music.",
            "-o --output",
            metavar="FILE",
            check=writes("motion", ".mp4", *PAGES),
        ),
    ],
    takes: Takes = None,
    choreography: Annotated[ChoreographySettings, Fields(without=("kind", "seed"))],
    graph: Annotated[
        Path | None,
        Option("Choreography (.json) written by motionloom movements.", metavar="FILE"),
    ] = None,
    kind: Annotated[
        str | None,
        Option(
            "Use a choreography of this kind, saved by motionloom movements --name; "
            f"{ANY} uses the first one that has the meter of the music."
        ),
    ] = None,
    tempo: Annotated[
        float | None,
        Option(f"Tempo of a {TUNE}, in beats per minute. [tempo of the takes]", metavar="BPM"),
    ] = None,
    follow: Annotated[
        Path | None,
        Option("Path to follow: a CSV file with columns seconds, x, z.", metavar="FILE"),
    ] = None,
    unsynced: Annotated[
        bool, Option("Do not align the movements with the music.", "--unsynced")
    ] = False,
    onto: Annotated[
        Path | None, Option("Retarget to the skeleton of this file.", metavar="FILE")
    ] = None,
    settings: DanceSettings,
    inspect: Annotated[Path | None, INSPECT] = None,
    details: Annotated[bool, DETAILS] = False,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Synthesize a dance to music by rearranging movements from takes to fit the beats."""
    _check_song(song, tempo)
    if output.suffix.lower() in PAGES and not _generated(song):
        _check_notes(song)
    music = _loaded(song, choreography.meter)
    path = None if follow is None else _path(follow)
    skeleton = None if onto is None else _skeleton(onto)
    lib = open_library(library)
    if kind is None:
        steps = _choreography(lib, takes, graph, choreography, quiet=json)
    elif takes or graph or any(motion_choice(choreography).values()):
        raise InvalidInput(
            "--kind selects a saved choreography, so it cannot be combined with --takes, --label "
            "or --graph"
        )
    else:
        steps = lib.choreographies.for_music(
            song, kind=None if kind == ANY else kind, meter=choreography.meter
        )
    with progress("dancing", PLANNED, quiet=json) as advance:
        made = steps.dance_to(
            music or steps.music(song, tempo_bpm=tempo, seconds=settings.seconds),
            replace(settings, synced=not unsynced, follow=path, skeleton=skeleton),
            progress=advance,
        )
    files = _write(made, output)
    draw_worst(made.motions, inspect)
    score, landed = made.score(), made.landings()
    leader = made.motions[0]
    if json:
        print_json(
            {
                "file": str(files[0]),
                "files": [str(file) for file in files],
                "frames": len(leader),
                "fps": leader.fps,
                "quality": made.quality().to_json(),
                "sources": [source.as_dict() for source in leader.sources],
                "beats_total": score.expected,
                "beats_within_one_frame": score.matched,
                "beats_extra": score.extra,
                "landings": landed.to_json(),
                "nodes": [steps.graph.names[k] for k in made.path],
            }
        )
        return
    remark(
        f"{len(steps.movements)} movements of {steps.meter} beats in "
        f"{counted(len(steps.graph), 'node')}; "
        f"{score.matched} of {score.expected} beats within a frame of the music, "
        f"{score.extra} extra beats"
    )
    remark(landed.text)
    print_quality(made.quality(), details=details)
    for file in files:
        print(file)


def _choreography(
    lib: Library,
    takes: str | None,
    graph: Path | None,
    settings: ChoreographySettings,
    *,
    quiet: bool,
) -> Choreography:
    if graph is not None:
        return lib.choreographies.load(graph)
    with progress("analyzing takes", len(lib), quiet=quiet) as advance:
        return lib.choreography(settings, takes=listed(takes), progress=advance)


def _generated(song: str) -> bool:
    return song == TUNE and not Path(song).exists()


def _check_song(song: str, tempo: float | None) -> None:
    """Raise an error if the music cannot be used, before the takes are analyzed."""
    if _generated(song):
        return
    if tempo is not None:
        raise InvalidInput(
            f"--tempo applies only to a generated {TUNE}; {song} already has a tempo"
        )
    if not Path(song).is_file():
        raise InvalidInput(f"{song}: no such music file; name another file, or write {TUNE}")
    from motionloom.library import AUDIO_SUFFIXES, MIDI_SUFFIXES

    suffixes = (*MIDI_SUFFIXES, *AUDIO_SUFFIXES)
    if Path(song).suffix.lower() not in suffixes:
        raise InvalidInput(
            f"{song}: the suffix of a music file must be one of {', '.join(suffixes)}"
        )


def _check_notes(song: str) -> None:
    """Raise an error if a page cannot play the music, because it is not a score."""
    from motionloom.library import MIDI_SUFFIXES

    if Path(song).suffix.lower() not in MIDI_SUFFIXES:
        raise InvalidInput(
            f"a page plays the notes of a MIDI file or of a {TUNE}; got {song}. Write a video "
            "(.mp4) instead"
        )


def _loaded(song: str, meter: int | None) -> Music | None:
    """Load the music, before the takes are analyzed; None for a tune, whose tempo is theirs."""
    from motionloom.library import load_music

    return None if _generated(song) else load_music(song, meter=meter)


def _path(file: Path):
    import numpy as np

    try:
        rows = np.genfromtxt(file, delimiter=",", ndmin=2, comments="#")
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{file}: expected rows of seconds,x,z: {error}") from None
    return rows[1:] if len(rows) and np.isnan(rows[0]).all() else rows  # without a header


def _skeleton(file: Path) -> Skeleton:
    from motionloom.cli.arguments import motion_from

    return motion_from(str(file)).skeleton


def _write(made: Dance, path: Path) -> list[Path]:
    """Write all characters to one glTF file, or to one file each in other formats."""
    from motionloom.formats import save

    motions, suffix = made.motions, path.suffix.lower()
    if suffix == ".mp4":
        return [_video(made, path)]
    if suffix in PAGES:
        from motionloom.plots.pages.html_pages import write_player_page

        return [write_player_page(motions[0], path, notes=made.music.notes)]
    if len(motions) == 1:
        return [motions[0].save(path)]
    if suffix in (".glb", ".gltf"):
        return [save(made.scene, path)]
    return [
        save(motion, path if number == 0 else path.with_stem(f"{path.stem}-{number + 1}"))
        for number, motion in enumerate(motions)
    ]


def _video(made: Dance, path: Path) -> Path:
    """Write a video of the leader with the music; a score is played as synthesized tones."""
    import tempfile

    from motionloom.plots.figures.animation import write_mp4

    with tempfile.TemporaryDirectory() as folder:
        return write_mp4(made.motions[0], path, sound=made.sound(Path(folder) / "music.wav"))
