"""Linear models as estimators."""
