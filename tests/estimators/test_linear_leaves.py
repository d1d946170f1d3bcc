"""Linear leaves in the estimators: accuracy and invariants."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stagewise
from estimators.tables import make_table, quick
from reference.linear_leaves import fit_linear_leaf, path_features
from reference.tree import leaf_of, predict
from stagewise import (
    Dart,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LinearLeaves,
)
from stagewise.errors import InvalidParameterError
from stagewise.losses import Mape

Regressor, Classifier = GradientBoostingRegressor, GradientBoostingClassifier
LINEAR: dict[str, Any] = {"leaves": "linear"}
ALL: dict[str, Any] = {"max_features": 1.0}
"""Made tables of two or three columns, all of which matter everywhere, are about lines alone."""
DROP: dict[str, Any] = {"dropout": Dart(rate=0.4, skip=0.3)}

KINDS = {
    "squared error": (Regressor, "number", {}),
    "absolute error": (Regressor, "number", {"loss": "absolute_error"}),
    "quantile": (Regressor, "number", {"loss": "quantile", "quantile": 0.8}),
    "huber": (Regressor, "number", {"loss": "huber"}),
    "mape": (Regressor, "number", {"loss": Mape(floor=0.5)}),
    "poisson": (Regressor, "number", {"loss": "poisson"}),
    "two classes": (Classifier, "two", {}),
    "five classes": (Classifier, "many", {}),
    "gradient response": (Classifier, "many", {"response": "gradient"}),
    "drawn rows": (Regressor, "number", {"subsample": 0.6}),
    "drawn rows, absolute error": (
        Regressor,
        "number",
        {"loss": "absolute_error", "subsample": 0.6},
    ),
    "bootstrap": (Regressor, "number", {"sampling": "bootstrap"}),
    "goss": (Classifier, "two", {"sampling": "goss"}),
    "mvs": (Classifier, "many", {"sampling": "mvs", "subsample": 0.6}),
    "symmetric": (Classifier, "two", {"grow_policy": "symmetric"}),
    "exact": (Regressor, "number", {"split": "exact"}),
    "approx": (Regressor, "number", {"split": "approx"}),
    "categories": (Classifier, "two", {"categorical_features": [1]}),
    "monotone": (Regressor, "number", {"monotonic_cst": [1, 0, -1, 0, 0]}),
    "smoothed paths, limited steps": (
        Regressor,
        "number",
        {"path_smoothing": 2.0, "max_step": 0.8, "l1_regularization": 0.1},
    ),
    "dropout": (Regressor, "number", DROP),
    "dropout of classes": (Classifier, "many", DROP),
    "dropout, absolute error, monotone": (
        Regressor,
        "number",
        {**DROP, "loss": "absolute_error", "monotonic_cst": [1, 0, 0, 0, 0]},
    ),
}
every_kind = pytest.mark.parametrize(("kind", "target", "params"), KINDS.values(), ids=KINDS)


def number_of_linear_leaves(model: Any) -> int:
    trees = model.model_.ensemble.trees
    return sum(len(tree.linear_leaves.node) for tree in trees if tree.linear_leaves is not None)


@pytest.fixture(scope="module")
def table():
    return make_table(600)


@pytest.fixture(scope="module")
def held():
    return make_table(300, seed=5)


def linear(kind, params, **more):
    return quick(kind, **LINEAR, **params, **more)


# ---- accuracy --------------------------------------------------------------------------------


def ramps(n: int, seed: int = 0, noise: float = 0.02) -> tuple[np.ndarray, np.ndarray]:
    """Return a piecewise linear target."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 3))
    y = np.where(X[:, 0] > 0, 3 * X[:, 0] + X[:, 1], -2 * X[:, 1]) + noise * rng.normal(size=n)
    return X, y


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber", "quantile"])
@pytest.mark.parametrize("response", ["newton", "gradient"])
def test_piecewise_linear_targets_are_learned_better_than_by_constants(loss, response):
    (X, y), (X2, y2) = ramps(4000), ramps(800, seed=1)
    errors = []
    for leaves in ("constant", "linear"):
        size = {"n_estimators": 40, "max_leaf_nodes": 8, **ALL}
        model = Regressor(loss=loss, response=response, leaves=leaves, **size)
        errors.append(np.abs(model.fit(X, y).predict(X2) - y2).mean())
    assert errors[1] < 0.4 * errors[0]


