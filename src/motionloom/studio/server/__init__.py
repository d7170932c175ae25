"""The HTTP server: application, access control, limits, and start-up."""
