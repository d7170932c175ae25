"""Music: beats of MIDI and audio files, and beat clocks."""
