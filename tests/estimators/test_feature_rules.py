"""Monotone and interaction constraints, feature penalties, feature weights and forced splits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stagewise import (
    Dart,
    FeatureSampling,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    SplitSearch,
)
from stagewise.errors import InvalidParameterError

NAMES = ["age", "income", "rooms"]


def make_frame(seed: int = 0, n: int = 400) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[rng.random(X.shape) < 0.05] = np.nan
    z = np.nan_to_num(X)
    y = np.sin(3 * z[:, 0]) + z[:, 0] - z[:, 1] * z[:, 2] + rng.normal(size=n)
    return pd.DataFrame(X, columns=NAMES), y


def rises(predict, frame: pd.DataFrame, name: str, direction: int) -> bool:
    """Return whether predictions are monotone in the direction over the whole range."""
    grid = np.linspace(-4, 4, 60)
    rows = frame.iloc[:60]
    table = rows.loc[rows.index.repeat(60)].reset_index(drop=True)
    table[name] = np.tile(grid, len(rows))
    f = np.asarray(predict(table)).reshape(len(rows), 60, -1)
    return bool((direction * np.diff(f, axis=1) >= 0).all())


@settings(max_examples=25)
@given(
    seed=st.integers(0, 1000),
    loss=st.sampled_from(["squared_error", "absolute_error", "huber", "quantile"]),
    response=st.sampled_from(["newton", "gradient"]),
    grow_policy=st.sampled_from(["best_first", "depth_wise"]),
    directions=st.tuples(*[st.sampled_from([-1, 0, 1])] * 3),
)
def test_predictions_are_monotone(seed, loss, response, grow_policy, directions):
    X, y = make_frame(seed)
    model = GradientBoostingRegressor(
        loss=loss,
        response=response,
        grow_policy=grow_policy,
        monotonic_cst=dict(zip(NAMES, directions, strict=True)),
        n_estimators=12,
        min_samples_leaf=5,
        learning_rate=0.5,
    ).fit(X, y)
    for name, direction in zip(NAMES, directions, strict=True):
        assert rises(model.predict, X, name, direction)


SPLITS = [
    {"split": "histogram"},
    {"split": "histogram", "max_bins": 8, "grow_policy": "symmetric", "max_depth": 4},
    {"split": "exact"},
    {"split": "exact", "leaves": "linear"},
    {"split": SplitSearch(method="approx", sketch_eps=0.1)},
    {"split": SplitSearch(method="approx", proposal="local", sketch_eps=0.2)},
]
ROWS = [
    {},
    {"subsample": 0.6},
    {"sampling": "goss"},
    {"sampling": "mvs", "subsample": 0.5},
    {"dropout": Dart(rate=0.3)},
]


@settings(max_examples=80)
@given(
    seed=st.integers(0, 10_000),
    split=st.sampled_from(SPLITS),
    rows=st.sampled_from(ROWS),
    n=st.sampled_from([9, 30, 150]),
    loss=st.sampled_from(["squared_error", "gamma", "absolute_error"]),
    directions=st.lists(st.sampled_from([-1, 0, 1]), min_size=3, max_size=3),
)
def test_predictions_of_new_rows_are_monotone(seed, split, rows, n, loss, directions):
    """Between the values of training rows, and for features that were never missing in training."""
    rng = np.random.default_rng(seed)
    X = rng.permuted(np.tile(np.arange(n, dtype=float), (3, 1)), axis=1).T
    y = np.exp(np.sin(X @ rng.normal(size=3)) + 0.3 * rng.normal(size=n))
    model = GradientBoostingRegressor(
        loss=loss,
        n_estimators=3,
        learning_rate=1.0,
        l2_regularization=0.0,
        min_samples_leaf=1 if n < 100 else 3,
        max_features=1.0,
        monotonic_cst=directions,
        random_state=seed,
        **split,
        **rows,
    ).fit(X, y)
    low = rng.choice(np.arange(-1, n + 1, 0.125), size=(3000, 3))
    low[rng.random(low.shape) < 0.15] = np.nan
    feature = rng.integers(0, 3, len(low))
    high = low.copy()
    high[np.arange(len(low)), feature] += rng.choice([0.125, 0.25, 1.0, 3.0], len(low))
    rise = model.predict(high) - model.predict(low)
    assert (rise * np.array(directions)[feature] >= 0).all()


def test_scores_of_many_classes_are_monotone_also_after_warm_start():
    X, y = make_frame(1)
    labels = np.digitize(y, [-1, 1])
    model = GradientBoostingClassifier(
        monotonic_cst=[1, 0, -1], n_estimators=8, min_samples_leaf=5, warm_start=True
    ).fit(X, labels)
    model.set_params(n_estimators=16).fit(X, labels)
    assert rises(model.decision_function, X, "age", 1)
    assert rises(model.decision_function, X, "rooms", -1)


def test_two_classes_counts_and_the_gradient_response_are_monotone():
    X, y = make_frame(2)
    counts = np.floor(np.exp(np.clip(y, -3, 3)))
    for model, target in (
        (GradientBoostingClassifier(monotonic_cst={"age": 1}, n_estimators=10), y > 0),
        (
            GradientBoostingClassifier(
                monotonic_cst={"age": 1}, n_estimators=10, response="gradient"
            ),
            y > 0,
        ),
        (
            GradientBoostingRegressor(loss="poisson", monotonic_cst={"age": 1}, n_estimators=10),
            counts,
        ),
    ):
        model.fit(X, target)
        scores = getattr(model, "decision_function", model.predict)
        assert rises(scores, X, "age", 1)


def test_names_positions_and_lists_mean_the_same():
    X, y = make_frame(3)
    prints = {
        GradientBoostingRegressor(n_estimators=5, monotonic_cst=cst, interaction_cst=groups)
        .fit(X, y)
        .model_.fingerprint()
        for cst, groups in (
            ({"age": 1, "rooms": -1}, [["age", "income"]]),
            ({0: 1, 2: -1}, [(0, 1), (2,)]),
            ([1, 0, -1], [{"income", "age"}, ["rooms"]]),
            (np.array([1, 0, -1]), [[0, 1]]),
        )
    }
    assert len(prints) == 1


def features_of_paths(tree):
    """Return the set of features above each leaf."""
    paths, todo = [], [(0, frozenset())]
    while todo:
        node, used = todo.pop()
        if tree.feature[node] < 0:
            paths.append(used)
            continue
        used |= {int(tree.feature[node])}
        todo += [(tree.left[node], used), (tree.right[node], used)]
    return paths


@pytest.mark.parametrize("leaves", ["constant", "vector"])
def test_symmetric_trees_with_unsplit_leaves_keep_interaction_constraints(leaves):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(300, 3)).round(1)
        y = X[:, 0] + (X[:, 1] + X[:, 2]) * (X[:, 0] > 0) + 0.1 * rng.normal(size=300)
        model = GradientBoostingRegressor(
            n_estimators=20,
            leaves=leaves,
            grow_policy="symmetric",
            max_depth=4,
            interaction_cst=[[0, 1], [0, 2]],
        ).fit(X, np.c_[y, y**2] if leaves == "vector" else y)
        for tree in model.model_.ensemble.trees:
            assert not any({1, 2} <= used for used in features_of_paths(tree))


@pytest.mark.parametrize(("cst", "most"), [("no_interactions", 1), ("pairwise", 2)])
def test_interaction_constraints_by_word(cst, most):
    X, y = make_frame(4)
    model = GradientBoostingRegressor(interaction_cst=cst, n_estimators=20).fit(X, y)
    for tree in model.model_.ensemble.trees:
        above = [set() for _ in tree.feature]
        for node in np.flatnonzero(tree.feature >= 0):
            for child in (tree.left[node], tree.right[node]):
                above[child] = above[node] | {int(tree.feature[node])}
        assert max(map(len, above)) <= most


def test_every_tree_begins_with_the_forced_splits():
    X, y = make_frame(5)
    forced = {"feature": "rooms", "threshold": 0.1, "right": {"feature": 0, "threshold": -0.5}}
    model = GradientBoostingRegressor(split=SplitSearch(forced_splits=forced), n_estimators=5).fit(
        X, y
    )
    for tree in model.model_.ensemble.trees:
        assert tree.feature[0] == 2
        assert tree.threshold[0] == pytest.approx(0.1, abs=0.05)
        assert tree.feature[tree.right[0]] == 0
        assert tree.threshold[tree.right[0]] == pytest.approx(-0.5, abs=0.05)


def test_a_feature_penalty_keeps_a_useless_feature_out():
    X, y = make_frame(6)
    noise = X.assign(noise=np.random.default_rng(7).normal(size=len(X)))
    free = GradientBoostingRegressor(n_estimators=30, min_samples_leaf=5).fit(noise, y)
    assert free.feature_importances_[3] > 0
    dear = GradientBoostingRegressor(
        n_estimators=30, min_samples_leaf=5, feature_penalty={"noise": 200.0}
    ).fit(noise, y)
    assert dear.feature_importances_[3] == 0
    assert dear.feature_importances_[0] > 0


def test_feature_penalties_are_in_units_of_the_target():
    X, y = make_frame(8)
    a, b = (
        GradientBoostingRegressor(n_estimators=10, feature_penalty={"income": price}).fit(X, target)
        for target, price in ((y, 200.0), (1024 * y + 7, 200.0 * 1024**2))
    )
    free = GradientBoostingRegressor(n_estimators=10).fit(X, y)
    assert a.fingerprint() != free.fingerprint()
    np.testing.assert_allclose(1024 * a.predict(X) + 7, b.predict(X), rtol=1e-9)


@pytest.mark.parametrize(
    "params",
    [
        {"feature_penalty": {"age": 3.0, "rooms": 1.0}},
        {"split": "exact"},
        {"grow_policy": "symmetric"},
        {"split": SplitSearch(random_thresholds=True)},
    ],
)
def test_a_continued_fit_equals_an_uninterrupted_one(params):
    X, y = make_frame(12, 1000)
    whole = GradientBoostingRegressor(n_estimators=12, **params).fit(X, y)
    part = GradientBoostingRegressor(n_estimators=5, warm_start=True, **params).fit(X, y)
    part.set_params(n_estimators=12).fit(X, y)
    assert part.fingerprint() == whole.fingerprint()


def test_features_of_weight_zero_are_never_drawn():
    X, y = make_frame(9)
    model = GradientBoostingRegressor(
        n_estimators=20, max_features=FeatureSampling(per_node=0.4, weights={"age": 1, "rooms": 2})
    ).fit(X, y)
    assert model.feature_importances_[1] == 0


def test_smoothing_and_random_thresholds_change_trees_and_still_learn():
    X, y = make_frame(10, 2000)
    plain = GradientBoostingRegressor(n_estimators=50).fit(X, y)
    for params in ({"path_smoothing": 20.0}, {"split": SplitSearch(random_thresholds=True)}):
        model = GradientBoostingRegressor(n_estimators=50, **params).fit(X, y)
        assert model.model_.fingerprint() != plain.model_.fingerprint()
        assert model.score(X, y) > 0.5


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"monotonic_cst": {"agee": 1}}, "monotonic_cst: there is no feature 'agee'. Did you mean"),
        ({"monotonic_cst": {7: 1}}, "there is no feature 7; the table has 3"),
        ({"monotonic_cst": {1.5: 1}}, "by its name or its position; got 1.5"),
        ({"monotonic_cst": {"age": 3}}, "monotonic_cst of feature 'age' must be -1, 0 or 1; got 3"),
        ({"interaction_cst": [["age", "sex"]]}, "interaction_cst: there is no feature 'sex'"),
        (
            {"split": SplitSearch(forced_splits={"feature": "age"})},
            "needs a number as threshold; got None",
        ),
        ({"split": SplitSearch(forced_splits={"feature": "age", "at": 1})}, "unknown key 'at'"),
        (
            {
                "split": SplitSearch(
                    forced_splits={"feature": 0, "threshold": 0, "left": {"feature": 9}}
                )
            },
            r"forced_splits\['left'\]: there is no feature 9",
        ),
        (
            {"max_features": FeatureSampling(weights={"age": 1})},
            "none are drawn: set per_tree",
        ),
        (
            {"max_features": FeatureSampling(per_node=0.9, weights=[1, 1, 2])},
            r"none are drawn \(per_node=0\.9 is all of the 3 features\): .* fewer than 3 features",
        ),
        (
            {"max_features": FeatureSampling(per_node=0.5, weights=[0, 0, 0])},
            "weights must have a number above 0",
        ),
    ],
)
def test_error_names_the_invalid_value(params, message):
    X, y = make_frame(11)
    with pytest.raises(InvalidParameterError, match=message):
        GradientBoostingRegressor(**params).fit(X, y)


def test_the_recipe_states_the_constraints():
    model = GradientBoostingRegressor(
        n_estimators=100,
        split="exact",
        monotonic_cst=np.array([1, 0, 0]),
        path_smoothing=2.0,
        interaction_cst=[[0]],
    )
    expected = "monotone, limited interactions, smoothed paths, exact splits, at most 31"
    assert expected in model.recipe()
    plain = GradientBoostingRegressor(n_estimators=100, max_features=1.0)
    assert "(best-first, at most 31 leaves, λ=1)" in plain.recipe()


def test_whole_numbers_of_features_are_counts_at_every_stage():
    X = np.random.default_rng(0).normal(size=(300, 10))
    y = X @ np.arange(10.0)

    def fingerprint(**numbers):
        model = GradientBoostingRegressor(n_estimators=5, max_features=FeatureSampling(**numbers))
        return model.fit(X, y).fingerprint()

    assert fingerprint(per_tree=5, per_node=5) == fingerprint(per_tree=5)
    assert fingerprint(per_tree=5, per_node=3) == fingerprint(per_tree=0.5, per_node=0.6)
    assert fingerprint(per_tree=5, per_node=3) != fingerprint(per_tree=5)
