"""Humanoid robots as characters."""
