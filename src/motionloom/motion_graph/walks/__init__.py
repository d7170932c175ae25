"""Walks through a motion graph: routes are planned, played, and judged."""
