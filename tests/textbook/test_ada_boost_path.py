"""AdaBoost's errors, votes, row weights and bound: the textbook's loop gives the same."""

from __future__ import annotations

import pickle

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier as ScikitAdaBoost
from sklearn.tree import DecisionTreeClassifier

import stagewise
from stagewise import AdaBoostClassifier, GentleBoostClassifier
from stagewise.inspection import ada_boost_path

mpl.use("Agg")
ROUNDS = 15


def table(n_classes=2, n=120):
    """Weights are random, so that no two stumps have the same weighted error."""
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(n, 3))
    y = np.argsort(np.argsort(X[:, 0] + X[:, 1] ** 2 + rng.normal(size=n))) * n_classes // n
    return X, y, rng.uniform(0.5, 1.5, n)


def best_stump(X, y, w, n_classes):
    """Return the predictions of the stump with the smallest weighted error, by trying all."""
    found = []
    for x in X.T:
        for cut in np.sort(x)[:-1]:
            left = x <= cut
            sides = [np.bincount(y[s], w[s], minlength=n_classes).argmax() for s in (left, ~left)]
            G = np.where(left, *sides)
            found.append((w[y != G].sum(), len(found), G))
    return min(found)[2]


def samme(X, y, w, n_classes, rate):
    """Zhu et al. (2009), Algorithm 2; AdaBoost.M1 (Elements, Algorithm 10.1) if K = 2."""
    w = w / w.sum()
    errors, alphas, weights = [], [], [w]
    for _ in range(ROUNDS):
        G = best_stump(X, y, w, n_classes)
        err = w[y != G].sum() / w.sum()
        alpha = np.log((1 - err) / err) + np.log(n_classes - 1)
        w = w * np.exp(rate * alpha * (y != G))
        w = w / w.sum()
        errors.append(err)
        alphas.append(alpha)
        weights.append(w)
    return np.array(errors), np.array(alphas), np.array(weights)


@pytest.mark.parametrize("rate", [1.0, 0.3])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_errors_votes_and_row_weights_are_those_of_the_textbook(n_classes, rate):
    X, y, w = table(n_classes)
    model = AdaBoostClassifier(n_estimators=ROUNDS, learning_rate=rate).fit(X, y, w)
    path = ada_boost_path(model, X, y, w)
    errors, alphas, weights = samme(X, y, w, n_classes, rate)
    np.testing.assert_allclose(path.estimator_errors, errors, atol=1e-5)
    np.testing.assert_allclose(path.estimator_weights, rate * alphas, atol=1e-4)
    np.testing.assert_allclose(path.row_weights, weights, atol=1e-6)
    np.testing.assert_allclose(path.edges, 1 - errors * n_classes / (n_classes - 1), atol=1e-4)


@pytest.mark.parametrize("rate", [1.0, 0.5])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_errors_and_votes_agree_with_scikit_learn(n_classes, rate):
    X, y, w = table(n_classes)
    stump = DecisionTreeClassifier(max_depth=1)
    theirs = ScikitAdaBoost(stump, n_estimators=ROUNDS, learning_rate=rate).fit(X, y, w)
    ours = AdaBoostClassifier(n_estimators=ROUNDS, learning_rate=rate, criterion="gini")
    path = ada_boost_path(ours.fit(X, y, w), X, y, w)
    np.testing.assert_allclose(path.estimator_errors, theirs.estimator_errors_, atol=1e-5)
    np.testing.assert_allclose(ours.estimator_weights_, theirs.estimator_weights_, atol=1e-4)


@pytest.mark.parametrize("settings", [{}, {"learning_rate": 0.3}, {"subsample": 0.5}])
@pytest.mark.parametrize("algorithm", ["discrete", "real"])
def test_the_training_error_is_at_most_the_bound_in_every_round(algorithm, settings):
    X, y, w = table()
    model = AdaBoostClassifier(n_estimators=60, algorithm=algorithm, **settings).fit(X, y, w)
    path = ada_boost_path(model, X, y, w)
    assert (path.training_error <= path.bound + 1e-12).all()
    assert path.bound[-1] < path.bound[0]
    if not settings:
        np.testing.assert_allclose(path.bound, model.train_loss_, rtol=1e-5)


