"""Every parameter: what it may not be, and that trees keep to what it says."""

from __future__ import annotations

import fractions
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimators.tables import hashed, make_table, quick
from stagewise import (
    AdaBoostClassifier,
    GentleBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    InvalidParameterError,
    LogitBoostClassifier,
)

BOTH = pytest.mark.parametrize("kind", [GradientBoostingRegressor, GradientBoostingClassifier])

NO_NUMBER = ("a lot", [1], {}, 1 + 2j, np.ones(2), object)
NOT_FINITE = (math.nan, math.inf, -math.inf, np.float32("nan"), 10**400, -(10**400))
SHARE = (None, 0, 0.0, -0.1, 1.0001, 2, True, *NO_NUMBER, *NOT_FINITE)
NOT_NEGATIVE = (None, -1e-9, -1, True, *NO_NUMBER, *NOT_FINITE)
POSITIVE = (0, 0.0, *NOT_NEGATIVE)
COUNT = (0, -1, 1.5, True, np.bool_(True), fractions.Fraction(5, 2), *NO_NUMBER, *NOT_FINITE)
FLAG = (None, 0, 1, "yes", [], np.ones(2))

CHOICE = (None, 1, "a", "Newton", ["newton"], np.array(["a", "b"]))

BAD = {
    "response": CHOICE,
    "learning_rate": POSITIVE,
    "n_estimators": (None, 10_000_001, 1e12, *COUNT),
    "max_leaf_nodes": (1, 2**31, *COUNT),
    "max_depth": (2**31, *COUNT),
    "min_samples_leaf": (1e19, *POSITIVE),
    "min_hessian": NOT_NEGATIVE,
    "l1_regularization": NOT_NEGATIVE,
    "l2_regularization": NOT_NEGATIVE,
    "min_gain": NOT_NEGATIVE,
    "max_step": tuple(v for v in POSITIVE if v is not None),
    "leaves": CHOICE,
    "linear_l2": NOT_NEGATIVE,
    "grow_policy": ("best-first", "BEST_FIRST", None, 1, ["best_first"], np.array(["a", "b"])),
    "subsample": SHARE,
    "sampling": CHOICE,
    "goss_top": (1.0, *SHARE),
    "goss_other": (1.0, *SHARE),
    "mvs_lambda": POSITIVE,
    "drop_rate": (1.0001, *NOT_NEGATIVE),
    "max_drop": (2**31, *COUNT),
    "skip_drop": (1.0, 2, *NOT_NEGATIVE),
    "drop_normalization": CHOICE,
    "out_of_bag": FLAG,
    "columns_per_tree": SHARE,
    "columns_per_level": SHARE,
    "max_features": SHARE,
    "feature_weights": ("heavy", 1, [1.0], {0: -1.0}, {0: "a"}, {0: math.nan}, {0: True}),
    "monotonic_cst": ("up", 1, [1], {0: 2}, {0: 0.5}, {0: "up"}, {0: None}),
    "interaction_cst": ("all", 1, [1, 2], [[0], 1], 0.5),
    "path_smoothing": NOT_NEGATIVE,
    "random_thresholds": FLAG,
    "feature_penalty": ("dear", 1, [1.0], {0: -1.0}, {0: "a"}, {0: math.inf}),
    "forced_splits": ("age", 1, [0], {"feature": 0, "threshold": 1, "left": 3}),
    "multi_output": CHOICE,
    "split": CHOICE,
    "proposal": CHOICE[1:],
    "epsilon": (0, 1, -0.1, 1.5, True, *NO_NUMBER, *NOT_FINITE),
    "max_bins": (None, 1, 65_536, *COUNT),
    "missing_values": (
        *("NA", "-999", [], (), True, [True], np.bool_(False), [None], [[-999]], [-999, "NA"]),
        *(2**64, -(2**63) - 1, {-999}, np.array(["a"]), *NO_NUMBER[2:], *NOT_FINITE),
        *([value] for value in NOT_FINITE),
    ),
    "categorical_features": (
        *("all", "", 1, True, 1.5, ["a", 1], [True, 1], [1.5], [None], [["a"]], {"a"}, {"a": 1}),
        *(np.ones(2), np.array([["a"]]), object, math.nan),
    ),
    "handle_unknown": (None, "warn", "Missing", 1, ["missing"], np.array(["missing"])),
    "categorical": (None, "Auto", "native", True, ["sets"]),
    "permutations": (None, 0, 65, 1.5, "2", True, math.nan),
    "early_stopping": FLAG,
    "cv": (0, 1, -3, 1.5, True, None, "5", [], [1, 2, 3], [(1, 2, 3)], object),
    "validation_fraction": (1.0, *SHARE),
    "n_iter_no_change": (None, 2**31, *COUNT),
    "tol": NOT_NEGATIVE,
    "time_limit": tuple(v for v in POSITIVE if v is not None),
    "warm_start": FLAG,
    "random_state": (-1, 2**64, 1.5, True, "seed", [1], math.nan),
    "n_jobs": (0, 1.5, True, "all", [2], math.nan),
    "verbose": (-1, 3, 0.5, None, "yes"),
    "callbacks": (1, "print", [print, 2], {"a": 1}),
    "loss": ("squared", None, 1, ["squared_error"], np.array([1, 2]), object),
}
ONLY_REGRESSION = {
    "quantile": (0, 1, -0.1, 1.5, True, *NO_NUMBER, *NOT_FINITE),
    "power": (1, 2, 0.5, 3, True, *NO_NUMBER, *NOT_FINITE),
}
ONLY_NAMED = {
    AdaBoostClassifier: {"algorithm": CHOICE, "criterion": CHOICE},
    LogitBoostClassifier: {"limit": POSITIVE},
}
CASES = [
    (kind, name, value)
    for kind, table_of in {
        GradientBoostingRegressor: BAD | ONLY_REGRESSION,
        GradientBoostingClassifier: BAD,
        **ONLY_NAMED,
    }.items()
    for name, values in table_of.items()
    for value in values
]


