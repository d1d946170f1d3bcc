"""Automatic models: a search over configurations, and the weighted sum of the best ones."""
