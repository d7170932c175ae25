"""Dances: a path through a choreography, played, steered and blended on the beat."""