@pytest.fixture(scope="module")
def table():
    return make_table(300)


def test_the_table_of_bad_values_has_every_parameter():
    assert {*BAD, *ONLY_REGRESSION} == set(GradientBoostingRegressor().get_params())
    assert {*BAD, "class_weight"} == set(GradientBoostingClassifier().get_params())
    for kind in (AdaBoostClassifier, GentleBoostClassifier, LogitBoostClassifier):
        names = set(kind().get_params()) - {"class_weight"}
        assert names <= {*BAD, *ONLY_NAMED.get(kind, {})}


@pytest.mark.parametrize(
    ("kind", "name", "value"), CASES, ids=[f"{k.__name__}-{n}={v!r:.30}" for k, n, v in CASES]
)
def test_an_impossible_value_is_refused_by_name(kind, name, value, table):
    model = kind(**{name: value})  # the constructor takes anything, as scikit-learn wants it
    with pytest.raises(InvalidParameterError) as caught:
        model.fit(table.X, table.two)
    message = str(caught.value)
    assert name in message
    assert "must be" in message
    assert "got" in message
    assert len(message) < 400
    assert not hasattr(model, "model_")


@pytest.mark.parametrize(
    "value",
    ["balance", 3, [1, 2], {0: -1}, {0: math.nan}, {0: "x"}, {0: 0, 1: 0}, {"yes": 2, 1: 1}],
    ids=repr,
)
def test_an_impossible_class_weight_is_refused_by_name(value, table):
    with pytest.raises(InvalidParameterError, match="'class_weight'"):
        quick(GradientBoostingClassifier, class_weight=value).fit(table.X, table.two)


def test_class_weights_may_leave_classes_out_or_name_absent_ones(table):
    left_out = quick(GradientBoostingClassifier, class_weight={1: 2}).fit(table.X, table.two)
    absent = {0: 1, 1: 2, "never seen": 9}
    named = quick(GradientBoostingClassifier, class_weight=absent).fit(table.X, table.two)
    assert left_out.fingerprint() == named.fingerprint()


SAME = {
    "whole floats are whole numbers": ({"max_leaf_nodes": 8.0}, {"max_leaf_nodes": 8}),
    "numpy integers": ({"n_estimators": np.int16(8)}, {"n_estimators": 8}),
    "numpy floats": ({"learning_rate": np.float64(0.1)}, {"learning_rate": 0.1}),
    "fractions": ({"subsample": fractions.Fraction(1, 2)}, {"subsample": 0.5}),
    "one is a share": ({"subsample": 1}, {"subsample": 1.0}),
    "numpy booleans": ({"warm_start": np.bool_(False)}, {"warm_start": False}),
    "no callbacks": ({"callbacks": []}, {"callbacks": None}),
    "missing values in any order": ({"missing_values": [7, 3]}, {"missing_values": (3.0, 7, 3)}),
    "one missing value": ({"missing_values": np.int8(3)}, {"missing_values": [3]}),
    "missing values nobody has": ({"missing_values": 2**64 - 1}, {"missing_values": None}),
    "a seed of any integer type": ({"random_state": np.uint64(3)}, {"random_state": 3}),
    "no limits": ({"max_leaf_nodes": None}, {"max_leaf_nodes": 2**31 - 1}),
    "a limit nobody reaches": ({"max_depth": None}, {"max_depth": 2**31 - 1}),
}


