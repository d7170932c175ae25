"""What a running studio holds: its library, jobs, uploads, and the libraries to choose from."""
