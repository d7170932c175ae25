"""Diagnostics of a motion: measurements, issues, repairs and the quality report."""
