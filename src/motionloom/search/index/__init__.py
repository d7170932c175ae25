"""Nearest-neighbour indexes over the feature vectors of a library."""
