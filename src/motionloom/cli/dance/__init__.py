"""Commands that dance: beats, movements, dances and crowds."""
