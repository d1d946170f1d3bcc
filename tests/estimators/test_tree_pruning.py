"""The size of single trees: limits, pruning and early stopping."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from estimators.waves import CRITERIA, KINDS, of, same, wave
from stagewise import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    SplitSearch,
)

ALL = pytest.mark.parametrize("kind", KINDS)


@ALL
@pytest.mark.parametrize("growth", ["best_first", "depth_wise"])
def test_early_stopping_equals_max_leaf_nodes_of_the_best_size(kind, growth):
    X, y = of(kind, 400)
    X_val, y_val = of(kind, 200, 1)
    model = kind(pruning="early_stopping", grow_policy=growth).fit(X, y, X_val=X_val, y_val=y_val)
    assert 1 < model.get_n_leaves() < 100
    limited = kind(max_leaf_nodes=model.get_n_leaves(), grow_policy=growth).fit(X, y)
    a, b = (m.model_.ensemble.trees[0] for m in (model, limited))
    for name in ("feature", "threshold", "missing_left", "left", "right", "gain", "cover"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    np.testing.assert_allclose(a.value, b.value, atol=1e-14)  # a pruned node sums its children
    curve = model.validation_loss_
    assert curve.argmin() + 1 == model.get_n_leaves() == len(curve) - 10
    for leaves in (2, 3, model.get_n_leaves(), len(curve)):
        part = kind(max_leaf_nodes=leaves, grow_policy=growth).fit(X, y)
        if kind is DecisionTreeRegressor:
            loss = ((part.predict(X_val) - y_val) ** 2).mean() / 2
        else:
            shares = y_val[:, np.newaxis] == part.classes_
            loss = ((part.predict_proba(X_val) - shares) ** 2).sum(axis=1).mean() / 2
        assert curve[leaves - 1] == pytest.approx(loss)


@ALL
def test_n_iter_no_change_and_tol_have_an_effect(kind):
    X, y = of(kind, 400)
    short = kind(pruning="early_stopping", n_iter_no_change=1).fit(X, y)
    long = kind(pruning="early_stopping", n_iter_no_change=60).fit(X, y)
    assert len(short.validation_loss_) < len(long.validation_loss_)
    assert long.validation_loss_.min() <= short.validation_loss_.min()
    coarse = kind(pruning="early_stopping", tol=1e9, n_iter_no_change=5).fit(X, y)
    assert len(coarse.validation_loss_) == 6
    assert coarse.get_n_leaves() == coarse.validation_loss_.argmin() + 1


def errors(model, X, y):
    predicted = model.predict(X)
    return np.abs(predicted - y) if isinstance(model, DecisionTreeRegressor) else predicted != y


@pytest.mark.parametrize(("kind", "criterion"), CRITERIA)
def test_reduced_error_pruning_lowers_errors_and_leaves(kind, criterion):
    X, y = of(kind, 400)
    X_val, y_val = of(kind, 300, 1)
    whole = kind(criterion=criterion).fit(X, y)
    small = kind(criterion=criterion, pruning="reduced_error")
    small.fit(X, y, X_val=X_val, y_val=y_val)
    power = 2 if criterion == "squared_error" else 1
    before, after = ((errors(m, X_val, y_val) ** power).mean() for m in (whole, small))
    assert small.get_n_leaves() < 0.7 * whole.get_n_leaves()
    assert after < before
    assert small.validation_loss_ == pytest.approx([after])
    assert small.fit_report_["leaves_grown"] == whole.get_n_leaves()


@ALL
def test_a_share_of_the_rows_is_held_out(kind):
    X, y = of(kind, 400)
    for way in ("reduced_error", "early_stopping"):
        few, many = (kind(pruning=way, validation_fraction=f).fit(X, y) for f in (0.1, 0.5))
        root = [m.model_.ensemble.trees[0].cover[0] for m in (few, many)]
        assert root == pytest.approx([360, 200], abs=2)


@pytest.mark.filterwarnings("ignore:No tree has a split:UserWarning")
@pytest.mark.parametrize(("kind", "criterion"), CRITERIA)
def test_cross_validation_chooses_alpha_as_in_breiman(kind, criterion):
    X, y = of(kind, 150)
    numbers = np.random.default_rng(0).permutation(150)
    folds = [(np.setdiff1d(numbers, part), part) for part in np.split(numbers, 3)]
    params = {"criterion": criterion, "pruning": "cost_complexity", "min_samples_leaf": 4}
    model = kind(**params, ccp_cv=folds).fit(X, y)
    path = model.pruning_path_
    power = 2 if criterion == "squared_error" else 1
    found = []
    for k in range(len(path.alphas)):
        price = 1e300 if k + 1 == len(path.alphas) else np.sqrt(path.alphas[k] * path.alphas[k + 1])
        wrong = np.zeros(150)
        for train, held in folds:
            tree = kind(**params, ccp_alpha=price).fit(X[train], y[train])
            wrong[held] = errors(tree, X[held], y[held]) ** power
        found.append((wrong.mean(), wrong.std() / np.sqrt(150)))
    mean, error = np.array(found).T
    np.testing.assert_allclose(path.errors, mean, atol=1e-12)
    np.testing.assert_allclose(path.standard_errors, error, atol=1e-9)
    best = np.flatnonzero(mean <= mean.min() + 1e-12)[-1]
    assert model.ccp_alpha_ == path.alphas[best]
    assert model.get_n_leaves() == path.n_leaves[best]
    smaller = kind(**params, ccp_cv=folds, one_standard_error=True).fit(X, y)
    one = np.flatnonzero(mean <= mean[best] + error[best] + 1e-12)[-1]
    assert smaller.ccp_alpha_ == path.alphas[one]
    labels = model.oof_prediction_
    if kind is DecisionTreeClassifier:
        labels = model.classes_[labels.argmax(axis=1)]
        assert (labels != y).mean() == pytest.approx(mean[best])
    else:
        assert (np.abs(labels - y) ** power).mean() == pytest.approx(mean[best])


@pytest.mark.filterwarnings("ignore:No tree has a split:UserWarning")
@ALL
def test_a_pruning_path_equals_that_of_a_fit_and_does_not_fit(kind):
    X, y = of(kind, 200)
    model = kind(pruning="early_stopping", n_iter_no_change=5)
    path = model.cost_complexity_pruning_path(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    for k in (0, 3, len(path.alphas) // 2, -1):
        tree = kind(pruning="cost_complexity", ccp_alpha=path.alphas[k]).fit(X, y)
        assert tree.get_n_leaves() == path.n_leaves[k]


@pytest.mark.filterwarnings("ignore:No tree has a split:UserWarning")
@ALL
def test_size_limits_are_respected(kind):
    X, y = of(kind, 300)
    assert kind(max_depth=3).fit(X, y).get_depth() == 3
    assert kind(max_leaf_nodes=7).fit(X, y).get_n_leaves() == 7
    tree = kind(min_samples_leaf=20).fit(X, y).model_.ensemble.trees[0]
    assert tree.cover[tree.feature < 0].min() >= 20
    few, many = (kind(min_impurity_decrease=d).fit(X, y).get_n_leaves() for d in (0.02, 0.001))
    assert 1 < few < many
    assert kind(min_impurity_decrease=1e9).fit(X, y).get_n_leaves() == 1


def test_grow_policy_decides_which_leaves_a_limit_keeps():
    X, y, _ = wave(400)
    best, depth_wise = (
        DecisionTreeRegressor(max_leaf_nodes=16, grow_policy=g)
        for g in ("best_first", "depth_wise")
    )
    assert depth_wise.fit(X, y).get_depth() < best.fit(X, y).get_depth()
    assert best.score(X, y) > depth_wise.score(X, y)


@ALL
def test_features_and_thresholds_can_be_random(kind):
    X, y = of(kind, 200)
    drawn = [
        kind(split=SplitSearch(random_thresholds=True), max_features=1, random_state=s).fit(X, y)
        for s in (0, 0, 1)
    ]
    assert same(drawn[0], drawn[1])
    assert not same(drawn[0], drawn[2])
    assert drawn[0].score(X, y) > 0.99
