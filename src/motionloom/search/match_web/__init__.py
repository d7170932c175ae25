"""Match webs (Kovar and Gleicher 2004)."""
