"""The built-in corpus: procedural motions with exact ground truth.

Generated from code and deterministic by seed, so that search, blending and beat tracking can be
tried and measured without any file. Contacts, targets, speeds and beats are known because the
motion is built from them.

>>> import numpy as np
>>> from motionloom import demo
>>> kick = demo.annotated("kick_front_high_right")
>>> hit = kick.truth.parameters["hit_frame"]
>>> ankle = kick.motion.positions()[hit, kick.motion.skeleton.joint("RightFoot")]
>>> bool(np.allclose(ankle, kick.truth.parameters["target"], atol=1e-3))
True
"""

from motionloom.demo.corpus import (
    AnnotatedMotion,
    annotated,
    clip,
    clips,
    couple,
    names,
    takes,
    write,
)
from motionloom.demo.performers import PERFORMERS, Performer
from motionloom.demo.truth import Action, Truth

__all__ = [
    "PERFORMERS",
    "Action",
    "AnnotatedMotion",
    "Performer",
    "Truth",
    "clip",
    "clips",
    "couple",
    "names",
    "annotated",
    "takes",
    "write",
]
