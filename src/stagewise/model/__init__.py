"""Fitted models and their file format. This package never fits anything."""
