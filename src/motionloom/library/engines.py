"""Export of takes to game engines; see `motionloom.formats.game_assets`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from motionloom.blending.examples import conform, without_body
from motionloom.errors import InvalidInput
from motionloom.files import unique_stem
from motionloom.formats.game_assets import AssetReport, GameTake, on_root_bone, write_assets
from motionloom.formats.own_character import load_character
from motionloom.formats.settings import GameSettings
from motionloom.library.dataset import CUTS, labels_inside, motion_parts, new_folder
from motionloom.motion import Motion
from motionloom.motion.feet.gait import gaits
from motionloom.motion.feet.skating import supported_parts
from motionloom.motion_matching.features import RootMotion

if TYPE_CHECKING:
    from motionloom.library.library import Library
    from motionloom.parallel import Progress


def write_game(
    library: Library,
    names: Sequence[str],
    folder: Path,
    engine: str,
    settings: GameSettings,
    progress: Progress | None,
    *,
    cut: str | None = None,
    fps: float | None = None,
) -> AssetReport:
    """Write takes of a library for a game engine; see `Library.export`."""
    if cut not in (None, *CUTS):
        raise InvalidInput(f"cut must be one of {', '.join(CUTS)}; got {cut!r}")
    store = library.store
    hero = None if settings.character is None else load_character(settings.character)
    motions: list[Motion] = []
    about: list[tuple[str, int, int]] = []
    for name in names:
        whole = store[name]
        for start, end, title in motion_parts(store, whole, name, cut):
            motion = replace(whole[start:end], name=title)
            motions.append(motion if hero is None else motion.retarget(hero))
            about.append((name, start, end))
    out = without_body({motion.name: motion.skeleton for motion in motions})
    kept = [number for number, motion in enumerate(motions) if motion.name not in out]
    if not kept:
        raise InvalidInput("no take shows a body, so there is nothing to export for a game engine")
    motions, about = [motions[k] for k in kept], [about[k] for k in kept]
    if fps is not None:
        motions[0] = motions[0].resample(fps)
    beats = library.beats.events(sorted({name for name, _, _ in about}))
    stems: set[str] = set()
    takes = []
    for motion, (name, start, end) in zip(conform(motions), about, strict=True):
        title = unique_stem(motion.name, stems)
        rate = store[name].fps
        events = [time - start / rate for time in beats.get(name, ()) if start <= time * rate < end]
        scale = motion.fps / rate
        tags = [(0, len(motion), text) for text in store.labels(name)] + [
            (round(a * scale), min(round(b * scale), len(motion)), text)
            for a, b, text in labels_inside(store, name, start, end)
        ]
        takes.append(_take(motion, title, name, tags, events))
        if settings.mirrored:
            twin = unique_stem(f"{motion.name}_mirrored", stems)
            takes.append(replace(_take(motion.mirror(), twin, name, tags, events), mirrored=True))
        if progress is not None:
            progress(1)
    body = motions[0].skeleton
    with new_folder(folder) as scratch:
        report = write_assets(takes, body, scratch, engine, settings, title=folder.name)
        placed = tuple(folder / file.relative_to(scratch) for file in report.files)
    return replace(report, files=placed)


def _take(
    motion: Motion, name: str, source: str, tags: list[tuple[int, int, str]], beats: list[float]
) -> GameTake:
    path = RootMotion.of(motion)
    contacts = supported_parts(motion, motion.contacts())
    floor = np.column_stack([path.floor.imag, path.floor.real])
    rooted = on_root_bone(motion, floor, path.facing)
    return GameTake(name, rooted, source, contacts, gaits(motion), tags, beats)
