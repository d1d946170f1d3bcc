"""Every parameter of every estimator: one value that is refused, one limit value that is valid."""

from __future__ import annotations

import fractions
import inspect
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB

from estimators.every import PUBLIC, classifies, labelled
from estimators.tables import hashed, make_table, quick
from stagewise import (
    FeatureSampling,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    InvalidParameterError,
    SplitSearch,
)
from stagewise.validation import rules
from stagewise.validation.foreign_callbacks import callbacks
from stagewise.validation.rules import Number, OneOf

NO_NUMBER = ("a lot", [1], {}, 1 + 2j, np.ones(2), object)
NOT_FINITE = (math.nan, math.inf, -math.inf, np.float32("nan"), 10**400, -(10**400))
WORDS = (1, "a", "NEWTON", ["newton"], np.array(["a", "b"]))


# ---- each rule, with the values that it refuses -----------------------------------------------


@dataclass(frozen=True)
class RuleCase:
    """A rule, values that it refuses, and values that it returns in plain Python types."""

    rule: Any
    refused: tuple[Any, ...]
    returned: tuple[tuple[Any, Any], ...]


PAIR = [(np.arange(3), np.arange(3, 5))]
RULE_CASES = {
    "a number above 0": RuleCase(
        Number(0.0, open_low=True),
        (None, 0, 0.0, -1e-9, True, np.bool_(True), *NO_NUMBER, *NOT_FINITE),
        ((5e-324, 5e-324), (np.float32(0.5), 0.5), (fractions.Fraction(1, 4), 0.25)),
    ),
    "a number at least 0": RuleCase(
        Number(0.0), (None, -1e-9, -1, True, *NO_NUMBER, *NOT_FINITE), ((0, 0.0), (1e300, 1e300))
    ),
    "a fraction with 1": RuleCase(
        Number(0.0, 1.0, open_low=True),
        (None, 0, 1.0001, 2, -0.1, True, *NO_NUMBER, *NOT_FINITE),
        ((1, 1.0), (1e-9, 1e-9)),
    ),
    "a fraction below 1": RuleCase(
        Number(0.0, 1.0, open_low=True, open_high=True),
        (None, 0, 1, 1.0, *NO_NUMBER, *NOT_FINITE),
        ((0.999, 0.999),),
    ),
    "an integer": RuleCase(
        Number(2, 2**31 - 1, whole=True),
        (None, 1, 2**31, 2.5, fractions.Fraction(5, 2), True, np.bool_(True), *NO_NUMBER),
        ((2, 2), (8.0, 8), (np.int16(8), 8), (2**31 - 1, 2**31 - 1)),
    ),
    "a number or None": RuleCase(
        Number(0.0, or_none=True), (-1, *NO_NUMBER, *NOT_FINITE), ((None, None), (0, 0.0))
    ),
    "one of some words": RuleCase(
        OneOf(("newton", "gradient", None)), WORDS, (("newton", "newton"), (None, None))
    ),
    "a flag": RuleCase(
        rules.flag, (None, 0, 1, "yes", [], np.ones(2)), ((np.bool_(True), True), (False, False))
    ),
    "rows of a leaf": RuleCase(
        rules.least_rows, (None, 0.5, 0, 1e19, *NO_NUMBER, *NOT_FINITE), ((1, 1.0), (2.5, 2.5))
    ),
    "rows of a split": RuleCase(
        rules.least_split, (None, 0.5, 1, 1e19, *NO_NUMBER, *NOT_FINITE), ((2, 2.0), (2.5, 2.5))
    ),
    "a number of rows": RuleCase(
        rules.row_count,
        (0, 0.0, -0.1, 1.0001, True, "all", *NO_NUMBER[1:], *NOT_FINITE),
        ((None, 1.0), (1, 1), (1.0, 1.0), (np.int8(3), 3), (1e-9, 1e-9)),
    ),
    "a number of features": RuleCase(
        rules.feature_count,
        (0, 0.0, -0.1, 1.0001, True, "half", *NO_NUMBER, *NOT_FINITE),
        ((None, None), ("sqrt", "sqrt"), (1, 1), (1.0, 1.0), (np.int8(3), 3), (1e-9, 1e-9)),
    ),
    "early stopping": RuleCase(
        rules.stopping,
        (None, 0, 1, "yes", [], [1, 2, 3], [(1, 2, 3)], 1.5, object),
        ((True, True), ("cv", "cv"), (2, 2), (3.0, 3), (PAIR, PAIR)),
    ),
    "folds": RuleCase(
        rules.folds,
        (0, 1, -3, 1.5, True, None, "5", [], [1, 2, 3], [(1, 2, 3)], object, math.inf),
        ((2, 2), (np.int8(5), 5), (PAIR, PAIR)),
    ),
    "a start": RuleCase(
        rules.start,
        (None, "median", "", [], [[1.0]], ["a"], True, math.nan, [1.0, math.inf], object),
        (("mean", "mean"), (2, (2.0,)), ([1, 2.5], (1.0, 2.5)), (np.float32(0.5), (0.5,))),
    ),
    "a metric": RuleCase(
        rules.metric, (3, 1.5, object, [1], True), ((None, None), ("auc", "auc"), (print, print))
    ),
    "a verbosity": RuleCase(
        rules.verbosity, (-1, 3, 0.5, "2", None), ((2, 2), (True, 1), (np.False_, 0))
    ),
    "quantiles": RuleCase(
        rules.quantiles,
        (0.0, 1, "0.5", True, [0.5], [0.5, 0.5], [0.9, 0.1], [0.1, 1.0], [[0.1, 0.2]], object),
        ((None, None), (0.5, 0.5), ([0.1, 0.9], (0.1, 0.9)), (np.array([0.1, 0.5]), (0.1, 0.5))),
    ),
    "a seed": RuleCase(
        rules.seed,
        (-1, 2**64, 1.5, True, "seed", [1], math.nan),
        ((None, None), (2**64 - 1, 2**64 - 1), (np.uint64(3), 3)),
    ),
    "callbacks": RuleCase(
        callbacks, (1, "print", [print, 2], {"a": 1}), ((None, ()), ([print], (print,)))
    ),
    "missing values": RuleCase(
        rules.missing_values,
        (
            *("NA", "-999", [], (), True, [True], np.bool_(False), [None], [[-999]], [-999, "NA"]),
            *(2**64, -(2**63) - 1, {-999}, np.array(["a"]), *NO_NUMBER[2:], *NOT_FINITE),
            *([value] for value in NOT_FINITE),
        ),
        ((None, ()), (np.int8(3), (3,)), ([2**64 - 1, -0.5], (2**64 - 1, -0.5))),
    ),
    "the order of classes": RuleCase(
        rules.class_order,
        ("low", 1, ["low"], [], [None, 1], {"a": 1}, object),
        (
            (None, None),
            (["low", "high"], ("low", "high")),
            (np.array([3, 1, 2]), (3, 1, 2)),
            (("a", 1), ("a", 1)),
        ),
    ),
    "a column": RuleCase(
        rules.column_name,
        (-1, 1.5, True, ["a"], math.nan, object),
        ((None, None), ("a", "a"), (np.int8(3), 3), (0, 0)),
    ),
    "categorical features": RuleCase(
        rules.categorical,
        (
            *("all", "", 1, True, 1.5, ["a", 1], [True, 1], [1.5], [None], [["a"]], {"a"}),
            *({"a": 1}, np.ones(2), np.array([["a"]]), object, math.nan),
        ),
        ((None, None), ("text", "text"), (np.array([1, 2]), (1, 2)), (["a"], ("a",)), ([], ())),
    ),
}


