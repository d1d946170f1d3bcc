"""`examples/tinygbt.py` grows the trees of the library.

Features, thresholds and the shape of every tree must be equal. The values are multiples of 2⁻¹⁶:
a threshold of the core also separates the float32 copies of two values, which are then the values
themselves. Scores differ by rounding: the core sums gradients as integers of 31 bits, an error of
about 1e-8 of the target's spread per round; the file sums float64. Hence a tolerance of 1e-6.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import log_loss

from stagewise import GradientBoostingClassifier, GradientBoostingRegressor
from stagewise.datasets import make_friedman1, make_moons
from stagewise.losses import Loss

FILE = Path(__file__).parents[2] / "examples" / "tinygbt.py"
tiny = SimpleNamespace(**runpy.run_path(str(FILE)))
TOLERANCE = 1e-6
SETTINGS = [
    # n_estimators, learning_rate, max_depth, λ, γ
    (20, 0.3, 3, 1.0, 0.0),
    (10, 0.1, 5, 0.0, 0.5),
    (1, 1.0, 2, 10.0, 2.0),
]


class FullSquaredError(Loss):
    """(y - F)², without ½."""

    name = "full_squared_error"
    degree = 2

    def loss(self, y, score):
        return (y - score) ** 2

    def derivatives(self, y, score):
        return 2 * (score - y), np.full(len(y), 2.0)


def table(make: Any, seed: int, **arguments: float) -> tuple[np.ndarray, np.ndarray]:
    """Return a simulated table with values that float32 has, too."""
    X, y = make(200, seed=seed, **arguments)
    return np.round(X * 2**16) / 2**16, y


def parameters(rounds: int, rate: float, depth: int, l2: float, gamma: float) -> dict[str, Any]:
    """Return the settings as parameters of the library; the rest is as in the textbooks."""
    return {
        "n_estimators": rounds,
        "learning_rate": rate,
        "max_depth": depth,
        "l2_regularization": l2,
        "min_gain": gamma,
        "response": "newton",
        "split": "exact",
        "max_leaf_nodes": None,
        "min_samples_leaf": 1,
        "min_hessian": 0.0,
        "max_features": None,
    }


def assert_same_tree(own: Any, tree: Any, node: int, rate: float, atol: float) -> None:
    """Compare a tree of the file with one of the library, whose values include ν."""
    if isinstance(own, tiny.Leaf):
        assert tree.feature[node] == -1
        np.testing.assert_allclose(rate * own.value, tree.value[node], rtol=0, atol=atol)
        return
    assert own.feature == tree.feature[node]
    assert own.threshold == tree.threshold[node]
    assert_same_tree(own.left, tree, tree.left[node], rate, atol)
    assert_same_tree(own.right, tree, tree.right[node], rate, atol)


def assert_same_model(own: Any, model: Any, scores: Any, X: Any, spread: float) -> None:
    trees = model.model_.ensemble.trees
    assert len(trees) == len(own.trees)
    assert max(len(tiny.leaf_values(tree)) for tree in own.trees) > 2
    scale = model.model_.scale
    for one, tree in zip(own.trees, trees, strict=True):
        assert_same_tree(one, tree, 0, own.learning_rate / scale, TOLERANCE * spread / scale)
    np.testing.assert_allclose(tiny.predict(own, X), scores, rtol=0, atol=TOLERANCE * spread)


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("half", [True, False], ids=["with ½", "without ½"])
def test_squared_error_gives_the_trees_of_the_library(settings, half):
    X, y = table(make_friedman1, 3)
    rounds, rate, depth, l2, gamma = settings
    loss = tiny.HALF_SQUARED_ERROR if half else tiny.SQUARED_ERROR
    own = tiny.boost(X, y, loss, rounds, rate, depth, l2, gamma)
    theirs = "squared_error" if half else FullSquaredError()
    model = GradientBoostingRegressor(loss=theirs, **parameters(*settings)).fit(X, y)
    X_test, _ = table(make_friedman1, 4)
    assert_same_model(own, model, model.predict(X_test), X_test, y.std())


def test_without_the_half_twice_the_penalties_give_the_same_trees():
    X, y = make_friedman1(200, seed=3)
    half = tiny.boost(X, y, tiny.HALF_SQUARED_ERROR, l2=1.5, gamma=2.0)
    full = tiny.boost(X, y, tiny.SQUARED_ERROR, l2=3.0, gamma=4.0)
    np.testing.assert_allclose(tiny.predict(half, X), tiny.predict(full, X), rtol=1e-12)


@pytest.mark.parametrize("settings", SETTINGS)
def test_log_loss_gives_the_trees_of_the_library(settings):
    X, y = table(make_moons, 3, noise=0.3)
    rounds, rate, depth, l2, gamma = settings
    own = tiny.boost(X, y, tiny.LOG_LOSS, rounds, rate, depth, l2 + 0.1, gamma)
    changed = (rounds, rate, depth, l2 + 0.1, gamma)  # without λ, pure leaves grow without a bound
    model = GradientBoostingClassifier(**parameters(*changed)).fit(X, y)
    X_test, _ = table(make_moons, 4, noise=0.3)
    assert_same_model(own, model, model.decision_function(X_test), X_test, 1.0)


def test_the_derivatives_are_those_of_the_losses():
    """Central differences of L and g."""
    F, step = np.linspace(-3, 3, 21), 1e-5
    y = np.arange(21) % 2.0
    for loss in (tiny.HALF_SQUARED_ERROR, tiny.SQUARED_ERROR, tiny.LOG_LOSS):
        slope = (loss.value(y, F + step) - loss.value(y, F - step)) / (2 * step)
        bend = (loss.g(y, F + step) - loss.g(y, F - step)) / (2 * step)
        np.testing.assert_allclose(loss.g(y, F), slope, atol=1e-8)
        np.testing.assert_allclose(loss.h(y, F), bend, atol=1e-8)
        constants = loss.f_0(y) + np.array([-0.01, 0.0, 0.01])
        totals = [loss.value(y, np.full(21, c)).sum() for c in constants]
        assert np.argmin(totals) == 1
    p = tiny.sigmoid(F)
    assert tiny.LOG_LOSS.value(y, F).mean() == pytest.approx(log_loss(y, p))


def test_the_gain_is_the_decrease_of_the_second_order_objective():
    rng = np.random.default_rng(0)
    g, h, left, l2, gamma = rng.normal(size=9), rng.uniform(size=9), np.arange(9) < 4, 0.7, 0.2

    def least(rows):
        w = tiny.leaf_value(g[rows].sum(), h[rows].sum(), l2)
        return (g[rows] * w + h[rows] * w**2 / 2).sum() + l2 / 2 * w**2 + gamma

    sums = [array[side].sum() for side in (left, ~left) for array in (g, h)]
    expected = least(left | True) - least(left) - least(~left)
    assert tiny.gain(*sums, l2, gamma) == pytest.approx(expected, rel=1e-12)


def test_every_round_decreases_the_objective():
    X, y = make_moons(150, noise=0.3, seed=1)
    model = tiny.boost(X, y, tiny.LOG_LOSS, n_estimators=15, learning_rate=1.0, gamma=0.1)
    totals = []
    for m in range(16):
        stage = tiny.Model(model.f_0, model.trees[:m], 1.0)
        totals.append(
            tiny.objective(tiny.LOG_LOSS, y, tiny.predict(stage, X), stage.trees, 1.0, 0.1)
        )
    split = [len(tiny.leaf_values(tree)) > 1 for tree in model.trees]
    assert sum(split) > 5
    # A tree without a split costs γ; a split is made only if it gains more.
    assert all(b < a for a, b, grew in zip(totals, totals[1:], split, strict=False) if grew)


def test_equal_values_are_not_separated():
    X, g = np.array([[1.0], [1.0], [1.0]]), np.array([-5.0, 1.0, 4.0])
    assert tiny.best_split(X, g, np.ones(3), 0.0, 0.0)[1] is None
