"""Routes for libraries: motions, labels, text search, clusters, uploads, other libraries."""
