"""Transitions, at which playback of a graph switches from one motion to another."""
