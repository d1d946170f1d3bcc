"""The claims of freMTPL2 with their exposure: mean deviance and log-likelihood of test policies."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import poisson

from stagewise import GradientBoostingRegressor
from stagewise.metrics.row_losses import unit_deviance

LOSSES = (
    "poisson",
    "negative_binomial",
    "zero_inflated_poisson",
)
ROUNDS, RATE = 100, 0.1


def measure(file: Path) -> dict[str, dict[str, float]]:
    """Return the Poisson deviance, the mean log-likelihood and the seconds of each model."""
    frame = pd.read_parquet(file).drop(columns=["IDpol"])
    y = frame["ClaimNb"].to_numpy(np.float64)
    exposure = frame["Exposure"].to_numpy(np.float64)
    X = frame.drop(columns=["ClaimNb", "ClaimAmount", "ClaimCountSev", "Exposure"])
    text = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
    X[text] = X[text].astype("category")
    order = np.random.default_rng(0).permutation(len(y))
    cut = round(0.8 * len(y))
    train, test = order[:cut], order[cut:]
    parts = X.iloc[train], y[train], exposure[train], X.iloc[test], exposure[test]
    found: dict[str, dict[str, float]] = {}

    def record(name: str, mean: Any, log_likelihood: Any, seconds: float) -> None:
        found[name] = {
            "deviance": float(unit_deviance(y[test], np.asarray(mean), 1.0).mean()),
            "nll": -float(np.mean(log_likelihood)),
            "seconds": seconds,
        }
        print("claims", name, found[name], flush=True)

    for loss in LOSSES:
        begin = time.perf_counter()
        model = GradientBoostingRegressor(loss=loss, n_estimators=ROUNDS, learning_rate=RATE)
        model.fit(parts[0], parts[1], exposure=parts[2])
        seconds = time.perf_counter() - begin
        dist = model.predict_dist(parts[3], exposure=parts[4])
        record(f"Stagewise, {loss}", dist.mean, dist.log_density(y[test]), seconds)
    for name, fit in (("LightGBM", _lightgbm), ("XGBoost", _xgboost), ("CatBoost", _catboost)):
        begin = time.perf_counter()
        mean = fit(*parts, text)
        seconds = time.perf_counter() - begin
        record(f"{name}, poisson", mean, poisson(mean).logpmf(y[test]), seconds)
    return found


def _lightgbm(X: Any, y: Any, e: Any, X_test: Any, e_test: Any, text: list[str]) -> np.ndarray:
    import lightgbm as lgb

    rate = y.sum() / e.sum()
    model = lgb.LGBMRegressor(
        objective="poisson", n_estimators=ROUNDS, learning_rate=RATE, verbose=-1
    )
    model.fit(X, y, init_score=np.log(rate * e))
    return np.exp(model.predict(X_test, raw_score=True)) * rate * e_test


def _xgboost(X: Any, y: Any, e: Any, X_test: Any, e_test: Any, text: list[str]) -> np.ndarray:
    import xgboost as xgb

    rate = y.sum() / e.sum()
    model = xgb.XGBRegressor(
        objective="count:poisson",
        n_estimators=ROUNDS,
        learning_rate=RATE,
        max_leaves=31,
        max_depth=0,
        grow_policy="lossguide",
        tree_method="hist",
        enable_categorical=True,
    )
    model.fit(X, y, base_margin=np.log(rate * e))
    return model.predict(X_test, base_margin=np.log(rate * e_test))


def _catboost(X: Any, y: Any, e: Any, X_test: Any, e_test: Any, text: list[str]) -> np.ndarray:
    from catboost import CatBoostRegressor, Pool

    rate = y.sum() / e.sum()
    as_text = dict.fromkeys(text, str)
    model = CatBoostRegressor(
        loss_function="Poisson",
        iterations=ROUNDS,
        learning_rate=RATE,
        grow_policy="Lossguide",
        max_leaves=31,
        verbose=False,
        allow_writing_files=False,
    )
    model.fit(Pool(X.astype(as_text), y, cat_features=text, baseline=np.log(rate * e)))
    test = Pool(X_test.astype(as_text), cat_features=text, baseline=np.log(rate * e_test))
    return np.exp(model.predict(test, prediction_type="RawFormulaVal"))
