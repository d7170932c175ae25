"""Ingestion: reading files into a library."""
