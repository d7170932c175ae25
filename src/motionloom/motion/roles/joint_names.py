"""Parsing of joint names into a side and a body part.

Names differ in their prefixes (``mixamorig:``, ``Bip01``, ``m_avg_``, ``DEF-``), in the way words
are joined (``LeftUpLeg``, ``thigh_l``, ``upper_arm.L``, ``lfemur``) and in the choice of words. A
name is split into words, prefixes and decoration are dropped, the side is removed, and the rest is
looked up in one table. Many words mean different joints in different rigs (a ``LeftShoulder`` may
be the collar bone or the upper arm). The table therefore gives only the named *part*, and
`motionloom.motion.roles.from_names` decides in context.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

# Part -> words for it, joined and in lower case.
_PARTS = {
    # the middle
    "hips": "hips hip pelvis hipcenter hipcentre centerhip midhip hipmid spinebase lowertorso",
    "spine": "spine spinemid spinenaval spinenavel abdomen abdomenlower abdomenupper torso back"
    " lowerback lowback backlower upperback upback backupper midback belly stomach waist lumbar"
    " tummy spinelower spinemiddle spineupper lowerspine middlespine midspine upperspine trunk"
    " lowerabdomen upperabdomen spinelow spinehigh 上半身",
    "chest": "chest upperchest lowerchest chestupper chestlower thorax ribcage ribs rib"
    " spineshoulder shouldercenter shouldercentre shouldersmid spinechest sternum uppertorso"
    " midchest chestbottom chesttop",
    "neck": "neck lowerneck upperneck necklower neckupper neckbase lowneck upneck cervical 首",
    "head": "head skull 頭",
    "headtop": "headtop tophead topofhead skulltop vertex crown",
    "nose": "nose",
    # the leg
    "thigh": "upleg upperleg legupper thigh femur legup thighbend upperlegs hipthigh",
    "leg": "leg legs 足",
    "shin": "lowleg loleg lowerleg leglower leglow shin calf tibia knee shank shinbend crus ひざ",
    "ankle": "ankle tarsal talus 足首",
    "foot": "foot feet foottop",
    "ball": "ball toebase metatarsal metatarsals midfoot football toesbase basetoe toeball"
    " forefoot footfront",
    "toe": "toe toes bigtoe greattoe footfingers つま先",
    # the arm
    "collar": "collar clavicle clav collarbone scapula shoulderblade clavicula 肩",
    "shoulder": "shoulder shld",
    "upperarm": "uparm uarm upperarm armupper humerus shldr shldrbend armup upperarms",
    "arm": "arm 腕",
    "forearm": "forearm farm lowerarm lowarm loarm armlower armlow elbow radius ulna forearmbend"
    " forarm ひじ",
    "wrist": "wrist carpus 手首",
    "hand": "hand fist",
}
_STEMS = {stem: part for part, stems in _PARTS.items() for stem in stems.split()}

CENTER = frozenset({"hips", "spine", "chest", "neck", "head", "headtop", "nose"})
LEG = frozenset({"hip", "thigh", "leg", "shin", "ankle", "foot", "ball", "toe"})
ARM = frozenset({"collar", "shoulder", "upperarm", "arm", "forearm", "wrist", "hand"})

_SIDES = {
    **dict.fromkeys(("l", "left", "lft", "lf", "lh", "左"), "left"),
    **dict.fromkeys(("r", "right", "rgt", "rt", "rh", "右"), "right"),
}

# Words without information about the part.
_DECORATION = frozenset(
    "mixamorig bip biped valve character robot avg def org joint jnt jt bone bn bind skin sk"
    " geo rig node anim c m f j b center centre base0 armature skeleton body human humanoid"
    " root reference sim".split()
)
# Words for joints that are not part of the body: twists, rig controls, face, props.
_ASIDE = frozenset(
    "twist roll helper ik fk pole target ctrl control adj adjust dummy prop weapon bag hair"
    " skirt cloth breast pec pectoral bust jaw eye eyes brow eyebrow lip tongue teeth cheek ear"
    " face facial mouth lash lid eyelid chin aux corrective muscle deltoid bicep biceps tricep"
    " trapezius trap wing pad armor armour mch tail leaf attach attachment socket heel front"
    " rear hind fore buttock glute bulge hat camera light mesh cape cloak sword holster smalltoe"
    " vis wire volume stretch bendy tweak widget gizmo finger4 horse tentacle".split()
)
_TIPS = frozenset("end nub tip top site endsite effector eff leafend endpoint term".split())
_FINGERS = ("middle", "index", "finger", "ring", "pinky", "pinkie", "little", "thumb")
_PALM = ("inhand", "metacarpal", "carpal", "palm", "meta")
_VERTEBRAE = {("l", "5"), ("l", "3"), ("t", "12"), ("t", "8")}  # the spine of Xsens MVN
_HELPER = re.compile("[_-]{2}")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")


@dataclass(frozen=True, slots=True)
class Label:
    """Parsed joint name.

    It consists of the `part` of the body (None if unknown), the `side` and the `numbers` in the
    name. Flags mark a `tip` (``HeadTop_End``), joints `aside` from the body (twists, controls,
    face, props), and a `tail`.
    """

    part: str | None = None
    side: str | None = None
    numbers: tuple[str, ...] = ()
    tip: bool = False
    aside: bool = False
    tail: bool = False


def labels_of(names: Sequence[str]) -> list[Label]:
    """Return the label of each name after dropping a prefix that nearly all names share.

    Examples
    --------
    >>> [(label.side, label.part) for label in labels_of(["Bip01 L Thigh", "Bip01 Pelvis"])]
    [('left', 'thigh'), (None, 'hips')]
    >>> labels_of(["LeftHandIndex1"])[0].part
    'index'
    """
    labels = _labels(names)
    glued = len(os.path.commonprefix(list(names)))
    if glued and len(names) > 3 and _recognized(labels) < len(names) / 3:
        # A prefix without a separator: mixamorighips, mixamorigspine.
        bare = _labels([name[glued:] for name in names])
        return max(labels, bare, key=_recognized)
    return labels


def _recognized(labels: Sequence[Label]) -> int:
    return sum(label.part is not None for label in labels)


def _labels(names: Sequence[str]) -> list[Label]:
    words = [split_words(name) for name in names]
    drop = _common_words(words)
    labels = [_label(word[_shared(word, drop) :]) for word in words]
    # MakeHuman puts a helper ``__UpLeg_L`` between the hips and ``UpLeg_L``.
    helper = [_HELPER.search(name) is not None for name in names]
    plain = {word for word, aside in zip(words, helper, strict=True) if not aside}
    return [
        Label(aside=True) if aside and word in plain else label
        for word, label, aside in zip(words, labels, helper, strict=True)
    ]


@lru_cache(maxsize=16384)
def split_words(name: str) -> tuple[str, ...]:
    """Split a name without its namespace into lowercase words at case, digits and separators.

    Examples
    --------
    >>> split_words("mixamorig1:LeftUpLeg"), split_words("upper_arm.L.001")
    (('left', 'up', 'leg'), ('upper', 'arm', 'l', '001'))
    """
    bare = re.split(r"[:|/]", name.strip())[-1] or name
    return tuple(word.lower() for word in _WORDS.findall(bare))


def side_and_rest(name: str) -> tuple[str | None, str]:
    """Return the side of a name (None on the midline), and its remaining words.

    Corresponding left and right joints have the same remaining words and opposite sides.

    Examples
    --------
    >>> side_and_rest("Bip01 L Finger2"), side_and_rest("lthumb"), side_and_rest("Spine")
    (('left', 'bip 01 finger 2'), ('left', 'thumb'), (None, 'spine'))
    """
    words = split_words(name)
    for place, word in enumerate(words):
        if word in _SIDES:
            return _SIDES[word], " ".join(words[:place] + words[place + 1 :])
    spoken = "".join(word for word in words if not word.isdigit())
    numbers = [word for word in words if word.isdigit()]
    side, bare = _glued_side(spoken)
    return side, " ".join([bare, *numbers] if side else words)


def _common_words(words: list[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the leading words, other than parts, that at least two thirds of the names share."""
    common: list[str] = []
    for place in range(4):
        heads = [w[place] for w in words if len(w) > place and w[:place] == tuple(common)]
        if len(heads) < 4:
            break
        word = max(set(heads), key=heads.count)
        meaningful = word in _SIDES or word in _STEMS or word in ("up", "upper", "low", "lower")
        if meaningful or heads.count(word) * 3 < len(words) * 2:
            break
        common.append(word)
    return tuple(common)


