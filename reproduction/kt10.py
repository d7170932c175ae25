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
    "kt10",
    "Krüger, Tautges, Weber & Zinke 2010",
    "Fast local and global similarity searches in large motion capture databases. SCA.",
    pages=("features.md", "search.md", "study.md", "fat-graphs.md", "reconstruct.md"),
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
