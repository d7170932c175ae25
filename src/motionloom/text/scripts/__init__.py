"""Acting: a script in words is turned into a motion by finding and joining segments."""
