"""Text: captions computed from motions, labels, text search, learned words and clusters."""
