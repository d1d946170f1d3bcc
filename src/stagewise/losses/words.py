"""Losses in words, for labels of their values."""

from __future__ import annotations

__all__ = ["loss_words"]

WORDS = {
    "squared_error": "half the squared error",
    "ndcg": "1 - NDCG",
    "yetirank": "1 - NDCG",
    "map": "1 - MAP",
}
"""Losses whose values are not what their name suggests."""


def loss_words(name: str) -> str:
    """Return the words for the values of a loss.

    >>> loss_words("squared_error"), loss_words("log_loss")
    ('half the squared error', 'log loss')
    """
    return WORDS.get(name, name.replace("_", " "))
