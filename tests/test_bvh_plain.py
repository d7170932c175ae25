"""The quick way through a plain hierarchy: it agrees with the careful one or steps aside."""

from __future__ import annotations

import random

import pytest

import motionloom as ml
from motionloom.errors import MotionFormatError
from motionloom.formats.bvh.hierarchy import MAX_NAME, read_hierarchy
from motionloom.formats.bvh.layout import plain_nodes
from motionloom.formats.conventions import Repairs

PLAIN = """HIERARCHY
ROOT Hips
{
\tOFFSET 0.0 -1.5e-3 .5
\tCHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation
\tJOINT Left.Leg
\t{
\t\tOFFSET 1 -2. 3
\t\tCHANNELS 3 Zrotation Yrotation Xrotation
\t\tEnd Site
\t\t{
\t\t\tOFFSET 0 -4 0
\t\t}
\t}
\tJOINT mixamorig:Spine {
\t\tOFFSET 0 5 0
\t\tCHANNELS 3 Zrotation Yrotation Xrotation
\t\tEnd Site
\t\t{
\t\t\tOFFSET 0 1 0
\t\t}
\t}
}
"""


def careful(text):
    """Nodes and repairs of the careful reader; None where it refuses."""
    repairs = Repairs("x.bvh", strict=False)
    try:
        return read_hierarchy(text, 7, "x.bvh", repairs), repairs.sentences()
    except MotionFormatError:
        return None, ()


def test_a_plain_hierarchy_is_read_as_the_careful_reader_reads_it():
    nodes = plain_nodes(PLAIN, 7)
    assert nodes is not None
    assert (nodes, ()) == careful(PLAIN)
    assert [node.name for node in nodes] == ["Hips", "Left.Leg", "", "mixamorig:Spine", ""]
    assert [node.parent for node in nodes] == [-1, 0, 1, 0, 3]
    assert nodes[1].line == 12


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("HIERARCHY", ""),
        ("ROOT", "JOINT"),
        ("ROOT", "root"),
        ("End Site", "End Site LeftToe"),
        ("End Site", "End site"),
        ("Left.Leg", "Left Leg"),
        ("Left.Leg", ""),
        ("Left.Leg", "Left.Leg # a comment"),
        ("Left.Leg", "L" * (MAX_NAME + 1)),
        ("OFFSET 1 -2. 3", "OFFSET 1 -2."),
        ("OFFSET 1 -2. 3", "OFFSET 1 -2. 3 4"),
        ("OFFSET 1 -2. 3", "OFFSET 1-2. 3"),
        ("OFFSET 1 -2. 3", "OFFSET 1e99 -2. 3"),
        ("OFFSET 1 -2. 3", "OFFSET nan -2. 3"),
        ("OFFSET 1 -2. 3", ""),
        ("CHANNELS 3 Zrotation", "CHANNELS 4 Zrotation"),
        ("CHANNELS 3 Zrotation", "CHANNELS 3 Xrotation"),
        ("CHANNELS 3 Zrotation", "CHANNELS 3 zrotation"),
        ("CHANNELS 3 Zrotation", "CHANNELS 3 Zscale"),
        ("\t}\n}", "\t}\n}\n}"),
        ("\t}\n}", "\t}"),
        ("\t}\n}", "\t}\n}\nROOT Second\n{\nOFFSET 0 0 0\nCHANNELS 1 Xrotation\n}"),
        ("\t}\n}", "\t}\n} words"),
    ],
)
def test_irregular_files_are_left_to_the_careful_reader(old, new):
    assert old in PLAIN
    assert plain_nodes(PLAIN.replace(old, new, 1), 1) is None


def test_both_readers_agree_on_any_mutated_file():
    rng = random.Random(1)
    pieces = [*"{}\n\t #.-+e0", "JOINT x", "End Site", "OFFSET", "CHANNELS", "Xrotation", "\xa0"]
    read = 0
    for _ in range(3000):
        text = PLAIN
        for _ in range(rng.randint(1, 2)):
            place = rng.randrange(len(text))
            cut = rng.choice([0, 0, 1, 3])
            text = text[:place] + rng.choice(["", *pieces]) + text[place + cut :]
        nodes = plain_nodes(text, 7)
        if nodes is not None:
            read += 1
            assert (nodes, ()) == careful(text), text
    assert read > 300, "most changes to white space and names keep a file plain"


def test_takes_of_one_performer_share_their_skeleton(tmp_path):
    rows = "MOTION\nFrames: 2\nFrame Time: .1\n" + "0 1 2 3 4 5 6 7 8 9 8 7\n" * 2
    for name, head in (("a", PLAIN), ("b", PLAIN), ("c", PLAIN.replace("5", "6"))):
        (tmp_path / f"{name}.bvh").write_text(head + rows)
    a, b, c = (ml.load(tmp_path / f"{name}.bvh") for name in "abc")
    assert a.skeleton is b.skeleton
    assert a.skeleton.key != c.skeleton.key
    assert (a.origin.path, b.origin.path) == tuple(str(tmp_path / f"{n}.bvh") for n in "ab")


@pytest.mark.cmu
def test_both_readers_agree_on_real_hierarchies(cmu30):
    for path in sorted(cmu30.rglob("*.bvh"))[::100]:
        text = path.read_text()
        text = text[: text.index("MOTION")]
        nodes = plain_nodes(text, 7)
        assert nodes is not None
        assert (nodes, ()) == careful(text)
