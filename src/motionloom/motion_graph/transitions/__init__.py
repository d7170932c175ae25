"""Transitions between motions: where playback can switch from one motion to another."""
