"""Subsequence DTW over a whole library."""
