"""``motionloom dance``: dance takes and a song become a dance on the beat."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from motionloom.cli.beats import Meter, Takes, takes_from
from motionloom.cli.options import JSON, WITHIN
from motionloom.cli.terminal import print_json, progress, remark
from motionloom.errors import InvalidInput

if TYPE_CHECKING:
    from motionloom.library import Library
    from motionloom.motion import Motion, Skeleton
    from motionloom.rhythm import Choreography
    from motionloom.rhythm.music.music import Music

TUNE = "tune"
ANY = "any"


def dance(
    library: Annotated[Path, typer.Argument(metavar="LIB", help="The library with the dances.")],
    song: Annotated[
        str,
        typer.Argument(
            help=f"A MIDI file, a sound file (extra `audio`), or {TUNE}: a made-up one."
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", help="Any format that we write, or .mp4: a film with the music."
        ),
    ],
    takes: Takes = None,
    within: Annotated[list[str] | None, WITHIN] = None,
    graph: Annotated[
        Path | None, typer.Option(help="A choreography (.json) made by motionloom movements.")
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            help="What is danced: one kept by motionloom movements --keep; any: by meter."
        ),
    ] = None,
    meter: Meter = None,
    tempo: Annotated[
        float | None,
        typer.Option(metavar="BPM", help=f"Of a {TUNE}: beats per minute. [as the takes]"),
    ] = None,
    follow: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A point to go after: CSV of seconds,x,z.")
    ] = None,
    unsynced: Annotated[
        bool, typer.Option("--unsynced", help="Every movement at its own speed, off the beat.")
    ] = False,
    onto: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Who dances: the skeleton of this file.")
    ] = None,
    seconds: Annotated[float | None, typer.Option(help="How long. [as the music]")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Another seed is another dance.")] = 0,
    json: Annotated[bool, JSON] = False,
) -> None:
    """Dance to a song: movements from the takes, in an order of its own, on the song's beats."""
    from motionloom.library import Library
    from motionloom.motion.diagnostics.quality import quality_report
    from motionloom.rhythm.dance import beats_on_time
    from motionloom.rhythm.dance import dance as danced

    _check_output(output)
    _check_song(song, tempo)
    ahead = None if follow is None else _path(follow)
    body = None if onto is None else _skeleton(onto)
    lib = Library(library)
    if kind is None:
        steps = _choreography(lib, takes, within, graph, meter, quiet=json)
    elif takes or within or graph:
        raise InvalidInput("--kind names a kept choreography; leave out --takes, --within, --graph")
    else:
        steps = _kept(lib, song, kind, meter)
    music = _music(song, steps, meter, tempo)
    made = danced(
        steps,
        music,
        seed=seed,
        synced=not unsynced,
        follow=ahead,
        seconds=seconds,
        skeleton=body,
    )
    files = _write(made.motions, music, output)
    total, within_one = beats_on_time(made.motions, music)
    leader = made.motions[0]
    sources = [movement.motion for movement in steps.movements]
    same = sources[0].skeleton.key == leader.skeleton.key
    if json:
        print_json(
            {
                "file": str(files[0]),
                "files": [str(file) for file in files],
                "frames": len(leader),
                "fps": leader.fps,
                "quality": quality_report(leader, sources=sources if same else None).to_json(),
                "sources": [source.as_dict() for source in leader.sources],
                "beats_total": total,
                "beats_within_one_frame": within_one,
                "nodes": [steps.graph.names[k] for k in made.path],
            }
        )
        return
    remark(
        f"{len(steps.movements)} movements of {steps.meter} beats in {len(steps.graph)} nodes; "
        f"{within_one} of {total} beats within a frame of the music's"
    )
    for file in files:
        print(file)


def _choreography(
    lib: Library,
    takes: str | None,
    within: list[str] | None,
    graph: Path | None,
    meter: int | None,
    *,
    quiet: bool,
) -> Choreography:
    if graph is not None:
        from motionloom.rhythm import load_choreography

        return load_choreography(graph, lambda name: lib[name])
    with progress("listening", len(lib), quiet=quiet) as advance:
        return lib.choreography(
            meter=meter, takes=takes_from(takes), within=within, progress=advance
        )


def _kept(lib: Library, song: str, kind: str, meter: int | None) -> Choreography:
    """A kept choreography of this kind; of the song's meter if any will do."""
    from motionloom.rhythm.choreography import for_music
    from motionloom.rhythm.choreography_file import saved_choreographies
    from motionloom.rhythm.music.music import load_music

    known = saved_choreographies(lib, lambda name: lib[name])
    if kind != ANY:
        return for_music(known, kind=kind)
    if not _made_up(song):
        meter = load_music(song, meter=meter).meter
    return for_music(known, meter=meter)


def _music(song: str, steps: Choreography, meter: int | None, tempo: float | None) -> Music:
    from motionloom.rhythm.music.music import load_music

    if not _made_up(song):
        return load_music(song, meter=meter)
    from motionloom.rhythm.music.tunes import tune

    own = min(max(60.0 / steps.period, 40.0), 200.0)
    return tune(meter=steps.meter, tempo_bpm=own if tempo is None else tempo)


def _made_up(song: str) -> bool:
    return song == TUNE and not Path(song).exists()


def _check_song(song: str, tempo: float | None) -> None:
    """Complains before the takes are listened to."""
    if _made_up(song):
        return
    if tempo is not None:
        raise InvalidInput(f"--tempo is for a {TUNE}; {song} has its own")
    if not Path(song).is_file():
        raise InvalidInput(f"{song}: no such song; a file is expected, or the word {TUNE}")


def _path(file: Path):
    import numpy as np

    try:
        rows = np.genfromtxt(file, delimiter=",", ndmin=2, comments="#")
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{file}: cannot read rows of seconds,x,z: {error}") from None
    return rows[1:] if len(rows) and np.isnan(rows[0]).all() else rows  # a line of names


def _skeleton(file: Path) -> Skeleton:
    from motionloom.cli.arguments import motion_from

    return motion_from(str(file)).skeleton


def _check_output(path: Path) -> None:
    from motionloom.formats import FORMATS

    writes = {suffix for suffix, known in FORMATS.items() if "motion" in known.writes} | {".mp4"}
    if path.suffix.lower() not in writes:
        raise InvalidInput(
            f"{path}: a dance is written to {', '.join(sorted(writes))}; got {path.suffix!r}"
        )


def _write(motions: tuple[Motion, ...], music: Music, path: Path) -> list[Path]:
    """All characters in one file where the format can, else one file each."""
    from motionloom.formats import save

    suffix = path.suffix.lower()
    if suffix == ".mp4":
        return [_film(motions[0], music, path)]
    if len(motions) == 1:
        return [motions[0].save(path)]
    if suffix in (".glb", ".gltf"):
        from motionloom.motion import Scene

        return [save(Scene(motions), path)]
    return [
        save(motion, path if number == 0 else path.with_stem(f"{path.stem}-{number + 1}"))
        for number, motion in enumerate(motions)
    ]


def _film(motion: Motion, music: Music, path: Path) -> Path:
    """A film with the music: the file itself, or its notes as tones if it is a score."""
    import tempfile

    from motionloom.plots.animation import write_mp4
    from motionloom.rhythm.music.audio import audible

    with tempfile.TemporaryDirectory() as folder:
        heard = audible(music, Path(folder) / "music.wav", motion.duration)
        return write_mp4(motion, path, sound=heard)
