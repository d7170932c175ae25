"""Retargeting, the transfer of a motion to another skeleton."""
