"""Rules of the trees of forests and of single trees that scikit-learn has: agreement and laws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn import tree
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    mean_absolute_error,
    mean_poisson_deviance,
)

import stagewise
from stagewise import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    InvalidParameterError,
    RandomForestClassifier,
    RandomForestRegressor,
    export_text,
)
from stagewise.inspection import show_split

REGRESSORS = pytest.mark.parametrize(
    "kind", [DecisionTreeRegressor, RandomForestRegressor, ExtraTreesRegressor]
)
EVERY = pytest.mark.parametrize(
    "kind",
    [
        DecisionTreeRegressor,
        RandomForestRegressor,
        ExtraTreesRegressor,
        DecisionTreeClassifier,
        RandomForestClassifier,
        ExtraTreesClassifier,
    ],
)
DIRECTIONS = (1, 0, 1, -1, 0)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5))
    y = X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3] + rng.normal(size=1500) * 0.5
    return X, y


def target(kind, y):
    return (y > 0).astype(int) if "Classifier" in kind.__name__ else y


def few(kind, **params):
    return kind(**params) if "Decision" in kind.__name__ else kind(n_estimators=4, **params)


# ---- sizes of nodes --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rules",
    [
        {"min_samples_split": 40},
        {"min_weight_fraction_leaf": 0.1},
        {"min_samples_split": 30, "min_samples_leaf": 10, "min_weight_fraction_leaf": 0.005},
    ],
    ids=str,
)
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_sizes_of_nodes_are_those_of_scikit_learn(table, rules, criterion):
    X, y = table[0][:400], np.exp(table[1][:400] / 2)
    own = DecisionTreeRegressor(criterion=criterion, **rules).fit(X, y)
    other = tree.DecisionTreeRegressor(criterion=criterion, random_state=0, **rules).fit(X, y)
    np.testing.assert_allclose(own.predict(X), other.predict(X), rtol=1e-9)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "log_loss"])
def test_sizes_of_nodes_of_classes_are_those_of_scikit_learn(table, criterion):
    X, y = table[0], np.digitize(table[1], [-1, 0, 1])
    rules = {"min_samples_split": 200, "criterion": criterion, "min_weight_fraction_leaf": 0.02}
    own = DecisionTreeClassifier(**rules).fit(X, y)
    other = tree.DecisionTreeClassifier(random_state=0, **rules).fit(X, y)
    np.testing.assert_allclose(own.predict_proba(X), other.predict_proba(X), atol=1e-9)


@EVERY
def test_nodes_have_the_least_weight(kind, table):
    X, y = table[0], target(kind, table[1])
    rows = {"bootstrap": True} if hasattr(kind(), "bootstrap") else {}
    fitted = few(kind, min_samples_split=60, min_weight_fraction_leaf=0.01, **rows).fit(X, y)
    for grown in fitted.model_.ensemble.trees:
        inner = grown.feature >= 0
        assert grown.cover[inner].min() >= 60
        assert grown.cover[~inner].min() >= 0.01 * grown.cover[0] - 1e-9
        assert inner.any()


@EVERY
@pytest.mark.parametrize("split", ["histogram", "exact"])
def test_weight_two_is_the_row_twice(kind, table, split):
    X, y = table[0][:300], target(kind, table[1][:300])
    weight = np.random.default_rng(1).integers(0, 3, len(X))
    rules = {"min_samples_split": 11, "min_weight_fraction_leaf": 0.02, "split": split}
    rules |= {} if "Decision" in kind.__name__ else {"bootstrap": False}
    own = few(kind, **rules).fit(X, y, weight)
    twice = few(kind, **rules).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(own.predict(X), twice.predict(X), rtol=1e-9)


def test_two_rows_are_enough_to_split():
    X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 5.0])
    assert DecisionTreeRegressor().fit(X, y, [0.3, 0.3, 1.0]).get_n_leaves() == 3
    assert DecisionTreeRegressor(min_samples_split=3).fit(X, y).get_n_leaves() == 2


# ---- bags ------------------------------------------------------------------------------------


def test_a_number_of_samples_is_that_fraction_of_the_rows(table):
    X, y = table
    count = RandomForestRegressor(n_estimators=3, max_samples=300).fit(X, y)
    share = RandomForestRegressor(n_estimators=3, max_samples=0.2).fit(X, y)
    assert count.fingerprint() == share.fingerprint()
    assert "bootstrap of 300 rows" in count.recipe()
    assert count.oob_importances(X, y).mean.shape == (5,)
    whole = RandomForestRegressor(n_estimators=3, max_samples=None).fit(X, y)
    assert whole.fingerprint() == RandomForestRegressor(n_estimators=3).fit(X, y).fingerprint()
    without = ExtraTreesRegressor(n_estimators=3, max_samples=100, oob_score=True).fit(X, y)
    assert without.oob_score_ > 0


@pytest.mark.filterwarnings("ignore")
def test_a_bag_of_one_row_is_a_bag(table):
    X, y = table
    forest = RandomForestRegressor(n_estimators=20, max_samples=1).fit(X, y)
    assert max(len(one.feature) for one in forest.model_.ensemble.trees) <= 9
    assert np.isfinite(forest.predict(X)).all()


def test_more_samples_than_rows_are_refused(table):
    X, y = table
    with pytest.raises(ValueError, match="max_samples=1501 is more than the 1500 rows of X"):
        RandomForestRegressor(max_samples=1501).fit(X, y)


def rare(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    return X, (X[:, 0] + X[:, 1] + rng.normal(size=n) > 3.0).astype(int)


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_balanced_bags_find_a_rare_class(kind):
    (X, y), (other, truth) = rare(), rare(seed=1)
    params = {"n_estimators": 40, "min_samples_leaf": 20, "bootstrap": True}
    plain = kind(**params).fit(X, y)
    balanced = kind(class_weight="balanced_subsample", **params).fit(X, y)
    scores = [balanced_accuracy_score(truth, model.predict(other)) for model in (plain, balanced)]
    assert scores[1] > scores[0] + 0.1


def test_balanced_bags_of_all_rows_are_balanced_rows():
    X, y = load_iris(return_X_y=True)
    X, y = X[:120], y[:120]  # 50, 50 and 20 rows
    params = {"n_estimators": 3, "bootstrap": False, "criterion": "gini", "max_depth": 3}
    one = RandomForestClassifier(class_weight="balanced", **params).fit(X, y)
    bags = RandomForestClassifier(class_weight="balanced_subsample", **params).fit(X, y)
    np.testing.assert_allclose(one.predict_proba(X), bags.predict_proba(X), atol=1e-9)
    roots = [trees.value[0] * 3 for trees in bags.model_.ensemble.trees]
    np.testing.assert_allclose(roots, 1 / 3)


def test_each_bag_is_balanced():
    X, y = rare()
    forest = RandomForestClassifier(n_estimators=5, class_weight="balanced_subsample").fit(X, y)
    roots = [trees.value[0] for trees in forest.model_.ensemble.trees]
    np.testing.assert_allclose(roots, 0.0, atol=1e-12)  # p_1 - p_0
    assert forest.estimators_[0].class_weight == "balanced"
    assert forest.oob_score_ > 0.5


def test_only_forests_balance_bags():
    X, y = rare(200)
    for kind in (DecisionTreeClassifier, GradientBoostingClassifier):
        with pytest.raises(InvalidParameterError, match="'balanced', or a dict"):
            kind(class_weight="balanced_subsample").fit(X, y)


# ---- criteria --------------------------------------------------------------------------------


@REGRESSORS
@pytest.mark.parametrize("split", ["histogram", "exact"])
def test_poisson_trees_lower_the_deviance(kind, split):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(1500, 4))
    y = rng.poisson(np.exp(X[:, 0] - 2)).astype(float)
    rules = {"min_samples_leaf": 20, "split": split}
    fitted = few(kind, criterion="poisson", **rules).fit(X, y)
    assert (fitted.predict(X) > 0).all()
    constant = mean_poisson_deviance(y, np.full(len(y), y.mean()))
    assert mean_poisson_deviance(y, fitted.predict(X)) < 0.9 * constant


def test_the_deviance_of_leaves_is_pruned():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(600, 3))
    y = rng.poisson(np.exp(X[:, 0])).astype(float)
    pruned = DecisionTreeRegressor(criterion="poisson", pruning="cost_complexity").fit(X, y)
    assert 1 < pruned.get_n_leaves() < 40
    own = DecisionTreeRegressor(criterion="poisson", ccp_alpha=0.02, min_samples_leaf=5)
    other = tree.DecisionTreeRegressor(criterion="poisson", ccp_alpha=0.02, min_samples_leaf=5)
    np.testing.assert_allclose(own.fit(X, y).predict(X), other.fit(X, y).predict(X), rtol=1e-9)


@REGRESSORS
def test_a_split_must_lower_the_impurity_by_more_than_its_least_decrease(kind, table):
    X, y = table[0], np.exp(table[1])
    if kind is DecisionTreeRegressor:
        for criterion, least in (("poisson", 0.02), ("squared_error", 0.3)):
            rules = {"criterion": criterion, "min_impurity_decrease": least}
            own = kind(**rules).fit(X, y).predict(X)
            other = tree.DecisionTreeRegressor(**rules).fit(X, y).predict(X)
            np.testing.assert_allclose(own, other, rtol=1e-9)
    with pytest.warns(UserWarning, match="No tree has a split"):
        huge = few(kind, criterion="poisson", min_impurity_decrease=1e9).fit(X, y)
    assert len(huge.model_.ensemble.trees[0].feature) == 1


@REGRESSORS
def test_poisson_needs_targets_that_are_not_negative(kind, table):
    X, y = table
    with pytest.raises(ValueError, match=r"not negative, but y holds -.* at row \d"):
        kind(criterion="poisson").fit(X, y)
    with pytest.raises(ValueError, match="needs a target above 0, but all are 0"):
        kind(criterion="poisson").fit(X, np.zeros(len(X)))
    with pytest.raises(InvalidParameterError, match="adds up the rows of every node"):
        few(kind, criterion="poisson", split="histogram").fit(csr_array(X), np.abs(y))


@REGRESSORS
def test_the_message_for_friedman_mse_has_our_name(kind, table):
    with pytest.raises(InvalidParameterError, match="'friedman_mse' of scikit-learn is 'squared"):
        kind(criterion="friedman_mse").fit(*table)


def test_log_loss_is_entropy(table):
    X, y = table[0], target(RandomForestClassifier, table[1])
    one, two = (
        RandomForestClassifier(n_estimators=4, criterion=name).fit(X, y)
        for name in ("entropy", "log_loss")
    )
    assert one.fingerprint() == two.fingerprint()


# ---- monotone constraints --------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
@pytest.mark.parametrize("max_depth", [2, 4, 7])
def test_monotone_trees_are_those_of_scikit_learn(table, max_depth, criterion):
    X, y = table[0], np.exp(table[1])
    rules = {"monotonic_cst": DIRECTIONS, "criterion": criterion, "min_samples_leaf": 20}
    own = DecisionTreeRegressor(max_depth=max_depth, **rules).fit(X, y)
    other = tree.DecisionTreeRegressor(max_depth=max_depth, random_state=0, **rules).fit(X, y)
    np.testing.assert_allclose(own.predict(X), other.predict(X), rtol=1e-9)


@pytest.mark.parametrize("max_depth", [2, 4, 7])
def test_monotone_trees_of_two_classes_are_those_of_scikit_learn(table, max_depth):
    X, y = table[0], table[1] > 0
    rules = {"monotonic_cst": DIRECTIONS, "max_depth": max_depth, "min_samples_leaf": 20}
    own = DecisionTreeClassifier(**rules).fit(X, y)
    other = tree.DecisionTreeClassifier(random_state=0, **rules).fit(X, y)
    np.testing.assert_allclose(own.predict_proba(X), other.predict_proba(X), atol=1e-9)


def grid_of(X, feature, rows=40):
    """Rows of the table, each with a rising feature."""
    values = np.sort(np.concatenate([X[:60, feature], [-np.inf, np.inf]]))
    grid = np.repeat(X[-rows:], len(values), axis=0)
    grid[:, feature] = np.tile(values, rows)
    return grid, (rows, len(values))


CRITERIA = {
    "Regressor": ("squared_error", "poisson"),
    "Classifier": ("gini", "entropy", "misclassification"),
}


@EVERY
@pytest.mark.parametrize("split", ["histogram", "exact"])
@pytest.mark.parametrize("place", [0, 1])
def test_predictions_are_monotone(kind, table, split, place):
    X, y = table[0].copy(), target(kind, table[1])
    X[::17, 1] = np.nan
    criterion = CRITERIA["Classifier" if "Classifier" in kind.__name__ else "Regressor"][place]
    y = np.exp(y) if criterion == "poisson" else y
    rules = {"split": split, "criterion": criterion, "monotonic_cst": DIRECTIONS}
    fitted = few(kind, **rules).fit(X, y)
    predict = getattr(fitted, "decision_function", fitted.predict)
    for feature, direction in enumerate(DIRECTIONS):
        grid, shape = grid_of(X, feature)
        steps = np.diff(predict(grid).reshape(shape), axis=1) * direction
        assert steps.min() >= 0
    free = few(kind, **{**rules, "monotonic_cst": None}).fit(X, y)
    grid, shape = grid_of(X, 0)
    found = getattr(free, "decision_function", free.predict)(grid).reshape(shape)
    assert np.diff(found, axis=1).min() < 0  # the test would find it


@EVERY
def test_no_direction_is_no_constraint(kind, table):
    X, y = table[0], target(kind, table[1])
    none = few(kind, monotonic_cst=[0] * 5).fit(X, y)
    assert none.fingerprint() == few(kind).fit(X, y).fingerprint()


def test_a_pruned_monotone_tree_is_monotone(table):
    X, y = table
    pruned = DecisionTreeRegressor(monotonic_cst=DIRECTIONS, ccp_alpha=0.005).fit(X, y)
    grid, shape = grid_of(X, 0)
    assert np.diff(pruned.predict(grid).reshape(shape), axis=1).min() >= 0


def test_constraints_that_cannot_hold_are_refused(table):
    X, y = table
    with pytest.raises(InvalidParameterError, match="but y has 3 classes"):
        RandomForestClassifier(monotonic_cst=DIRECTIONS).fit(X, np.arange(len(X)) % 3)
    with pytest.raises(InvalidParameterError, match="have medians"):
        RandomForestRegressor(monotonic_cst=DIRECTIONS, criterion="absolute_error").fit(X, y)
    with pytest.raises(InvalidParameterError, match="Trees with monotonic_cst"):
        RandomForestRegressor(monotonic_cst=DIRECTIONS).fit(csr_array(X), y)
    with pytest.raises(InvalidParameterError, match="monotonic_cst"):
        DecisionTreeRegressor(monotonic_cst=[1, 0]).fit(X, y)
    monotone = DecisionTreeRegressor(monotonic_cst=DIRECTIONS, max_depth=3).fit(X, y)
    with pytest.raises(InvalidParameterError, match="with monotonic_cst a split is not"):
        show_split(monotone, X, y)
    assert "decrease" in str(export_text(monotone, show_gain=True))


def test_rules_are_kept_by_files(table, tmp_path):
    X, y = table[0], np.abs(table[1])
    rules = {"monotonic_cst": {0: 1}, "criterion": "poisson", "min_samples_split": 9}
    fitted = RandomForestRegressor(n_estimators=3, max_samples=200, **rules).fit(X, y)
    fitted.save(tmp_path / "model.stgw")
    loaded = stagewise.load(tmp_path / "model.stgw")
    assert loaded.get_params() == fitted.get_params()
    assert loaded.fit(X, y).fingerprint() == fitted.fingerprint()


def test_two_classes_by_breast_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    forest = RandomForestClassifier(
        n_estimators=30, monotonic_cst={0: -1, 7: -1}, min_weight_fraction_leaf=0.01
    ).fit(X, y)
    assert forest.oob_score_ > 0.9


# ---- names of scikit-learn -------------------------------------------------------------------


def test_a_function_scores_the_out_of_bag_predictions(table, tmp_path):
    X, y = table
    forest = RandomForestRegressor(n_estimators=30, oob_score=mean_absolute_error).fit(X, y)
    known = ~np.isnan(forest.oob_prediction_)
    expected = mean_absolute_error(y[known], forest.oob_prediction_[known])
    assert forest.oob_score_ == pytest.approx(expected)
    labels = np.array(["no", "yes"])[(y > 0).astype(int)]
    classes = RandomForestClassifier(n_estimators=30, oob_score=accuracy_score).fit(X, labels)
    plain = RandomForestClassifier(n_estimators=30).fit(X, labels)
    assert classes.oob_score_ == pytest.approx(plain.oob_score_)
    several = np.c_[labels, np.where(X[:, 0] > 0, "a", "b")]
    found = RandomForestClassifier(
        n_estimators=30, oob_score=lambda truth, guess: (truth == guess).all(axis=1).mean()
    ).fit(X, several)
    usual = RandomForestClassifier(n_estimators=30).fit(X, several)
    assert found.oob_score_ == pytest.approx(usual.oob_score_)
    classes.save(tmp_path / "model.stgw")
    assert stagewise.load(tmp_path / "model.stgw").oob_score is True
    with pytest.raises(InvalidParameterError, match="needs out-of-bag rows"):
        ExtraTreesRegressor(oob_score=mean_absolute_error).fit(X, y)


def test_a_pruning_path_has_the_name_of_scikit_learn(table):
    X, y = table
    path = DecisionTreeRegressor(max_depth=4).cost_complexity_pruning_path(X, y)
    other = tree.DecisionTreeRegressor(max_depth=4).cost_complexity_pruning_path(X, y)
    np.testing.assert_allclose(path.ccp_alphas, other.ccp_alphas, atol=1e-9)
    np.testing.assert_allclose(path.impurities, other.impurities, rtol=1e-9)
