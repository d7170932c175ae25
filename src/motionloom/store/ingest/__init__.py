"""Ingest: reading files into a library."""