def _shared(word: tuple[str, ...], prefix: tuple[str, ...]) -> int:
    count = 0
    while count < len(prefix) and count < len(word) and word[count] == prefix[count]:
        count += 1
    return count


@lru_cache(maxsize=16384)
def _label(words: tuple[str, ...]) -> Label:
    if words in _VERTEBRAE:
        return Label("spine")
    numbers = tuple(word for word in words if word.isdigit())
    spoken = [word for word in words if not word.isdigit()]
    side = None
    rest = []
    for word in spoken:
        if side is None and word in _SIDES:
            side = _SIDES[word]
        else:
            rest.append(word)
    whole = _STEMS.get("".join(rest)) not in (None, "headtop")  # ChestTop: the whole name is a part
    tip = len(rest) > 1 and rest[-1] in _TIPS and not whole
    while tip and len(rest) > 1 and rest[-1] in _TIPS:
        rest.pop()
    kept = [word for word in rest if word not in _DECORATION]
    stem = _child_of_trunk(kept)
    aside = stem not in _STEMS and any(word in _ASIDE for word in kept)
    if side is None and stem not in _STEMS:
        side, stem = _glued_side(stem)
    if not tip and stem not in _STEMS:
        stem, tip = _glued_tip(stem)
    part = None if aside else _part(stem, side, kept)
    return Label(part, side, numbers, tip, aside, "tail" in kept)


