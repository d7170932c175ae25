"""Detect motion beats: find candidates and their dominant period, and track beats."""
