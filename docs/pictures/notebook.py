"""Draw notebook.png, the stage in a notebook cell: ``python docs/pictures/notebook.py``.

This needs Chromium and the built page. The widget runs in a page that imitates a notebook.
"""

import base64
import json
import math
import os
import shutil
import sys
import tempfile
from pathlib import Path

from browser import shoot

import motionloom as ml
from motionloom.studio.messages import BODIES, pack

PAGE = """<body style="margin:12px;font:13px monospace;background:#fff">
<style>.row { display: flex } .row > div:first-child { width: 60px; color: #7a86b8 }
#cell { flex: 1 } pre { margin: 0 0 10px; padding: 8px; background: #f3f4f6;
  border: 1px solid #d8dbe0; flex: 1 }</style>
<div class="row"><div>In [1]:</div><pre>%(code)s</pre></div>
<div class="row"><div>Out[1]:</div><div id="cell"></div></div>
<script type="module">
const held = %(traits)s, bytes = %(bytes)s, body = %(body)s, heard = {};
const view = (text) => new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
for (const [name, text] of Object.entries(bytes)) held[name] = view(text);
const answer = (content) => heard["msg:custom"].forEach((one) => one(content, [view(body)]));
const model = {
  get: (name) => held[name], set: (name, value) => { held[name] = value; },
  save_changes() {}, off() {},
  on: (name, callback) => (heard[name] ??= []).push(callback),
  send: (content) => setTimeout(() => answer(content)),
};
const source = atob(%(source)s);
const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
const { default: widget } = await import(url);
widget.render({ model, el: document.getElementById("cell") });
</script></body>"""
CODE = """kick = lib.parametrize(family, by=ml.at("right_ankle", frame=33), samples=400)
view = ml.view(kick)       # drag the target; view.target, view.frame and view.selection follow
view"""


def main():
    browser = os.environ.get("BROWSER") or shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("notebook.py needs Chromium: install it, or set the variable BROWSER")
    with tempfile.TemporaryDirectory() as folder:
        lib = ml.Library.create(Path(folder) / "kicks.loom")
        for height in ("low", "mid", "high"):
            for performer in range(3):
                name = f"kick_front_{height}_right"
                lib.add_motion(ml.demo.clip(name, performer=performer), name=f"{name}_{performer}")
        kick = lib.parametrize(list(lib.names), ml.at("right_ankle", frame=33), samples=400)
        view = ml.view(kick, height=480)
        middle = kick.space.examples.mean(axis=0)
        view.target = min(map(tuple, kick.accessible), key=lambda place: math.dist(place, middle))
        mesh = pack({}, **BODIES.arrays(view.motion.skeleton.key, "high"))
        text = lambda data: base64.b64encode(data).decode()  # noqa: E731
        traits = {
            "_height": view._height, "_choices": [], "frame": 0, "playing": False, "choice": 0,
            "selection": [20, 60], "target": list(view.target), "error": "",
        }  # fmt: skip
        page = Path(folder) / "page.html"
        page.write_text(
            PAGE
            % {
                "code": CODE,
                "traits": json.dumps(traits),
                "bytes": json.dumps({"_scene": text(view._scene), "_region": text(view._region)}),
                "body": json.dumps(text(mesh)),
                "source": json.dumps(
                    text(
                        (Path(ml.__file__).parent / "studio" / "static" / "widget.js").read_bytes()
                    )
                ),
            },
            encoding="utf-8",
        )
        shoot(browser, page, "notebook.png", (960, 600), colors=250)


if __name__ == "__main__":
    main()
