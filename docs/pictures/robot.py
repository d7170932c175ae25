"""Draw robot-walk.png, robot-script.png and robot-dance.png: a Unitree G1 on synthesized motions.

The model comes from the package mjlab (``pip download mjlab --no-deps``), unpacked. Pass the path
of its g1.xml.
"""

import sys
import tempfile
from pathlib import Path

from PIL import Image

import motionloom as ml
from motionloom.plots.figures.filmstrip import write_strip

HERE = Path(__file__).parent
WALKS = ["walk", "walk_left", "walk_right"]
ACTS = ["walk", "jump_up", "sit_stand", "punch_mid_left", "kick_front_mid_right"]
DANCES = ["dance_groove", "dance_sway"]


def main(model: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        library = ml.Library.create(folder / "takes.loom")
        for name in dict.fromkeys([*WALKS, *ACTS, *DANCES]):
            ml.demo.clip(name).save(folder / f"{name}.bvh")
        library.add(folder)
        graph = library.motion_graph(only=WALKS)
        walk = graph.walk(path=[(0, 0), (0, 2), (1.2, 3.6), (3, 4)], seed=1)
        script = library.act("walk 1 s, punch, kick, jump up")
        dance = library.choreography(only=DANCES).dance("tune", seed=1)
        made = {
            "walk": getattr(walk, "motion", walk),
            "script": getattr(script, "motion", script),
            "dance": getattr(dance, "motion", dance),
        }
        for name, motion in made.items():
            robot = motion.retarget(model)
            print(name, len(robot), robot.quality.robot)
            path = HERE / f"robot-{name}.png"
            write_strip(robot, path, frames=9, body=True, layout="stages")
            with Image.open(path) as drawn:
                small = drawn.convert("RGB")
                small.thumbnail((1600, 400))
                small.quantize(96).save(path, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1])
