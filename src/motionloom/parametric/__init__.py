"""Parametric motion: parameters, parameter space, sampling, weight refinement."""
