"""Single trees: invariants, attributes and errors."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError

import stagewise
from estimators.tables import make_table
from estimators.waves import CRITERIA, KINDS, WAYS, of, same, wave
from stagewise import DecisionTreeClassifier, DecisionTreeRegressor, InvalidParameterError

ALL = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(scope="module")
def table():
    return make_table(500)


def target(kind, table, *, many=True):
    if kind is DecisionTreeRegressor:
        return table.number
    return table.many if many else table.two


@pytest.mark.parametrize(("kind", "criterion"), CRITERIA)
@pytest.mark.parametrize("split", ["exact", "histogram"])
def test_threads_change_no_bit(kind, criterion, split, table):
    for y in (target(kind, table), target(kind, table, many=False)):
        models = [
            kind(criterion=criterion, split=split, n_jobs=n).fit(table.X, y) for n in (1, 2, 3)
        ]
        assert same(models[0], models[1])
        assert same(models[0], models[2])


@ALL
@pytest.mark.parametrize("pruning", WAYS)
@pytest.mark.parametrize("missing", ["learned", "mean", "probability"])
def test_a_file_and_a_pickle_restore_it(kind, pruning, missing, table, tmp_path):
    model = kind(pruning=pruning, missing_strategy=missing).fit(table.X, target(kind, table))
    model.save(tmp_path / "tree.stgw")
    for again in (stagewise.load(tmp_path / "tree.stgw"), pickle.loads(pickle.dumps(model))):
        assert type(again) is kind
        assert same(again, model)
        assert (again.get_n_leaves(), again.get_depth()) == (
            model.get_n_leaves(),
            model.get_depth(),
        )
        np.testing.assert_array_equal(again.predict(table.X), model.predict(table.X))


@pytest.mark.parametrize(("kind", "criterion"), CRITERIA)
@pytest.mark.parametrize("more", [{}, {"pruning": "cost_complexity", "ccp_alpha": 0.01}])
def test_integer_weights_equal_repeated_rows(kind, criterion, more):
    X, y = of(kind, 200)
    weight = np.arange(len(y)) % 3
    twice = np.repeat(np.arange(len(y)), weight)
    params = {"criterion": criterion, "min_samples_leaf": 3, **more}
    a = kind(**params).fit(X, y, sample_weight=weight)
    b = kind(**params).fit(X[twice], y[twice])
    np.testing.assert_array_equal(
        a.model_.ensemble.trees[0].feature, b.model_.ensemble.trees[0].feature
    )
    if kind is DecisionTreeRegressor:
        np.testing.assert_allclose(a.predict(X), b.predict(X), atol=1e-12)
    else:
        np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-12)


@ALL
@pytest.mark.parametrize("pruning", WAYS)
@pytest.mark.parametrize("missing", ["learned", "mean", "probability"])
def test_weight_zero_equals_absence(kind, pruning, missing, table):
    y = target(kind, table)
    weight = np.ones(len(y))
    weight[::5] = 0
    params = {"pruning": pruning, "missing_strategy": missing}
    a = kind(**params).fit(table.X, y, sample_weight=weight)
    b = kind(**params).fit(table.X[weight > 0], y[weight > 0])
    assert same(a, b)


@pytest.mark.parametrize(("kind", "criterion"), CRITERIA)
def test_the_order_of_rows_does_not_matter(kind, criterion):
    X, y = of(kind, 300)
    order = np.random.default_rng(1).permutation(300)
    params = {"criterion": criterion, "pruning": "cost_complexity", "ccp_alpha": 0.005}
    a = kind(**params).fit(X, y)
    b = kind(**params).fit(X[order], y[order])
    np.testing.assert_allclose(a.predict(X).astype(float), b.predict(X).astype(float), atol=1e-12)


@pytest.mark.parametrize(("kind", "criterion"), CRITERIA)
def test_a_monotone_transform_of_a_feature_changes_no_prediction(kind, criterion):
    X, y = of(kind, 300)
    Z = np.column_stack([np.exp(X[:, 0]), X[:, 1] ** 3, 5 * X[:, 2] - 1])
    a, b = (kind(criterion=criterion).fit(V, y).predict(V) for V in (X, Z))
    np.testing.assert_allclose(a.astype(float), b.astype(float), atol=1e-12)


def test_y_scale_does_not_matter():
    X, y, _ = wave(300)
    a = DecisionTreeRegressor(pruning="cost_complexity", ccp_alpha=0.02).fit(X, y)
    b = DecisionTreeRegressor(pruning="cost_complexity", ccp_alpha=0.02 * 256).fit(X, 16 * y)
    np.testing.assert_allclose(b.predict(X), 16 * a.predict(X), rtol=1e-12)
    np.testing.assert_allclose(b.pruning_path_.alphas, 256 * a.pruning_path_.alphas, rtol=1e-9)
    c = DecisionTreeRegressor(min_impurity_decrease=0.01).fit(X, y)
    d = DecisionTreeRegressor(min_impurity_decrease=0.01 * 256).fit(X, 16 * y)
    assert c.get_n_leaves() == d.get_n_leaves() < 100


@ALL
def test_paths_lead_from_the_root_to_the_leaf(kind):
    X, y = of(kind, 100)
    model = kind(max_leaf_nodes=9).fit(X, y)
    tree = model.model_.ensemble.trees[0]
    indicator = model.decision_path(X)
    assert indicator.shape == (len(X), len(tree.feature))
    paths = [row.indices for row in indicator]
    for row, path, leaf in zip(X, paths, model.apply(X), strict=True):
        assert path[0] == 0
        assert path[-1] == leaf
        for node, child in pairwise(path):
            left = row[tree.feature[node]] <= tree.threshold[node]
            assert child == (tree.left if left else tree.right)[node]
    assert max(map(len, paths)) == model.get_depth() + 1


def test_one_class_gives_a_single_leaf():
    with pytest.warns(UserWarning, match="only one class"):
        model = DecisionTreeClassifier(pruning="cost_complexity").fit(
            np.arange(6.0)[:, np.newaxis], ["a"] * 6
        )
    assert (model.get_n_leaves(), model.get_depth()) == (1, 0)
    assert model.predict([[5.0]]) == ["a"]
    assert model.decision_path([[5.0]]).toarray().tolist() == [[1]]


def test_importances_are_largest_for_the_feature_of_the_splits():
    X, y, _ = wave(300)
    model = DecisionTreeRegressor(max_depth=1).fit(X, y)
    assert sorted(model.feature_importances_) == [0.0, 0.0, 1.0]


@ALL
def test_histogram_splits_read_a_sparse_matrix(kind, table):
    X = np.where(np.abs(np.nan_to_num(table.X)) > 2000, np.nan_to_num(table.X), 0.0)
    y = target(kind, table)
    a, b = (kind(split="histogram").fit(Z, y) for Z in (X, csr_array(X)))
    assert same(a, b)
    with pytest.raises(InvalidParameterError, match=r"split='exact'.*sparse"):
        kind().fit(csr_array(X), y)
    with pytest.raises(InvalidParameterError, match=r"missing_strategy='mean'.*sparse"):
        kind(split="histogram", missing_strategy="mean").fit(csr_array(X), y)
    both = kind(split="histogram", missing_strategy="probability").fit(X, y)
    with pytest.raises(TypeError, match=r"X\.toarray"):
        both.predict(csr_array(X))


def test_class_weights_have_an_effect():
    X, _, classes = wave(300)
    weight = {0: 1, 1: 3, 2: 2}
    a = DecisionTreeClassifier(class_weight=weight, max_leaf_nodes=9).fit(X, classes)
    times = np.array([weight[c] for c in classes])
    b = DecisionTreeClassifier(max_leaf_nodes=9).fit(X, classes, sample_weight=times)
    assert same(a, b)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"criterion": "variance"}, "'squared_error', 'absolute_error'"),
        ({"split": "approx"}, "'exact', 'histogram'"),
        ({"grow_policy": "symmetric"}, "'best_first', 'depth_wise'"),
        ({"pruning": "cv"}, "None, 'cost_complexity', 'reduced_error', 'early_stopping'"),
        ({"missing_strategy": "median"}, "'learned', 'mean', 'probability'"),
        ({"pruning": "cost_complexity", "ccp_alpha": -1.0}, "'cv', or a number at least 0"),
        ({"pruning": "cost_complexity", "ccp_alpha": "best"}, "'cv', or a number at least 0"),
        (
            {"ccp_alpha": 0.1, "pruning": "reduced_error"},
            "no effect with pruning='reduced_error'; set pruning='cost_complexity'",
        ),
        ({"min_samples_leaf": 0.1}, "a number of rows, at least 1 .* pass len\\(X\\) // 10"),
        ({"pruning": "reduced_error", "ccp_cv": 3}, "no effect with pruning='reduced_error'"),
        (
            {"pruning": "cost_complexity", "ccp_alpha": 0.1, "ccp_cv": 3},
            "no effect with ccp_alpha=0.1",
        ),
        (
            {"pruning": "cost_complexity", "ccp_alpha": 0.1, "one_standard_error": True},
            "set ccp_alpha='cv'",
        ),
        ({"validation_fraction": 0.3}, "set pruning='reduced_error' or 'early_stopping'"),
        ({"pruning": "reduced_error", "tol": 0.3}, "set pruning='early_stopping'"),
        ({"max_bins": 99}, "no effect with split='exact'; set split='histogram'"),
        ({"max_leaf_nodes": 1}, "a whole number at least 2"),
        ({"max_features": "half"}, "'sqrt', 'log2', 'third'"),
    ],
)
def test_invalid_parameters_are_refused(params, words, table):
    with pytest.raises(InvalidParameterError, match=words):
        DecisionTreeRegressor(**params).fit(table.X, table.number)


def test_a_number_of_splits_without_early_stopping_is_a_warning(table):
    with pytest.warns(UserWarning, match=r"'n_iter_no_change'.*set pruning='early_stopping'"):
        DecisionTreeRegressor(n_iter_no_change=3).fit(table.X, table.number)


def test_arguments_of_fit_without_effect_are_refused(table):
    X, y = table.X, table.number
    with pytest.raises(ValueError, match=r"X_val was passed.*pruning=None"):
        DecisionTreeRegressor().fit(X, y, X_val=X, y_val=y)
    with pytest.raises(ValueError, match="groups was passed"):
        DecisionTreeRegressor().fit(X, y, groups=np.arange(len(y)))
    with pytest.raises(ValueError, match=r"pruning='reduced_error' holds rows out.*n_samples=1"):
        DecisionTreeRegressor(pruning="reduced_error").fit(X[:1], y[:1])
    with pytest.raises(TypeError, match="no parameter 'max_leafs'"):
        DecisionTreeRegressor(max_leafs=3)
    with pytest.raises(NotFittedError):
        DecisionTreeRegressor().get_n_leaves()


def test_folds_do_not_split_groups(table):
    groups = np.arange(500) // 5
    model = DecisionTreeRegressor(pruning="cost_complexity").fit(
        table.X, table.number, groups=groups
    )
    assert 1 < model.get_n_leaves() < 400
