"""The table of features in README.md: claims that can be run are run.

A claim is a program that returns whether a library has a feature; the cell of the table must be
"✓" exactly if it does. CatBoost is no requirement of the tests, and is skipped if it is absent.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from stagewise import GradientBoostingRegressor

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
LIBRARIES = ["Stagewise", "XGBoost", "LightGBM", "CatBoost", "HGB"]


def table() -> dict[str, dict[str, str]]:
    """Return the cells by feature and library."""
    head = "| | " + " | ".join(LIBRARIES) + " |\n"
    rows = re.match(r"(?:\|.*\n)+", README.split(head)[1])[0].splitlines()[1:]
    cells = [[cell.strip().strip("*") for cell in row.strip("|").split("|")] for row in rows]
    return {name: dict(zip(LIBRARIES, values, strict=True)) for name, *values in cells}


TABLE = table()


def make(library: str, rounds: int = 5, **parameters: object):
    """Return a regressor of a library; parameters have the names of their library."""
    if library == "Stagewise":
        return GradientBoostingRegressor(n_estimators=rounds, **parameters)
    if library == "HGB":
        return HistGradientBoostingRegressor(max_iter=rounds, early_stopping=False, **parameters)
    if library == "XGBoost":
        module = pytest.importorskip("xgboost")
        return module.XGBRegressor(n_estimators=rounds, enable_categorical=True, **parameters)
    if library == "LightGBM":
        module = pytest.importorskip("lightgbm")
        return module.LGBMRegressor(n_estimators=rounds, verbosity=-1, **parameters)
    module = pytest.importorskip("catboost")
    return module.CatBoostRegressor(iterations=rounds, verbose=0, **parameters)


def data(n: int = 1000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    return X, X[:, 0] * X[:, 1] + rng.normal(size=n)


def accepts(library: str, X: object, y: np.ndarray, **parameters: object) -> bool:
    """Return whether a library trains with these parameters and rows."""
    try:
        make(library, **parameters).fit(X, y)
    except Exception:  # every library has errors of its own
        return False
    return True


def threads(library: str) -> bool:
    X, y = data(20_000)
    name = {"CatBoost": "thread_count"}.get(library, "n_jobs")
    found = [make(library, 20, **{name: n}).fit(X, y).predict(X) for n in (1, 2, 3)]
    return all(np.array_equal(found[0], other) for other in found)


def weights(library: str) -> bool:
    X, y = data()
    times = np.random.default_rng(1).integers(1, 3, len(y))
    weighted = make(library, 20).fit(X, y, sample_weight=times).predict(X)
    copied = make(library, 20).fit(np.repeat(X, times, axis=0), np.repeat(y, times)).predict(X)
    return np.allclose(weighted, copied, rtol=1e-5, atol=1e-5)


def wide_integers(library: str) -> bool:
    """Ids beyond 2⁵³: whether one tree finds the boundary between two of them."""
    ids = 2**60 + np.arange(200).reshape(-1, 1)
    y = (np.arange(200) > 101).astype(float)
    try:
        return np.allclose(make(library, 1, learning_rate=1.0).fit(ids, y).predict(ids) > 0.5, y)
    except Exception:  # CatBoost refuses a feature that is constant as float32
        return False


def categories(library: str) -> bool:
    X = pd.DataFrame({"key": pd.Categorical([f"k{i % 400}" for i in range(2000)])})
    more = {"CatBoost": {"cat_features": ["key"]}}.get(library, {})
    return accepts(library, X, np.arange(2000) % 400 % 7, **more)


def several_targets(library: str) -> bool:
    X, y = data()
    more = {"CatBoost": {"loss_function": "MultiRMSE"}}.get(library, {})
    return accepts(library, X, np.column_stack([y, -y]), **more)


def interaction_constraints(library: str) -> bool:
    name = {"Stagewise": "interaction_cst", "HGB": "interaction_cst"}
    groups = {"XGBoost": "[[0, 1], [2, 3, 4]]"}.get(library, [[0, 1], [2, 3, 4]])
    return accepts(library, *data(), **{name.get(library, "interaction_constraints"): groups})


LOSSES = {
    "Stagewise": ("loss", "gamma", "tweedie"),
    "HGB": ("loss", "gamma", "tweedie"),
    "XGBoost": ("objective", "reg:gamma", "reg:tweedie"),
    "LightGBM": ("objective", "gamma", "tweedie"),
    "CatBoost": ("loss_function", "Gamma", "Tweedie:variance_power=1.5"),
}


def amounts(library: str) -> bool:
    X, y = data()
    name, *losses = LOSSES[library]
    return all(accepts(library, X, np.exp(y / 4), **{name: loss}) for loss in losses)


CLAIMS = {
    "a row of weight 2 is the row twice": weights,
    "integers beyond 2⁵³ (ids, nanoseconds) are exact": wide_integers,
    "categories as they are": categories,
    "several targets in one model": several_targets,
    "interaction constraints": interaction_constraints,
    "gamma and Tweedie": amounts,
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("feature", CLAIMS)
def test_a_library_has_a_feature_exactly_if_the_table_has_a_tick(feature, library):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the other libraries
        assert CLAIMS[feature](library) == (TABLE[feature][library] == "✓")


# A difference between threads is a matter of chance, so only ticks are tried.
FEATURE = "the same model with 1, 2 or 3 threads"


@pytest.mark.parametrize("library", [name for name in LIBRARIES if TABLE[FEATURE][name] == "✓"])
def test_threads_do_not_change_a_model(library):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert threads(library)


def test_several_quantiles_of_xgboost_may_cross():
    assert TABLE["several quantiles in one model"]["XGBoost"] == "may cross"
    module = pytest.importorskip("xgboost")
    X, y = data()
    levels = np.linspace(0.05, 0.95, 19)
    model = module.XGBRegressor(
        objective="reg:quantileerror", quantile_alpha=levels, n_estimators=50, n_jobs=1
    )
    assert (np.diff(model.fit(X, y).predict(X), axis=1) < 0).any()


def test_several_quantiles_of_stagewise_do_not_cross():
    X, y = data()
    levels = np.linspace(0.05, 0.95, 19).tolist()
    model = make("Stagewise", 50, loss="quantile", quantile=levels).fit(X, y)
    assert (np.diff(model.predict(10 * X), axis=1) >= 0).all()
