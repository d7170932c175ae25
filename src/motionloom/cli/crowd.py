"""``motionloom ballroom`` and ``motionloom march``: crowds that move to one music."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from motionloom.cli.options import JSON
from motionloom.cli.terminal import print_json, remark
from motionloom.errors import InvalidInput

if TYPE_CHECKING:
    from motionloom.synthesis.crowd.performance import Performance

SceneFile = Annotated[Path | None, typer.Argument(metavar="SCENE", help="A scene, .toml or .json.")]
Output = Annotated[Path, typer.Option("-o", "--output", help="All characters: .glb or .gltf.")]
Bvh = Annotated[Path | None, typer.Option(metavar="DIR", help="A BVH file per character, too.")]
Top = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The view from above: .png, .svg, .pdf or .gif.")
]
Song = Annotated[str | None, typer.Option(metavar="FILE", help="A MIDI or sound file.")]
Tempo = Annotated[float | None, typer.Option(help="Beats a minute, where there is no file.")]
Seconds = Annotated[float | None, typer.Option(help="How long. [as the scene or the music says]")]
Seed = Annotated[int | None, typer.Option(help="Another seed is another crowd. [0]")]
Json = Annotated[bool, JSON]

_ROUND = ((0, 0), (0, 8), (0, 16), (0, 24), (8, 24), (16, 24), (24, 24), (24, 32), (24, 40),
          (24, 48))  # fmt: skip


def ballroom(
    scene: SceneFile = None,
    *,
    output: Output,
    couples: Annotated[int | None, typer.Option(help="How many couples. [20]")] = None,
    music: Song = None,
    tempo: Tempo = None,
    seconds: Seconds = None,
    seed: Seed = None,
    bvh: Bvh = None,
    top: Top = None,
    json: Json = False,
) -> None:
    """Couples waltz around a ballroom, on the beat, and never bump."""
    from motionloom.demo.troupes import waltz_take
    from motionloom.synthesis.crowd import BallroomScene, cut_at_beats
    from motionloom.synthesis.crowd import ballroom as danced

    _check(output, top)
    given = {"couples": couples, "music": music, "tempo_bpm": tempo, "seconds": seconds}
    set_up = _scene(scene, BallroomScene, {**given, "seed": seed}, {"tempo_bpm": 90.0})
    made = danced(set_up, cut_at_beats([waltz_take()], meter=3, leads=2, kind="waltz"))
    if top is not None:
        _top(made, top, radius=set_up.radius, room=set_up.room, columns=set_up.columns)
    _finish(made, output, bvh, json, {"couples": set_up.couples, "clearance_m": made.clearance()})


def march(
    scene: SceneFile = None,
    *,
    output: Output,
    music: Song = None,
    tempo: Tempo = None,
    seconds: Seconds = None,
    seed: Seed = None,
    bvh: Bvh = None,
    top: Top = None,
    json: Json = False,
) -> None:
    """Soldiers march along a street in formation, in step. Without a scene: two corners."""
    from motionloom.demo.troupes import march_takes
    from motionloom.synthesis.crowd import MarchScene, cut_at_beats
    from motionloom.synthesis.crowd import march as marched

    _check(output, top)
    given = {"music": music, "tempo_bpm": tempo, "seconds": seconds, "seed": seed}
    set_up = _scene(scene, MarchScene, given, {"tempo_bpm": 96.0, "points": _ROUND})
    made = marched(set_up, cut_at_beats(march_takes(), meter=2, most=1, kind="march"))
    if top is not None:
        _top(made, top, radius=0.25, line=set_up.street.places)
    _finish(
        made, output, bvh, json,
        {
            "soldiers": len(made.motions),
            "misplacement_m": float(made.misplacement().mean()),
            "left_feet_in_step": made.left_feet_in_step(),
        },
    )  # fmt: skip


def _check(output: Path, top: Path | None) -> None:
    if output.suffix.lower() not in (".glb", ".gltf"):
        raise InvalidInput(f"{output}: a crowd is written to .glb or .gltf")
    if top is not None and top.suffix.lower() not in (".png", ".svg", ".pdf", ".gif"):
        raise InvalidInput(f"{top}: a top view is written to .png, .svg, .pdf or .gif")


def _scene(path: Path | None, kind: type, given: dict[str, Any], usual: dict[str, Any]) -> Any:
    """The scene of a file, or the usual one, with what was given on the command line."""
    from dataclasses import replace

    from motionloom.synthesis.crowd import load_scene

    said = {name: value for name, value in given.items() if value is not None}
    if path is None:
        rest = {name: value for name, value in usual.items()
                if not (name == "tempo_bpm" and "music" in said)}  # fmt: skip
        return kind(**{**rest, **said})
    loaded = load_scene(path)
    if not isinstance(loaded, kind):
        raise InvalidInput(f"{path}: holds another kind of scene than this command makes")
    return replace(loaded, **said)


def _top(made: Performance, path: Path, **options: Any) -> None:
    from motionloom.plots.top_view import write_top_view

    write_top_view(made.centres, path, fps=made.every[0].fps, **options)


def _finish(
    made: Performance, output: Path, bvh: Path | None, json: bool, more: dict[str, Any]
) -> None:
    import numpy as np

    from motionloom.formats.gltf import write
    from motionloom.motion.quality import quality_report
    from motionloom.synthesis.rhythm.dancing import beats_on_time

    every = made.every
    write(every, output)
    if bvh is not None:
        bvh.mkdir(parents=True, exist_ok=True)
        for motion in every:
            motion.save(bvh / f"{motion.name.replace(' ', '_')}.bvh")
    total, within = made.beats_on_time()
    if not json:
        told = ", ".join(f"{name} {value:.4g}" for name, value in more.items())
        remark(f"{told}; feet land within a frame of {within} of {total} beats")
        print(output)
        return
    reports = [quality_report(motion).to_json() for motion in every]
    worst = {
        name: max((r[name] for r in reports if r[name] is not None), default=None)
        for name in reports[0]
    }
    analysed = beats_on_time(made.motions[0], made.music)
    print_json(
        {
            "file": str(output),
            "frames": len(every[0]),
            "fps": every[0].fps,
            "characters": len(every),
            "quality": worst,
            "foot_slide_mean_m": float(np.mean([r["foot_slide_m"] for r in reports])),
            "sources": every[0].provenance.to_json() if every[0].provenance else [],
            "beats_total": total,
            "beats_within_one_frame": within,
            "beats_by_analysis": {"total": analysed[0], "within_one_frame": analysed[1]},
            **more,
        }
    )
