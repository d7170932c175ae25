"""Parametric motions: parameters, the map from parameters to blend weights, and synthesis."""
