"""Requests that make motion: parametric motions, motion graphs, motion matching, scripts."""