def test_outliers_do_not_change_the_slopes_of_the_absolute_error():
    (X, y), (X2, y2) = ramps(4000), ramps(800, seed=1)
    y[::50] += 1000.0
    errors = []
    for leaves in ("constant", "linear"):
        model = Regressor(loss="absolute_error", n_estimators=40, max_leaf_nodes=8, leaves=leaves)
        errors.append(np.abs(model.fit(X, y).predict(X2) - y2).mean())
    assert errors[1] < 0.5 * errors[0]


def test_the_weighted_median_of_the_residuals_of_a_linear_leaf_of_mape_is_zero():
    X, y = ramps(1500)
    y = y + 6.0
    model = Regressor(loss="mape", n_estimators=1, learning_rate=1.0, max_leaf_nodes=6, **LINEAR)
    model.fit(X, y)
    assert number_of_linear_leaves(model) > 3
    residual, leaf = y - model.predict(X), model.apply(X)[:, 0]
    for node in np.unique(leaf):
        order = np.argsort(residual[leaf == node])
        weight = np.cumsum((1 / y[leaf == node])[order])
        middle = residual[leaf == node][order][np.searchsorted(weight, 0.5 * weight[-1])]
        assert abs(middle) < 1e-3 * np.abs(residual).max()


def test_linear_leaves_have_a_smaller_percentage_error():
    (X, y), (X2, y2) = ramps(3000), ramps(800, seed=1)
    errors = []
    for leaves in ("constant", "linear"):
        model = Regressor(loss="mape", leaves=leaves, n_estimators=40, max_leaf_nodes=8, **ALL)
        predicted = model.fit(X, y + 6.0).predict(X2)
        errors.append(np.abs(predicted / (y2 + 6.0) - 1.0).mean())
    assert errors[1] < 0.5 * errors[0]


def test_a_linear_class_boundary_takes_fewer_rounds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    score = 4 * (X[:, 0] + X[:, 1])
    codes = (score + rng.logistic(size=3000) > 0).astype(int) + (score > 6)
    for y in (codes > 0, codes):
        losses = []
        for leaves in ("constant", "linear"):
            model = Classifier(n_estimators=15, max_leaf_nodes=8, leaves=leaves).fit(
                X[:2000], y[:2000]
            )
            p = model.predict_proba(X[2000:])
            losses.append(
                -np.log(p[np.arange(1000), np.searchsorted(model.classes_, y[2000:])]).mean()
            )
        assert losses[1] < losses[0] - 0.01


# ---- compared with the reference -------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("monotone", [None, [1, 0, -1, 0, 0]])
def test_every_linear_leaf_equals_least_squares(table, weighted, monotone):
    weight = (np.arange(600) % 3 + 1).astype(float) if weighted else np.ones(600)
    model = linear(Regressor, {"monotonic_cst": monotone, "l2_regularization": 0.0})
    model.fit(table.X, table.number, weight if weighted else None)
    made, rate, direction = model.model_, 0.1, np.array(monotone or [0] * 5)
    y = (table.number - made.offset) / made.scale
    score = np.full(600, made.ensemble.base[0])
    seen = 0
    for tree in made.ensemble.trees:
        g = (score - y).astype(np.float32).astype(float) * weight
        leaf = np.array([leaf_of(tree, row) for row in table.X])
        for i, node in enumerate(
            [] if tree.linear_leaves is None else tree.linear_leaves.node.tolist()
        ):
            rows, features = leaf == node, path_features(tree, node, set(range(5)))
            own = g[rows], weight[rows], weight[rows]
            line = fit_linear_leaf(table.X[rows][:, features], *own, 0.1, 1.0, direction[features])
            assert line is not None
            terms = slice(int(tree.linear_leaves.start[i]), int(tree.linear_leaves.start[i + 1]))
            kept = np.flatnonzero(line.slope)
            assert tree.linear_leaves.feature[terms].tolist() == [features[j] for j in kept]
            np.testing.assert_allclose(
                tree.linear_leaves.slope[terms], rate * line.slope[kept], rtol=1e-6
            )
            b = -own[0][line.complete].sum() / own[1][line.complete].sum()
            if monotone is None:
                np.testing.assert_allclose(
                    tree.linear_leaves.intercept[i], rate * b, rtol=1e-5, atol=1e-9
                )
                reach = 4 * line.spread
                bounds = (
                    min(b - reach, tree.value[node] / rate),
                    max(b + reach, tree.value[node] / rate),
                )
                found = tree.linear_leaves.low[i], tree.linear_leaves.high[i]
                np.testing.assert_allclose(found, rate * np.array(bounds), rtol=1e-5)
            seen += 1
        score += predict(tree, table.X)
    assert seen > 20
    np.testing.assert_allclose(model.predict(table.X), made.offset + made.scale * score, rtol=1e-12)


