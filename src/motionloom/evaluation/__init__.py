"""Evaluation: retrieval, whole clips, rank correlation of distances, reconstruction."""
