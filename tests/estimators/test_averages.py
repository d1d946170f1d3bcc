"""Averages of trees lie within the range of the targets, and do not depend on their unit."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from stagewise import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from stagewise.boosting.forest_loop import ExactDivision
from stagewise.errors import InvalidParameterError

TARGETS = {
    "counts": lambda rng, n: rng.poisson(0.7, n).astype(float),
    "shares": lambda rng, n: rng.random(n),
    "numbers far from 0": lambda rng, n: 1e9 + rng.random(n),
    "some far from the others": lambda rng, n: np.where(rng.random(n) < 0.1, 0.1, 1e3),
    "tenths": lambda rng, n: rng.integers(-3, 9, n) / 10,
    "large": lambda rng, n: 1e300 * rng.normal(size=n),
    "small": lambda rng, n: 1e-300 * rng.exponential(size=n),
}
MODELS = [
    DecisionTreeRegressor,
    lambda **p: DecisionTreeRegressor(split="histogram", max_depth=3, **p),
    lambda **p: RandomForestRegressor(n_estimators=7, **p),
    lambda **p: RandomForestRegressor(n_estimators=10, min_samples_leaf=3, **p),
    lambda **p: ExtraTreesRegressor(n_estimators=3, **p),
]


def make_rows(seed: int, n: int = 60) -> tuple[np.random.Generator, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng, rng.normal(size=(n, 3)).round(1)


@settings(max_examples=80)
@given(
    seed=st.integers(0, 10_000),
    target=st.sampled_from(sorted(TARGETS)),
    make=st.sampled_from(MODELS),
    criterion=st.sampled_from(["squared_error", "absolute_error"]),
    weighted=st.sampled_from(["no", "counts", "fractions"]),
)
def test_predictions_are_within_the_range_of_the_targets(seed, target, make, criterion, weighted):
    rng, X = make_rows(seed)
    y = TARGETS[target](rng, len(X))
    weight = {"no": None, "counts": rng.integers(1, 4, len(X)), "fractions": rng.random(len(X))}
    model = make(criterion=criterion).fit(X, y, weight[weighted])
    new = rng.normal(size=(200, 3))
    for predicted in (
        model.predict(new),
        *model.staged_predict(new),
        getattr(model, "oob_prediction_", np.empty(0)),
    ):
        known = predicted[~np.isnan(predicted)]
        assert y.min() <= known.min(initial=y.max())
        assert known.max(initial=y.min()) <= y.max()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("split", ["exact", "histogram"])
def test_a_pure_leaf_predicts_its_value_exactly(target, split):
    rng, _ = make_rows(1)
    X, y = np.arange(60.0)[:, np.newaxis], TARGETS[target](rng, 60)
    model = DecisionTreeRegressor(split=split).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)


@given(
    values=st.lists(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=4), min_size=2, max_size=30)
)
def test_shares_of_trees_sum_exactly_to_their_mean(values):
    trees = [np.array(v) for v in values]
    every = np.concatenate(trees)
    division = ExactDivision.of(len(trees), every.min(), every.max())
    shares = [division.divide(tree) for tree in trees]
    for pick in (np.min, np.max, lambda v: v[0]):
        mean = sum(float(pick(s)) for s in shares)
        assert mean == sum(reversed([float(pick(s)) for s in shares]))  # exactly
        expected = np.mean([pick(tree) for tree in trees])
        assert mean == pytest.approx(expected, abs=1e-13 * np.abs(every).max())
        if np.ptp(every) > 1e-9 * np.abs(every).max():
            assert every.min() <= mean <= every.max()


@pytest.mark.filterwarnings("ignore:No tree has a split:UserWarning")
def test_an_average_of_equal_trees_is_within_the_targets():
    y = np.array([-0.7071067811865476] * 2 + [1.414213562373095])
    forest = RandomForestRegressor(n_estimators=2, random_state=0).fit(np.eye(3), y)
    assert forest.predict(np.eye(3)).min() >= y.min()


SCALED = [
    DecisionTreeRegressor(),
    DecisionTreeRegressor(criterion="absolute_error"),
    DecisionTreeRegressor(pruning="cost_complexity"),
    DecisionTreeRegressor(pruning="reduced_error"),
    DecisionTreeRegressor(pruning="early_stopping"),
    RandomForestRegressor(n_estimators=5),
    RandomForestRegressor(n_estimators=5, criterion="absolute_error", early_stopping=True),
    ExtraTreesRegressor(n_estimators=5),
]


@pytest.mark.parametrize("model", SCALED, ids=repr)
@pytest.mark.parametrize("exponent", [-1000, -600, -20, 600, 1000])
def test_y_scale_does_not_change_predictions(model, exponent):
    rng, X = make_rows(2, 200)
    y = X[:, 0] + X[:, 1] ** 2 + rng.normal(size=200)
    model = clone(model).fit(X, y)
    expected, score = model.predict(X), model.score(X, y)
    inside = getattr(model, "oob_score_", None)
    scaled = np.ldexp(y, exponent)
    model.fit(X, scaled)
    np.testing.assert_array_equal(model.predict(X), np.ldexp(expected, exponent))
    assert model.score(X, scaled) == pytest.approx(score, rel=1e-12)
    assert inside is None or model.oob_score_ == pytest.approx(inside, rel=1e-12)


# ---- out-of-bag rows -----------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_in_every_bag_have_no_out_of_bag_prediction(n_classes):
    rng, X = make_rows(3)
    y = rng.integers(0, n_classes, len(X))
    model = RandomForestClassifier(n_estimators=2, oob_score=True)
    with pytest.warns(UserWarning, match="of 60 rows are in the bag of every tree.*n_estimators"):
        model.fit(X, y)
    gone = np.isnan(model.oob_prediction_)
    assert (gone.all(axis=1) == gone.any(axis=1)).all()
    assert 0 < gone[:, 0].sum() == model.fit_report_["rows_in_every_bag"] < 60
    known = ~gone[:, 0]
    assert model.oob_score_ == np.mean(model.oob_prediction_[known].argmax(axis=1) == y[known])


def test_out_of_bag_predictions_match_the_bags():
    _, X = make_rows(4)
    y = X[:, 0]
    for params, kept in (
        ({}, True),
        ({"bootstrap": False}, False),
        ({"bootstrap": False, "max_samples": 0.5}, True),
        ({"oob_score": False}, False),
    ):
        forest = RandomForestRegressor(n_estimators=30, **params).fit(X, y)
        assert hasattr(forest, "oob_score_") == kept
    assert hasattr(ExtraTreesRegressor(n_estimators=30, bootstrap=True).fit(X, y), "oob_score_")


# ---- size of trees -------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("split", ["exact", "histogram"])
def test_trees_grow_until_pure_for_any_weights(criterion, split):
    rng, X = make_rows(5, 300)
    X += rng.normal(size=X.shape)
    y = (rng.random(300) < 0.1).astype(int)
    balanced = DecisionTreeClassifier(criterion=criterion, split=split, class_weight="balanced")
    assert balanced.fit(X, y).score(X, y) == 1
    weighted = DecisionTreeClassifier(criterion=criterion, split=split)
    assert weighted.fit(X, y, 0.1 + rng.random(300)).score(X, y) == 1


def test_ccp_alpha_implies_pruning():
    rng, X = make_rows(6, 200)
    y = X[:, 0] + rng.normal(size=200)
    one = DecisionTreeRegressor(ccp_alpha=0.02).fit(X, y)
    other = DecisionTreeRegressor(ccp_alpha=0.02, pruning="cost_complexity").fit(X, y)
    assert one.fingerprint() == other.fingerprint()
    whole = DecisionTreeRegressor(ccp_alpha=0.0).fit(X, y)
    assert whole.fingerprint() == DecisionTreeRegressor().fit(X, y).fingerprint()
    assert one.get_n_leaves() < whole.get_n_leaves()


def test_exact_trees_refuse_sparse_rows_with_the_remedy():
    X = sp.random(50, 4, density=0.5, format="csr", random_state=0)
    y = X.toarray()[:, 0]
    with pytest.raises(InvalidParameterError, match="Set split='histogram'"):
        DecisionTreeRegressor().fit(X, y)
    assert DecisionTreeRegressor(split="histogram").fit(X, y).get_n_leaves() > 1


# ---- recipe and report ---------------------------------------------------------------------------


def test_the_recipe_of_a_forest_states_its_parameters():
    recipe = RandomForestClassifier(criterion="entropy", max_features=2, n_estimators=7).recipe()
    for part in ("entropy", "2 features per node", "bootstrap", "average of 7 trees"):
        assert part in recipe
    recipe = ExtraTreesRegressor(max_depth=4).recipe()
    for part in ("squared_error", "random thresholds", "depth at most 4", "all rows", "average"):
        assert part in recipe
    recipe = DecisionTreeRegressor(min_samples_leaf=20, pruning="reduced_error").recipe()
    for part in ("at least 20 rows per leaf", "all rows but 0.2 held out", "reduced error"):
        assert part in recipe
    assert "pure" not in recipe
    for recipe in (RandomForestRegressor().recipe(), DecisionTreeRegressor().recipe()):
        assert "Newton" not in recipe
        assert "ν" not in recipe


def test_the_report_of_a_forest_states_its_fit():
    _, X = make_rows(7)
    report = RandomForestRegressor(n_estimators=40, max_features=2).fit(X, X[:, 0]).fit_report_
    assert (report["rounds_run"], report["rounds_kept"], report["max_features"]) == (40, 40, 2)
    assert "learning_rate" not in report
    assert "learning_rate" not in report
    assert DecisionTreeRegressor().fit(X, X[:, 0]).fit_report_["rounds_run"] == 1


# ---- accuracy of binned splits -------------------------------------------------------------------


def test_binned_forests_are_as_accurate_as_exact_ones():
    """Deep nodes cover few of 255 bins, which would cost half a percent point or more here."""

    def make(seed, n=20_000):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 30))
        return X, X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=n) > 0

    X, y = make(0)
    X_test, y_test = make(1, 60_000)
    params = {"n_estimators": 40, "max_features": 5, "oob_score": False}
    exact = RandomForestClassifier(split="exact", **params).fit(X, y).score(X_test, y_test)
    bins = RandomForestClassifier(**params).fit(X, y).score(X_test, y_test)
    assert bins >= exact - 0.003


@pytest.mark.parametrize("kind", [RandomForestRegressor, RandomForestClassifier])
def test_weights_of_any_size_give_one_forest_for_any_number_of_threads(kind):
    """A first row of nearly zero weight must not make a node appear pure."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, weight = rng.integers(0, 5, (30, 4)).astype(float), 10 ** rng.uniform(-6, 6, 30)
        y = rng.integers(0, 2, 30)
        one, two = (
            kind(n_estimators=1, max_features=1, n_jobs=n).fit(X, y, weight) for n in (1, 2)
        )
        assert one.fingerprint() == two.fingerprint()


@pytest.mark.filterwarnings("ignore:No tree has a split:UserWarning")
def test_the_entropy_of_a_share_that_rounds_to_zero_is_finite():
    tree = DecisionTreeClassifier(criterion="entropy", ccp_alpha=0.01)
    tree.fit([[1.0], [0.0]], [True, False], sample_weight=[0.04, 2e15])
    assert np.isfinite(tree.pruning_path_.impurities).all()
