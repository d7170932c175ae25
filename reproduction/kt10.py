"""Krüger, Tautges, Weber & Zinke 2010: local and global similarity searches."""

from __future__ import annotations

from motionloom.library.settings import (
    FatGraphSettings,
    LazyGraph,
    NeighborSettings,
    ReconstructSettings,
    SearchSettings,
)
from reproduction import kt10_agreement as agreement
from reproduction import kt10_fat_graphs as fat_graphs
from reproduction import kt10_hits as hits
from reproduction import kt10_matching as matching
from reproduction import kt10_poses as poses
from reproduction import kt10_reconstruction as reconstruction
from reproduction.claims import Paper
from reproduction.our_rules import OurRule

_EVERY = (0.0, float("inf"))
# Not listed, because they do not change results: the bucket index instead of a kd-tree, and
# distances as root mean squares over joints instead of norms.
OUR_RULES = (
    OurRule("A match has half to twice the speed of the query.", LazyGraph, "steps", off="classic"),
    OurRule(
        "Paths skip query frames without a neighbor, and are then aligned exactly.",
        LazyGraph,
        "bridge",
        off=0,
    ),
    OurRule(
        "The surroundings of the graph's paths are searched again by poses and speeds together, "
        "and matches are ranked by movement, not by the sum of distances.",
        LazyGraph,
        "rank",
        off="sum",
    ),
    OurRule(
        "If two matches overlap, only the closer one is kept.",
        LazyGraph,
        "max_overlap",
        off=1.0,
        reason="the paper counts matches, so one per occurrence",
    ),
    OurRule(
        "New members of a query expansion must have a clear time alignment.",
        SearchSettings,
        "expansion.clear",
        off=False,
    ),
    OurRule(
        "Members are half to twice as long as the query.",
        SearchSettings,
        "expansion.member_lengths",
        off=_EVERY,
    ),
    OurRule(
        "Members keep their start and end if they are found again.",
        SearchSettings,
        "expansion.average_ranges",
        off=True,
    ),
    OurRule("16 neighbors of each frame are found instead of 256.", NeighborSettings, "k", off=256),
    OurRule(
        "Headings are a path through candidates scored by the library.",
        ReconstructSettings,
        "rules.heading_path",
        off=False,
    ),
    OurRule(
        "Poses of the first pass are smoothed without their heading.",
        ReconstructSettings,
        "rules.upright_smoothing",
        off=False,
    ),
    OurRule(
        "Sequences are solved in two passes.", ReconstructSettings, "rules.two_passes", off=False
    ),
    OurRule(
        "Frames are solved with later frames in view.", ReconstructSettings, "mode", off="online"
    ),
    OurRule("Markers are matched loosely first.", ReconstructSettings, "rules.slacks", off=()),
    OurRule(
        "Feet in contact are held in place.", ReconstructSettings, "rules.hold_feet", off=False
    ),
    OurRule(
        "Joints stay in the range of the library.",
        ReconstructSettings,
        "rules.joint_limits",
        off=False,
    ),
    OurRule(
        "Nearer poses have more weight in a local model.",
        ReconstructSettings,
        "rules.near_weights",
        off=False,
    ),
    OurRule(
        "Only a part of the last step is extrapolated.",
        ReconstructSettings,
        "rules.damping",
        off=1.0,
    ),
    OurRule(
        "Base poses of fat graphs are compared by windows.", FatGraphSettings, "features", off="e15"
    ),
    OurRule(
        "Fat graphs get base poses of fast gaits, and generated transitions between gaits.",
        FatGraphSettings,
        "bridge",
        off=False,
    ),
    OurRule(
        "All neighbors of a frame are counted, not at most k.",
        FatGraphSettings,
        "k",
        off=256,
        reason="the paper gives no k; with 256, most frames of captured walks reach the limit",
    ),
)

PAPER = Paper(
    key="kt10",
    slug="krueger-2010",
    name="Krüger, Tautges, Weber & Zinke 2010",
    title="Fast local and global similarity searches in large motion capture databases. SCA.",
    summary=(
        "The paper searches motion capture by nearest neighbors in low-dimensional feature "
        "sets. The lazy neighborhood graph joins neighbors of consecutive frames into "
        "matches; the same neighbors serve fat graphs and whole-body reconstruction from six "
        "markers. The small feature sets, the speed, approximate neighbors and the "
        "reconstruction hold up. In a large database, the graph finds all close matches of exact "
        "DTW but misses many of the others, and correlations of feature sets are lower than the "
        "paper reports. The statements that do not hold are mostly about correlations; their notes "
        "give an experiment that explains each."
    ),
    pages=(
        "explanation/features.md",
        "explanation/search.md",
        "evidence/distances.md",
        "explanation/fat-graphs.md",
        "explanation/reconstruction.md",
    ),
)
PARTS = (
    poses.figure_1,
    poses.section_3_2,
    poses.table_1,
    agreement.figure_2,
    agreement.section_3_3_segments,
    matching.section_4_1_small,
    matching.section_4_1,
    matching.section_4_1_ranks,
    matching.section_4_2,
    hits.figure_3,
    hits.table_2,
    hits.section_5_1,
    *reconstruction.PARTS,
    fat_graphs.section_5_3_base_poses,
    fat_graphs.section_5_3_time,
    fat_graphs.section_5_3_motion,
)
