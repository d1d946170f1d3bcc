"""StepwiseRegressor(direction="best_subset"): no set of the same size has a smaller RSS."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from reference.linear import residual_squares
from stagewise import InvalidParameterError, LinearRegression, StepwiseRegressor

N = 70
CITIES = ("Bonn", "Oslo", "Rome")


def table(seed: int = 0, n: int = N) -> tuple[pd.DataFrame, np.ndarray]:
    """Return seven correlated numbers and a category, with a sum that misleads greedy searches."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(n, 7))
    X = pd.DataFrame(base + 0.8 * base[:, [1, 2, 3, 4, 5, 6, 0]], columns=list("abcdefg"))
    X["a"] = X["b"] + X["c"] + 0.3 * rng.normal(size=n)
    city = rng.integers(3, size=n)
    X.insert(3, "city", pd.Categorical(np.array(CITIES)[city], categories=CITIES))
    y = X["b"] + X["c"] + 0.5 * X["e"] + 0.7 * (city == 1) + rng.normal(size=n)
    return X, y.to_numpy()


def columns_of(X: pd.DataFrame, names: tuple[str, ...]) -> list[np.ndarray]:
    found = []
    for name in names:
        dummies = [(X[name] == city).to_numpy(float) for city in CITIES[1:]]
        found += dummies if name == "city" else [X[name].to_numpy(float)]
    return found


def best_by_brute_force(X, y, weight, size):
    """Return the smallest RSS of all sets of a size, and the set."""
    return min(
        (residual_squares(columns_of(X, names), y, weight), names)
        for names in combinations(X.columns, size)
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_size_has_the_smallest_rss_of_all_sets(seed, weighted):
    X, y = table(seed)
    weight = 1.0 + np.arange(N) % 3 if weighted else np.ones(N)
    path = StepwiseRegressor(direction="best_subset").fit(X, y, weight).path_
    assert path["n_features"].tolist() == list(range(len(X.columns) + 1))
    for size, (rss, names) in enumerate(zip(path["rss"], path["features"], strict=True)):
        expected, best = best_by_brute_force(X, y, weight, size)
        assert rss == pytest.approx(expected, rel=1e-9)
        assert tuple(names) == best


def test_the_best_subsets_beat_forward_selection():
    X, y = table(0)
    best = StepwiseRegressor(direction="best_subset", n_features_to_select=4).fit(X, y)
    forward = StepwiseRegressor(n_features_to_select=4).fit(X, y)
    assert best.path_["features"][3] == forward.path_["features"][3] == ["a", "city", "e"]
    assert best.selected_features_ == ["b", "c", "city", "e"], "not nested"
    assert best.path_["rss"][4] < 0.96 * forward.path_["rss"][4]


@pytest.mark.parametrize("criterion", ["aic", "bic", "cv"])
def test_the_size_with_the_smallest_score_is_selected(criterion):
    X, y = table(1)
    model = StepwiseRegressor(direction="best_subset", criterion=criterion).fit(X, y)
    path = model.path_
    assert np.flatnonzero(path["selected"]).tolist() == [int(np.argmin(path["score"]))]
    assert model.selected_features_ == path["features"][int(np.argmin(path["score"]))]
    assert 1 < len(model.selected_features_) < len(X.columns)
    if criterion != "cv":
        np.testing.assert_array_equal(path["score"], path[criterion])
    plain = LinearRegression().fit(X[model.selected_features_], y)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-9)
    assert "R²" in model.summary() or "R2" in model.summary()


def test_the_rss_criterion_selects_the_size_before_the_flat_part():
    X, y = table(2)
    model = StepwiseRegressor(direction="best_subset", criterion="rss", tol=0.05).fit(X, y)
    rss = model.path_["rss"]
    flat = 1 - rss[1:] / rss[:-1] <= 0.05
    assert len(model.selected_features_) == int(np.argmax(flat)) > 0


