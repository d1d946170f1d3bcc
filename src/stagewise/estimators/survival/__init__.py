"""Boosted models of times until an event."""
