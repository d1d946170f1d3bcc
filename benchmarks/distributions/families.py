"""Families of distributions against NGBoost's, and expectiles against CatBoost's."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import poisson
from tables import Parts, read

from stagewise import GradientBoostingRegressor

__all__ = ["FAMILIES", "measure_expectiles", "measure_families"]

ROUNDS, RATE, PATIENCE, THREADS = 500, 0.05, 30, 1
POSITIVE = ("california_housing", "concrete_strength", "diamonds", "kc_house_sales", "medical_cost")
FAMILIES: dict[str, tuple[str, tuple[str, ...]]] = {
    "laplace": ("laplace.Laplace", POSITIVE),
    "student_t": ("t.TFixedDf", POSITIVE),
    "log_normal": ("lognormal.LogNormal", POSITIVE),
    "gamma_distribution": ("gamma.Gamma", POSITIVE),
    "weibull": ("weibull.Weibull", POSITIVE),
    "beta": ("beta.Beta", ("cpu_act", "wine_quality")),
    "negative_binomial": ("poisson.Poisson", ("abalone", "bike_sharing_hour")),
    "zero_inflated_poisson": ("poisson.Poisson", ("abalone", "bike_sharing_hour")),
    "zero_inflated_negative_binomial": ("poisson.Poisson", ("abalone", "bike_sharing_hour")),
}
"""The loss, the nearest family of NGBoost, and the tables."""
LEVELS = (0.1, 0.9)


def _target(parts: Parts, loss: str) -> Parts:
    """Return the rows with targets of the domain: shares for "beta"."""
    if loss != "beta":
        return parts
    every = np.concatenate([parts.y, parts.y_stop, parts.y_test])
    low, width = every.min(), np.ptp(every)
    shares = [(y - low + 0.01 * width) / (1.02 * width) for y in (parts.y, parts.y_stop)]
    test = (parts.y_test - low + 0.01 * width) / (1.02 * width)
    return Parts(parts.X, shares[0], parts.X_stop, shares[1], parts.X_test, test)


def measure_families(folder: Path, seeds: int, most: int) -> dict[str, Any]:
    """Return the negative log-likelihood and the processor seconds of each loss and table."""
    found: dict[str, Any] = {}
    for loss, (theirs, tables) in FAMILIES.items():
        for table in tables:
            for seed in range(seeds):
                p = _target(read(folder, table, seed, most), loss)
                own = {"Stagewise": _stagewise(p, loss), "NGBoost": _ngboost(p, theirs)}
                print("families", loss, table, seed, own, flush=True)
                found.setdefault(loss, {}).setdefault(table, {})[str(seed)] = own
    return found


def _stagewise(p: Parts, loss: str) -> dict[str, float]:
    begin = time.process_time()
    model = GradientBoostingRegressor(
        loss=loss,
        n_estimators=ROUNDS,
        learning_rate=RATE,
        n_iter_no_change=PATIENCE,
        n_jobs=THREADS,
    ).fit(p.X, p.y, X_val=p.X_stop, y_val=p.y_stop)
    seconds = time.process_time() - begin
    return {"nll": float(model.predict_dist(p.X_test).nll(p.y_test).mean()), "seconds": seconds}


def _ngboost(p: Parts, theirs: str) -> dict[str, float]:
    """Return the same of NGBoost; targets are divided by their standard deviation."""
    from importlib import import_module

    from ngboost import NGBRegressor

    module, name = theirs.split(".")
    family = getattr(import_module(f"ngboost.distns.{module}"), name)
    unit = 1.0 if module in ("poisson", "beta") else float(p.y.std())
    kind = int if module == "poisson" else float
    own = {"n_estimators": ROUNDS, "learning_rate": 0.04, "random_state": 0, "verbose": False}
    model = NGBRegressor(Dist=family, **own)
    held = {"X_val": p.X_stop, "Y_val": (p.y_stop / unit).astype(kind)}
    begin = time.process_time()
    try:
        model.fit(p.X, (p.y / unit).astype(kind), **held, early_stopping_rounds=PATIENCE)
    except Exception as error:
        print(f"NGBoost {name}: {type(error).__name__}: {error}", flush=True)
        return {"nll": float("nan"), "seconds": time.process_time() - begin}
    seconds = time.process_time() - begin
    dist = model.pred_dist(p.X_test, max_iter=model.best_val_loss_itr)
    if module == "poisson":
        return {"nll": -float(poisson(dist.mu).logpmf(p.y_test).mean()), "seconds": seconds}
    nll = -dist.logpdf(p.y_test / unit) + np.log(unit)
    return {"nll": float(np.mean(nll)), "seconds": seconds}


# ---- expectiles ----------------------------------------------------------------------------------


def measure_expectiles(folder: Path, seeds: int, most: int) -> dict[str, Any]:
    """Return the expectile losses and the processor seconds of models of two levels."""
    found: dict[str, Any] = {}
    for table in POSITIVE:
        for seed in range(seeds):
            p = read(folder, table, seed, most)
            own = {}
            for name, fit in EXPECTILES.items():
                begin = time.process_time()
                predicted = fit(p)
                seconds = time.process_time() - begin
                own[name] = {"loss": _expectile_loss(p.y_test, predicted), "seconds": seconds}
            print("expectiles", table, seed, own, flush=True)
            found.setdefault(table, {})[str(seed)] = own
    return found


def _expectile_loss(y: np.ndarray, predicted: np.ndarray) -> float:
    """Return the root of the mean asymmetric squared error of the levels."""
    residual = y[:, None] - predicted
    factor = np.where(residual > 0, LEVELS, 1.0 - np.array(LEVELS))
    return float(np.sqrt((factor * residual**2).mean()))


def _our_expectiles(p: Parts, levels: Any) -> np.ndarray:
    model = GradientBoostingRegressor(
        loss="expectile",
        quantile=levels,
        n_estimators=ROUNDS,
        learning_rate=RATE,
        n_iter_no_change=PATIENCE,
        n_jobs=THREADS,
    )
    return model.fit(p.X, p.y, X_val=p.X_stop, y_val=p.y_stop).predict(p.X_test)


def _catboost_expectiles(p: Parts) -> np.ndarray:
    from catboost import CatBoostRegressor

    found = []
    for level in LEVELS:
        model = CatBoostRegressor(
            loss_function=f"Expectile:alpha={level}",
            iterations=ROUNDS,
            learning_rate=RATE,
            early_stopping_rounds=PATIENCE,
            thread_count=THREADS,
            verbose=False,
            allow_writing_files=False,
        )
        model.fit(p.X, p.y, eval_set=(p.X_stop, p.y_stop))
        found.append(model.predict(p.X_test))
    return np.column_stack(found)


EXPECTILES = {
    "Stagewise, one model": lambda p: _our_expectiles(p, list(LEVELS)),
    "Stagewise, one per level": lambda p: np.column_stack(
        [_our_expectiles(p, level) for level in LEVELS]
    ),
    "CatBoost, one per level": _catboost_expectiles,
}
