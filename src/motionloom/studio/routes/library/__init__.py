"""Requests about the library: motions, labels, words, clusters, uploads, other libraries."""
