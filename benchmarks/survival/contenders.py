"""The libraries of the survival benchmark: each is fitted, and returns risks and curves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from stagewise import GradientBoostingSurvival
from stagewise.losses import Cox
from stagewise.losses.survival.time_distributions import TIME_DISTRIBUTIONS

__all__ = ["CONTENDERS", "EQUAL_TREES", "Fitted", "Result", "Rows"]

Matrix = npt.NDArray[np.float64]
ROUNDS = 100
EQUAL_TREES = {"n_estimators": ROUNDS, "learning_rate": 0.1, "max_depth": 3}
"""The defaults of scikit-survival."""


class Rows(NamedTuple):
    """Rows of a table: a frame, times and events."""

    frame: Any
    time: Matrix
    event: npt.NDArray[np.bool_]


class Result(NamedTuple):
    """The risks of rows, and their survival at some times."""

    risk: Matrix
    survival: Matrix


Fitted = Callable[[Rows, Matrix], Result]
Contender = Callable[[Rows, int], Fitted]


def encode(frame: Any, medians: Any = None) -> tuple[Matrix, Any]:
    """Return numbers for libraries without categories or missing values, and the medians.

    Categories become indicators, and missing values the medians; without medians, these are
    learned. Every library gets the frame, so this is a part of the time of a fit.
    """
    numbers = pd.get_dummies(frame, drop_first=True, dtype=np.float64)
    medians = numbers.median() if medians is None else medians
    return numbers.fillna(medians).to_numpy(np.float64), medians


def stagewise(**parameters: Any) -> Contender:
    """Return a fit of ours."""

    def fit(rows: Rows, seed: int) -> Fitted:
        model = GradientBoostingSurvival(random_state=seed, n_jobs=1, **parameters)
        model.fit(rows.frame, (rows.time, rows.event))

        def predict(other: Rows, times: Matrix) -> Result:
            risk = model.predict(other.frame)
            curves = model.predict_survival_function(other.frame, times)
            return Result(-risk if model.loss == "aft" else risk, curves.values)

        return predict

    return fit


def scikit_survival(rows: Rows, seed: int) -> Fitted:
    """Fit scikit-survival's gradient boosting with its defaults."""
    from sksurv.ensemble import GradientBoostingSurvivalAnalysis
    from sksurv.util import Surv

    model = GradientBoostingSurvivalAnalysis(random_state=seed)
    numbers, medians = encode(rows.frame)
    model.fit(numbers, Surv.from_arrays(rows.event, rows.time))

    def predict(other: Rows, times: Matrix) -> Result:
        held, _ = encode(other.frame, medians)
        curves = model.predict_survival_function(held)
        return Result(model.predict(held), np.array([curve(times) for curve in curves]))

    return predict


def xgboost_cox(rows: Rows, seed: int) -> Fitted:
    """Fit XGBoost's Cox objective; the baseline hazard is Breslow's, of the training rows."""
    import xgboost

    numbers, medians = encode(rows.frame)
    data = xgboost.DMatrix(numbers, np.where(rows.event, rows.time, -rows.time))
    own = {"objective": "survival:cox", "seed": seed, "nthread": 1}
    model = xgboost.train({**own, "learning_rate": 0.1, "max_depth": 3}, data, ROUNDS)

    def score(other: Rows) -> Matrix:
        held, _ = encode(other.frame, medians)
        found = model.predict(xgboost.DMatrix(held), output_margin=True)
        return np.asarray(found, dtype=np.float64)[:, np.newaxis]

    def predict(other: Rows, times: Matrix) -> Result:
        # XGBoost has no baseline hazard, so it is no part of the time of its fit.
        target = np.zeros(len(rows.time), dtype=TARGET)
        target["time"], target["event"], target["entry"] = rows.time, rows.event, -np.inf
        loss = Cox("breslow")
        fitted = loss.with_learned(loss.learn(target, None, score(rows)))
        own = score(other)
        return Result(own[:, 0], fitted.survival(own, np.zeros(len(own)), times))

    return predict


TARGET = [("entry", "f8"), ("time", "f8"), ("event", "i4"), ("stratum", "i4")]


def xgboost_aft(rows: Rows, seed: int) -> Fitted:
    """Fit XGBoost's AFT objective with its defaults, normal and a scale of 1."""
    import xgboost

    numbers, medians = encode(rows.frame)
    data = xgboost.DMatrix(numbers)
    data.set_float_info("label_lower_bound", rows.time)
    data.set_float_info("label_upper_bound", np.where(rows.event, rows.time, np.inf))
    own = {"objective": "survival:aft", "seed": seed, "nthread": 1}
    model = xgboost.train({**own, "learning_rate": 0.1, "max_depth": 3}, data, ROUNDS)

    def predict(other: Rows, times: Matrix) -> Result:
        held, _ = encode(other.frame, medians)
        found = model.predict(xgboost.DMatrix(held), output_margin=True)
        z = np.log(times) - np.asarray(found, dtype=np.float64)[:, np.newaxis]
        survival = np.exp(TIME_DISTRIBUTIONS["normal"].log_survival(z))
        return Result(-np.asarray(found, dtype=np.float64), survival)

    return predict


CONTENDERS: Mapping[str, Contender] = {
    "stagewise cox": stagewise(),
    "stagewise aft": stagewise(loss="aft"),
    "stagewise discrete_time": stagewise(loss="discrete_time"),
    "stagewise cox, 100 trees": stagewise(**EQUAL_TREES),
    "stagewise aft, 100 trees": stagewise(loss="aft", **EQUAL_TREES),
    "stagewise cox, 1 tree": stagewise(**{**EQUAL_TREES, "n_estimators": 1}),
    "stagewise aft, 1 tree": stagewise(loss="aft", **{**EQUAL_TREES, "n_estimators": 1}),
    "scikit-survival": scikit_survival,
    "XGBoost cox": xgboost_cox,
    "XGBoost aft": xgboost_aft,
}
"""The fits by name."""
