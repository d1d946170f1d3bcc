"""From parameters and rows to a fitted model."""
