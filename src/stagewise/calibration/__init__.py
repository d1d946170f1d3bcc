"""Calibration of probabilities: maps that are fitted to rows that were not trained on."""
