"""Requests about libraries: motions, labels, words, clusters, uploads, other libraries."""
