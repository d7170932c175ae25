"""Movement transition graphs: learn them from takes, edit them by rules, and check seams."""
