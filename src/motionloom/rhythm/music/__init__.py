"""Music: beats from MIDI and audio files, tunes made by code, clocks."""
