"""Inspection of models with linear leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from reference import shap as reference
from stagewise import (
    Dart,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    export_text,
    rules,
)
from stagewise.estimators.bases.model_access import read_rows, score_columns
from stagewise.inspection import (
    accumulated_effects,
    decision_path,
    importance,
    interactions,
    partial_dependence,
    permutation_importance,
    proximity,
    shap_values,
    staged_contributions,
)

OPTIONS: dict[str, Any] = {"n_estimators": 6, "leaves": "linear", "random_state": 0}


def table(n: int = 500) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table with extreme values, missing values and a category."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "a": rng.standard_t(2, n),
            "b": rng.normal(size=n),
            "c": pd.Categorical(rng.choice(list("uvwx"), n)),
            "d": rng.normal(size=n),
        }
    )
    y = X.a * (X.b > 0) + 2 * X.b + 3.0 * (X.c == "u") * X.d + rng.normal(size=n) / 5
    X.loc[rng.random(n) < 0.15, "b"] = np.nan
    X.loc[rng.random(n) < 0.15, "d"] = np.nan
    return X, y.to_numpy()


X, Y = table()
CASES: dict[str, Any] = {
    "squared error": GradientBoostingRegressor(**OPTIONS),
    "monotone": GradientBoostingRegressor(monotonic_cst={"b": 1}, **OPTIONS),
    "quantile, dropout": GradientBoostingRegressor(
        loss="quantile", quantile=0.8, dropout=Dart(rate=0.3), **OPTIONS
    ),
    "three classes": GradientBoostingClassifier(category_encoding="sets", **OPTIONS),
    "two targets": GradientBoostingRegressor(**OPTIONS),
}


@pytest.fixture(scope="module")
def models() -> dict[str, Any]:
    y = {
        "three classes": np.digitize(Y, [-0.5, 1.0]),
        "two targets": np.column_stack([Y, -Y + X.a.to_numpy()]),
    }
    return {name: clone(model).fit(X, y.get(name, Y)) for name, model in CASES.items()}


def score_of(model: Any, rows: pd.DataFrame) -> np.ndarray:
    """Return the explained score."""
    predict = model.decision_function if hasattr(model, "classes_") else model.predict
    return np.asarray(predict(rows)).reshape(len(rows), -1)


def mixed_game(model: Any, row: pd.DataFrame, background: pd.DataFrame) -> reference.Game:
    """v(S): the mean prediction of background rows whose features in S are those of the row."""

    def value(known: frozenset[int]) -> np.ndarray:
        mixed = background.copy()
        for j in known:
            column = row.iloc[:, j]
            dtype = mixed.dtypes.iloc[j]
            mixed.isetitem(j, pd.Series([column.iloc[0]] * len(mixed), mixed.index, dtype=dtype))
        return score_of(model, mixed).mean(axis=0)

    return value


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("case", list(CASES))
def test_shapley_values_equal_those_of_predictions_of_mixed_rows(
    case: str, pairs: bool, models: dict[str, Any]
) -> None:
    model, background = models[case], X.iloc[100:108]
    assert any(tree.linear_leaves is not None for tree in model.model_.ensemble.trees)
    rows = X.iloc[[3, int(X.a.argmax()), int(X.d.isna().argmax())]]
    why = shap_values(model, rows, kind="interventional", background=background, interactions=pairs)
    values = why.values.reshape(3, *([4] * (1 + pairs)), -1)
    for i in range(3):
        game = mixed_game(model, rows.iloc[[i]], background)
        expected = (reference.interactions if pairs else reference.shapley)(game, 4)
        np.testing.assert_allclose(values[i], expected, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(np.ravel(why.base_values), game(frozenset()), rtol=1e-8)


@pytest.mark.parametrize("case", list(CASES))
def test_shapley_values_add_up(case: str, models: dict[str, Any]) -> None:
    model = models[case]
    why = shap_values(model, X, kind="interventional", background=X.iloc[:20])
    total = why.base_values + why.values.sum(axis=1)
    score = score_of(model, X)
    np.testing.assert_allclose(total.reshape(score.shape), score, rtol=1e-8, atol=1e-8)


def test_threads_and_blocks_change_no_bit(models: dict[str, Any]) -> None:
    model, options = models["three classes"], {"kind": "interventional", "background": X[:9]}
    many = pd.concat([X] * 5)
    plain = shap_values(model.set_params(n_jobs=1), many, **options).values
    assert (
        shap_values(model.set_params(n_jobs=2), many, **options).values.tobytes() == plain.tobytes()
    )
    some = shap_values(model, many[1100:1117], **options).values
    assert some.tobytes() == plain[1100:1117].tobytes()


# ---- other functions -----------------------------------------------------------------------------


def test_effects_are_those_of_predictions(models: dict[str, Any]) -> None:
    model, rows = models["monotone"], X[["a", "b", "d"]].notna().all(axis=1)
    some = X[rows][:80]
    found = accumulated_effects(model, some, "b", grid_resolution=4)
    ends = found.grids[0].codes
    place = np.searchsorted(ends[1:-1], some.b.to_numpy(), side="left")
    up, down = (model.predict(some.assign(b=ends[place + k])) for k in (1, 0))
    steps = [np.mean((up - down)[place == k]) for k in range(4)]
    np.testing.assert_allclose(np.diff(found.effect[:, 0]), steps, rtol=1e-9, atol=1e-9)
    assert (np.diff(found.effect[:, 0]) >= -1e-9).all()


def test_dependence_and_interactions_are_those_of_predictions(models: dict[str, Any]) -> None:
    model, few = models["squared error"], X[:25]
    curves = {}
    for names in (["a"], ["d"], ["a", "d"]):
        means = [
            model.predict(few.assign(**{n: few[n].iloc[i] for n in names})).mean()
            for i in range(len(few))
        ]
        curves["".join(names)] = np.array(means) - np.mean(means)
    left = curves["ad"] - curves["a"] - curves["d"]
    found = interactions(model, few, ["a", "d"], method="brute")
    assert found.h[0, 0] == pytest.approx(np.sqrt((left**2).sum() / (curves["ad"] ** 2).sum()))
    curve = partial_dependence(model, few, "a", grid_resolution=[-2.0, 0.5])
    means = [model.predict(few.assign(a=v)).mean() for v in (-2.0, 0.5)]
    np.testing.assert_allclose(curve.mean[:, 0], means)
    with pytest.raises(ValueError, match=r"linear leaves. Pass X and use method='brute'"):
        partial_dependence(model, None, "a")


def test_rounds_and_paths_add_up_to_the_score(models: dict[str, Any]) -> None:
    for model in models.values():
        ensemble = model.model_.ensemble
        rounds = staged_contributions(model, X[:40])
        own = model.model_
        score = own.offset + own.scale * score_columns(model, read_rows(model, X[:40]))
        np.testing.assert_allclose(rounds.scores()[:, -1], score, rtol=1e-9, atol=1e-9)
        path = decision_path(model, X[:1])
        total = rounds.base.copy()
        for one in path.paths:
            total[one.output] += one.value[0]
            assert list(one.nodes[-1:]) == [model.apply(X[:1]).reshape(-1)[one.tree]]
            lines = ensemble.trees[one.tree].linear_leaves
            assert bool(one.linear_features) == (lines is not None and one.nodes[-1] in lines.node)
        np.testing.assert_allclose(total, score[0])
        assert "by a linear model of" in path.text(None)


def test_features_of_linear_leaves_count_as_used(models: dict[str, Any]) -> None:
    model = models["squared error"]
    moved = permutation_importance(model, X, Y, n_repeats=1)
    own = model.predict(X.assign(a=X.a.to_numpy()[::-1]))
    assert moved.value[0] > 0
    assert np.ptp(own - model.predict(X)) > 0
    assert importance(model, "gain").value.sum() == pytest.approx(1.0)
    assert np.diag(proximity(model, X[:5])).tolist() == [1.0] * 5


def test_exports_mark_linear_leaves(models: dict[str, Any]) -> None:
    for model in models.values():
        tree = model.model_.ensemble.trees[0]
        assert tree.linear_leaves is not None
        assert export_text(model).count("plus a linear model") == len(tree.linear_leaves.node)
        assert sum(row["line"] for row in rules(model)) == len(tree.linear_leaves.node)
