"""Weights: weight 2 equals the row twice, weight 0 its absence, and only ratios matter.

"The same" means the same fingerprint, bit for bit, unless a test states a tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import tree

from estimators.tables import Table, hashed, make_table, quick
from stagewise import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestRegressor,
)


@dataclass(frozen=True)
class Kind:
    """An estimator with its target."""

    estimator: type
    target: str
    params: dict[str, object]

    def make(self, **params: object):
        return quick(self.estimator, **self.params, **params)

    def y(self, table: Table) -> np.ndarray:
        return getattr(table, self.target)


KINDS = {
    "squared error": Kind(GradientBoostingRegressor, "number", {}),
    "absolute error": Kind(GradientBoostingRegressor, "number", {"loss": "absolute_error"}),
    "two classes": Kind(GradientBoostingClassifier, "two", {}),
    "five classes": Kind(GradientBoostingClassifier, "many", {}),
}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)

EXAMPLES = settings(max_examples=15, deadline=None)


def counts(rows: int, most: int, seed: int) -> np.ndarray:
    """Integer weights from 0 to most."""
    return hashed(rows, 1, seed + 50)[:, 0] % (most + 1)


def fractions(rows: int, seed: int = 0) -> np.ndarray:
    """Weights between 1/6 and 11 that are neither integers nor integers times a power of two."""
    return (hashed(rows, 1, seed + 60)[:, 0] % 1000 + 16) / 96


@every_kind
@EXAMPLES
@given(
    rows=st.integers(30, 400),
    most=st.integers(2, 5),
    max_bins=st.sampled_from([2, 5, 255, 300]),
    seed=st.integers(0, 1000),
)
def test_an_integer_weight_equals_copies_of_the_row(kind, rows, most, max_bins, seed):
    table = make_table(rows, 3, seed)
    weight = counts(rows, most, seed)
    copies = np.repeat(np.arange(rows), weight)
    if len(copies) == 0:
        return
    y = kind.y(table)
    weighted = kind.make(max_bins=max_bins).fit(table.X, y, sample_weight=weight)
    repeated = kind.make(max_bins=max_bins).fit(table.X[copies], y[copies])
    assert weighted.fingerprint() == repeated.fingerprint()


@every_kind
def test_the_order_of_the_copies_does_not_matter(kind):
    table = make_table(300)
    weight = counts(300, 3, 1)
    copies = np.repeat(np.arange(300), weight)
    copies = copies[np.argsort(hashed(len(copies), 1, 9)[:, 0], kind="stable")]
    y = kind.y(table)
    weighted = kind.make().fit(table.X, y, sample_weight=weight)
    assert weighted.fingerprint() == kind.make().fit(table.X[copies], y[copies]).fingerprint()


@every_kind
@pytest.mark.parametrize("fractional", [False, True])
@EXAMPLES
@given(rows=st.integers(30, 400), seed=st.integers(0, 1000))
def test_weight_zero_equals_absence(kind, fractional, rows, seed):
    table = make_table(rows, 3, seed)
    weight = fractions(rows, seed) if fractional else np.ones(rows)
    kept = counts(rows, 2, seed) > 0
    y = kind.y(table)
    weighted = kind.make().fit(table.X, y, sample_weight=weight * kept)
    dropped = kind.make().fit(table.X[kept], y[kept], sample_weight=weight[kept])
    assert weighted.fingerprint() == dropped.fingerprint()
    np.testing.assert_array_equal(weighted.train_loss_, dropped.train_loss_)


@every_kind
@pytest.mark.parametrize(
    "params",
    [
        {"early_stopping": True, "n_iter_no_change": 2, "learning_rate": 0.9},
        {"subsample": 0.5},
        {"max_features": 0.5, "max_bins": 7},
    ],
    ids=["held-out rows", "drawn rows", "drawn columns"],
)
def test_weight_zero_equals_absence_in_every_sampling(kind, params):
    table = make_table(400)
    kept = counts(400, 2, 3) > 0
    y = kind.y(table)
    weighted = kind.make(**params).fit(table.X, y, sample_weight=kept)
    assert weighted.fingerprint() == kind.make(**params).fit(table.X[kept], y[kept]).fingerprint()


def test_an_extreme_value_in_a_row_of_weight_zero_changes_nothing():
    table = make_table(200)
    weight = np.ones(200)
    weight[::10] = 0
    clean = quick(GradientBoostingRegressor).fit(table.X, table.number, sample_weight=weight)
    X, y = table.X.copy(), table.number.copy()
    X[::10], y[::10] = 1e300, -1e12
    wild = quick(GradientBoostingRegressor).fit(X, y, sample_weight=weight)
    assert wild.fingerprint() == clean.fingerprint()


def test_a_class_of_weight_zero_is_no_class():
    table = make_table(300)
    weight = (table.many != 2).astype(float)
    weighted = quick(GradientBoostingClassifier).fit(table.X, table.many, sample_weight=weight)
    kept = table.many != 2
    dropped = quick(GradientBoostingClassifier).fit(table.X[kept], table.many[kept])
    assert weighted.classes_.tolist() == [0, 1, 3, 4]
    assert weighted.fingerprint() == dropped.fingerprint()


@every_kind
def test_weights_of_one_equal_no_weights(kind):
    table = make_table(200)
    y = kind.y(table)
    plain = kind.make().fit(table.X, y).fingerprint()
    assert kind.make().fit(table.X, y, sample_weight=np.ones(200)).fingerprint() == plain
    assert kind.make().fit(table.X, y, sample_weight=1).fingerprint() == plain
    assert kind.make().fit(table.X, y, sample_weight=np.full(200, 0.3)).fingerprint() == plain


@every_kind
@pytest.mark.parametrize("factor", [0.25, 4096.0, 2.0**-900, 2.0**900])
def test_only_ratios_of_fractional_weights_matter(kind, factor):
    # Powers of two change no digit, so the models are the same to the bit.
    table = make_table(300)
    weight = fractions(300)
    y = kind.y(table)
    plain = kind.make().fit(table.X, y, sample_weight=weight)
    scaled = kind.make().fit(table.X, y, sample_weight=weight * factor)
    assert scaled.fingerprint() == plain.fingerprint()


@every_kind
@pytest.mark.parametrize("factor", [1 / 3, 1e-6, 1e-300, 7e250])
def test_only_ratios_of_fractional_weights_matter_up_to_rounding(kind, factor):
    # The product with such a factor rounds each weight in its 16th digit, and gradients are kept
    # with 31 bits; both are far below 1e-6 of the spread of the scores.
    table = make_table(300)
    weight = fractions(300)
    y = kind.y(table)
    plain = kind.make().fit(table.X, y, sample_weight=weight)
    scaled = kind.make().fit(table.X, y, sample_weight=weight * factor)
    a, b = (m.model_.ensemble.flat() for m in (plain, scaled))
    np.testing.assert_array_equal(a["feature"], b["feature"])
    np.testing.assert_array_equal(a["threshold"], b["threshold"])
    np.testing.assert_allclose(a["value"], b["value"], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("kind", [KINDS["squared error"], KINDS["two classes"]])
def test_weight_two_in_the_validation_set_equals_the_row_twice(kind):
    table, held = make_table(300), make_table(80, seed=5)
    weight = counts(80, 3, 2)
    copies = np.repeat(np.arange(80), weight)
    y, y_held = kind.y(table), kind.y(held)
    patient = {"n_estimators": 60, "learning_rate": 0.8, "n_iter_no_change": 3}
    weighted = kind.make(**patient).fit(
        table.X, y, X_val=held.X, y_val=y_held, sample_weight_val=weight
    )
    repeated = kind.make(**patient).fit(table.X, y, X_val=held.X[copies], y_val=y_held[copies])
    assert weighted.n_iter_ == repeated.n_iter_ < 60
    assert weighted.fingerprint() == repeated.fingerprint()
    # A sum in another order may differ in the last digits.
    np.testing.assert_allclose(weighted.validation_loss_, repeated.validation_loss_, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:No tree has a split:UserWarning")
def test_min_samples_leaf_counts_weights():
    X = np.repeat([[0.0], [1.0]], 10, axis=0)
    y = np.repeat([0.0, 1.0], 10)
    model = GradientBoostingRegressor(n_estimators=1, min_samples_leaf=20)
    alone = model.fit(X, y).model_.ensemble.trees[0]
    doubled = model.fit(X, y, sample_weight=np.full(20, 2)).model_.ensemble.trees[0]
    assert len(alone.feature) == 1
    assert len(doubled.feature) == 3
    assert doubled.cover.tolist() == [40.0, 20.0, 20.0]


def test_above_32768_rows_copies_and_weights_differ_by_rounding_only():
    # Gradients are then rounded at random, row by row, so a copy is rounded on its own. The errors
    # are at most 2**-31 of the sum of all gradients each: trees may differ in near-ties only.
    table = make_table(20_000)
    weighted = quick(GradientBoostingRegressor).fit(
        table.X, table.number, sample_weight=np.full(20_000, 2)
    )
    twice = quick(GradientBoostingRegressor).fit(
        np.repeat(table.X, 2, axis=0), np.repeat(table.number, 2)
    )
    spread = table.number.std()
    apart = np.abs(weighted.predict(table.X) - twice.predict(table.X))
    assert apart.max() < 1e-3 * spread


@pytest.mark.parametrize("kind", [KINDS["two classes"], KINDS["five classes"]])
def test_class_weight_multiplies_the_weights(kind):
    table = make_table(300)
    y = kind.y(table)
    factor = {label: float(1 + label) for label in np.unique(y).tolist()}
    weight = counts(300, 2, 4) + 1
    by_class = kind.make(class_weight=factor).fit(table.X, y, sample_weight=weight)
    by_row = kind.make().fit(table.X, y, sample_weight=weight * (1 + y))
    assert by_class.fingerprint() == by_row.fingerprint()


@pytest.mark.parametrize("kind", [KINDS["two classes"], KINDS["five classes"]])
@pytest.mark.parametrize("class_weight", ["balanced", {0: 0.37, 1: 1.9}])
def test_integer_weights_equal_copies_with_class_weights(kind, class_weight):
    # The products are no integers and are rounded as a whole; hence a tolerance, of 31 bits.
    table = make_table(300)
    y = kind.y(table)
    weight = counts(300, 3, 6)
    copies = np.repeat(np.arange(300), weight)
    weighted = kind.make(class_weight=class_weight).fit(table.X, y, sample_weight=weight)
    repeated = kind.make(class_weight=class_weight).fit(table.X[copies], y[copies])
    np.testing.assert_allclose(
        weighted.predict_proba(table.X), repeated.predict_proba(table.X), atol=1e-6
    )


def test_balanced_class_weights_give_every_class_the_same_weight():
    table = make_table(400)
    share = np.bincount(table.many)
    factor = {k: 400 / (5 * n) for k, n in enumerate(share)}
    balanced = quick(GradientBoostingClassifier, class_weight="balanced").fit(table.X, table.many)
    given_ = quick(GradientBoostingClassifier, class_weight=factor).fit(table.X, table.many)
    np.testing.assert_allclose(
        balanced.predict_proba(table.X), given_.predict_proba(table.X), atol=1e-9
    )
    first = balanced.model_.ensemble.base
    np.testing.assert_allclose(first, 0.0, atol=1e-12)  # equal shares: equal scores at the start


def test_a_class_of_class_weight_zero_is_no_class():
    table = make_table(300)
    kept = table.many != 3
    without = quick(GradientBoostingClassifier, class_weight={3: 0}).fit(table.X, table.many)
    dropped = quick(GradientBoostingClassifier).fit(table.X[kept], table.many[kept])
    assert without.classes_.tolist() == [0, 1, 2, 4]
    assert without.fingerprint() == dropped.fingerprint()


CRITERIA = [
    (DecisionTreeRegressor, "squared_error"),
    (DecisionTreeRegressor, "absolute_error"),
    (DecisionTreeRegressor, "poisson"),
    (DecisionTreeClassifier, "gini"),
    (DecisionTreeClassifier, "entropy"),
]


@pytest.mark.parametrize("largest", [1e6, 1e10, 1e12])
@pytest.mark.parametrize(("kind", "criterion"), CRITERIA)
def test_a_tree_with_one_huge_weight_is_that_of_scikit_learn(kind, criterion, largest):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(200, 3))
    y = np.where(X[:, 0] > 0.5, 10.0, 1.0) + rng.uniform(size=200)
    if kind is DecisionTreeClassifier:
        y = (y > 5).astype(int) + (X[:, 1] > 0.7)
    weight = np.ones(200)
    weight[0] = largest
    rules = {"criterion": criterion, "max_leaf_nodes": 4}
    own = kind(**rules).fit(X, y, weight)
    other = getattr(tree, kind.__name__)(**rules, random_state=0).fit(X, y, weight)
    np.testing.assert_allclose(own.predict(X), other.predict(X), rtol=1e-9)
    assert own.get_n_leaves() == 4


def test_rows_of_a_forest_count_beside_a_huge_weight():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(200, 3))
    y = np.where(X[:, 0] > 0.5, 10.0, 1.0)
    weight = np.ones(200)
    weight[0] = 1e12
    model = RandomForestRegressor(n_estimators=30, random_state=0).fit(X, y, weight)
    assert model.score(X, y) > 0.95


@pytest.mark.parametrize("kind", [GradientBoostingRegressor, GradientBoostingClassifier])
def test_every_leaf_has_the_weight_that_it_needs(kind: type) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(4000, 3))
    weight = rng.exponential(size=4000)  # the core proves most sides without counting them
    y = X[:, 0] + rng.normal(size=4000)
    least = 37.3
    model = kind(n_estimators=5, min_samples_leaf=least, early_stopping=False)
    model.fit(X, y if kind is GradientBoostingRegressor else y > 0, sample_weight=weight)
    lightest = min(
        np.bincount(leaves, weight)[np.unique(leaves)].min()
        for leaves in model.apply(X).reshape(4000, -1).T
    )
    assert least * (1 - 1e-6) <= lightest < 1.5 * least
