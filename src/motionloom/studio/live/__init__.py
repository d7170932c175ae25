"""Live requests of one browser window, over a websocket."""
