"""Requests about what is on the stage, on which character, and for which armature."""
