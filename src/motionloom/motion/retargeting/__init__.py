"""Retargeting: transferring a motion to another skeleton."""
