"""Competing risks: deaths of flchain by circulatory diseases and by others, against XGBoost's Cox.

    python benchmarks/survival/competing.py DATA [--splits 5]

No peer has competing risks. XGBoost's Cox objective is fitted once for each cause, whose other
deaths are censored; its incidences are sums over the event times, as those of "cause_specific". The
results are written to competing.json and RESULTS.md beside this file.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from report import write_report
from stagewise import GradientBoostingSurvival
from stagewise.kaplan_meier import AalenJohansen, KaplanMeier
from stagewise.metrics.survival import brier_rows, concordance, time_mean

HERE = Path(__file__).parent
SPLITS, TIMES, ROUNDS = 5, 30, 100
CAUSES = (1, 2)
EQUAL_TREES = {"n_estimators": ROUNDS, "learning_rate": 0.1, "max_depth": 3}
Vector = npt.NDArray[np.float64]
Found = tuple[Vector, Vector]
"""The risks of rows, and their incidences at some times, of the first cause."""


class Rows:
    """Rows with a time, and the cause of death: 0 for censored rows."""

    def __init__(self, frame: pd.DataFrame, times: Vector, cause: npt.NDArray[np.int_]) -> None:
        self.frame, self.time, self.cause = frame, times, cause

    def part(self, mask: npt.NDArray[np.bool_]) -> Rows:
        """Return some rows."""
        return Rows(self.frame[mask], self.time[mask], self.cause[mask])

    @property
    def numbers(self) -> Vector:
        """The features as numbers without missing values."""
        numbers = pd.get_dummies(self.frame, drop_first=True, dtype=np.float64)
        return numbers.fillna(numbers.median()).to_numpy(np.float64)


def read(folder: Path) -> Rows:
    """Return the rows of flchain; times of 0 are half a day."""
    table = pd.read_parquet(folder / "surv_flchain.parquet")
    died = table.pop("death").to_numpy() > 0
    circulatory = table.pop("chapter").astype(str).str.contains("Circulatory").to_numpy()
    times = table.pop("futime").to_numpy(np.float64)
    for column in table.select_dtypes(exclude=["number"]):
        table[column] = table[column].astype("category")
    cause = np.where(died, np.where(circulatory, 1, 2), 0)
    return Rows(table, np.where(times > 0, times, 0.5), cause)


def stagewise(loss: str, **parameters: Any) -> Callable[..., Found]:
    """Return a fit of ours."""

    def fit(train: Rows, held: Rows, times: Vector, seed: int) -> tuple[Found, float]:
        own = {"cause": 1} if loss == "fine_gray" else {}
        begin = time.process_time()
        model = GradientBoostingSurvival(
            loss=loss, random_state=seed, n_jobs=1, **own, **parameters
        ).fit(train.frame, (train.time, train.cause))
        seconds = time.process_time() - begin
        risk = model.predict(held.frame)
        curves = model.predict_cumulative_incidence(held.frame, times)
        return (risk if risk.ndim == 1 else risk[:, 0], curves.of_cause(1)), seconds

    return fit


def xgboost(train: Rows, held: Rows, times: Vector, seed: int) -> tuple[Found, float]:
    """Fit a Cox model for each cause."""
    import xgboost as xgb

    scores: dict[int, Found] = {}
    seconds = 0.0
    for cause in CAUSES:
        label = np.where(train.cause == cause, train.time, -train.time)
        begin = time.process_time()
        data = xgb.DMatrix(train.numbers, label)
        own = {"objective": "survival:cox", "seed": seed, "nthread": 1}
        model = xgb.train({**own, "learning_rate": 0.1, "max_depth": 3}, data, ROUNDS)
        seconds += time.process_time() - begin
        of_train, of_held = (
            np.asarray(model.predict(xgb.DMatrix(rows.numbers), output_margin=True), np.float64)
            for rows in (train, held)
        )
        scores[cause] = of_train, of_held
    return (scores[1][1], _incidence(train, scores, times)), seconds


def _incidence(train: Rows, scores: dict[int, Found], times: Vector) -> Vector:
    """Return the incidence of the first cause from Breslow's hazards of both."""
    grid = np.unique(train.time[train.cause > 0])
    order = np.argsort(train.time)
    first_at_risk = np.searchsorted(train.time[order], grid)
    steps = {}
    for cause, (of_train, _) in scores.items():
        at_risk = np.cumsum(np.exp(of_train[order])[::-1])[::-1][first_at_risk]
        events = np.bincount(
            np.searchsorted(grid, train.time[train.cause == cause]), minlength=len(grid)
        )
        steps[cause] = events / at_risk
    found = []
    for row in range(len(scores[1][1])):
        own = {cause: steps[cause] * np.exp(scores[cause][1][row]) for cause in CAUSES}
        both = own[1] + own[2]
        survival = np.exp(-(np.cumsum(both) - both))  # before each time
        found.append(np.cumsum(survival * own[1]))
    curves = np.column_stack([np.zeros(len(found)), np.array(found)])
    return curves[:, np.searchsorted(grid, times, side="right")]


CONTENDERS: dict[str, Callable[..., Any]] = {
    "stagewise cause_specific": stagewise("cause_specific"),
    "stagewise fine_gray": stagewise("fine_gray"),
    "stagewise cause_specific, 100 trees": stagewise("cause_specific", **EQUAL_TREES),
    "stagewise fine_gray, 100 trees": stagewise("fine_gray", **EQUAL_TREES),
    "XGBoost cox of each cause": xgboost,
}


def quality(found: Found, train: Rows, held: Rows, times: Vector) -> dict[str, float]:
    """Return the C-index and the integrated Brier score of the first cause."""
    risk, incidence = found
    event, other = held.cause == 1, held.cause > 1
    censoring = KaplanMeier.of(None, train.time, train.cause > 0, censoring=True)
    errors = brier_rows(censoring, held.time, event, incidence, times, other)
    return {
        "harrell": concordance(np.where(other, np.inf, held.time), event, risk),
        "brier": time_mean(errors.mean(axis=0), times),
    }


def main() -> None:
    """Measure every model on random divisions of the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--splits", type=int, default=SPLITS)
    given = parser.parse_args()
    rows = read(given.data)
    results: dict[str, dict[str, dict[str, float]]] = {}
    for seed in range(given.splits):
        held_out = np.random.default_rng(seed).random(len(rows.time)) < 0.3
        train, held = rows.part(~held_out), rows.part(held_out)
        times = np.linspace(*np.quantile(train.time[train.cause == 1], [0.1, 0.9]), TIMES)
        for name, fit in CONTENDERS.items():
            found, seconds = fit(train, held, times, seed)
            own = {**quality(found, train, held, times), "seconds": seconds}
            results.setdefault(name, {})[str(seed)] = own
            print(seed, name, own, flush=True)
        curve = AalenJohansen.of(None, train.time, train.cause == 1, train.cause > 1).at(times)
        both = np.zeros(len(held.time)), np.broadcast_to(curve, (len(held.time), TIMES))
        own = {**quality(both, train, held, times), "seconds": 0.0}
        results.setdefault("one curve for all rows", {})[str(seed)] = own
    (HERE / "competing.json").write_text(json.dumps(results, indent=1) + "\n")
    write_report(json.loads((HERE / "results.json").read_text()), HERE / "RESULTS.md", results)


if __name__ == "__main__":
    main()
