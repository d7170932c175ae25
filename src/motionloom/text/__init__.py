"""Words: captions from the motion itself, labels, text search, learnt words, clusters."""