# ---- invariants ------------------------------------------------------------------------------


@every_kind
def test_threads_do_not_matter(kind, target, params, table):
    models = [
        linear(kind, params, n_jobs=n).fit(table.X, getattr(table, target)) for n in (1, 2, 3)
    ]
    assert len({m.fingerprint() for m in models}) == 1
    assert number_of_linear_leaves(models[0]) > 0


@pytest.mark.parametrize(
    ("kind", "target", "params"),
    [pytest.param(*fit, id=name) for name, fit in KINDS.items()],
)
def test_a_continued_fit_equals_the_uninterrupted_one(kind, target, params, table, tmp_path):
    y = getattr(table, target)
    whole = linear(kind, params, n_estimators=12).fit(table.X, y)
    parts = linear(kind, params, warm_start=True)
    for rounds in (1, 5, 6, 12):
        parts.set_params(n_estimators=rounds).fit(table.X, y)
        parts.save(tmp_path / "m.stgw")
        parts = stagewise.load(tmp_path / "m.stgw")
    assert parts.fingerprint() == whole.fingerprint()


@every_kind
def test_files_pickles_stages_and_single_rows_predict_the_same(
    kind, target, params, table, held, tmp_path
):
    model = linear(kind, params).fit(table.X, getattr(table, target))
    score = model.decision_function if kind is Classifier else model.predict
    model.save(tmp_path / "m.stgw")
    for other in (stagewise.load(tmp_path / "m.stgw"), pickle.loads(pickle.dumps(model))):
        assert other.fingerprint() == model.fingerprint()
        np.testing.assert_array_equal(other.predict(held.X), model.predict(held.X))
    whole = score(held.X)
    np.testing.assert_array_equal(
        np.concatenate([score(held.X[i : i + 7]) for i in range(0, 300, 7)]), whole
    )
    np.testing.assert_array_equal(score(held.X.astype(np.float32)), score(held.X))
    stages = list(model.staged_predict(held.X))
    np.testing.assert_array_equal(stages[-1], model.predict(held.X))


@every_kind
def test_validation_losses_are_those_of_predictions(kind, target, params, table, held):
    y, y2 = getattr(table, target), getattr(held, target)
    fit = {"X_val": held.X, "y_val": y2}
    model = linear(kind, params, n_iter_no_change=50).fit(table.X, y, **fit)
    plain = linear(kind, params, n_estimators=model.n_iter_).fit(table.X, y)
    assert plain.fingerprint() == model.fingerprint()
    loss = model.validation_loss_[model.n_iter_ - 1]
    if kind is Classifier:
        p = model.predict_proba(held.X)[np.arange(len(y2)), np.searchsorted(model.classes_, y2)]
        assert loss == pytest.approx(-np.log(p).mean(), rel=1e-6)
    elif params.get("loss", "squared_error") == "squared_error" and "dropout" not in params:
        assert loss == pytest.approx(((model.predict(held.X) - y2) ** 2).mean() / 2, rel=1e-6)


def test_cross_validation_holds_rows_out_of_the_leaf_models(table):
    model = linear(Regressor, {}, early_stopping=3, n_estimators=15)
    model.fit(table.X, table.number)
    loss = ((model.oof_prediction_ - table.number) ** 2).mean() / 2
    assert loss == pytest.approx(model.validation_loss_.min(), rel=1e-5)
    again = linear(Regressor, {}, n_estimators=model.n_iter_).fit(table.X, table.number)
    assert again.fingerprint() == model.fingerprint()


