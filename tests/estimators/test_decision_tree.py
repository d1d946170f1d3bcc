"""Single trees: laws, sizes, missing cells, and what they refuse."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError

import stagewise
from estimators.tables import make_table
from reference.pruning import both_ways
from stagewise import DecisionTreeClassifier, DecisionTreeRegressor, InvalidParameterError

KINDS = (DecisionTreeClassifier, DecisionTreeRegressor)
ALL = pytest.mark.parametrize("kind", KINDS)
CRITERIA = [
    *((DecisionTreeClassifier, c) for c in ("gini", "entropy", "misclassification")),
    *((DecisionTreeRegressor, c) for c in ("squared_error", "absolute_error")),
]
WAYS = (None, "cost_complexity", "reduced_error", "early_stopping")


@pytest.fixture(scope="module")
def table():
    return make_table(500)


def target(kind, table, *, many=True):
    if kind is DecisionTreeRegressor:
        return table.number
    return table.many if many else table.two


def same(a, b):
    return a.fingerprint() == b.fingerprint()


def wave(n, seed=0):
    """Return rows without ties, a noisy number, and a noisy class."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + rng.normal(size=n) / 2
    return X, y, np.digitize(y, [-0.7, 0.7])


def of(kind, n, seed=0):
    X, number, classes = wave(n, seed)
    return X, number if kind is DecisionTreeRegressor else classes


# ---- laws --------------------------------------------------------------------------------------


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
def test_a_file_and_a_pickle_bring_it_back(kind, pruning, missing, table, tmp_path):
    model = kind(pruning=pruning, missing=missing).fit(table.X, target(kind, table))
    model.save(tmp_path / "tree.stgw")
    for again in (stagewise.load(tmp_path / "tree.stgw"), pickle.loads(pickle.dumps(model))):
        assert type(again) is kind
        assert same(again, model)
        assert (again.n_leaves_, again.depth_) == (model.n_leaves_, model.depth_)
        np.testing.assert_array_equal(again.predict(table.X), model.predict(table.X))


@pytest.mark.parametrize(("kind", "criterion"), CRITERIA)
@pytest.mark.parametrize("more", [{}, {"pruning": "cost_complexity", "alpha": 0.01}])
def test_whole_weights_are_counts(kind, criterion, more):
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
def test_a_row_of_weight_zero_is_absent(kind, pruning, missing, table):
    y = target(kind, table)
    weight = np.ones(len(y))
    weight[::5] = 0
    params = {"pruning": pruning, "missing": missing}
    a = kind(**params).fit(table.X, y, sample_weight=weight)
    b = kind(**params).fit(table.X[weight > 0], y[weight > 0])
    assert same(a, b)


@pytest.mark.parametrize(("kind", "criterion"), CRITERIA)
def test_the_order_of_rows_does_not_matter(kind, criterion):
    X, y = of(kind, 300)
    order = np.random.default_rng(1).permutation(300)
    params = {"criterion": criterion, "pruning": "cost_complexity", "alpha": 0.005}
    a = kind(**params).fit(X, y)
    b = kind(**params).fit(X[order], y[order])
    np.testing.assert_allclose(a.predict(X).astype(float), b.predict(X).astype(float), atol=1e-12)


@pytest.mark.parametrize(("kind", "criterion"), CRITERIA)
def test_a_monotone_change_of_a_feature_changes_no_answer(kind, criterion):
    X, y = of(kind, 300)
    Z = np.column_stack([np.exp(X[:, 0]), X[:, 1] ** 3, 5 * X[:, 2] - 1])
    a, b = (kind(criterion=criterion).fit(V, y).predict(V) for V in (X, Z))
    np.testing.assert_allclose(a.astype(float), b.astype(float), atol=1e-12)


