"""Margins: the definitions, and their growth after the training error is 0."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier as ScikitBoosting
from sklearn.neighbors import KNeighborsClassifier

from stagewise import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    InvalidParameterError,
    RandomForestClassifier,
    RandomForestRegressor,
)
from stagewise.datasets import make_nested_spheres
from stagewise.inspection import margins, staged_contributions

mpl.use("Agg")


def table(n_classes=2, n=200):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    y = np.argsort(np.argsort(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n))) * n_classes // n
    return X, y


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("rate", [1.0, 0.4])
def test_margins_of_votes_are_shares_of_the_votes(n_classes, rate):
    X, y = table(n_classes)
    model = AdaBoostClassifier(n_estimators=12, learning_rate=rate, max_depth=2, criterion="gini")
    found = margins(model.fit(X, y), X, y, rounds=[3, 12])
    assert found.kind == "votes"
    # Count the votes tree by tree.
    added = staged_contributions(model, X).rounds
    voted = (added[..., 0] > 0).astype(int) if n_classes == 2 else added.argmax(axis=2)
    for rounds, values in zip((3, 12), found.values, strict=True):
        alpha = model.estimator_weights_[:rounds]
        votes = np.stack([(voted[:, :rounds] == c) @ alpha for c in range(n_classes)], axis=1)
        own = votes[np.arange(len(y)), y]
        votes[np.arange(len(y)), y] = -1
        np.testing.assert_allclose(values, (own - votes.max(axis=1)) / alpha.sum(), atol=1e-12)
    assert np.abs(found.values).max() <= 1


def test_the_margin_of_two_classes_is_the_signed_score():
    X, y = table()
    model = GradientBoostingClassifier(n_estimators=20).fit(X, y)
    found = margins(model, X, y)
    assert (found.kind, found.rounds) == ("score", (1, 10, 20))
    np.testing.assert_allclose(found.values[-1], (2 * y - 1) * model.decision_function(X))
    by_chance = margins(model, X, y, kind="probability").values[-1]
    p = model.predict_proba(X)[:, 1]
    np.testing.assert_allclose(by_chance, (2 * y - 1) * (2 * p - 1))


CLASSIFIERS = {
    "boosting": GradientBoostingClassifier(n_estimators=8),
    "real AdaBoost": AdaBoostClassifier(n_estimators=8, algorithm="real"),
    "forest": RandomForestClassifier(n_estimators=8),
    "bagging": BaggingClassifier(n_estimators=8),
    "scikit-learn": ScikitBoosting(n_estimators=8),
    "neighbours": KNeighborsClassifier(),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_margin_is_positive_where_the_prediction_is_right(name):
    model = clone(CLASSIFIERS[name])
    X, y = table(3)
    labels = np.array(["a", "b", "c"])[y]
    found = margins(model.fit(X, labels), X, labels)
    p = model.predict_proba(X)
    expected = [p[i, k] - max(np.delete(p[i], k)) for i, k in enumerate(y)]
    np.testing.assert_allclose(found.values[-1], expected, atol=1e-12)
    right = model.predict(X) == labels
    assert (found.values[-1][right] >= 0).all()
    assert (found.values[-1][~right] <= 0).all()
    assert right.mean() > 0.5


def test_margins_grow_after_the_training_error_is_zero():
    X, y = make_nested_spheres(500)
    model = AdaBoostClassifier(n_estimators=300, max_leaf_nodes=4, max_depth=None, criterion="gini")
    errors = [np.mean(p != y) for p in model.fit(X, y).staged_predict(X)]
    first = int(np.argmin(errors)) + 1
    found = margins(model, X, y, rounds=[first, 300])
    start, end = found.table()
    assert start["not_positive"] == end["not_positive"] == 0
    assert end["minimum"] > 2 * start["minimum"]
    assert end["10%"] > start["10%"]


def test_the_plot_has_a_cumulative_curve_for_each_number_of_rounds():
    X, y = table()
    found = margins(AdaBoostClassifier(n_estimators=20).fit(X, y), X, y)
    ax = found.plot()
    assert [line.get_label() for line in ax.lines[:3]] == ["1 round", "10 rounds", "20 rounds"]
    np.testing.assert_array_equal(ax.lines[2].get_xdata(), np.sort(found.values[2]))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rounds": [0]}, "whole numbers from 1 to 5"),
        ({"rounds": [6]}, "whole numbers from 1 to 5"),
        ({"rounds": [1.5]}, "whole numbers from 1 to 5"),
        ({"kind": "vote"}, "kind must be one of"),
        ({"kind": "votes"}, r"needs AdaBoostClassifier\(algorithm='discrete'\)"),
    ],
)
def test_wrong_arguments_are_named(wrong, message):
    X, y = table()
    model = GradientBoostingClassifier(n_estimators=5).fit(X, y)
    with pytest.raises(InvalidParameterError, match=message):
        margins(model, X, y, **wrong)


def test_models_without_classes_are_refused():
    X, y = table()
    with pytest.raises(TypeError, match="classifier with predict_proba; got RandomForestRegressor"):
        margins(RandomForestRegressor(n_estimators=2).fit(X, y), X, y)
    model = KNeighborsClassifier().fit(X, y)
    with pytest.raises(InvalidParameterError, match="kind='score' needs a boosted model"):
        margins(model, X, y, kind="score")
