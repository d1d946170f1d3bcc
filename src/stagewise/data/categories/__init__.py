"""Categorical columns: categories, unknown categories, target encoding."""
