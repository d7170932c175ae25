"""Makes dance.gif and endless.gif, synthesized loops: ``python docs/pictures/loops.py``."""

from dataclasses import replace
from pathlib import Path

import motionloom as ml
from motionloom.demo.tunes import write_tune
from motionloom.motion_graph import motion_graph
from motionloom.plots import write_gif
from motionloom.rhythm.choreography import Choreography
from motionloom.rhythm.settings import ChoreographySettings

HERE = Path(__file__).parent
WALKS = ("walk", "walk_slow", "walk_left", "walk_right", "walk_left_tight", "walk_right_tight")


def main():
    graph = motion_graph([ml.demo.clip(name) for name in WALKS])
    walk = graph.walk(seconds=12, seed=3)[:120]
    write_gif(replace(walk, name="a synthesized walk"), HERE / "endless.gif", width=260, fps=12)
    takes = [ml.demo.clip("dance_groove", seed=seed) for seed in (0, 1, 2)]
    song = HERE / "song.mid"
    write_tune(song, tempo_bpm=112)
    try:
        dance = Choreography.from_takes(takes, ChoreographySettings(meter=4)).dance(song, seed=1)[
            60:180
        ]
    finally:
        song.unlink()
    write_gif(replace(dance, name="a dance to a tune"), HERE / "dance.gif", width=260, fps=12)


if __name__ == "__main__":
    main()
