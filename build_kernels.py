"""Compile the kernels for a wheel, so that the first command after an installation does not wait.

The machine code is for a level of processors, not for the processor of the machine that builds the
wheel (`LEVELS`). `motionloom.kernel_cache` uses it if Python, Numba and the content of the kernel
are the same and the processor has all features of the level; otherwise kernels are compiled when
they are first used.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# Machine and system -> name of the level for LLVM, and the features that a processor must have.
_V3 = (
    "avx avx2 bmi bmi2 cx16 f16c fma lzcnt movbe popcnt sahf sse3 sse4.1 sse4.2 ssse3 xsave".split()
)
LEVELS = {
    ("x86_64", "Linux"): ("x86-64-v3", _V3),
    ("x86_64", "Darwin"): ("x86-64-v3", _V3),
    ("AMD64", "Windows"): ("x86-64-v3", _V3),
    ("aarch64", "Linux"): ("generic", ["neon"]),
    ("arm64", "Darwin"): ("apple-m1", []),
}


class KernelsNotBuilt(Exception):
    """Why a wheel has no compiled kernels, for the person who builds it."""


def build_kernels(root: Path, folder: Path) -> int:
    """Compile the kernels of the checkout at `root` into `folder`; return their number.

    Raises
    ------
    KernelsNotBuilt
        If the machine has no known level, a package is missing, or a kernel cannot be compiled.
    """
    level = LEVELS.get((platform.machine(), platform.system()))
    if level is None:
        raise KernelsNotBuilt(f"no level is known for {platform.machine()}, {platform.system()}")
    name, needed = level
    with tempfile.TemporaryDirectory() as scratch:
        environment = {
            **os.environ,
            "NUMBA_CPU_NAME": name,
            "NUMBA_CPU_FEATURES": "",
            "NUMBA_CACHE_DIR": scratch,
            "PYTHONPATH": os.pathsep.join([str(root / "src"), *filter(None, sys.path)]),
        }
        _run(["-m", "motionloom", "warm-up"], environment)
        described = json.loads(_run(["-c", _DESCRIBE], environment))
        for kernel in described["kernels"]:
            shutil.copytree(
                Path(scratch) / kernel, folder / kernel, ignore=shutil.ignore_patterns("lock")
            )
    target = {"target": described["target"], "needs": needed}
    (folder / "target.json").write_text(json.dumps(target, indent=1), encoding="utf-8")
    return len(described["kernels"])


# Kernels that other kernels call are part of their machine code, so only listed ones are needed.
_DESCRIBE = """
import json
from motionloom.kernels import kernels, listed, listed_types
from numba.core.registry import cpu_target
names = {listed_types(line)[0] for line in listed()}
print(json.dumps({
    "kernels": sorted(kernels[name].cache_name for name in names),
    "target": cpu_target.target_context.codegen().magic_tuple(),
}))
"""


def _run(arguments: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise KernelsNotBuilt(reason)
    return done.stdout
