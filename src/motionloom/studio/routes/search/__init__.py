"""Requests that search and compare: searches, distance matrices, aligned poses, exports."""
