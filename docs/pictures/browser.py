"""Draw player.png, sheet.png and doctor.png: ``python docs/pictures/browser.py``.

These are screenshots of HTML pages, which need Chromium: the command ``chromium`` or
``google-chrome``, or the one that the variable BROWSER names.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from doctor import write_page
from PIL import Image

import motionloom as ml
from motionloom.plots import contact_sheet, player_html

HERE = Path(__file__).parent
CELL = """<body style="margin:12px;font:13px monospace;background:#fff">
<div style="display:flex"><div style="width:60px;color:#7a86b8">In [1]:</div>
<pre style="margin:0 0 10px;padding:8px;background:#f3f4f6;border:1px solid #d8dbe0;flex:1">
import motionloom as ml

ml.demo.clip("kick_side_high_right")</pre></div>
<div style="display:flex"><div style="width:60px;color:#b8867a">Out[1]:</div>
<div style="flex:1">{player}</div></div></body>"""


def main():
    browser = os.environ.get("BROWSER") or shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("browser.py needs Chromium: install it, or set the variable BROWSER")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        kick = ml.demo.clip("kick_side_high_right")
        page.write_text(CELL.format(player=player_html(kick)), encoding="utf-8")
        shoot(browser, page, "player.png", (880, 640))
        names = [name for name in ml.demo.names() if name.startswith(("walk", "kick", "punch"))]
        clips = ((name, ml.demo.clip(name), name.split("_")[0]) for name in names[::2])
        contact_sheet(clips, page, title="The built-in corpus")
        shoot(browser, page, "sheet.png", (1180, 760))
        write_page(page)
        shoot(browser, page, "doctor.png", (1200, 920))


def shoot(browser, page, name, size, colors=96):
    """Take a screenshot of a page, `size` in pixels, with a small palette."""
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
             f"--user-data-dir={profile}", f"--window-size={size[0]},{size[1]}",
             "--virtual-time-budget=3000", f"--screenshot={HERE / name}", page.as_uri()],
            check=True, capture_output=True,
        )  # fmt: skip
    with Image.open(HERE / name) as shot:
        small = shot.convert("RGB").quantize(colors)
    small.save(HERE / name, optimize=True)


if __name__ == "__main__":
    main()
