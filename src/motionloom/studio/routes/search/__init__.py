"""Requests for searches, distance matrices, aligned poses and exports."""
