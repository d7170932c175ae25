"""A benchmark of motion retrieval: whole clips, segments of takes, sentences, and films."""

__version__ = "1.0"
