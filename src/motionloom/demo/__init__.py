"""The built-in corpus: procedural motions with exactly known truth.

Made from code and deterministic by seed, so that search, blending and beat tracking can be
tried and measured without a single file. Contacts, targets, speeds and beats are known
because the motion was built from them.

>>> import numpy as np
>>> from motionloom import demo
>>> kick = demo.performance("kick_front_high_right")
>>> hit = kick.truth.parameters["hit_frame"]
>>> ankle = kick.motion.positions()[hit, kick.motion.skeleton.joint("RightFoot")]
>>> bool(np.allclose(ankle, kick.truth.parameters["target"], atol=1e-3))
True
"""

from motionloom.demo.corpus import (
    Performance,
    clip,
    clips,
    couple,
    names,
    performance,
    takes,
)
from motionloom.demo.performers import PERFORMERS, Performer
from motionloom.demo.truth import Action, Truth
from motionloom.demo.writing import write

__all__ = [
    "PERFORMERS",
    "Action",
    "Performance",
    "Performer",
    "Truth",
    "clip",
    "clips",
    "couple",
    "names",
    "performance",
    "takes",
    "write",
]
