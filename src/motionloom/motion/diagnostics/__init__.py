"""Diagnostics of a motion: measurements, issues, repairs, quality report."""
