"""The estimators equal the algorithms of the books.

Each algorithm is written as in its paper, in a few lines with a brute-force regression tree, and
must give the predictions of the estimator. Tolerance 1e-5 of the target's spread: the core keeps
gradients as float32 and sums them as 31-bit integers, about 1e-7 a round; a different algorithm, or
a tie that is resolved differently, gives differences of 1e-2 or more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import minimize_scalar

from reference.tree import Rules, grow, leaf_of, predict
from stagewise import (
    GentleBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LogitBoostClassifier,
)
from stagewise.losses import Huber, Tweedie
from stagewise.trees.tree import Tree

Vector = npt.NDArray[np.float64]

RATE, ROUNDS, LEAVES, LEAST = 0.3, 12, 6, 4
SHARED: dict[str, Any] = {
    "max_features": 1.0,
    "learning_rate": RATE,
    "n_estimators": ROUNDS,
    "max_leaf_nodes": LEAVES,
    "min_samples_leaf": LEAST,
    "min_hessian": 0.0,
    "l2_regularization": 0.0,
}
TREE = Rules(max_leaves=LEAVES, min_samples_leaf=LEAST)


def make_table(seed: int, n: int = 160) -> tuple[Vector, Vector]:
    """Return few distinct values, so that each has its own bin; some are missing."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (n, 3)) / 4
    y = np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 1) + rng.normal(size=n) / 3
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def weighted_least_squares(X: Vector, z: Vector, w: Vector, rules: Rules = TREE) -> Tree:
    """Fit a tree to z by least squares with weights w: gradients -w z, hessians w."""
    values = [np.unique(x[~np.isnan(x)]) for x in X.T]
    return grow(X, -w * z, w, None, [(v[1:] + v[:-1]) / 2 for v in values], rules)


def least_squares(X: Vector, z: Vector, rules: Rules = TREE) -> Tree:
    return weighted_least_squares(X, z, np.ones(len(z)), rules)


def regions(tree: Tree, X: Vector) -> npt.NDArray[np.int64]:
    return np.array([leaf_of(tree, row) for row in X])


# ---- Friedman (2001), "Greedy function approximation: a gradient boosting machine" --------------


def ls_boost(X: Vector, y: Vector) -> Vector:
    """Algorithm 2, with the shrinkage of section 5."""
    F = np.full(len(y), y.mean())
    for _ in range(ROUNDS):
        residual = y - F
        F += RATE * predict(least_squares(X, residual), X)
    return F


def lad_tree_boost(X: Vector, y: Vector) -> Vector:
    """Algorithm 3: the tree is fitted to signs, its leaves are medians."""
    F = np.full(len(y), np.median(y))
    for _ in range(ROUNDS):
        leaf = regions(least_squares(X, np.sign(y - F)), X)
        for j in np.unique(leaf):
            F[leaf == j] += RATE * np.median((y - F)[leaf == j])
    return F


def m_tree_boost(X: Vector, y: Vector, alpha: float) -> Vector:
    """Algorithm 4: the width is a quantile of |residuals|, a leaf steps once from its median."""
    F = np.full(len(y), np.median(y))
    for _ in range(ROUNDS):
        r = y - F
        delta = np.quantile(np.abs(r), alpha, method="inverted_cdf")
        leaf = regions(least_squares(X, np.clip(r, -delta, delta)), X)
        for j in np.unique(leaf):
            own = r[leaf == j]
            rest = own - np.median(own)
            step = np.mean(np.sign(rest) * np.minimum(delta, np.abs(rest)))
            F[leaf == j] += RATE * (np.median(own) + step)
    return F


def quantile_tree_boost(X: Vector, y: Vector, q: float) -> Vector:
    """Algorithm 1 with the quantile loss: leaves are quantiles of the residuals."""
    F = np.full(len(y), np.quantile(y, q, method="averaged_inverted_cdf"))
    for _ in range(ROUNDS):
        leaf = regions(least_squares(X, np.where(y > F, q, np.where(y < F, q - 1, 0))), X)
        for j in np.unique(leaf):
            own = (y - F)[leaf == j]
            F[leaf == j] += RATE * np.quantile(own, q, method="averaged_inverted_cdf")
    return F


