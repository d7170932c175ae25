"""Parametric motions: parameters, their mapping to blend weights, and synthesis."""
