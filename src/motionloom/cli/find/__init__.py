"""Commands that find motion: by example, by words, in clusters."""
