"""Generate dances: paths through a choreography, played on the beat and steered on the way."""
