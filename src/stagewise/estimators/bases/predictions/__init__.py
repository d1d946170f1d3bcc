"""Predictions of estimators: scores of rows, classes, numbers, and rows of datasets."""
