"""Learners in the boosting trainer: how each reads rows and makes a model."""
