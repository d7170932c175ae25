"""Commands that find motion by example or by text, or group it into clusters."""