def newton_boost(X: Vector, F: Vector, derivatives: Any) -> Vector:
    """Newton boosting: each tree fits -g/h by least squares with weights h."""
    for _ in range(ROUNDS):
        g, h = derivatives(F)
        F = F + RATE * predict(weighted_least_squares(X, -g / h, h), X)
    return F


def l2_tree_boost(X: Vector, y: Vector) -> Vector:
    """Algorithm 5, for y = ±1; its F is half the log-odds."""
    F = np.full(len(y), 0.5 * np.log((1 + y.mean()) / (1 - y.mean())))
    for _ in range(ROUNDS):
        response = 2 * y / (1 + np.exp(2 * y * F))
        leaf = regions(least_squares(X, response), X)
        for j in np.unique(leaf):
            r = response[leaf == j]
            F[leaf == j] += RATE * r.sum() / (np.abs(r) * (2 - np.abs(r))).sum()
    return F


def lk_tree_boost(X: Vector, codes: npt.NDArray[Any], K: int) -> Vector:
    """Algorithm 6; returns the probabilities."""
    F = np.zeros((len(codes), K)) + np.log(np.bincount(codes) / len(codes))
    for _ in range(ROUNDS):
        p = np.exp(F) / np.exp(F).sum(axis=1, keepdims=True)
        for k in range(K):
            r = (codes == k) - p[:, k]
            leaf = regions(least_squares(X, r), X)
            for j in np.unique(leaf):
                own = r[leaf == j]
                step = (K - 1) / K * own.sum() / (np.abs(own) * (1 - np.abs(own))).sum()
                F[leaf == j, k] += RATE * step
    return np.exp(F) / np.exp(F).sum(axis=1, keepdims=True)


def gradient_boost(X: Vector, F: Vector, loss: Any, gradient: Any) -> Vector:
    """Algorithm 1 with regions: the best constant of each is found by search."""
    for _ in range(ROUNDS):
        leaf = regions(least_squares(X, -gradient(F)), X)
        for j in np.unique(leaf):
            rows = leaf == j
            found = minimize_scalar(
                lambda c, rows=rows: loss(F + c)[rows].sum(), bounds=(-4, 4), method="bounded"
            )
            F[rows] += RATE * found.x
    return F


def test_gradient_response_of_two_classes_equals_l2_tree_boost() -> None:
    X, y = make_table(12)
    labels = np.where(y + np.random.default_rng(0).normal(size=len(y)) / 2 > 0.4, 1.0, -1.0)
    model = GradientBoostingClassifier(response="gradient", **SHARED).fit(X, labels)
    np.testing.assert_allclose(model.decision_function(X), 2 * l2_tree_boost(X, labels), atol=2e-5)


def test_gradient_response_of_many_classes_equals_lk_tree_boost() -> None:
    X, y = make_table(13, 180)
    codes = np.argsort(np.argsort(y + np.random.default_rng(0).normal(size=180))) // 60
    model = GradientBoostingClassifier(response="gradient", **SHARED).fit(X, codes)
    np.testing.assert_allclose(model.predict_proba(X), lk_tree_boost(X, codes, 3), atol=2e-5)


def test_gradient_response_uses_the_optimum_of_every_region() -> None:
    X, y = make_table(14)
    counts = np.random.default_rng(0).poisson(1 + np.exp(y / 2)).astype(float)
    sign = np.where(y + np.random.default_rng(1).normal(size=len(y)) / 2 > 0.4, 1.0, -1.0)
    p = 1.4
    for loss, own, target, value, gradient in [
        ("poisson", {}, counts, lambda F: np.exp(F) - counts * F, lambda F: np.exp(F) - counts),
        (
            "gamma",
            {},
            counts + 1,
            lambda F: (counts + 1) * np.exp(-F) + F,
            lambda F: 1 - (counts + 1) * np.exp(-F),
        ),
        (
            Tweedie(power=p),
            {},
            counts,
            lambda F: counts * np.exp((1 - p) * F) / (p - 1) + np.exp((2 - p) * F) / (2 - p),
            lambda F: np.exp((2 - p) * F) - counts * np.exp((1 - p) * F),
        ),
    ]:
        model = GradientBoostingRegressor(loss=loss, response="gradient", **own, **SHARED)
        F = gradient_boost(X, np.full(len(y), np.log(target.mean())), value, gradient)
        ours = np.log(model.fit(X, target).predict(X))
        np.testing.assert_allclose(ours, F, atol=1e-4, err_msg=str(loss))
    model = GradientBoostingClassifier(loss="exponential", response="gradient", **SHARED)
    start = np.full(len(y), 0.5 * np.log((sign > 0).mean() / (sign < 0).mean()))
    F = gradient_boost(X, start, lambda F: np.exp(-sign * F), lambda F: -sign * np.exp(-sign * F))
    np.testing.assert_allclose(model.fit(X, sign).decision_function(X), F, atol=1e-4)


