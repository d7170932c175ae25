"""Whole-clip retrieval: distance measures for clips, and their tables."""
