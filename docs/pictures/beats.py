"""Draw beats.png and movements.png: ``python docs/pictures/beats.py``."""

from pathlib import Path

import motionloom as ml
from motionloom.dance.choreography import Choreography
from motionloom.dance.settings import ChoreographySettings
from motionloom.plots.rhythm import write_beats, write_transition_graph

HERE = Path(__file__).parent

dance = ml.demo.clip("dance_groove")[:400]
write_beats(dance, ml.beats(dance), HERE / "beats.png", dpi=75)
takes = [ml.demo.clip("dance_groove", performer=0, seed=seed) for seed in range(4)]
made = Choreography.from_takes(takes, ChoreographySettings(meter=4, kind="groove"))
write_transition_graph(made.graph, HERE / "movements.png", title=made.kind, dpi=70)
