"""Linear models: design matrices, least squares, linear terms."""