def test_squared_error_equals_ls_boost() -> None:
    X, y = make_table(0)
    model = GradientBoostingRegressor(**SHARED).fit(X, y)
    np.testing.assert_allclose(model.predict(X), ls_boost(X, y), atol=1e-5 * y.std())


def test_absolute_error_equals_lad_tree_boost() -> None:
    X, y = make_table(1)
    model = GradientBoostingRegressor(loss="absolute_error", **SHARED).fit(X, y)
    np.testing.assert_allclose(model.predict(X), lad_tree_boost(X, y), atol=1e-5 * y.std())


def test_huber_equals_m_tree_boost() -> None:
    X, y = make_table(8)
    y[:6] += 20.0  # outliers
    model = GradientBoostingRegressor(loss="huber", quantile=0.83, **SHARED).fit(X, y)
    np.testing.assert_allclose(model.predict(X), m_tree_boost(X, y, 0.83), atol=1e-5 * y.std())


@pytest.mark.parametrize("q", [0.1, 0.77])
def test_quantile_uses_the_quantile_of_every_region(q: float) -> None:
    X, y = make_table(9)
    model = GradientBoostingRegressor(loss="quantile", quantile=q, **SHARED).fit(X, y)
    np.testing.assert_allclose(model.predict(X), quantile_tree_boost(X, y, q), atol=1e-5 * y.std())


def test_log_links_equal_newton_boosting() -> None:
    X, y = make_table(10)
    counts = np.random.default_rng(0).poisson(np.exp(y / 2)).astype(float)
    amounts = np.exp(y + np.random.default_rng(1).normal(size=len(y)) / 4)
    p = 1.4
    for loss, own, target, derivatives in [
        ("poisson", {}, counts, lambda F: (np.exp(F) - counts, np.exp(F))),
        ("gamma", {}, amounts, lambda F: (1 - amounts / np.exp(F), amounts / np.exp(F))),
        (
            Tweedie(power=p),
            {},
            counts,
            lambda F: (
                np.exp((2 - p) * F) - counts * np.exp((1 - p) * F),
                (2 - p) * np.exp((2 - p) * F) + (p - 1) * counts * np.exp((1 - p) * F),
            ),
        ),
    ]:
        model = GradientBoostingRegressor(loss=loss, **own, **SHARED).fit(X, target)
        F = newton_boost(X, np.full(len(y), np.log(target.mean())), derivatives)
        np.testing.assert_allclose(model.predict(X), np.exp(F), rtol=1e-4, err_msg=str(loss))


def test_log_loss_uses_the_steps_of_l2_tree_boost() -> None:
    # Algorithm 5 finds its regions by plain least squares, Newton boosting by weighted ones. With
    # one feature of two values there is one way to make two regions, and only steps differ.
    rng = np.random.default_rng(2)
    X = rng.integers(0, 2, (80, 1)).astype(float)
    y = np.where(rng.random(80) < 0.3 + 0.5 * X[:, 0], 1.0, -1.0)
    model = GradientBoostingClassifier(**SHARED).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), 2 * l2_tree_boost(X, y), atol=1e-5)


# ---- Friedman, Hastie & Tibshirani (2000), "Additive logistic regression" -----------------------


PLAIN: dict[str, Any] = {
    "learning_rate": RATE,
    "n_estimators": ROUNDS,
    "max_depth": None,
    "max_leaf_nodes": LEAVES,
    "min_samples_leaf": LEAST,
}


