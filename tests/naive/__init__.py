"""Plain implementations of definitions; they share no code with motionloom."""
