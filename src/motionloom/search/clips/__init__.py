"""Whole-clip retrieval: clip measures and their tables."""
