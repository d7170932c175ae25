"""Build the Blender extension: ``python build_extension.py`` in a clone of the repository.

The sources are in the folder ``blender``; the zip goes to ``dist``. It is checked by Blender's own
rules if a Python with bpy is known: this one, or that of the environment variable
``MOTIONLOOM_BLENDER``.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent
SOURCES = ROOT / "blender"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same sources give the same bytes
_RULES = "import bpy; print(bpy.utils.system_resource('SCRIPTS'))"
_BUILDER = Path("addons_core/bl_pkg/cli/blender_ext.py")


def build(folder: Path, sources: Path = SOURCES) -> Path:
    """Write ``motionloom-blender-VERSION.zip`` to a folder; returns its path."""
    manifest = tomllib.loads((sources / "blender_manifest.toml").read_text(encoding="utf-8"))
    left_out = [pattern.rstrip("/") for pattern in manifest["build"]["paths_exclude_pattern"]]
    folder.mkdir(parents=True, exist_ok=True)
    output = folder / f"{manifest['id']}-blender-{manifest['version']}.zip"
    files = [
        file
        for file in sorted(sources.rglob("*"))
        if file.is_file()
        and not any(
            fnmatch.fnmatch(part, pattern)
            for part in file.relative_to(sources).parts
            for pattern in left_out
        )
    ]
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            entry = zipfile.ZipInfo(file.relative_to(sources).as_posix(), _EPOCH)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, file.read_bytes())
    return output


def blender_rules(python: str) -> Path | None:
    """The builder of Blender's extensions that a Python with bpy has; None without bpy."""
    found = subprocess.run([python, "-c", _RULES], capture_output=True, text=True, check=False)
    return Path(found.stdout.split()[-1]) / _BUILDER if found.returncode == 0 else None


def validated(output: Path, python: str) -> str | None:
    """Check a zip by Blender's own rules; None if they are not here, else what they say."""
    rules = blender_rules(python)
    if rules is None:
        return None
    words = [python, str(rules), "validate", str(output)]
    said = subprocess.run(words, capture_output=True, text=True, check=False)
    if said.returncode != 0:
        raise SystemExit(f"{output}: refused by Blender: {said.stdout}{said.stderr}")
    return said.stdout.strip()


def main() -> None:
    """Build and check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="folder of the zip")
    output = build(parser.parse_args().output)
    checked = validated(output, os.environ.get("MOTIONLOOM_BLENDER") or sys.executable)
    how = "not checked: no Blender here (set MOTIONLOOM_BLENDER to a Python that has bpy)"
    print(f"{output}: {how if checked is None else 'accepted by the rules of Blender'}")


if __name__ == "__main__":
    main()
