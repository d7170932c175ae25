"""Motion beats: candidates, dominant period, beat tracking."""
