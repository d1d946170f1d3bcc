"""Losses from formulas against those of the library: seconds of an evaluation and of a fit."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from tables import table

from stagewise import GradientBoostingClassifier, GradientBoostingRegressor
from stagewise._native import Workers
from stagewise.losses import Gamma, Logistic, Loss, Poisson, SquaredError, Tweedie

__all__ = ["report"]

ROWS, FIT_ROWS, ROUNDS, BATCH = 1_000_000, 300_000, 20, 10
CASES: dict[str, tuple[Loss, Loss, str]] = {
    "log_loss": (Loss.from_formula("log(1 + exp(-y*f))", y="±1"), Logistic(), "classes"),
    "squared_error": (Loss.from_formula("(y - f)**2 / 2"), SquaredError(), "numbers"),
    "poisson": (Loss.from_formula("exp(f) - y*f", y="count"), Poisson(), "counts"),
    "gamma": (Loss.from_formula("y*exp(-f) + f", y="positive"), Gamma(), "amounts"),
    "tweedie": (
        Loss.from_formula("y*exp((1-p)*f)/(p-1) + exp((2-p)*f)/(2-p)", y="non_negative", p=1.5),
        Tweedie(1.5),
        "amounts",
    ),
}


def seconds_of(work: list[Callable[[], Any]], times: int) -> list[float]:
    """Return the least processor seconds of each function, in turns."""
    least = [np.inf] * len(work)
    for _ in range(times):
        for k, own in enumerate(work):
            begin = time.process_time()
            own()
            least[k] = min(least[k], time.process_time() - begin)
    return least


def targets(kind: str, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    mean = np.exp(0.5 * X[:, 0])
    if kind == "classes":
        return (X[:, 0] + rng.logistic(size=len(X)) > 0).astype(np.int32)
    if kind == "counts":
        return rng.poisson(mean).astype(np.float64)
    return X[:, 0] + rng.normal(size=len(X)) if kind == "numbers" else rng.gamma(2.0, mean)


def report() -> list[str]:
    """Return the table of times."""
    rng, rows, workers = np.random.default_rng(0), [], Workers(1)
    X = rng.normal(size=(ROWS, 10)).astype(np.float32)
    score = np.asfortranarray(rng.normal(size=(ROWS, 1)))
    for name, (mine, theirs, kind) in CASES.items():
        y = targets(kind, X, rng)
        bound = [loss.bind(workers, y, None) for loss in (mine, theirs)]
        batches = [lambda b=b: [b.evaluate(score) for _ in range(BATCH)] for b in bound]
        evaluated = [seconds / BATCH for seconds in seconds_of(batches, 6)]
        estimator = GradientBoostingClassifier if kind == "classes" else GradientBoostingRegressor
        fits = [
            estimator(loss=loss, n_estimators=ROUNDS, learning_rate=0.1, n_jobs=1)
            for loss in (mine, name if kind == "classes" else theirs)
        ]
        fitted = seconds_of([lambda m=m, y=y: m.fit(X[:FIT_ROWS], y[:FIT_ROWS]) for m in fits], 2)
        rows.append(
            {
                "loss": name,
                "formula": f"`{mine.formula}`",  # type: ignore[attr-defined]
                "evaluation, formula (ms)": f"{1e3 * evaluated[0]:.2f}",
                "library (ms)": f"{1e3 * evaluated[1]:.2f}",
                "ratio": f"{evaluated[0] / evaluated[1]:.2f}",
                "fit, formula (s)": f"{fitted[0]:.2f}",
                "library (s)": f"{fitted[1]:.2f}",
                "ratio of fits": f"{fitted[0] / fitted[1]:.2f}",
            }
        )
        print(rows[-1], flush=True)
    return [
        "## Losses from formulas",
        "",
        (
            "Processor seconds of one thread, the least of several. An evaluation is the value, "
            f"the gradient and the hessian of {ROWS:,} rows; a fit has {ROUNDS} rounds, "
            f"{FIT_ROWS:,} rows and ten features."
        ),
        "",
        *table(rows, list(rows[0])),
    ]
