"""The HTTP server: the application, who may connect, how much at a time, and its start."""