@pytest.mark.parametrize(
    "case", ["squared error", "absolute error", "huber", "mape", "two classes"]
)
def test_weight_two_equals_the_row_twice_and_weight_zero_its_absence(case, table):
    kind, target, params = KINDS[case]
    y, weight = getattr(table, target), np.arange(600) % 3
    model = linear(kind, params).fit(table.X, y, weight)
    rows = np.flatnonzero(weight)
    absent = linear(kind, params).fit(table.X[rows], y[rows], weight[rows])
    assert absent.fingerprint() == model.fingerprint()
    rows = np.repeat(np.arange(600), weight)
    twice = linear(kind, params).fit(table.X[rows], y[rows])
    # Sums of products are computed in blocks of rows, and these blocks differ.
    np.testing.assert_allclose(twice.predict(table.X), model.predict(table.X), rtol=1e-7)


@pytest.mark.parametrize("case", ["squared error", "absolute error", "five classes", "monotone"])
@pytest.mark.parametrize(("factor", "offset"), [(1e-3, 0.0), (7.0, 1e4), (1e150, 0.0), (1e-150, 0)])
def test_units_of_features_do_not_matter(case, factor, offset, table):
    kind, target, params = KINDS[case]
    plain = linear(kind, params)
    X = make_table(600, missing=False).X
    plain.fit(X, getattr(table, target))
    other = linear(kind, params).fit(factor * X + offset, getattr(table, target))
    np.testing.assert_allclose(
        np.ravel(other.model_.train_loss), np.ravel(plain.model_.train_loss), rtol=1e-6
    )
    assert number_of_linear_leaves(other) == number_of_linear_leaves(plain)


# ---- special columns -------------------------------------------------------------------------


def test_rows_with_missing_values_get_the_constant_of_their_leaf():
    X, y = ramps(800)
    X[::9, 1] = np.nan
    model = Regressor(n_estimators=1, learning_rate=1.0, leaves="linear", **ALL).fit(X, y)
    (tree,) = model.model_.ensemble.trees
    node = model.apply(X)[:, 0]
    tested = {
        i: set(tree.linear_leaves.feature[int(a) : int(b)].tolist())
        for i, a, b in zip(
            tree.linear_leaves.node.tolist(),
            tree.linear_leaves.start[:-1],
            tree.linear_leaves.start[1:],
            strict=True,
        )
    }
    without = np.array([n in tested and 1 in tested[n] for n in node]) & np.isnan(X[:, 1])
    assert without.any()
    made = model.model_
    np.testing.assert_array_equal(
        model.predict(X)[without], made.offset + made.scale * (0.0 + tree.value[node[without]])
    )


@pytest.mark.parametrize("l2", [0.0, 0.1])
def test_copied_and_constant_columns_do_not_harm_the_fit(l2):
    X, y = ramps(800)
    wide = np.column_stack([X, X[:, 0], 2 * X[:, 0] + X[:, 1], np.full(800, 0.1 + 0.2), X[:, 1]])
    plain = Regressor(n_estimators=20, leaves=LinearLeaves(l2=l2)).fit(X, y)
    other = Regressor(n_estimators=20, leaves=LinearLeaves(l2=l2)).fit(wide, y)
    assert np.isfinite(other.predict(wide)).all()
    assert other.train_loss_[-1] < 2 * plain.train_loss_[-1]


def test_infinite_values_are_missing_in_a_linear_leaf():
    X, y = ramps(800)
    X[::10, 0] = np.inf
    X[1::10, 0] = -np.inf
    model = Regressor(n_estimators=30, leaves="linear").fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    fine = np.isfinite(X[:, 0])
    assert np.abs(model.predict(X) - y)[fine].mean() < 0.2
    probe = np.array([[np.inf, 0, 0], [-np.inf, np.inf, -np.inf], [1e308, -1e308, 1e308]])
    assert np.isfinite(model.predict(probe)).all()


def test_linear_leaves_are_clipped_outside_the_training_range():
    X, y = ramps(2000)
    model = Regressor(n_estimators=60, leaves="linear").fit(X, y)
    far = np.array([[1.0, 0, 0], [1.2, 0, 0], [100.0, 0, 0], [1e6, 0, 0]])
    predicted = model.predict(far)
    assert predicted[1] > predicted[0] + 0.2
    assert predicted[2] == predicted[3] < 3 * np.abs(y).max()


