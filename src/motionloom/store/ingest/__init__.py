"""Import of files into a library."""
