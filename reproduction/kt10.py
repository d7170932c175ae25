"""Krüger, Tautges, Weber & Zinke 2010: local and global similarity searches."""

from __future__ import annotations

from reproduction import kt10_agreement as agreement
from reproduction import kt10_fat_graphs as fat_graphs
from reproduction import kt10_hits as hits
from reproduction import kt10_matching as matching
from reproduction import kt10_poses as poses
from reproduction import kt10_reconstruction as reconstruction
from reproduction.claims import Paper

PAPER = Paper(
    key="kt10",
    slug="krueger-2010",
    name="Krüger, Tautges, Weber & Zinke 2010",
    title="Fast local and global similarity searches in large motion capture databases. SCA.",
    summary=(
        "The paper searches motion capture by nearest neighbors in low-dimensional feature "
        "sets. The lazy neighborhood graph joins neighbors of consecutive frames into "
        "matches; the same neighbors serve fat graphs and whole-body reconstruction from six "
        "markers. The small feature sets, the speed and the reconstruction hold up. In a "
        "large database, the graph misses many matches of exact DTW (recall 0.41 to 0.68), "
        "and removing the whole root transform retrieves less than removing only heading and "
        "floor position."
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
