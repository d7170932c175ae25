"""Motion beats: candidates, dominant period and beat tracking."""
