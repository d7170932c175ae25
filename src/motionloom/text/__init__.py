"""Words: captions from the motion itself, labels, text search, learned words, clusters."""
