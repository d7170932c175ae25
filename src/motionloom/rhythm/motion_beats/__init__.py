"""Motion beats: candidates, dominant period, reference beats."""
