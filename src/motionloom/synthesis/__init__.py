"""What new to make: motions that nobody has performed, from those that somebody has."""
