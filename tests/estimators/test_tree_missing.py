"""Missing values of single trees: imputed, or fractional rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import stagewise
from estimators.waves import KINDS, same, wave
from reference.pruning import fractional_prediction
from stagewise import DecisionTreeRegressor

ALL = pytest.mark.parametrize("kind", KINDS)


def holed(n, seed=0):
    X, y, classes = wave(n, seed)
    X[np.random.default_rng(seed + 1).random(X.shape) < 0.2] = np.nan
    return X, y, classes


@ALL
@pytest.mark.parametrize("weighted", [False, True])
def test_missing_values_are_replaced_by_the_mean(kind, weighted):
    X, number, classes = holed(300)
    y = number if kind is DecisionTreeRegressor else classes
    weight = np.random.default_rng(2).integers(1, 4, 300) if weighted else None
    times = np.ones(300) if weight is None else weight
    means = [np.average(x[~np.isnan(x)], weights=times[~np.isnan(x)]) for x in X.T]
    filled = np.where(np.isnan(X), means, X)
    model = kind(missing_strategy="mean", max_leaf_nodes=20).fit(X, y, weight)
    plain = kind(max_leaf_nodes=20).fit(filled, y, weight)
    np.testing.assert_array_equal(model.predict(X), plain.predict(filled))
    other = holed(100, 5)[0]
    expected = plain.predict(np.where(np.isnan(other), means, other))
    np.testing.assert_array_equal(model.predict(other), expected)


def cities(n):
    rng = np.random.default_rng(0)
    city = rng.choice(["Ulm", "Bonn", "Jena", "Kiel"], n, p=[0.5, 0.3, 0.1, 0.1])
    size = rng.normal(size=n)
    y = (city == "Ulm") * 2.0 + (city == "Jena") + size + rng.normal(size=n) / 5
    frame = pd.DataFrame({"city": pd.Categorical(city), "size": size})
    frame.loc[rng.random(n) < 0.2, "city"] = None
    frame.loc[rng.random(n) < 0.2, "size"] = None
    return frame, y


def test_missing_categories_are_replaced_by_the_most_frequent():
    frame, y = cities(400)
    model = DecisionTreeRegressor(missing_strategy="mean", max_leaf_nodes=12).fit(frame, y)
    filled = frame.fillna({"city": "Ulm", "size": frame["size"].mean()})
    plain = DecisionTreeRegressor(max_leaf_nodes=12).fit(filled, y)
    np.testing.assert_allclose(model.predict(frame), plain.predict(filled), atol=1e-12)


@ALL
def test_fractional_rows_are_weighted_by_the_shares_of_the_children(kind):
    X, number, classes = holed(400)
    y = number if kind is DecisionTreeRegressor else classes % 2
    model = kind(missing_strategy="probability", max_leaf_nodes=15).fit(X, y)
    tree, known = model.model_.ensemble.trees[0], model.model_
    expected = np.array([fractional_prediction(tree, row) for row in X])
    if kind is DecisionTreeRegressor:
        np.testing.assert_allclose(model.predict(X), known.offset + known.scale * expected)
    else:
        np.testing.assert_allclose(model.predict_proba(X)[:, 1], (1 + expected) / 2)
    (staged,) = model.staged_predict(X)
    np.testing.assert_array_equal(staged, model.predict(X))
    left, right = tree.cover[tree.left], tree.cover[tree.right]
    inner = tree.feature >= 0
    np.testing.assert_array_equal(tree.missing_left[inner], (left >= right)[inner])
    few = np.concatenate([model.predict(row[np.newaxis]) for row in X[:40]])
    np.testing.assert_array_equal(few, model.predict(X)[:40])


def test_missing_categories_can_be_fractional_rows(tmp_path):
    frame, y = cities(400)
    model = DecisionTreeRegressor(missing_strategy="probability", max_leaf_nodes=12).fit(frame, y)
    nothing = pd.DataFrame({"city": pd.Categorical([None], frame["city"].cat.categories),
                            "size": [np.nan]})  # fmt: skip
    tree = model.model_.ensemble.trees[0]
    leaf = tree.feature < 0
    mean = np.average(tree.value[leaf], weights=tree.cover[leaf])
    expected = model.model_.offset + model.model_.scale * mean
    assert model.predict(nothing)[0] == pytest.approx(expected)
    model.save(tmp_path / "m.stgw")
    assert stagewise.load(tmp_path / "m.stgw").predict(nothing) == model.predict(nothing)


def test_missing_training_values_are_drawn_from_the_others():
    X = np.array([[0.0]] * 300 + [[1.0]] * 100 + [[np.nan]] * 400)
    y = X[:, 0].copy()
    y[400:] = 5.0
    model = DecisionTreeRegressor(missing_strategy="probability").fit(X, y)
    tree = model.model_.ensemble.trees[0]
    drawn = tree.cover[tree.left[0]] - 300
    assert 260 < drawn < 340  # three in four of 400
    other = DecisionTreeRegressor(missing_strategy="probability", random_state=1).fit(X, y)
    assert not same(model, other)
    assert same(
        model, DecisionTreeRegressor(missing_strategy="probability", random_state=0).fit(X, y)
    )
    weight = np.where(X[:, 0] == 1, 9, 1)
    heavy = (
        DecisionTreeRegressor(missing_strategy="probability")
        .fit(X, y, weight)
        .model_.ensemble.trees[0]
    )
    assert heavy.cover[heavy.left[0]] - 300 == pytest.approx(100, abs=40)  # 300 in 1200


def test_a_column_that_is_always_missing_is_not_used():
    X, y, _ = wave(100)
    X[:, 1] = np.nan
    for missing in ("mean", "probability"):
        model = DecisionTreeRegressor(missing_strategy=missing).fit(X, y)
        assert model.feature_importances_[1] == 0
        assert np.isfinite(model.predict(X)).all()


def test_infinite_values_have_a_mean_unless_they_cancel():
    X, y, _ = wave(60)
    X[0, 0], X[1, 0] = np.inf, np.nan
    model = DecisionTreeRegressor(missing_strategy="mean").fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    X[2, 0] = -np.inf
    with pytest.raises(
        ValueError, match=r"X column 0 has inf and -inf.*missing_strategy='learned'"
    ):
        DecisionTreeRegressor(missing_strategy="mean").fit(X, y)


def test_apply_follows_the_side_with_more_rows_with_probability():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] + X[:, 1] ** 2
    X[rng.random(X.shape) < 0.2] = np.nan
    model = DecisionTreeRegressor(missing_strategy="probability", max_depth=4).fit(X, y)
    tree, leaves = model.model_.ensemble.trees[0], []
    for row in X:
        node = 0
        while tree.feature[node] >= 0:
            value, sides = row[tree.feature[node]], (tree.left[node], tree.right[node])
            more = tree.cover[sides[0]] < tree.cover[sides[1]]
            node = sides[int(more if np.isnan(value) else value > tree.threshold[node])]
        leaves.append(node)
    np.testing.assert_array_equal(model.apply(X), leaves)