def test_the_unit_of_the_target_does_not_matter():
    X, y, _ = wave(300)
    a = DecisionTreeRegressor(pruning="cost_complexity", alpha=0.02).fit(X, y)
    b = DecisionTreeRegressor(pruning="cost_complexity", alpha=0.02 * 256).fit(X, 16 * y)
    np.testing.assert_allclose(b.predict(X), 16 * a.predict(X), rtol=1e-12)
    np.testing.assert_allclose(b.pruning_path_.alphas, 256 * a.pruning_path_.alphas, rtol=1e-9)
    c = DecisionTreeRegressor(min_impurity_decrease=0.01).fit(X, y)
    d = DecisionTreeRegressor(min_impurity_decrease=0.01 * 256).fit(X, 16 * y)
    assert c.n_leaves_ == d.n_leaves_ < 100


# ---- its size ----------------------------------------------------------------------------------


@ALL
@pytest.mark.parametrize("growth", ["best_first", "depth_wise"])
def test_stopping_early_is_the_tree_that_growing_would_have_ended_with(kind, growth):
    X, y = of(kind, 400)
    X_val, y_val = of(kind, 200, 1)
    model = kind(pruning="early_stopping", growth=growth).fit(X, y, X_val=X_val, y_val=y_val)
    assert 1 < model.n_leaves_ < 100
    assert same(model, kind(max_leaf_nodes=model.n_leaves_, growth=growth).fit(X, y))
    curve = model.validation_loss_
    assert curve.argmin() + 1 == model.n_leaves_ == len(curve) - 10
    for leaves in (2, 3, model.n_leaves_, len(curve)):
        part = kind(max_leaf_nodes=leaves, growth=growth).fit(X, y)
        if kind is DecisionTreeRegressor:
            loss = ((part.predict(X_val) - y_val) ** 2).mean() / 2
        else:
            shares = y_val[:, np.newaxis] == part.classes_
            loss = ((part.predict_proba(X_val) - shares) ** 2).sum(axis=1).mean() / 2
        assert curve[leaves - 1] == pytest.approx(loss)


@ALL
def test_patience_and_tolerance_are_heard(kind):
    X, y = of(kind, 400)
    short = kind(pruning="early_stopping", n_iter_no_change=1).fit(X, y)
    long = kind(pruning="early_stopping", n_iter_no_change=60).fit(X, y)
    assert len(short.validation_loss_) < len(long.validation_loss_)
    assert long.validation_loss_.min() <= short.validation_loss_.min()
    assert kind(pruning="early_stopping", tol=1e9).fit(X, y).n_leaves_ == 1


def errors(model, X, y):
    return np.abs(model.predict(X) - y) if hasattr(model, "loss") else model.predict(X) != y


@pytest.mark.parametrize(("kind", "criterion"), CRITERIA)
def test_pruning_by_held_out_rows_leaves_fewer_errors_and_fewer_leaves(kind, criterion):
    X, y = of(kind, 400)
    X_val, y_val = of(kind, 300, 1)
    whole = kind(criterion=criterion).fit(X, y)
    small = kind(criterion=criterion, pruning="reduced_error")
    small.fit(X, y, X_val=X_val, y_val=y_val)
    power = 2 if criterion == "squared_error" else 1
    before, after = ((errors(m, X_val, y_val) ** power).mean() for m in (whole, small))
    assert small.n_leaves_ < whole.n_leaves_ / 2
    assert after < before
    assert small.validation_loss_ == pytest.approx([after])
    assert small.fit_report_["leaves_grown"] == whole.n_leaves_


@ALL
def test_a_share_of_the_rows_is_held_out(kind):
    X, y = of(kind, 400)
    for way in ("reduced_error", "early_stopping"):
        few, many = (kind(pruning=way, validation_fraction=f).fit(X, y) for f in (0.1, 0.5))
        root = [m.model_.ensemble.trees[0].cover[0] for m in (few, many)]
        assert root == pytest.approx([360, 200], abs=2)


