"""Repairs of captured motion: flips, joint ranges, sides, jitter, the floor, drift and feet."""