def _child_of_trunk(words: list[str]) -> str:
    """Join the words, dropping a trunk part that precedes its child (``torso_clavicle``)."""
    stem = "".join(words)
    if stem in _STEMS:
        return stem
    for cut in range(1, len(words)):
        parent, child = "".join(words[:cut]), "".join(words[cut:])
        if child in _STEMS and (parent == "pelvis" or _STEMS.get(parent) in ("spine", "chest")):
            return child
    return stem


def _part(stem: str, side: str | None, words: list[str]) -> str | None:
    if side is None:
        part = _STEMS.get(stem)
        return part if part in CENTER else None
    finger = next((finger for finger in _FINGERS if finger in stem), None)
    if finger is None and "mid" in words and stem not in _STEMS:
        finger = "middle"
    if (finger and finger != "ring") or "ring" in words:
        if "foot" in stem or "toe" in stem:
            return None
        return "palm" if any(word in stem for word in _PALM) else finger
    if any(word in stem for word in _PALM) and "tarsal" not in stem:
        return "palm"
    part = _STEMS.get(stem)
    if part == "hips":
        return "hip"
    if stem == "thorax":  # one on each side: it carries the arm
        return "collar"
    return part if part not in CENTER else None


def _glued_side(stem: str) -> tuple[str | None, str]:
    """Return the side (or None) and the rest of names such as ``leftupleg`` or ``kneeright``."""
    for word, side in (
        ("left", "left"),
        ("right", "right"),
        ("左", "left"),
        ("右", "right"),
    ):
        if stem.startswith(word):
            return side, stem[len(word) :]
        if stem.endswith(word):
            return side, stem[: -len(word)]
    for letter, side in (("l", "left"), ("r", "right")):
        for bare in (
            stem[1:] if stem[:1] == letter else "",
            stem[:-1] if stem[-1:] == letter else "",
        ):
            bare = re.sub("(joint|bone|jnt)$", "", bare)
            if bare in _STEMS or any(bare.startswith(finger) for finger in _FINGERS):
                return side, bare
    return None, stem


def _glued_tip(stem: str) -> tuple[str, bool]:
    for word in ("endsite", "end", "nub", "tip", "site"):
        if stem.endswith(word) and stem[: -len(word)] in _STEMS:
            return stem[: -len(word)], True
    return stem, False
