"""Ingest: files into a library."""
