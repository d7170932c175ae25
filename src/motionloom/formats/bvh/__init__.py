"""BVH files: reader, writer and incremental writer."""
