"""Losses in words, for labels of their values."""

from __future__ import annotations

__all__ = ["loss_words"]

FACTORS = {"squared_error": "half the squared error"}
"""Losses whose values have a factor, by name."""


def loss_words(name: str) -> str:
    """Return the words for the values of a loss.

    >>> loss_words("squared_error"), loss_words("log_loss")
    ('half the squared error', 'log loss')
    """
    return FACTORS.get(name, name.replace("_", " "))