def logit_boost(X: Vector, y: Vector, limit: float) -> Vector:
    """Algorithm 3 with shrinkage, for y = 0 or 1; its F is half the log-odds."""
    F = np.zeros(len(y))
    for _ in range(ROUNDS):
        p = 1 / (1 + np.exp(-2 * F))
        w = p * (1 - p)
        z = np.clip((y - p) / w, -limit, limit)
        F += RATE * 0.5 * predict(weighted_least_squares(X, z, w), X)
    return F


def logit_boost_of_many_classes(X: Vector, codes: npt.NDArray[Any], K: int) -> Vector:
    """Algorithm 6 with shrinkage; returns the probabilities."""
    F, p = np.zeros((len(codes), K)), np.full((len(codes), K), 1 / K)
    for _ in range(ROUNDS):
        f = np.empty_like(F)
        for k in range(K):
            w = p[:, k] * (1 - p[:, k])
            z = np.clip(((codes == k) - p[:, k]) / w, -4, 4)
            f[:, k] = predict(weighted_least_squares(X, z, w), X)
        F += RATE * (K - 1) / K * (f - f.mean(axis=1, keepdims=True))
        p = np.exp(F) / np.exp(F).sum(axis=1, keepdims=True)
    return p


def gentle_ada_boost(X: Vector, y: Vector, F: Vector) -> Vector:
    """Algorithm 4 with shrinkage, for y = ±1: least squares fits of y with weights e^(-y F)."""
    for _ in range(ROUNDS):
        w = np.exp(-y * F)
        F = F + RATE * predict(weighted_least_squares(X, y, w), X)
    return F


def two_classes(seed: int) -> tuple[Vector, Vector]:
    X, y = make_table(seed)
    return X, np.where(y + np.random.default_rng(0).normal(size=len(y)) / 2 > 0.4, 1.0, -1.0)


def test_gentle_boost_equals_gentle_ada_boost() -> None:
    X, y = two_classes(11)
    model = GentleBoostClassifier(**PLAIN).fit(X, y)
    F = gentle_ada_boost(X, y, np.zeros(len(y)))
    np.testing.assert_allclose(model.decision_function(X), F, atol=1e-5)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-2 * F)), atol=1e-5)


def test_exponential_loss_equals_gentle_ada_boost_from_another_start() -> None:
    X, y = two_classes(11)
    model = GradientBoostingClassifier(loss="exponential", **SHARED).fit(X, y)
    start = 0.5 * np.log((1 + y.mean()) / (1 - y.mean()))
    F = gentle_ada_boost(X, y, np.full(len(y), start))
    np.testing.assert_allclose(model.decision_function(X), F, atol=1e-5)


def test_gentle_boost_of_many_classes_equals_newton_on_the_exponential_loss() -> None:
    X, y = make_table(15, 180)
    K = 3
    codes = np.argsort(np.argsort(y + np.random.default_rng(0).normal(size=180))) // 60
    Y = np.where(codes[:, np.newaxis] == np.arange(K), 1.0, -1 / (K - 1))
    F = np.zeros((180, K))
    for _ in range(ROUNDS):
        w = np.exp(-(Y * F).sum(axis=1) / K)
        f = [
            predict(weighted_least_squares(X, 1 / Y[:, k], Y[:, k] ** 2 * w / K), X)
            for k in range(K)
        ]
        F += RATE * np.column_stack(f)
    model = GentleBoostClassifier(**PLAIN).fit(X, codes)
    np.testing.assert_allclose(model.decision_function(X), F, atol=1e-4)
    p = np.exp(F / (K - 1))
    np.testing.assert_allclose(model.predict_proba(X), p / p.sum(axis=1, keepdims=True), atol=1e-5)


@pytest.mark.parametrize("limit", [4.0, 2.5])
def test_logit_boost_of_two_classes_equals_the_paper(limit: float) -> None:
    X, y = two_classes(3)
    model = LogitBoostClassifier(z_max=limit, **PLAIN).fit(X, y)
    F = logit_boost(X, (y > 0).astype(float), limit)
    np.testing.assert_allclose(model.decision_function(X), 2 * F, atol=1e-5)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-2 * F)), atol=1e-5)


