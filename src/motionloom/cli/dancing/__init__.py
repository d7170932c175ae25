"""Commands about rhythm: beats, movements, dances and crowds to music."""