def test_no_step_is_longer_than_max_step():
    X, y = ramps(600)
    model = Regressor(n_estimators=3, learning_rate=1.0, max_step=0.1, leaves="linear").fit(X, y)
    steps = np.diff([np.full(600, y.mean()), *model.staged_predict(X)], axis=0)
    assert np.abs(steps).max() <= 0.1 * y.std() * (1 + 1e-9)


# ---- monotone constraints --------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 1000),
    loss=st.sampled_from(["squared_error", "absolute_error", "huber", "quantile"]),
    response=st.sampled_from(["newton", "gradient"]),
    grow_policy=st.sampled_from(["best_first", "depth_wise", "symmetric"]),
    directions=st.tuples(*[st.sampled_from([-1, 0, 1])] * 3),
    drop=st.booleans(),
    infinite=st.booleans(),
)
def test_linear_leaves_are_monotone(seed, loss, response, grow_policy, directions, drop, infinite):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 3))
    z = X.copy()
    X[rng.random(X.shape) < 0.05] = np.nan
    if infinite:
        X[rng.random(X.shape) < 0.05] = np.inf
        X[rng.random(X.shape) < 0.05] = -np.inf
    y = np.sin(3 * z[:, 0]) + z[:, 0] - z[:, 1] * z[:, 2] + rng.normal(size=400) / 3
    model = Regressor(
        loss=loss,
        response=response,
        grow_policy=grow_policy,
        monotonic_cst=list(directions),
        learning_rate=0.5,
        n_estimators=6,
        warm_start=True,
        leaves="linear",
        **ALL,
        **(DROP if drop else {}),
    ).fit(X, y)
    model.set_params(n_estimators=12).fit(X, y)
    grid = np.concatenate([[-np.inf, -1e308, -50], np.linspace(-4, 4, 150), [50, 1e308, np.inf]])
    probes = np.concatenate([X[:40], rng.choice([np.nan, np.inf, -np.inf, 0.0], size=(10, 3))])
    for feature, direction in enumerate(directions):
        if direction:
            rows = np.repeat(probes, len(grid), axis=0)
            rows[:, feature] = np.tile(grid, len(probes))
            f = model.predict(rows).reshape(len(probes), -1)
            assert (direction * np.diff(f, axis=1) >= 0).all()


def test_monotone_linear_leaves_have_slopes():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(3000, 2))
    y = 3 * X[:, 0] - X[:, 1] + 0.05 * rng.normal(size=3000)
    errors = []
    for leaves in ("constant", "linear"):
        model = Regressor(
            monotonic_cst=[1, -1], leaves=leaves, n_estimators=30, max_leaf_nodes=8, **ALL
        ).fit(X[:2000], y[:2000])
        errors.append(((model.predict(X[2000:]) - y[2000:]) ** 2).mean())
    assert errors[1] < 0.6 * errors[0]


# ---- recipe and errors -----------------------------------------------------------------------


def test_the_recipe_states_linear_leaves():
    assert "linear" not in Regressor().recipe()
    words = Regressor(leaves=LinearLeaves(l2=2)).recipe()
    assert "linear leaves" in words
    assert "λ of slopes=2" in words


def test_a_table_of_categories_only_is_refused():
    X = pd.DataFrame({"a": ["x", "y"] * 50}, dtype="category")
    with pytest.raises(InvalidParameterError, match="every column is categorical"):
        Regressor(leaves="linear").fit(X, np.arange(100))


def test_categories_are_not_in_linear_leaves(table):
    model = linear(Classifier, {"categorical_features": [1]}, max_leaf_nodes=16)
    model.fit(table.X, table.two)
    trees = model.model_.ensemble.trees
    tested = np.concatenate(
        [tree.linear_leaves.feature for tree in trees if tree.linear_leaves is not None]
    )
    assert 1 in np.concatenate([tree.feature for tree in trees])
    assert set(tested.tolist()) <= {0, 2, 3, 4}


def test_the_constants_of_the_first_tree_are_unchanged(table):
    """The first tree of both has the same splits and the same constants."""
    trees = [
        quick(Regressor, n_estimators=1, leaves=leaves)
        .fit(table.X, table.number)
        .model_.ensemble.trees[0]
        for leaves in ("constant", "linear")
    ]
    assert trees[0].value.tobytes() == trees[1].value.tobytes()
    assert trees[0].threshold.tobytes() == trees[1].threshold.tobytes()