def test_thirty_features_agree_with_the_sets_of_three_of_all():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80, 30)) + 0.5 * rng.normal(size=(80, 1))
    y = X[:, 3] - X[:, 17] + X[:, 28] + 2 * rng.normal(size=80)
    path = StepwiseRegressor(direction="best_subset", n_features_to_select=3).fit(X, y).path_
    whole = StepwiseRegressor(direction="best_subset").fit(X, y).path_
    Z, z = X - X.mean(axis=0), y - y.mean()
    gram, product = Z.T @ Z, Z.T @ z
    sets = np.array(list(combinations(range(30), 3)))
    fitted = np.linalg.solve(gram[sets[:, :, None], sets[:, None, :]], product[sets][..., None])
    rss = z @ z - (product[sets] * fitted[..., 0]).sum(axis=1)
    assert path["rss"][3] == pytest.approx(rss.min(), rel=1e-9)
    assert whole["rss"][3] == pytest.approx(rss.min(), rel=1e-9)
    assert whole["features"][3] == [f"x{j}" for j in sets[np.argmin(rss)]]


def test_no_best_subset_has_a_linearly_dependent_feature():
    X, y = table(1)
    plain = StepwiseRegressor(direction="best_subset").fit(X, y).path_
    copied = X.assign(h=1.0, copy=2 * X["b"] - 3)
    path = StepwiseRegressor(direction="best_subset").fit(copied, y).path_
    np.testing.assert_allclose(path["rss"], plain["rss"], rtol=1e-9)
    assert all(not {"b", "copy"} <= set(names) and "h" not in names for names in path["features"])


def test_sets_leave_residual_degrees_of_freedom():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(8, 10)), rng.normal(size=8)
    path = StepwiseRegressor(direction="best_subset").fit(X, y).path_
    assert path["rank"].tolist() == list(range(1, 8))
    for size in (1, 2, 3):
        expected = min(
            residual_squares([X[:, j] for j in names], y, np.ones(8))
            for names in combinations(range(10), size)
        )
        assert path["rss"][size] == pytest.approx(expected, rel=1e-9)


def test_units_and_an_intercept_do_not_matter():
    X, y = table(0)
    path = StepwiseRegressor(direction="best_subset").fit(X, y).path_
    far = X.assign(b=X["b"] * 1e8 + 5e8, c=X["c"] * 1e-9)
    other = StepwiseRegressor(direction="best_subset").fit(far, y * 1e-12).path_
    assert other["features"] == path["features"]
    numbers = X.drop(columns="city")
    model = StepwiseRegressor(direction="best_subset", fit_intercept=False).fit(numbers, y)
    A = numbers.to_numpy()
    for size in range(1, 8):
        expected = min(
            float(np.sum((y - A[:, c] @ np.linalg.lstsq(A[:, c], y, rcond=None)[0]) ** 2))
            for c in map(list, combinations(range(7), size))
        )
        assert model.path_["rss"][size] == pytest.approx(expected, rel=1e-9)


def test_a_perfect_fit_selects_no_more_features():
    X, _ = table(0)
    model = StepwiseRegressor(direction="best_subset").fit(X, 2.0 * X["b"] - X["c"])
    assert model.selected_features_ == ["b", "c"]


def test_the_path_is_a_table_and_a_plot():
    X, y = table(0)
    model = StepwiseRegressor(direction="best_subset", criterion="bic").fit(X, y)
    path = model.path_
    assert len(pd.DataFrame(path)) == len(pl.DataFrame(path)) == len(X.columns) + 1
    assert path["action"] == ["start", *["best_subset"] * len(X.columns)]
    pytest.importorskip("matplotlib")
    ax = model.plot_path()
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), path["bic"])
    assert ax.lines[1].get_xdata().tolist() == [len(model.selected_features_)]
    assert ax.get_xlabel() == "number of features"


def test_too_many_features_are_an_error_with_the_remedy():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 60)), rng.normal(size=100)
    with pytest.raises(
        ValueError, match=r"of at most 60 of 60 features.*n_features_to_select to at most 8"
    ):
        StepwiseRegressor(direction="best_subset").fit(X, y)
    with pytest.raises(ValueError, match=r"1,048,576 are feasible, because 20 rows fit perfectly"):
        StepwiseRegressor(direction="best_subset").fit(X[:20, :30], y[:20])
    model = StepwiseRegressor(direction="best_subset", n_features_to_select=2).fit(X, y)
    assert len(model.selected_features_) == 2


def test_p_values_of_best_subsets_are_an_error():
    with pytest.raises(InvalidParameterError, match=r"p_value.*may differ by more.*'rss'"):
        StepwiseRegressor(direction="best_subset", criterion="p_value").fit(*table())
