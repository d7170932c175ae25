"""Dances: paths through a choreography, blended on the beat and steered while they play."""