def test_the_normalizer_of_votes_is_the_minimum():
    X, y, _ = table()
    path = ada_boost_path(AdaBoostClassifier(n_estimators=30).fit(X, y), X, y)
    err = path.estimator_errors
    np.testing.assert_allclose(path.normalizers, 2 * np.sqrt(err * (1 - err)), rtol=1e-6)
    slow = ada_boost_path(AdaBoostClassifier(n_estimators=1, learning_rate=0.1).fit(X, y), X, y)
    assert slow.normalizers[0] > path.normalizers[0]


def test_the_training_error_is_that_of_staged_predictions():
    X, y, _ = table(3)
    model = AdaBoostClassifier(n_estimators=ROUNDS).fit(X, y)
    path = ada_boost_path(model, X, y)
    np.testing.assert_allclose(
        path.training_error, [np.mean(p != y) for p in model.staged_predict(X)]
    )
    assert path.bound is None
    assert "bound" not in path.table()[0]


def test_class_weights_multiply_the_row_weights():
    X, y, w = table()
    model = AdaBoostClassifier(n_estimators=5, class_weight={0: 1.0, 1: 3.0}).fit(X, y, w)
    weighted = AdaBoostClassifier(n_estimators=5).fit(X, y, w * (1 + 2 * y))
    one, two = ada_boost_path(model, X, y, w), ada_boost_path(weighted, X, y, w * (1 + 2 * y))
    np.testing.assert_allclose(one.row_weights, two.row_weights)
    np.testing.assert_allclose(one.estimator_errors, two.estimator_errors)


def test_loaded_and_unpickled_models_have_the_same_path(tmp_path):
    X, y, _ = table(3)
    model = AdaBoostClassifier(n_estimators=ROUNDS).fit(X, y)
    model.save(tmp_path / "model.stgw")
    for again in (stagewise.load(tmp_path / "model.stgw"), pickle.loads(pickle.dumps(model))):
        assert ada_boost_path(again, X, y).table() == ada_boost_path(model, X, y).table()


def test_a_tree_without_errors_has_the_error_0():
    X = np.arange(10.0)[:, np.newaxis]
    y = (X[:, 0] > 4).astype(int)
    path = ada_boost_path(AdaBoostClassifier().fit(X, y), X, y)
    assert path.table() == [
        {
            "round": 1,
            "error": 0.0,
            "weight": pytest.approx(np.log(19)),  # of half a misclassified row of ten
            "edge": 1.0,
            "normalizer": pytest.approx(1 / np.sqrt(19)),
            "bound": pytest.approx(1 / np.sqrt(19)),
            "training_error": 0.0,
        }
    ]


def test_trees_with_log_odds_have_no_common_weight():
    X, y, _ = table()
    model = AdaBoostClassifier(n_estimators=4, algorithm="real").fit(X, y)
    assert ada_boost_path(model, X, y).estimator_weights is None
    with pytest.raises(AttributeError, match="algorithm='discrete'"):
        model.estimator_weights_  # noqa: B018
    model.set_params(warm_start=True, algorithm="discrete", n_estimators=8).fit(X, y)
    assert not hasattr(model, "estimator_weights_")


def test_the_plot_shows_errors_and_the_bound():
    X, y, _ = table()
    path = ada_boost_path(AdaBoostClassifier(n_estimators=20).fit(X, y), X, y)
    left, right = path.plot()
    np.testing.assert_array_equal(left.lines[0].get_ydata(), path.estimator_errors)
    np.testing.assert_array_equal(right.lines[0].get_ydata(), path.bound)
    np.testing.assert_array_equal(right.lines[1].get_ydata(), path.training_error)


def test_other_models_and_other_classes_are_refused():
    X, y, _ = table()
    with pytest.raises(TypeError, match="AdaBoostClassifier; got GentleBoostClassifier"):
        ada_boost_path(GentleBoostClassifier().fit(X, y), X, y)
    with pytest.raises(ValueError, match=r"y has the classes \[1, 2\]"):
        ada_boost_path(AdaBoostClassifier().fit(X, y), X, y + 1)
