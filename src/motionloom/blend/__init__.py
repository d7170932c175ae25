"""How motions are mixed: registration, blending, transitions, and playing what comes of it."""
