"""Effects of features on predictions."""
