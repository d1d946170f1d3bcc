"""The model report: one HTML page."""
