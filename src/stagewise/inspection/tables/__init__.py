"""Descriptions of tables."""
