"""Scripts: turn a written script into a motion by finding and joining segments."""
