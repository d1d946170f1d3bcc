"""Sampled rounds equal the papers' pseudo-code, with the same rows drawn.

Newton boosting with a brute-force tree; the multiplier of each row comes from the slow draws of
`reference.sampling`. Tolerance as in test_gradient_boosting.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from reference import sampling as draws
from reference.tree import Rules, grow, leaf_of, predict
from stagewise import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    Mvs,
    StagewiseRegressor,
)
from stagewise.learners import HistogramTree

Vector = npt.NDArray[np.float64]
Times = Callable[[Vector, Vector, int], Vector]
"""From g and h, shape (outputs, rows), and the round to how often each row counts."""

RATE, ROUNDS, LEAVES, LEAST, SEED, RIDGE = 0.3, 8, 5, 3, 11, 0.6
SHARED: dict[str, Any] = {
    "max_features": 1.0,
    "learning_rate": RATE,
    "n_estimators": ROUNDS,
    "max_leaf_nodes": LEAVES,
    "min_samples_leaf": LEAST,
    "min_hessian": 0.0,
    "l2_regularization": 1.0,
    "random_state": SEED,
}
TREE = Rules(max_leaves=LEAVES, min_samples_leaf=LEAST, l2=1.0)


def make_table(seed: int = 5, n: int = 240) -> tuple[Vector, Vector]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (n, 3)) / 4
    y = np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 1) + rng.normal(size=n) / 3
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


X, NUMBER = make_table()
CODES = np.digitize(NUMBER, np.quantile(NUMBER, [0.3, 0.7]))
GROUPS = np.arange(len(NUMBER)) * 13 % 20
GOSS, MVS = {"sampling": "goss"}, {"sampling": Mvs(regularization=RIDGE), "subsample": 0.5}
FIXED_SIZE = {"sampling": "fixed_size", "subsample": 0.47}
BOOTSTRAP, GROUP = {"sampling": "bootstrap"}, {"sampling": "group", "subsample": 0.6}


def length(g: Vector, h: Vector, ridge: float = 0.0) -> Vector:
    return np.sqrt((g**2 + ridge * h**2).sum(axis=0))


def goss(g: Vector, h: Vector, m: int) -> Vector:
    return draws.goss(length(g, h), 0.2, 0.1, SEED, m)


def mvs(unit: float) -> Times:
    return lambda g, h, m: draws.mvs(length(g, h, RIDGE * unit**2), 0.5, SEED, m)


def bootstrap(g: Vector, h: Vector, m: int) -> Vector:
    return draws.bootstrap(g.shape[1], 1.0, SEED, m)


def fixed_size(g: Vector, h: Vector, m: int) -> Vector:
    return draws.fixed_size(g.shape[1], 0.47, SEED, m)


def whole_groups(g: Vector, h: Vector, m: int) -> Vector:
    return draws.groups(GROUPS.astype(np.uint32), 0.6, SEED, m).astype(float)


def fit_tree(g: Vector, h: Vector, times: Vector) -> Any:
    """Grow on the rows of the bag: sums are multiplied, rows in a leaf are counted once."""
    bag = times > 0
    values = [np.unique(x[~np.isnan(x)]) for x in X.T]
    cuts = [(v[1:] + v[:-1]) / 2 for v in values]
    return grow(X[bag], (times * g)[bag], (times * h)[bag], None, cuts, TREE)


def newton_boost(F: Vector, derivatives: Any, times_of: Times) -> Vector:
    """Return the scores, shape (outputs, rows); one draw per round, for all outputs."""
    for m in range(ROUNDS):
        g, h = derivatives(F)
        times = times_of(g, h, m)
        F = F + RATE * np.array([predict(fit_tree(*gh, times), X) for gh in zip(g, h, strict=True)])
    return F


def logistic(F: Vector) -> tuple[Vector, Vector]:
    p = 1 / (1 + np.exp(-F))
    return p - (CODES == 2), p * (1 - p)


def softmax(F: Vector) -> tuple[Vector, Vector]:
    p = np.exp(F) / np.exp(F).sum(axis=0)
    return p - (np.arange(3)[:, np.newaxis] == CODES), p * (1 - p)


def residuals(F: Vector) -> tuple[Vector, Vector]:
    return F - NUMBER, np.ones_like(F)


# The λ of MVS is in units of the target's variance; scores of classes have no unit.
SPREAD = float(NUMBER.std())
WAYS = {
    "goss": (GOSS, goss, goss),
    "mvs": (MVS, mvs(SPREAD), mvs(1.0)),
    "bootstrap": (BOOTSTRAP, bootstrap, bootstrap),
    "fixed_size": (FIXED_SIZE, fixed_size, fixed_size),
    "group": (GROUP, whole_groups, whole_groups),
}


def given(params: dict[str, Any]) -> dict[str, Any]:
    return {"groups": GROUPS} if params["sampling"] == "group" else {}


@pytest.mark.parametrize(("params", "times_of", "_"), WAYS.values(), ids=WAYS)
def test_sampled_squared_error_equals_the_paper(params, times_of, _):
    model = GradientBoostingRegressor(**SHARED, **params).fit(X, NUMBER, **given(params))
    start = np.full((1, len(NUMBER)), NUMBER.mean())
    # The estimator's λ of a leaf is added to sums of h = 1 of targets in any unit: the same.
    expected = newton_boost(start, residuals, times_of)[0]
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-5 * SPREAD)


@pytest.mark.parametrize(("params", "_", "times_of"), WAYS.values(), ids=WAYS)
def test_sampled_two_classes_equal_the_paper(params, _, times_of):
    y = CODES == 2
    model = GradientBoostingClassifier(**SHARED, **params).fit(X, y, **given(params))
    start = np.full((1, len(y)), np.log(y.mean() / (1 - y.mean())))
    expected = newton_boost(start, logistic, times_of)[0]
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-5)


@pytest.mark.parametrize(("params", "_", "times_of"), WAYS.values(), ids=WAYS)
def test_three_classes_use_the_same_rows_in_a_round(params, _, times_of):
    model = GradientBoostingClassifier(**SHARED, **params).fit(X, CODES, **given(params))
    logs = np.log(np.bincount(CODES) / len(CODES))
    start = np.tile((logs - logs.mean())[:, np.newaxis], len(CODES))
    expected = newton_boost(start, softmax, times_of)
    np.testing.assert_allclose(model.decision_function(X).T, expected, atol=1e-5)


def weighted_median(values: Vector, weight: Vector) -> float:
    """Return the median of a list in which each value occurs `weight` times, in eighths."""
    return float(np.median(np.repeat(values, np.rint(8 * weight).astype(int))))


@pytest.mark.parametrize("params", [GOSS, BOOTSTRAP], ids=["goss", "bootstrap"])
def test_median_leaves_use_the_multipliers(params):
    F = np.full(len(NUMBER), np.median(NUMBER))
    for m in range(ROUNDS):
        sign = -np.sign(NUMBER - F)
        one = np.ones_like(F)
        times = (goss if params is GOSS else bootstrap)(sign[np.newaxis], one[np.newaxis], m)
        tree = fit_tree(sign, one, times)
        leaf = np.array([leaf_of(tree, row) for row in X])
        step = np.zeros_like(F)
        for j in np.unique(leaf):
            own = (leaf == j) & (times > 0)
            step[leaf == j] = weighted_median((NUMBER - F)[own], times[own])
        F = F + RATE * step
    model = GradientBoostingRegressor(loss="absolute_error", **SHARED, **params).fit(X, NUMBER)
    np.testing.assert_allclose(model.predict(X), F, atol=1e-5)


@pytest.mark.parametrize("params", [GOSS, MVS], ids=["goss", "mvs"])
def test_region_optima_use_multiplied_sums(params):
    """Friedman's response for two classes: a leaf is Σtr / Σt|r|(1-|r|)."""
    y = (CODES == 2).astype(float)
    F = np.full(len(y), np.log(y.mean() / (1 - y.mean())))
    for m in range(ROUNDS):
        p = 1 / (1 + np.exp(-F))
        one = np.ones_like(p)
        times_of = goss if params is GOSS else mvs(1.0)
        times = times_of((p - y)[np.newaxis], one[np.newaxis], m)
        leaf_tree = fit_tree(p - y, one, times)
        leaf = np.array([leaf_of(leaf_tree, row) for row in X])
        for j in np.unique(leaf):
            t, r = times[leaf == j], (y - p)[leaf == j]
            F[leaf == j] += RATE * (t @ r) / (t @ (np.abs(r) * (1 - np.abs(r))))
    model = GradientBoostingClassifier(response="gradient", **SHARED, **params).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), F, atol=1e-5)


def test_a_line_search_uses_the_multipliers():
    """For squared error the best multiple of a term b is Σt(y - F)b / Σtb²."""
    F = np.full(len(NUMBER), NUMBER.mean())
    for m in range(ROUNDS):
        one = np.ones_like(F)
        times = goss((F - NUMBER)[np.newaxis], one[np.newaxis], m)
        b = predict(fit_tree(F - NUMBER, one, times), X)
        F = F + RATE * ((times * (NUMBER - F)) @ b) / ((times * b) @ b) * b
    tree = HistogramTree(LEAVES, min_samples_leaf=LEAST, min_hessian=0.0, l2=1.0)
    shared = {"learning_rate": RATE, "n_estimators": ROUNDS, "random_state": SEED}
    model = StagewiseRegressor(learner=tree, step="line_search", **shared, **GOSS)
    np.testing.assert_allclose(model.fit(X, NUMBER).predict(X), F, atol=1e-5)