@pytest.mark.parametrize(("kind", "criterion"), CRITERIA)
def test_folds_choose_alpha_as_the_book_says(kind, criterion):
    X, y = of(kind, 150)
    numbers = np.random.default_rng(0).permutation(150)
    folds = [(np.setdiff1d(numbers, part), part) for part in np.split(numbers, 3)]
    params = {"criterion": criterion, "pruning": "cost_complexity", "min_samples_leaf": 4}
    model = kind(**params, cv=folds).fit(X, y)
    path = model.pruning_path_
    power = 2 if criterion == "squared_error" else 1
    found = []
    for k in range(len(path.alphas)):
        price = 1e300 if k + 1 == len(path.alphas) else np.sqrt(path.alphas[k] * path.alphas[k + 1])
        wrong = np.zeros(150)
        for train, held in folds:
            tree = kind(**params, alpha=price).fit(X[train], y[train])
            wrong[held] = errors(tree, X[held], y[held]) ** power
        found.append((wrong.mean(), wrong.std() / np.sqrt(150)))
    mean, error = np.array(found).T
    np.testing.assert_allclose(path.errors, mean, atol=1e-12)
    np.testing.assert_allclose(path.standard_errors, error, atol=1e-9)
    best = np.flatnonzero(mean <= mean.min() + 1e-12)[-1]
    assert model.alpha_ == path.alphas[best]
    assert model.n_leaves_ == path.n_leaves[best]
    smaller = kind(**params, cv=folds, one_standard_error=True).fit(X, y)
    one = np.flatnonzero(mean <= mean[best] + error[best] + 1e-12)[-1]
    assert smaller.alpha_ == path.alphas[one]
    said = model.oof_prediction_
    if kind is DecisionTreeClassifier:
        said = model.classes_[said.argmax(axis=1)]
        assert (said != y).mean() == pytest.approx(mean[best])
    else:
        assert (np.abs(said - y) ** power).mean() == pytest.approx(mean[best])


