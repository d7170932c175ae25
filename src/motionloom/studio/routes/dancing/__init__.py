"""Requests for dances, their movements and crowds."""
