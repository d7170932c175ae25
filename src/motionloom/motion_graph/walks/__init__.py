"""Walks through a motion graph: planning, playing and evaluating routes."""