def test_logit_boost_of_many_classes_equals_the_paper() -> None:
    # The book's centring shifts all scores of a row equally, which changes no probability.
    X, y = make_table(4, 180)
    codes = np.argsort(np.argsort(y + np.random.default_rng(0).normal(size=180))) // 60
    model = LogitBoostClassifier(**PLAIN).fit(X, codes)
    expected = logit_boost_of_many_classes(X, codes, 3)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-5)


# ---- Chen & Guestrin (2016), "XGBoost" ---------------------------------------------------------


def xgboost(X: Vector, y: Vector, rules: Rules) -> Vector:
    """Equations 2, 5 and 7: trees on g and h with penalties on leaves and on their number."""
    F = np.full(len(y), y.mean())
    for _ in range(ROUNDS):
        g, h = F - y, np.ones(len(y))
        F += RATE * predict(weighted_least_squares(X, -g / h, h, rules), X)
    return F


UNITS = {"max_step": 1, "l1_regularization": 1, "min_gain": 2}
"""The power of the unit of y in the unit of each parameter, for squared error."""


def in_units(penalty: dict[str, float], unit: float, degree: int = 2) -> dict[str, float]:
    """Return parameters after y was multiplied by a unit; `degree`: that of the loss."""
    powers = UNITS if degree == 2 else {"max_step": 1}
    return {name: value * unit ** powers.get(name, 0) for name, value in penalty.items()}


@pytest.mark.parametrize("growth", ["best_first", "depth_wise"])
@pytest.mark.parametrize(
    "penalty",
    [
        {"l2_regularization": 5.0},
        {"min_gain": 0.5},
        {"l1_regularization": 2.0},
        {"max_step": 0.25},
        {"min_hessian": 9.0},
        {
            "l2_regularization": 1.0,
            "l1_regularization": 0.5,
            "min_gain": 0.1,
            "max_step": 0.5,
            "min_hessian": 3.0,
        },
    ],
    ids=" ".join,
)
def test_regularised_squared_error_equals_xgboost(penalty: dict[str, float], growth: str) -> None:
    X, y = make_table(5)
    unit = y.std()
    penalty = in_units(penalty, unit)
    rules = Rules(
        max_leaves=LEAVES,
        max_depth=3,
        min_samples_leaf=LEAST,
        min_hessian=penalty.get("min_hessian", 0.0),
        min_gain=penalty.get("min_gain", 0.0),
        l1=penalty.get("l1_regularization", 0.0),
        l2=penalty.get("l2_regularization", 0.0),
        max_step=penalty.get("max_step", 0.0),
        depth_wise=growth == "depth_wise",
    )
    settings = {**SHARED, "max_depth": 3, "grow_policy": growth, **penalty}
    model = GradientBoostingRegressor(**settings).fit(X, y)
    expected = xgboost(X, y, rules)
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-5 * unit)
    plain = (
        GradientBoostingRegressor(**SHARED, max_depth=3, grow_policy=growth).fit(X, y).predict(X)
    )
    assert np.abs(plain - expected).max() > 1e-2 * unit  # the penalty has an effect


# ---- properties that the books assume -----------------------------------------------------------


@pytest.mark.parametrize(
    "loss", ["squared_error", "absolute_error", "quantile", "poisson", "gamma"]
)
def test_a_round_with_an_exact_step_never_raises_a_convex_loss(loss: str) -> None:
    X, y = make_table(16)
    model = GradientBoostingRegressor(
        loss=loss, response="gradient", **{**SHARED, "learning_rate": 1.0}
    )
    losses = model.fit(X, np.exp(y)).train_loss_
    assert (np.diff(losses) <= 1e-7 * np.abs(losses[0])).all()


def test_stumps_give_an_additive_model() -> None:
    X, y = make_table(17, 400)
    X = np.nan_to_num(X)
    for leaves, additive in ((2, True), (3, False)):
        settings = {**SHARED, "max_leaf_nodes": leaves, "n_estimators": 60}
        model = GradientBoostingRegressor(**settings).fit(X, y)
        a, b = X[:200], X[200:]
        corners = []
        for first in (a, b):
            for second in (a, b):
                corner = a.copy()
                corner[:, 0], corner[:, 1:] = first[:, 0], second[:, 1:]
                corners.append(model.predict(corner))
        mixed = np.abs(corners[0] - corners[1] - corners[2] + corners[3]).max()
        assert (mixed < 1e-9) == additive


