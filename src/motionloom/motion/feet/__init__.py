"""Feet: ground contacts, gaits, foot-skate clean-up of a whole motion, streaming foot lock."""
