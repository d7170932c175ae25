"""Acting: a script in words becomes a motion, from segments that are found and joined."""
