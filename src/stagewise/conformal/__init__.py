"""Conformal prediction: intervals and sets from the scores of rows that were not trained on."""
