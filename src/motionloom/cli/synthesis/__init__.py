"""Commands that make new motion: parametric motions, graphs, controllers, scripts."""