@pytest.mark.parametrize(("one", "other"), SAME.values(), ids=SAME)
def test_values_that_mean_the_same_do_the_same(one, other, table):
    a, b = (quick(GradientBoostingRegressor, **p).fit(table.X, table.number) for p in (one, other))
    assert a.fingerprint() == b.fingerprint()


@pytest.mark.parametrize("seed", [0, 2**31, 2**32, 2**63, 2**64 - 1])
def test_any_64_bit_seed_will_do(seed, table, tmp_path):
    model = quick(GradientBoostingRegressor, random_state=seed, subsample=0.5, early_stopping=True)
    model.fit(table.X, table.number).save(tmp_path / "m.stgw")
    assert model.seed_ == seed


# ---- trees keep to it ---------------------------------------------------------------------------


def walk(model):
    """Yield for each tree its arrays and the depth of every node."""
    for tree in model.model_.ensemble.trees:
        depth = np.zeros(len(tree.feature), dtype=int)
        for node in np.flatnonzero(tree.feature >= 0):
            depth[tree.left[node]] = depth[tree.right[node]] = depth[node] + 1
        yield tree, depth


@settings(max_examples=60, deadline=None)
@given(
    rows=st.sampled_from([1, 2, 7, 60, 400]),
    seed=st.integers(0, 99),
    weighted=st.sampled_from(["no", "counts", "fractions"]),
    classes=st.booleans(),
    params=st.fixed_dictionaries(
        {
            "max_leaf_nodes": st.sampled_from([2, 5, 31, None]),
            "max_depth": st.sampled_from([1, 2, 6, None]),
            "min_samples_leaf": st.sampled_from([1, 3, 20, 2.5]),
            "min_hessian": st.sampled_from([0.0, 1e-3, 2.0]),
            "l1_regularization": st.sampled_from([0.0, 0.3]),
            "l2_regularization": st.sampled_from([0.0, 1.0]),
            "max_step": st.sampled_from([None, 0.2]),
            "grow_policy": st.sampled_from(["best_first", "depth_wise"]),
            "max_bins": st.sampled_from([2, 16, 255, 256, 257, 65_535]),
            "max_features": st.sampled_from([0.5, 1.0]),
        }
    ),
)
@pytest.mark.filterwarnings("ignore:y has only one:UserWarning")
def test_a_tree_keeps_its_limits(rows, seed, weighted, classes, params):
    table = make_table(rows, 4, seed)
    weight = {
        "no": np.ones(rows),
        "counts": 1.0 + hashed(rows, 1, seed)[:, 0] % 3,
        "fractions": 0.3 + hashed(rows, 1, seed)[:, 0] % 7,
    }[weighted]
    kind = GradientBoostingClassifier if classes else GradientBoostingRegressor
    model = kind(n_estimators=3, **params)
    model.fit(table.X, table.two if classes else table.number, sample_weight=weight)
    counted = weight / weight.mean() if weighted == "fractions" else weight
    leaves = model.apply(table.X)
    for number, (tree, depth) in enumerate(walk(model)):
        is_leaf = tree.feature < 0
        assert is_leaf.sum() <= (params["max_leaf_nodes"] or rows)
        assert depth.max() <= (params["max_depth"] or rows)
        assert is_leaf[leaves[:, number]].all()
        # Weights that are no counts are summed in units of a millionth.
        held = np.bincount(leaves[:, number], weights=counted, minlength=len(tree.feature))
        np.testing.assert_allclose(tree.cover[is_leaf], held[is_leaf], rtol=1e-5)
        if len(tree.feature) > 1:
            least = params["min_samples_leaf"] if params["min_samples_leaf"] > 1 else counted.min()
            assert tree.cover[is_leaf].min() >= least - 1e-5
        assert (tree.gain >= 0).all()
        assert np.isfinite(tree.value).all()
        if params["max_step"]:
            assert np.abs(tree.value).max() <= 0.1 * params["max_step"] * 1.000001


