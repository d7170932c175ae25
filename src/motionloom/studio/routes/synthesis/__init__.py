"""Routes for synthesis: parametric motions, motion graphs, motion matching, scripts."""
