"""Build backend: Hatchling, and the packages of motionloom to compile the kernels of a wheel.

An editable installation and an sdist need none of them.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from hatchling import build
from hatchling.build import (  # noqa: F401  (hooks of PEP 517 and PEP 660)
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
)


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    """Return what building a wheel needs: the dependencies of motionloom, to run its kernels."""
    if os.environ.get("MOTIONLOOM_KERNELS") == "0":
        return build.get_requires_for_build_wheel(config_settings)
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [*build.get_requires_for_build_wheel(config_settings), *project["dependencies"]]
