"""Forward and backward stepwise regression as in lectures: until the squared error is flat."""

from __future__ import annotations

import numpy as np
import pytest

from stagewise import InvalidParameterError, StepwiseRegressor


def table(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return eight correlated columns, five of which matter."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(120, 8))
    X = base + 0.6 * np.roll(base, 1, axis=1)
    return X, X @ [2.0, 0, 1.0, 0, -0.7, 0.4, 0, 0.2] + rng.normal(size=120)


def rss(X, y, features):
    """Return the squared error of the least-squares fit of an intercept and some features."""
    A = np.column_stack([np.ones(len(y)), X[:, sorted(features)]])
    return float(np.sum((y - A @ np.linalg.lstsq(A, y, rcond=None)[0]) ** 2))


def forward(X, y, tol):
    """Start with the intercept; add the best feature until the error does not improve."""
    chosen, order = set(), []
    error = rss(X, y, chosen)
    while len(chosen) < X.shape[1]:
        errors = {j: rss(X, y, chosen | {j}) for j in range(X.shape[1]) if j not in chosen}
        best = min(errors, key=errors.get)
        if (error - errors[best]) / error <= tol:
            break
        chosen, error = chosen | {best}, errors[best]
        order.append(best)
    return order


def backward(X, y, tol):
    """Start with all features; remove the one with the least impact until all matter."""
    chosen, order = set(range(X.shape[1])), []
    error = rss(X, y, chosen)
    while chosen:
        errors = {j: rss(X, y, chosen - {j}) for j in chosen}
        least = min(errors, key=errors.get)
        if (errors[least] - error) / errors[least] > tol:
            break
        chosen, error = chosen - {least}, errors[least]
        order.append(least)
    return order


@pytest.mark.parametrize("tol", [0.0, 0.01, 0.03, 0.2, 0.9])
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_the_order_is_that_of_the_pseudo_code(direction, seed, tol):
    X, y = table(seed)
    pseudo_code = {"forward": forward, "backward": backward}[direction]
    model = StepwiseRegressor(direction=direction, criterion="rss", tol=tol).fit(X, y)
    assert model.path_["feature"][1:] == [f"x{j}" for j in pseudo_code(X, y, tol)]
    np.testing.assert_array_equal(model.path_["score"], model.path_["rss"])


def test_the_tolerances_of_this_test_stop_at_different_features():
    X, y = table(0)
    lengths = [len(forward(X, y, tol)) for tol in (0.0, 0.01, 0.2, 0.9)]
    assert lengths == sorted(lengths, reverse=True)
    assert len(set(lengths)) == 4
    assert 0 < len(backward(X, y, 0.01)) < len(backward(X, y, 0.2)) < 8


@pytest.mark.parametrize("n", [1, 3, 8])
def test_a_given_number_of_features_replaces_the_stopping_rule(n):
    X, y = table(1)
    order = forward(X, y, 0.0)
    removed = backward(X, y, 1.0)
    for criterion in ("rss", "aic", "bic", "p_value"):
        added = StepwiseRegressor(n_features_to_select=n, criterion=criterion).fit(X, y)
        assert added.path_["feature"][1:] == [f"x{j}" for j in order[:n]]
        kept = StepwiseRegressor(
            direction="backward", n_features_to_select=n, criterion=criterion
        ).fit(X, y)
        assert kept.path_["feature"][1:] == [f"x{j}" for j in removed[: 8 - n]]
        assert len(kept.selected_features_) == len(added.selected_features_) == n
    assert len(StepwiseRegressor(n_features_to_select=n, criterion="cv").fit(X, y).coef_) == n


def test_both_directions_end_where_no_step_is_accepted():
    X, y = table(2)
    tol = 0.02
    model = StepwiseRegressor(direction="both", criterion="rss", tol=tol).fit(X, y)
    chosen = set(np.flatnonzero(model.support_))
    error = rss(X, y, chosen)
    others = set(range(8)) - chosen
    assert chosen
    assert others
    assert max(1 - rss(X, y, chosen | {j}) / error for j in others) <= tol
    assert min(1 - error / rss(X, y, chosen - {j}) for j in chosen) > tol


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"tol": 0.1}, r"'tol' .* no effect with criterion='aic'; set criterion='rss'"),
        ({"criterion": "rss", "tol": 1.0}, r"'tol' .* at least 0 and below 1; got 1.0"),
        ({"criterion": "rss", "tol": -0.1}, r"'tol' .* at least 0 and below 1; got -0.1"),
        ({"n_features_to_select": 0}, r"'n_features_to_select' .* whole number at least 1.*got 0"),
        ({"n_features_to_select": 2.5}, r"'n_features_to_select' .* whole number.*got 2.5"),
        ({"n_features_to_select": 9}, r"at most the number of features, 8; got 9"),
        (
            {"n_features_to_select": 3, "direction": "both"},
            r"no effect with direction='both'; set direction='forward', 'backward' or",
        ),
        (
            {"n_features_to_select": 3, "criterion": "rss", "tol": 0.2},
            r"'tol' .* no effect with n_features_to_select=3",
        ),
        (
            {"n_features_to_select": 3, "criterion": "p_value", "alpha_enter": 0.2},
            r"'alpha_enter' .* no effect with n_features_to_select=3",
        ),
    ],
)
def test_values_without_meaning_are_errors(params, message):
    with pytest.raises(InvalidParameterError, match=message):
        StepwiseRegressor(**params).fit(*table(0))


@pytest.mark.parametrize("direction", ["forward", "best_subset"])
def test_a_number_that_collinear_columns_do_not_reach_is_an_error(direction):
    X, y = table(0)
    X = np.column_stack([X[:, :3], X[:, :2]])
    model = StepwiseRegressor(direction=direction, n_features_to_select=4)
    with pytest.raises(ValueError, match=r"n_features_to_select=4, but only 3 features can be"):
        model.fit(X, y)


def test_the_recipe_has_the_stopping_rule():
    assert "selected forward by RSS (improvement above 0.02)" in (
        StepwiseRegressor(criterion="rss", tol=0.02).recipe()
    )
    assert "selected backward by AIC until 3 are selected" in (
        StepwiseRegressor(direction="backward", n_features_to_select=3).recipe()
    )
    assert "of the best subset, size by BIC" in (
        StepwiseRegressor(direction="best_subset", criterion="bic").recipe()
    )
    assert "of the best subset of 4" in (
        StepwiseRegressor(direction="best_subset", n_features_to_select=4).recipe()
    )
