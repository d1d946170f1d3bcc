"""Models whose leaves say lines: Shapley values by their definition, and all the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from reference import shap as reference
from stagewise import GradientBoostingClassifier, GradientBoostingRegressor
from stagewise.inspection import (
    shap_values,
)

OPTIONS: dict[str, Any] = {"n_estimators": 6, "leaves": "linear", "random_state": 0}


def table(n: int = 500) -> tuple[pd.DataFrame, np.ndarray]:
    """A table with far values, by which lines are cut off, missing cells and a category."""
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
    return X, y.fillna(0.0).to_numpy() if y.isna().any() else y.to_numpy()


X, Y = table()
CASES: dict[str, Any] = {
    "squared error": GradientBoostingRegressor(**OPTIONS),
    "a direction": GradientBoostingRegressor(monotonic_cst={"b": 1}, **OPTIONS),
    "quantile, dropout": GradientBoostingRegressor(
        loss="quantile", quantile=0.8, drop_rate=0.3, **OPTIONS
    ),
    "three classes": GradientBoostingClassifier(categorical="sets", **OPTIONS),
    "two targets": GradientBoostingRegressor(**OPTIONS),
}


@pytest.fixture(scope="module")
def models() -> dict[str, Any]:
    y = {
        "three classes": np.digitize(Y, [-0.5, 1.0]),
        "two targets": np.column_stack([Y, -Y + X.a.to_numpy()]),
    }
    return {name: model.fit(X, y.get(name, Y)) for name, model in CASES.items()}


def said(model: Any, rows: pd.DataFrame) -> np.ndarray:
    """What is explained."""
    answer = model.decision_function if hasattr(model, "classes_") else model.predict
    return np.asarray(answer(rows)).reshape(len(rows), -1)


def mixed_game(model: Any, row: pd.DataFrame, background: pd.DataFrame) -> reference.Game:
    """v(S): what is predicted of the background rows with the row's cells in S."""

    def value(known: frozenset[int]) -> np.ndarray:
        mixed = background.copy()
        for j in known:
            column = row.iloc[:, j]
            dtype = mixed.dtypes.iloc[j]
            mixed.isetitem(j, pd.Series([column.iloc[0]] * len(mixed), mixed.index, dtype=dtype))
        return said(model, mixed).mean(axis=0)

    return value


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("case", list(CASES))
def test_credits_are_those_of_predictions_of_mixed_rows(
    case: str, pairs: bool, models: dict[str, Any]
) -> None:
    model, background = models[case], X.iloc[100:108]
    assert any(tree.lines is not None for tree in model.model_.ensemble.trees)
    rows = X.iloc[[3, int(X.a.argmax()), int(X.d.isna().argmax())]]
    why = shap_values(model, rows, kind="interventional", background=background, interactions=pairs)
    values = why.values.reshape(3, *([4] * (1 + pairs)), -1)
    for i in range(3):
        game = mixed_game(model, rows.iloc[[i]], background)
        expected = (reference.interactions if pairs else reference.shapley)(game, 4)
        np.testing.assert_allclose(values[i], expected, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(np.ravel(why.base_values), game(frozenset()), rtol=1e-8)


@pytest.mark.parametrize("case", list(CASES))
def test_credits_add_up(case: str, models: dict[str, Any]) -> None:
    model = models[case]
    why = shap_values(model, X, kind="interventional", background=X.iloc[:20])
    total = why.base_values + why.values.sum(axis=1)
    score = said(model, X)
    np.testing.assert_allclose(total.reshape(score.shape), score, rtol=1e-8, atol=1e-8)


def test_threads_and_blocks_change_no_bit(models: dict[str, Any]) -> None:
    model, asked = models["three classes"], {"kind": "interventional", "background": X[:9]}
    many = pd.concat([X] * 5)
    plain = shap_values(model.set_params(n_jobs=1), many, **asked).values
    assert (
        shap_values(model.set_params(n_jobs=2), many, **asked).values.tobytes() == plain.tobytes()
    )
    some = shap_values(model, many[1100:1117], **asked).values
    assert some.tobytes() == plain[1100:1117].tobytes()
