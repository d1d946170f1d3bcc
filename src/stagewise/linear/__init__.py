"""Linear models: designs, least squares, terms."""
