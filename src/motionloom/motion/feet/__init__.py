"""Feet: ground contacts, foot-skate clean-up of a whole motion, streaming foot lock."""
