"""State of a running studio: its library, jobs, uploads, and the list of libraries."""
