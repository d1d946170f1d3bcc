"""Specifications of fits, training data, and one trainer for each kind of model."""
