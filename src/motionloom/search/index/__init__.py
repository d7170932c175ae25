"""Nearest-neighbor indexes over the feature vectors of a library."""
