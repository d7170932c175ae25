"""Export of matching databases as a page that plays without a server, and as a run-time for games.

``index.html`` contains the character, the database and the player, and makes no requests. Its
content security policy allows only the two inline blocks that it was written with.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from string import Template

from motionloom.character import SkinnedMesh, figure_mesh
from motionloom.errors import InvalidInput, MotionloomError
from motionloom.files import atomic_write
from motionloom.formats import fbx, gltf
from motionloom.formats.game_assets import AssetReport
from motionloom.formats.game_assets.bundle import plain_text
from motionloom.formats.scene_nodes import figure_kind
from motionloom.formats.settings import GameSettings
from motionloom.motion_matching.database import MatchingDatabase
from motionloom.motion_matching.exports.controller_file import VERSION, pack_controller
from motionloom.motion_matching.exports.engines import on_character
from motionloom.motion_matching.generated_takes import is_made

_TEMPLATES = ("README.md", "runtime/README.md", "runtime/package.json.template")
_OPTIONS = ("character", "mesh")


def write_web(database: MatchingDatabase, folder: Path, settings: GameSettings) -> AssetReport:
    """Write a page with a character to steer, its data, and the run-time as an npm package.

    Mirrored copies of takes are written if the database has them, because the player uses them.

    Raises
    ------
    InvalidInput
        If an option does not apply to pages.
    """
    for name in settings.changed():
        if name not in _OPTIONS:
            raise InvalidInput(f"web pages contain all frames of a database; remove option {name}")
    built = _built()
    if settings.character is not None:
        database = on_character(database, settings.character)
    takes = [part.take for part in database.ranges if not part.mirrored and not is_made(part.take)]
    title = f"Motion matching: {', '.join(takes[:3])}{' ...' if len(takes) > 3 else ''}"
    packed, played = pack_controller(database, database.ranges, _meshes(database, settings), title)
    style = _template("style.css.template")
    script = (built / "controller" / "page.js").read_text(encoding="utf-8")
    if any(mark in script.lower() for mark in ("</script", "<!--")):
        raise MotionloomError("the built page contains marks that end a script; build it again")
    page = Template(_template("index.html.template")).substitute(
        policy=_policy(script, style),
        title=html.escape(title),
        style=style,
        controller=base64.b64encode(packed).decode(),
        script=script,
    )
    facts = {
        "title": plain_text(title),
        "takes": len(takes),
        "frames": len(played),
        "fps": f"{played.fps:g}",
        "version": f"{VERSION}.0.0",  # of the files that the run-time reads
    }
    content: dict[str, bytes] = {
        "index.html": page.encode(),
        "controller.bin": packed,
        "licenses.md": (built / "controller" / "licenses.md").read_bytes(),
        "runtime/LICENSE": _template("runtime/LICENSE.template").encode(),
        "runtime/index.js": (built / "runtime" / "index.js").read_bytes(),
    }
    for file in sorted((built / "runtime" / "types").glob("*.d.ts")):
        content[f"runtime/types/{file.name}"] = file.read_bytes()
    for name in _TEMPLATES:
        text = Template(_template(name)).safe_substitute(facts)
        content[name.removesuffix(".template")] = text.encode()
    written = []
    for name, raw in content.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as scratch:
            scratch.write_bytes(raw)
        written.append(path)
    return AssetReport(
        tuple(written),
        len(takes),
        len(played),
        len(played.skeleton),
        played.rotations.shape[0] * played.rotations.shape[1],
        played.fps,
        sum(len(raw) for raw in content.values()),
        _error(database, played),
    )


def _meshes(database: MatchingDatabase, settings: GameSettings) -> Sequence[SkinnedMesh]:
    """Return the meshes of the character, or of the neutral figure."""
    if settings.character is not None:
        reader = fbx.reader if Path(settings.character).suffix.lower() == ".fbx" else gltf.character
        return reader.meshes(settings.character, database.skeleton)
    example = database.motion(database.ranges[0])
    figure = figure_mesh(database.skeleton, kind=figure_kind(settings.mesh), example=example)
    return [] if figure is None else [figure]


def _error(database: MatchingDatabase, played: MatchingDatabase) -> float:
    """Return the greatest distance of a joint from its place before rounding, in meters."""
    worst = 0.0
    for before, after in zip(database.ranges, played.ranges, strict=True):
        off = database.motion(before).positions() - played.motion(after).positions()
        worst = max(worst, float(abs(off).max(initial=0.0)))
    return worst


def _built() -> Path:
    """Return the folder of the built page, or raise an error that says how to build it."""
    folder = Path(str(files("motionloom"))) / "studio" / "static"
    if not (folder / "controller" / "page.js").is_file():
        raise MotionloomError(
            "this installation has no built page for exports to the web. In a clone of the "
            "repository, run: python build_page.py"
        )
    return folder


def _policy(script: str, style: str) -> str:
    """Return a content security policy that allows these inline blocks and nothing else."""
    allowed = [
        f"{kind} 'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for kind, text in (("script-src", script), ("style-src", style))
    ]
    rest = ["img-src blob: data:", "base-uri 'none'", "form-action 'none'"]
    return "; ".join(["default-src 'none'", *allowed, *rest])


def _template(name: str) -> str:
    root = files("motionloom.formats.game_assets").joinpath("templates", "web")
    return root.joinpath(name).read_text(encoding="utf-8")
