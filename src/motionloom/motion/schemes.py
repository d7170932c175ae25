"""Which tool or data set named a skeleton's joints.

Only for people to read (``info`` and ``doctor`` show it) and for export presets: roles do
not depend on it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

# Scheme -> names that all must be there, without namespaces, as the tool spells them; the
# first that fits wins. A pattern in slashes need only match one name, namespace included.
_SIGNS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("mixamo", ("/^mixamorig/",)),
    ("vrm", ("/^J_Bip_C_/",)),
    ("biped", ("/Bip\\d+/",)),
    ("cmu", ("LHipJoint", "LowerBack", "LeftUpLeg")),
    ("acclaim", ("/^[lL]femur$/", "/^[lL]tibia$/")),
    ("bandai-namco", ("joint_Root", "UpperLeg_L")),
    ("second life", ("mPelvis", "mHipLeft")),
    ("smpl", ("/(^|avg_)pelvis$/i", "/(^|_)l(eft)?_?hip$/i", "/(^|_)l(eft)?_?ankle$/i")),
    ("unreal", ("pelvis", "thigh_l", "calf_l")),
    ("rigify", ("/thigh\\.L$/", "/shin\\.L$/", "/upper_arm\\.L$/")),
    ("makehuman", ("/^upperleg01[._]L$/",)),
    ("daz", ("/^lThigh/", "/^lShldr/")),
    ("xsens", ("L5", "L3", "T12", "T8")),
    ("kinect", ("/^HipLeft$|^HIP_LEFT$/", "/^KneeLeft$|^KNEE_LEFT$/")),
    ("openpose", ("/^MidHip$/", "/^LKnee$/")),
    ("rokoko", ("LeftThigh", "LeftShin", "LeftArm")),
    ("mocopi", ("torso_1", "l_up_leg")),
    ("perception neuron", ("/(^|_)LeftInHandIndex$/", "/(^|_)LeftUpLeg$/")),
    ("perception neuron", ("/^Robot_Hips$/",)),
    ("lafan1", ("Spine2", "LeftUpLeg", "LeftToe", "LeftForeArm")),
    ("humanik", ("/LeftUpLeg$/", "/LeftForeArm$/")),
    ("xsens", ("Chest2", "LeftCollar", "LeftHip")),
    ("biovision", ("LeftCollar", "LeftHip", "LeftKnee")),
    ("unity", ("LeftUpperLeg", "LeftLowerLeg")),
)


def scheme_of(names: Sequence[str]) -> str:
    """Name of the scheme, or ``"names"`` for one we do not know by name.

    Examples
    --------
    >>> scheme_of(["mixamorig:Hips", "mixamorig:LeftUpLeg"]), scheme_of(["a", "b"])
    ('mixamo', 'names')
    """
    return _scheme(tuple(names))


@lru_cache(maxsize=256)  # a library holds thousands of files of a few schemes
def _scheme(names: tuple[str, ...]) -> str:
    bare = {re.split("[:|]", name)[-1] for name in names}
    lines = "\n".join([*names, *bare])
    for scheme, signs in _SIGNS:
        if all(_seen(sign, bare, lines) for sign in signs):
            return scheme
    return "names"


def _seen(sign: str, bare: set[str], lines: str) -> bool:
    if not sign.startswith("/"):
        return sign in bare
    pattern, _, flags = sign[1:].rpartition("/")
    options = re.MULTILINE | (re.IGNORECASE if "i" in flags else 0)
    return re.search(pattern, lines, options) is not None
