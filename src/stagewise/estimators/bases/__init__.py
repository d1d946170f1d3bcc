"""Base classes and mixins of the estimators."""