def test_min_samples_leaf_is_exact():
    # Twenty and twenty rows: 20 splits them, 20.5 does not.
    X = np.repeat([[0.0], [1.0]], 20, axis=0)
    y = np.repeat([0.0, 1.0], 20)
    for least, nodes in ((20, 3), (20.5, 1)):
        model = GradientBoostingRegressor(n_estimators=1, min_samples_leaf=least).fit(X, y)
        assert len(model.model_.ensemble.trees[0].feature) == nodes
        model = GradientBoostingClassifier(n_estimators=1, min_samples_leaf=least).fit(X, y)
        assert len(model.model_.ensemble.trees[0].feature) == nodes


@pytest.mark.parametrize("max_bins", [2, 3, 16, 255, 256, 257, 1000, 65_535])
@pytest.mark.parametrize("missing", [False, True])
def test_a_feature_has_at_most_max_bins_bins(max_bins, missing):
    rows = 70_000 if max_bins > 1000 else 3000
    X = np.arange(rows, dtype=float)[:, np.newaxis]
    y = hashed(rows, 1)[:, 0] % 997
    if missing:
        X[::50] = np.nan
    model = GradientBoostingRegressor(
        n_estimators=1,
        max_leaf_nodes=None,
        min_samples_leaf=1,
        l2_regularization=0,
        learning_rate=1.0,
        max_bins=max_bins,
    ).fit(X, y)
    # Noise for a target: nearly every cut is worth a split. One more leaf for missing values.
    assert 0.9 * max_bins < len(np.unique(model.apply(X))) <= max_bins + missing
    error = 0.5 * np.mean((model.predict(X) - y) ** 2)
    assert model.train_loss_[0] == pytest.approx(error, rel=1e-6), "bins and cuts agree"


def test_more_bins_see_more():
    X = np.arange(2000.0)[:, np.newaxis]
    y = np.sin(X[:, 0] / 5)
    few, many = (
        GradientBoostingRegressor(max_bins=b, min_samples_leaf=1).fit(X, y).score(X, y)
        for b in (16, 1000)
    )
    assert few < 0.3
    assert many > 0.7


def test_columns_are_drawn_for_every_tree_level_and_node(table):
    def used(**params):
        model = quick(GradientBoostingRegressor, n_estimators=40, **params)
        model.fit(table.X, table.number)
        return [set(tree.feature[tree.feature >= 0]) for tree in model.model_.ensemble.trees]

    per_tree = used(columns_per_tree=0.4)
    assert max(map(len, per_tree)) == 2
    assert set().union(*per_tree) == set(range(5))
    # One column of five at every node: a tree may use several, but the root has no choice.
    assert max(map(len, used(max_features=0.2))) > 2
    assert len(set(map(frozenset, used(columns_per_level=0.2, max_depth=1)))) == 5


@pytest.mark.parametrize("share", [0.5, 1e-9])
def test_a_round_sees_its_share_of_the_rows_and_at_least_one(share, table):
    model = quick(GradientBoostingRegressor, subsample=share, n_estimators=30)
    model.fit(table.X, table.number)
    seen = np.array([tree.cover[0] for tree in model.model_.ensemble.trees])
    if share < 0.1:
        assert (seen == 1).all()
    else:
        assert seen.mean() == pytest.approx(150, abs=10)
        assert len(set(seen)) > 1


@pytest.mark.parametrize(
    "stronger",
    [
        {"l2_regularization": 100.0},
        {"l1_regularization": 30.0},
        {"min_gain": 20.0},
        {"max_step": 0.05},
        {"min_hessian": 100.0},
        {"min_samples_leaf": 120},
        {"max_depth": 1},
        {"learning_rate": 0.01},
    ],
    ids=lambda p: next(iter(p)),
)
def test_every_restraint_restrains(stronger, table):
    free = quick(GradientBoostingRegressor).fit(table.X, table.number)
    held = quick(GradientBoostingRegressor, **stronger).fit(table.X, table.number)
    assert held.train_loss_[-1] > 1.05 * free.train_loss_[-1]


def test_best_first_and_depth_wise_differ_only_in_which_leaves_come_first(table):
    limits = {"max_leaf_nodes": None, "max_depth": 3}
    full = [
        quick(GradientBoostingRegressor, grow_policy=g, **limits).fit(table.X, table.number)
        for g in ("best_first", "depth_wise")
    ]
    np.testing.assert_allclose(full[0].predict(table.X), full[1].predict(table.X), rtol=1e-9)
    few = [
        quick(GradientBoostingRegressor, grow_policy=g, max_leaf_nodes=5).fit(table.X, table.number)
        for g in ("best_first", "depth_wise")
    ]
    assert few[0].fingerprint() != few[1].fingerprint()
