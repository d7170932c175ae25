"""Follow the tutorial on aiming and save its pictures: ``python docs/pictures/tutorial.py``.

The commands are read from the page itself, docs/tutorials/aim.md, and run in the demo's folder.
"""

import os
import re
import shlex
import tempfile
from pathlib import Path

from click.testing import CliRunner
from PIL import Image

from motionloom.cli import app

HERE = Path(__file__).parent
PAGE = HERE.parent / "tutorials" / "aim.md"
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
KEPT = {"look.png": 1400, "region.png": 1200, "kick_here.png": 1400}
NAMES = {"look.png": "tutorial_look.png", "region.png": "tutorial_region.png",
         "kick_here.png": "tutorial_kick.png"}  # fmt: skip


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        run("demo demo")
        os.chdir("demo")
        follow(PAGE.read_text(encoding="utf-8"))
        for name, width in KEPT.items():
            with Image.open(name) as drawn:
                small = drawn.convert("RGB")
                small.thumbnail((width, width))
                small.quantize(64).save(HERE / NAMES[name], optimize=True)
        os.chdir(HERE)


def follow(page):
    """Run every block of a page, in order."""
    names = {"__name__": "__main__"}
    for kind, code in BLOCK.findall(page):
        if kind == "python":
            exec(code, names)
            continue
        for line in code.splitlines():
            if line.startswith("$ motionloom "):
                run(line.removeprefix("$ motionloom "))


def run(line):
    """Run one motionloom command."""
    done = CliRunner().invoke(app, shlex.split(line, comments=True))
    assert done.exit_code == 0, f"{line}\n{done.output}"


if __name__ == "__main__":
    main()
