"""Routes for dances, movements and crowds."""
