"""A report of a model: one page that explains it."""
