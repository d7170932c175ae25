"""Dance commands: beats, movements, dances and crowds."""
