"""Importance of features."""
