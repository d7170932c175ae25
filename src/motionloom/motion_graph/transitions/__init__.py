"""Transitions: where one motion of a graph may continue as another."""