@pytest.mark.parametrize(
    ("loss", "penalty"),
    [
        ("squared_error", {}),
        ("squared_error", {"l1_regularization": 5.0}),
        ("squared_error", {"min_gain": 0.3}),
        ("squared_error", {"max_step": 0.1}),
        ("absolute_error", {}),
        ("absolute_error", {"l1_regularization": 5.0}),
        ("absolute_error", {"min_gain": 3.0}),
        ("absolute_error", {"max_step": 0.1}),
        ("quantile", {}),
        ("huber", {}),
    ],
)
def test_y_scale_does_not_matter(loss: str, penalty: dict[str, float]) -> None:
    X, y = make_table(6, 400)
    settings = {**SHARED, "n_estimators": 20, "max_leaf_nodes": 31}
    predictions = GradientBoostingRegressor(loss=loss, **settings, **penalty).fit(X, y).predict(X)
    for a in (1.5, 1.3e-5, 7e9):
        scaled = in_units(penalty, a, 2 if loss == "squared_error" else 1)
        model = GradientBoostingRegressor(loss=loss, **settings, **scaled).fit(X, a * y)
        np.testing.assert_allclose(model.predict(X) / a, predictions, atol=1e-5)


def test_no_leaf_of_absolute_error_exceeds_max_step() -> None:
    X, y = make_table(7, 400)
    model = GradientBoostingRegressor(
        loss="absolute_error", n_estimators=1, learning_rate=1.0, max_step=0.05
    ).fit(X, y)
    assert np.abs(model.predict(X) - np.median(y)).max() <= 0.05 * (1 + 1e-9)


# ---- a fixed δ ----------------------------------------------------------------------------------


def huber_boosting(X: Vector, y: Vector, delta: float) -> Vector:
    """Algorithm 10.3: trees on the clipped residuals, then one step from the median of a leaf."""
    F = np.full(len(y), np.median(y))
    for _ in range(ROUNDS):
        r = y - F
        leaves = regions(least_squares(X, np.clip(r, -delta, delta)), X)
        step = np.zeros(len(y))
        for leaf in np.unique(leaves):
            own = leaves == leaf
            median = np.median(r[own])
            step[own] = median + np.clip(r[own] - median, -delta, delta).mean()
        F = F + RATE * step
    return F


@pytest.mark.parametrize("delta", [0.05, 0.5, 1e6])
def test_huber_with_a_fixed_delta(delta: float) -> None:
    X, y = make_table(8, 301)
    model = GradientBoostingRegressor(loss=Huber(delta=delta), **SHARED).fit(X, y)
    np.testing.assert_allclose(model.predict(X), huber_boosting(X, y, delta), atol=1e-5)
    assert model.train_loss_[-1] == pytest.approx(
        np.where(
            np.abs(y - model.predict(X)) <= delta,
            0.5 * (y - model.predict(X)) ** 2,
            delta * (np.abs(y - model.predict(X)) - 0.5 * delta),
        ).mean(),
        rel=1e-5,
    )


@pytest.mark.parametrize("a", [1e-200, 1e-3, 7e9])
def test_a_fixed_delta_is_in_units_of_y(a: float) -> None:
    X, y = make_table(8, 301)
    one = GradientBoostingRegressor(loss=Huber(delta=0.5), **SHARED).fit(X, y)
    other = GradientBoostingRegressor(loss=Huber(delta=0.5 * a), **SHARED).fit(X, a * y)
    np.testing.assert_allclose(other.predict(X) / a, one.predict(X), atol=1e-9)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"delta": 0.0}, "delta must be a positive number; got 0.0"),
        ({"delta": float("nan")}, "delta must be a positive number"),
        ({"quantile": 0.5, "delta": 1.0}, "either a quantile of the residuals or fixed"),
    ],
)
def test_a_wrong_delta_is_refused(parameters: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Huber(**parameters)
