"""The state of a running studio: its library, jobs, uploads, and list of libraries."""
