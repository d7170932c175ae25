"""Models of requests that several routes share."""
