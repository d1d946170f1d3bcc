"""From checked parameters to specifications, and to model files."""
