"""Commands about dance: beats, movements, dances and crowds."""
