"""The numbers of the regularised objective, entered as the textbooks write them.

The loss is Σ (y - ŷ)², without ½, and the penalty is γ J + ½ λ Σ w². So g = -2 (y - ŷ) and h = 2,
a leaf is w = -G / (H + λ), and a split is made if ½ [G_L²/(H_L + λ) + G_R²/(H_R + λ) - G²/(H + λ)]
exceeds γ.
"""

from __future__ import annotations

import numpy as np
import pytest

from stagewise import GradientBoostingRegressor
from stagewise.losses import Loss

LAMBDA, GAMMA = 3.0, 40.0
X = np.arange(8.0)[:, np.newaxis]
Y = np.array([-20.0, -18.0, 7.0, 9.0, 40.0, 43.0, -7.0, -6.0])


class FullSquaredError(Loss):
    """(y - F)², as it is written in many textbooks."""

    name = "full_squared_error"
    degree = 2

    def loss(self, y, score):
        return (y - score) ** 2

    def derivatives(self, y, score):
        return 2 * (score - y), np.full(len(y), 2.0)


def gain_of(g: np.ndarray, cut: int) -> float:
    """½ [G_L²/(H_L + λ) + G_R²/(H_R + λ) - G²/(H + λ)], with h = 2."""
    left, right, both = ((part.sum(), 2 * len(part)) for part in (g[:cut], g[cut:], g))
    score = [G**2 / (H + LAMBDA) for G, H in (left, right, both)]
    return 0.5 * (score[0] + score[1] - score[2])


def textbook_tree(g: np.ndarray, rows: slice, gamma: float) -> list[tuple[int, int, float]]:
    """Return the leaves (first row, last row + 1, value): split while the gain exceeds γ."""
    own = g[rows]
    gains = [gain_of(own, cut) for cut in range(1, len(own))]
    if not gains or max(gains) <= gamma:
        return [(rows.start, rows.stop, -own.sum() / (2 * len(own) + LAMBDA))]
    middle = rows.start + 1 + int(np.argmax(gains))
    left, right = slice(rows.start, middle), slice(middle, rows.stop)
    return [*textbook_tree(g, left, gamma), *textbook_tree(g, right, gamma)]


TEXTBOOK = {
    "n_estimators": 1,
    "learning_rate": 1.0,
    "min_samples_leaf": 1,
    "max_leaf_nodes": None,
    "max_features": None,
    "split": "exact",
}


@pytest.mark.parametrize("unit", [1.0, 1e-3, 250.0])
def test_the_numbers_of_the_notes_give_the_tree_of_the_notes(unit: float) -> None:
    """λ and γ are entered literally; γ is in units of y²."""
    y, gamma = Y * unit, GAMMA * unit**2
    leaves = textbook_tree(2 * (y.mean() - y), slice(0, len(y)), gamma)
    literal = GradientBoostingRegressor(
        loss=FullSquaredError(), l2_regularization=LAMBDA, min_gain=gamma, **TEXTBOOK
    ).fit(X, y)
    half = GradientBoostingRegressor(
        l2_regularization=LAMBDA / 2, min_gain=gamma / 2, **TEXTBOOK
    ).fit(X, y)
    assert len(leaves) == 4
    expected = np.concatenate([np.full(end - first, value) for first, end, value in leaves])
    for model in (literal, half):
        np.testing.assert_allclose(model.predict(X) - y.mean(), expected, rtol=1e-6)
        assert len(np.unique(model.apply(X))) == len(leaves)
