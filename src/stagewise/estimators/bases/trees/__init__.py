"""Base classes of forests and single trees, and what all estimators of trees share."""
