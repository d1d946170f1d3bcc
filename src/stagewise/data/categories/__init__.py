"""Categorical columns: categories, unknown values, target encoding."""
