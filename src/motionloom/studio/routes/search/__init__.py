"""Routes for searches, distance matrices, aligned poses and exports."""
