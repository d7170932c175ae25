"""Commands that find motion by example or by words, or group it into clusters."""
