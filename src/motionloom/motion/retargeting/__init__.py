"""Retargeting: a motion transferred to another skeleton."""
