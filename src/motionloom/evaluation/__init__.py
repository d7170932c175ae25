"""Evaluation of search, clip measures, frame distances, captions and reconstruction."""
