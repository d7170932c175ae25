"""Remote stores: frames and artifacts of a library in an object store."""