@ALL
def test_a_path_is_that_of_a_fit_and_does_not_fit(kind):
    X, y = of(kind, 200)
    model = kind(pruning="early_stopping", n_iter_no_change=5)
    path = model.cost_complexity_pruning_path(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    for k in (0, 3, len(path.alphas) // 2, -1):
        tree = kind(pruning="cost_complexity", alpha=path.alphas[k]).fit(X, y)
        assert tree.n_leaves_ == path.n_leaves[k]


@ALL
def test_limits_hold(kind):
    X, y = of(kind, 300)
    assert kind(max_depth=3).fit(X, y).depth_ == 3
    assert kind(max_leaf_nodes=7).fit(X, y).n_leaves_ == 7
    tree = kind(min_samples_leaf=20).fit(X, y).model_.ensemble.trees[0]
    assert tree.cover[tree.feature < 0].min() >= 20
    few, many = (kind(min_impurity_decrease=d).fit(X, y).n_leaves_ for d in (0.02, 0.001))
    assert 1 < few < many
    assert kind(min_impurity_decrease=1e9).fit(X, y).n_leaves_ == 1


def test_growth_decides_which_leaves_a_limit_keeps():
    X, y, _ = wave(400)
    best, level = (
        DecisionTreeRegressor(max_leaf_nodes=16, growth=g) for g in ("best_first", "depth_wise")
    )
    assert level.fit(X, y).depth_ < best.fit(X, y).depth_
    assert best.score(X, y) > level.score(X, y)


@ALL
def test_columns_and_thresholds_can_be_drawn(kind):
    X, y = of(kind, 200)
    drawn = [
        kind(random_thresholds=True, max_features=1, random_state=s).fit(X, y) for s in (0, 0, 1)
    ]
    assert same(drawn[0], drawn[1])
    assert not same(drawn[0], drawn[2])
    assert drawn[0].score(X, y) > 0.99


# ---- reading it --------------------------------------------------------------------------------


@ALL
def test_paths_lead_from_the_root_to_the_leaf(kind):
    X, y = of(kind, 100)
    model = kind(max_leaf_nodes=9).fit(X, y)
    tree = model.model_.ensemble.trees[0]
    paths = model.decision_path(X)
    for row, path, leaf in zip(X, paths, model.apply(X)[:, 0], strict=True):
        assert path[0] == 0
        assert path[-1] == leaf
        for node, child in pairwise(path):
            left = row[tree.feature[node]] <= tree.threshold[node]
            assert child == (tree.left if left else tree.right)[node]
    assert max(map(len, paths)) == model.depth_ + 1


def test_with_one_class_there_is_nothing_to_ask():
    with pytest.warns(UserWarning, match="only one class"):
        model = DecisionTreeClassifier(pruning="cost_complexity").fit([[1.0], [2.0]], ["a", "a"])
    assert (model.n_leaves_, model.depth_) == (1, 0)
    assert model.predict([[5.0]]) == ["a"]
    with pytest.raises(ValueError, match="asks nothing"):
        model.decision_path([[5.0]])


def test_importances_say_which_column_it_asks_about():
    X, y, _ = wave(300)
    model = DecisionTreeRegressor(max_depth=1).fit(X, y)
    assert sorted(model.feature_importances_) == [0.0, 0.0, 1.0]


# ---- missing cells -----------------------------------------------------------------------------


def holed(n, seed=0):
    X, y, classes = wave(n, seed)
    X[np.random.default_rng(seed + 1).random(X.shape) < 0.2] = np.nan
    return X, y, classes


@ALL
@pytest.mark.parametrize("weighted", [False, True])
def test_the_mean_stands_for_missing_cells(kind, weighted):
    X, number, classes = holed(300)
    y = number if kind is DecisionTreeRegressor else classes
    weight = np.random.default_rng(2).integers(1, 4, 300) if weighted else None
    times = np.ones(300) if weight is None else weight
    means = [np.average(x[~np.isnan(x)], weights=times[~np.isnan(x)]) for x in X.T]
    filled = np.where(np.isnan(X), means, X)
    model = kind(missing="mean", max_leaf_nodes=20).fit(X, y, weight)
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


def test_the_commonest_level_stands_for_missing_categories():
    frame, y = cities(400)
    model = DecisionTreeRegressor(missing="mean", max_leaf_nodes=12).fit(frame, y)
    filled = frame.fillna({"city": "Ulm", "size": frame["size"].mean()})
    plain = DecisionTreeRegressor(max_leaf_nodes=12).fit(filled, y)
    np.testing.assert_allclose(model.predict(frame), plain.predict(filled), atol=1e-12)


@ALL
def test_rows_go_both_ways_with_the_probability_of_others(kind):
    X, number, classes = holed(400)
    y = number if kind is DecisionTreeRegressor else classes % 2
    model = kind(missing="probability", max_leaf_nodes=15).fit(X, y)
    tree, known = model.model_.ensemble.trees[0], model.model_
    expected = np.array([both_ways(tree, row) for row in X])
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


def test_missing_categories_go_both_ways_too(tmp_path):
    frame, y = cities(400)
    model = DecisionTreeRegressor(missing="probability", max_leaf_nodes=12).fit(frame, y)
    nothing = pd.DataFrame({"city": pd.Categorical([None], frame["city"].cat.categories),
                            "size": [np.nan]})  # fmt: skip
    tree = model.model_.ensemble.trees[0]
    leaf = tree.feature < 0
    mean = np.average(tree.value[leaf], weights=tree.cover[leaf])
    expected = model.model_.offset + model.model_.scale * mean
    assert model.predict(nothing)[0] == pytest.approx(expected)
    model.save(tmp_path / "m.stgw")
    assert stagewise.load(tmp_path / "m.stgw").predict(nothing) == model.predict(nothing)


def test_missing_training_cells_are_drawn_from_the_others():
    X = np.array([[0.0]] * 300 + [[1.0]] * 100 + [[np.nan]] * 400)
    y = X[:, 0].copy()
    y[400:] = 5.0
    model = DecisionTreeRegressor(missing="probability").fit(X, y)
    tree = model.model_.ensemble.trees[0]
    drawn = tree.cover[tree.left[0]] - 300
    assert 260 < drawn < 340  # three in four of 400
    other = DecisionTreeRegressor(missing="probability", random_state=1).fit(X, y)
    assert not same(model, other)
    assert same(model, DecisionTreeRegressor(missing="probability", random_state=0).fit(X, y))
    weight = np.where(X[:, 0] == 1, 9, 1)
    heavy = DecisionTreeRegressor(missing="probability").fit(X, y, weight).model_.ensemble.trees[0]
    assert heavy.cover[heavy.left[0]] - 300 == pytest.approx(100, abs=40)  # 300 in 1200


def test_a_column_that_is_always_missing_is_left_alone():
    X, y, _ = wave(100)
    X[:, 1] = np.nan
    for missing in ("mean", "probability"):
        model = DecisionTreeRegressor(missing=missing).fit(X, y)
        assert model.feature_importances_[1] == 0
        assert np.isfinite(model.predict(X)).all()


def test_infinite_cells_have_a_mean_unless_they_cancel():
    X, y, _ = wave(60)
    X[0, 0], X[1, 0] = np.inf, np.nan
    model = DecisionTreeRegressor(missing="mean").fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    X[2, 0] = -np.inf
    with pytest.raises(ValueError, match=r"X column 0 holds inf and -inf.*missing='learned'"):
        DecisionTreeRegressor(missing="mean").fit(X, y)


# ---- tables ------------------------------------------------------------------------------------


@ALL
def test_a_sparse_matrix_is_read_by_histograms(kind, table):
    X = np.where(np.abs(np.nan_to_num(table.X)) > 2000, np.nan_to_num(table.X), 0.0)
    y = target(kind, table)
    a, b = (kind(split="histogram").fit(Z, y) for Z in (X, csr_array(X)))
    assert same(a, b)
    with pytest.raises(InvalidParameterError, match=r"split='exact'.*sparse"):
        kind().fit(csr_array(X), y)
    with pytest.raises(InvalidParameterError, match=r"missing='mean'.*sparse"):
        kind(split="histogram", missing="mean").fit(csr_array(X), y)
    both = kind(split="histogram", missing="probability").fit(X, y)
    with pytest.raises(TypeError, match=r"X\.toarray"):
        both.predict(csr_array(X))


def test_class_weights_count():
    X, _, classes = wave(300)
    weight = {0: 1, 1: 3, 2: 2}
    a = DecisionTreeClassifier(class_weight=weight, max_leaf_nodes=9).fit(X, classes)
    times = np.array([weight[c] for c in classes])
    b = DecisionTreeClassifier(max_leaf_nodes=9).fit(X, classes, sample_weight=times)
    assert same(a, b)


# ---- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"criterion": "variance"}, "'squared_error', 'absolute_error'"),
        ({"split": "approx"}, "'histogram', 'exact'"),
        ({"growth": "symmetric"}, "'best_first', 'depth_wise'"),
        ({"pruning": "cv"}, "None, 'cost_complexity', 'reduced_error', 'early_stopping'"),
        ({"missing": "median"}, "'learned', 'mean', 'probability'"),
        ({"pruning": "cost_complexity", "alpha": -1.0}, "'cv', or a number at least 0"),
        ({"pruning": "cost_complexity", "alpha": "best"}, "'cv', or a number at least 0"),
        ({"alpha": 0.1}, "no effect with pruning=None; set pruning='cost_complexity'"),
        ({"pruning": "reduced_error", "cv": 3}, "no effect with pruning='reduced_error'"),
        ({"pruning": "cost_complexity", "alpha": 0.1, "cv": 3}, "no effect with alpha=0.1"),
        (
            {"pruning": "cost_complexity", "alpha": 0.1, "one_standard_error": True},
            "set alpha='cv'",
        ),
        ({"validation_fraction": 0.3}, "set pruning='reduced_error' or 'early_stopping'"),
        ({"pruning": "reduced_error", "n_iter_no_change": 3}, "set pruning='early_stopping'"),
        ({"max_bins": 99}, "max_bins has no meaning with split='exact'"),
        ({"max_leaf_nodes": 1}, "a whole number at least 2"),
        ({"max_features": "half"}, "'sqrt', 'log2', 'third'"),
    ],
)
def test_bad_parameters_are_answered(params, words, table):
    with pytest.raises(InvalidParameterError, match=words):
        DecisionTreeRegressor(**params).fit(table.X, table.number)


def test_what_fit_gets_must_be_of_use(table):
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
        DecisionTreeRegressor().n_leaves_  # noqa: B018


def test_groups_are_not_torn_apart_by_folds(table):
    groups = np.arange(500) // 5
    model = DecisionTreeRegressor(pruning="cost_complexity").fit(
        table.X, table.number, groups=groups
    )
    assert 1 < model.n_leaves_ < 400
