"""Match graphs and families, grown by query expansion."""
