"""Feet: ground contacts, gaits, foot-skate cleanup of whole motions, and streaming foot lock."""
