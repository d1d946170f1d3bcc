"""Losses of times until an event, some of which are censored."""