@pytest.mark.parametrize("case", RULE_CASES.values(), ids=RULE_CASES)
def test_a_rule_refuses_and_returns(case):
    for value in case.refused:
        with pytest.raises(ValueError, match=r"\w"):
            case.rule(value)
    for value, expected in case.returned:
        found = case.rule(value)
        assert found == expected
        assert type(found) is type(expected)


def test_every_rule_has_a_case():
    tried = {case.rule for case in RULE_CASES.values()}
    assert {getattr(rules, name) for name in rules.__all__ if name.islower()} <= tried


# ---- each parameter, of every estimator -------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A value that is refused, a limit value that is accepted, and the parameters it needs.

    `edge` and `beside` may be functions of the estimator's class.
    """

    bad: Any
    edge: Any
    beside: Any = field(default_factory=dict)


def _of(kind: type, value: Any) -> Any:
    return value(kind) if inspect.isfunction(value) else value


def _criterion(kind: type) -> str:
    if kind.__name__ == "StepwiseRegressor":
        return "bic"
    return "entropy" if classifies(kind) else "absolute_error"


def _histogram(kind: type) -> dict[str, Any]:
    tree = kind.__name__.startswith("DecisionTree")
    return {"split": "histogram"} if tree else {}


def _held_out(kind: type) -> dict[str, Any]:
    if kind.__name__.startswith("DecisionTree"):
        return {"pruning": "early_stopping"}
    return {"early_stopping": True, **(_out_of_bag(kind) if "Extra" in kind.__name__ else {})}


def _unseen(kind: type) -> dict[str, Any]:
    has = inspect.signature(kind).parameters
    return {"bootstrap": True} if "bootstrap" in has else {"early_stopping": True}


def _with_tol(kind: type) -> dict[str, Any]:
    return {"criterion": "rss"} if kind.__name__ == "StepwiseRegressor" else _held_out(kind)


def _out_of_bag(kind: type) -> dict[str, Any]:
    has = inspect.signature(kind).parameters
    return {"subsample": 0.5} if "subsample" in has else {"max_samples": 0.5}


def _loss(kind: type) -> str:
    ada_boost = "AdaBoost" in kind.__name__
    return "exponential" if classifies(kind) or ada_boost else "absolute_error"


def _any_estimator(kind: type) -> dict[str, Any]:
    has = inspect.signature(kind).parameters
    chosen = GaussianNB() if classifies(kind) and "learner" not in has else Ridge()
    return {"learner" if "learner" in has else "estimator": chosen}


FOLDS = {"sampling": "folds"}
FOLDS_OF = {"Step": {"criterion": "cv"}, "Auto": {"quality": 2}}
CASES: dict[str, Case] = {
    "algorithm": Case("Real", "real"),
    "alpha_enter": Case(1.0, 1e-9, {"criterion": "p_value"}),
    "alpha_remove": Case(0, 0.999, {"criterion": "p_value", "direction": "backward"}),
    "bootstrap": Case("no", np.bool_(True)),
    "bootstrap_features": Case("no", np.bool_(True)),
    "calibration": Case("platt", "temperature", _unseen),
    "callbacks": Case([print, 2], []),
    "categorical_features": Case(["a", 1], []),
    "category_encoding": Case("one-hot", "target"),
    "ccp_alpha": Case(-1e-9, 0, {"pruning": "cost_complexity"}),
    "ccp_cv": Case(1, 2, {"pruning": "cost_complexity", "ccp_alpha": "cv"}),
    "class_order": Case("low", None),
    "class_weight": Case("balance", {0: 0.5}),
    "combine": Case("mean", "weighted"),
    "criterion": Case("GINI", _criterion),
    "conformal": Case("jackknife", "split"),
    "cv": Case(1, 2, lambda k: FOLDS_OF.get(k.__name__[:4], FOLDS)),
    "direction": Case("up", "both"),
    "dropout": Case(0.1, "dart"),
    "early_stopping": Case(1, np.bool_(False)),
    "estimator": Case(3, None),
    "feature_penalty": Case({0: -1.0}, {0: 0.0}),
    "fit_intercept": Case(1, np.bool_(False)),
    "grow_policy": Case("best-first", "depth_wise"),
    "handle_unknown": Case("warn", "prior"),
    "interaction_cst": Case([1, 2], [[0]]),
    "l1_regularization": Case(-1e-9, 0),
    "l2_regularization": Case(-1e-9, 0),
    "learner": Case(3, None),
    "learning_rate": Case(0, 1e-9),
    "leaves": Case("lines", "linear"),
    "loss": Case("squared", _loss),
    "max_bins": Case(1, 2, _histogram),
    "max_depth": Case(0, 1),
    "max_features": Case(0, 1e-9),
    "max_leaf_nodes": Case(1, 2),
    "max_samples": Case(0, 1.0),
    "max_step": Case(0, 1e-9),
    "min_gain": Case(-1e-9, 0),
    "min_hessian": Case(-1e-9, 0),
    "min_impurity_decrease": Case(-1e-9, 0),
    "min_samples_leaf": Case(0.5, 1),
    "min_samples_split": Case(1, 2),
    "min_weight_fraction_leaf": Case(0.51, 0.5),
    "missing_strategy": Case("drop", "probability"),
    "missing_values": Case("NA", 2**64 - 1),
    "monotonic_cst": Case({0: 2}, {0: -1}),
    "n_estimators": Case(0, 1),
    "n_features_to_select": Case(0, 1),
    "n_iter_no_change": Case(0, 1, _held_out),
    "n_jobs": Case(0, -1),
    "one_standard_error": Case(1, True, {"pruning": "cost_complexity", "ccp_alpha": "cv"}),
    "oob_score": Case("yes", True, _out_of_bag),
    "path_smoothing": Case(-1e-9, 0),
    "pruning": Case("early", "reduced_error"),
    "quality": Case(6, 1),
    "quantile": Case(1, 1e-9, {"loss": "quantile"}),
    "random_state": Case(-1, 2**64 - 1),
    "resample": Case(1, True, _any_estimator),
    "response": Case("Newton", "gradient"),
    "sampling": Case("all", "bootstrap"),
    "split": Case("best", "exact"),
    "step": Case("Newton", "line_search"),
    "step_size": Case(1.0, 1e-9),
    "subsample": Case(0, 1),
    "time_limit": Case(0, 1e9),
    "tol": Case(-1e-9, 0, _with_tol),
    "corrective": Case("always", "end"),
    "eval_metric": Case(3, lambda k: "auc" if classifies(k) else "mae", _held_out),
    "init": Case("median", 0.5),
    "validation_fraction": Case(1.0, 0.9, _held_out),
    "verbose": Case(3, False),
    "warm_start": Case(1, np.bool_(False)),
    "z_max": Case(0, 1e-9),
}
EVERY_PARAMETER = pytest.mark.parametrize("name", CASES)


def kinds_with(name: str) -> list[type]:
    """Return the public estimators that have a parameter."""
    return [kind for kind in PUBLIC if name in inspect.signature(kind).parameters]


@pytest.fixture(scope="module")
def table():
    return make_table(300)


@pytest.fixture(scope="module")
def few():
    return make_table(60, missing=False)


def test_every_parameter_of_every_estimator_has_a_case():
    names = [name for kind in PUBLIC for name in inspect.signature(kind).parameters]
    assert set(CASES) == set(names)


@EVERY_PARAMETER
def test_an_invalid_value_is_refused_by_name(name, few):
    for kind in kinds_with(name):
        model = kind(
            **{name: CASES[name].bad}
        )  # the constructor accepts any value, as scikit-learn's
        with pytest.raises(InvalidParameterError) as caught:
            model.fit(few.X, labelled(kind, few))
        message = str(caught.value)
        assert name in message, kind
        assert "must be" in message, message
        assert "got" in message, message
        assert len(message) < (700 if name == "loss" else 400)  # there are many losses
        assert not hasattr(model, "model_")


@pytest.mark.filterwarnings("ignore:No tree has a split:UserWarning")
@EVERY_PARAMETER
@pytest.mark.filterwarnings("ignore:.* rows are in the bag of every tree:UserWarning")
def test_a_limit_value_is_accepted(name, few):
    for kind in kinds_with(name):
        own = inspect.signature(kind).parameters
        short = {n: v for n, v in (("n_estimators", 3), ("quality", 1)) if n in own}
        case = CASES[name]
        params = {**short, **_of(kind, case.beside), name: _of(kind, case.edge)}
        if params.get("sampling") == "folds":
            params.pop("n_estimators")
        model = kind(**params).fit(few.X, labelled(kind, few))
        assert len(model.predict(few.X)) == len(few.X)


STRUCTURED: dict[str, tuple[Any, ...]] = {
    "max_features__weights": ("heavy", 1, [1.0], {0: -1.0}, {0: "a"}, {0: math.nan}, {0: True}),
    "monotonic_cst": ("up", 1, [1], {0: 2}, {0: 0.5}, {0: "up"}, {0: None}),
    "interaction_cst": ("all", 1, [1, 2], [[0], 1], 0.5),
    "feature_penalty": ("dear", 1, [1.0], {0: -1.0}, {0: "a"}, {0: math.inf}),
    "split__forced_splits": ("age", 1, [0], {"feature": 0, "threshold": 1, "left": 3}),
    "loss": ("squared", None, 1, ["squared_error"], np.array([1, 2]), object),
}
"""Rules that read the columns, or a table of losses."""


@pytest.mark.parametrize("name", STRUCTURED)
def test_invalid_values_by_feature_are_refused_by_name(name, few):
    for value in STRUCTURED[name]:
        options = {"max_features": FeatureSampling(per_node=0.5), "split": SplitSearch()}
        model = GradientBoostingRegressor(**options).set_params(**{name: value})
        with pytest.raises(InvalidParameterError, match=r"must be .*[gG]ot") as caught:
            model.fit(few.X, few.number)
        assert name.rpartition("__")[2] in str(caught.value)


@pytest.mark.parametrize(
    "value",
    ["balance", 3, [1, 2], {0: -1}, {0: math.nan}, {0: "x"}, {0: 0, 1: 0}, {"yes": 2, 1: 1}],
    ids=repr,
)
def test_an_invalid_class_weight_is_refused_by_name(value, table):
    with pytest.raises(InvalidParameterError, match="'class_weight'"):
        quick(GradientBoostingClassifier, class_weight=value).fit(table.X, table.two)


def test_class_weights_may_leave_classes_out_or_name_absent_ones(table):
    left_out = quick(GradientBoostingClassifier, class_weight={1: 2}).fit(table.X, table.two)
    absent = {0: 1, 1: 2, "unused": 9}
    named = quick(GradientBoostingClassifier, class_weight=absent).fit(table.X, table.two)
    assert left_out.fingerprint() == named.fingerprint()


SAME = {
    "integral floats are integers": ({"max_leaf_nodes": 8.0}, {"max_leaf_nodes": 8}),
    "numpy integers": ({"n_estimators": np.int16(8)}, {"n_estimators": 8}),
    "numpy floats": ({"learning_rate": np.float64(0.1)}, {"learning_rate": 0.1}),
    "fractions": ({"subsample": fractions.Fraction(1, 2)}, {"subsample": 0.5}),
    "one is a share": ({"subsample": 1}, {"subsample": 1.0}),
    "numpy booleans": ({"warm_start": np.bool_(False)}, {"warm_start": False}),
    "no callbacks": ({"callbacks": []}, {"callbacks": None}),
    "missing values in any order": ({"missing_values": [7, 3]}, {"missing_values": (3.0, 7, 3)}),
    "one missing value": ({"missing_values": np.int8(3)}, {"missing_values": [3]}),
    "missing values that no row has": ({"missing_values": 2**64 - 1}, {"missing_values": None}),
    "a seed of any integer type": ({"random_state": np.uint64(3)}, {"random_state": 3}),
    "no limits": ({"max_leaf_nodes": None}, {"max_leaf_nodes": 2**31 - 1}),
    "a limit that no tree reaches": ({"max_depth": None}, {"max_depth": 2**31 - 1}),
}


@pytest.mark.parametrize(("one", "other"), SAME.values(), ids=SAME)
def test_equivalent_values_give_the_same_model(one, other, table):
    a, b = (quick(GradientBoostingRegressor, **p).fit(table.X, table.number) for p in (one, other))
    assert a.fingerprint() == b.fingerprint()


@pytest.mark.parametrize("seed", [0, 2**31, 2**32, 2**63, 2**64 - 1])
def test_any_64_bit_seed_is_valid(seed, table, tmp_path):
    model = quick(GradientBoostingRegressor, random_state=seed, subsample=0.5, early_stopping=True)
    model.fit(table.X, table.number).save(tmp_path / "m.stgw")
    assert model.seed_ == seed


# ---- limits of trees ----------------------------------------------------------------------------


def walk(model):
    """Yield for each tree its arrays and the depth of every node."""
    for tree in model.model_.ensemble.trees:
        depth = np.zeros(len(tree.feature), dtype=int)
        for node in np.flatnonzero(tree.feature >= 0):
            depth[tree.left[node]] = depth[tree.right[node]] = depth[node] + 1
        yield tree, depth


@pytest.mark.filterwarnings("ignore:No tree has a split:UserWarning")
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
def test_a_tree_respects_its_limits(rows, seed, weighted, classes, params):
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
    leaves = model.apply(table.X).reshape(len(table.X), -1)
    for number, (tree, depth) in enumerate(walk(model)):
        is_leaf = tree.feature < 0
        assert is_leaf.sum() <= (params["max_leaf_nodes"] or rows)
        assert depth.max() <= (params["max_depth"] or rows)
        assert is_leaf[leaves[:, number]].all()
        # Fractional weights are summed in units of a millionth.
        held = np.bincount(leaves[:, number], weights=counted, minlength=len(tree.feature))
        np.testing.assert_allclose(tree.cover[is_leaf], held[is_leaf], rtol=1e-5)
        if len(tree.feature) > 1:
            least = params["min_samples_leaf"] if params["min_samples_leaf"] > 1 else counted.min()
            assert tree.cover[is_leaf].min() >= least - 1e-5
        assert (tree.gain >= 0).all()
        assert np.isfinite(tree.value).all()
        if params["max_step"]:
            assert np.abs(tree.value).max() <= 0.1 * params["max_step"] * 1.000001


@pytest.mark.filterwarnings("ignore:No tree has a split:UserWarning")
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
    # The target is noise: nearly every cut improves the fit. One more leaf for missing values.
    assert 0.9 * max_bins < len(np.unique(model.apply(X))) <= max_bins + missing
    error = 0.5 * np.mean((model.predict(X) - y) ** 2)
    assert model.train_loss_[0] == pytest.approx(error, rel=1e-6), "bins and cuts agree"


def test_more_bins_give_a_smaller_error():
    X = np.arange(2000.0)[:, np.newaxis]
    y = np.sin(X[:, 0] / 5)
    few, many = (
        GradientBoostingRegressor(n_estimators=100, max_bins=b, min_samples_leaf=1)
        .fit(X, y)
        .score(X, y)
        for b in (16, 1000)
    )
    assert few < 0.3
    assert many > 0.7


def test_features_are_drawn_for_every_tree_level_and_node(table):
    def used(**params):
        model = quick(GradientBoostingRegressor, n_estimators=40, **params)
        model.fit(table.X, table.number)
        return [set(tree.feature[tree.feature >= 0]) for tree in model.model_.ensemble.trees]

    per_tree = used(max_features=FeatureSampling(per_tree=0.4))
    assert max(map(len, per_tree)) == 2
    assert set().union(*per_tree) == set(range(5))
    # One column of five at every node: a tree may use several, but the root has one.
    assert max(map(len, used(max_features=0.2))) > 2
    per_level = used(max_features=FeatureSampling(per_level=0.2), max_depth=1)
    assert len(set(map(frozenset, per_level))) == 5


@pytest.mark.filterwarnings("ignore:No tree has a split:UserWarning")
@pytest.mark.parametrize("share", [0.5, 1e-9])
def test_a_round_uses_its_share_of_the_rows_and_at_least_one(share, table):
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
        {"l1_regularization": 3e4},
        {"min_gain": 2e7},
        {"max_step": 50.0},
        {"min_hessian": 100.0},
        {"min_samples_leaf": 120},
        {"max_depth": 1},
        {"learning_rate": 0.01},
    ],
    ids=lambda p: next(iter(p)),
)
def test_every_regularization_parameter_has_an_effect(stronger, table):
    free = quick(GradientBoostingRegressor).fit(table.X, table.number)
    held = quick(GradientBoostingRegressor, **stronger).fit(table.X, table.number)
    assert held.train_loss_[-1] > 1.05 * free.train_loss_[-1]


def test_best_first_and_depth_wise_differ_only_in_the_order_of_leaves(table):
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
