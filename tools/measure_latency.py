"""Time of one prediction, by the type of the row. Prints the table of docs/serving.md.

Each time is the minimum of many repetitions: other processes of the machine only add to it. The
general path, which reads any table, is measured beside the path of few rows in the same run.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from stagewise import GradientBoostingClassifier
from stagewise.data.few_rows import FewRows

__all__ = ["cases", "measure", "table_row"]

N_ROWS = 4_000


def training_rows(n_categories: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return eight categorical and four numeric columns, and two classes."""
    rng = np.random.default_rng(0)
    words = np.array([f"word {code}" for code in range(n_categories)])
    texts = {f"c{j}": pd.Categorical(rng.choice(words, N_ROWS), words) for j in range(8)}
    X = pd.DataFrame(texts | {f"x{j}": rng.normal(size=N_ROWS) for j in range(4)})
    return X, np.asarray(X["x0"] + X["x1"] + (X["c0"].cat.codes % 2) > 0.5)


def model() -> GradientBoostingClassifier:
    return GradientBoostingClassifier(n_estimators=100, n_jobs=1)


def cases() -> dict[str, Callable[[], Any]]:
    """Return functions that predict one row, by the description of the row."""
    found: dict[str, Callable[[], Any]] = {}
    numbers = np.random.default_rng(1).normal(size=(N_ROWS, 28))
    of_array = model().fit(numbers, numbers[:, 0] + numbers[:, 1] > 0)
    array = numbers[:1].copy()
    found["numpy, 28 float64 columns"] = lambda: of_array.predict_proba(array)
    for n_categories in (10, 1_000):
        X, y = training_rows(n_categories)
        of_frame = model().fit(X, y)
        one = X[:1]
        rows: dict[str, Any] = {
            "dict": one.to_dict("records")[0],
            "polars": pl.from_pandas(one),
            "pandas": one,
        }
        for name, row in rows.items():
            found[f"{name}, 8 columns of {n_categories:,} categories and 4 float64 columns"] = (
                lambda row=row, of_frame=of_frame: of_frame.predict_proba(row)
            )
    return found


def measure(predict: Callable[[], Any], number: int = 50, repeat: int = 60) -> float:
    """Return the time of a call in microseconds: the minimum of `repeat` means of `number`."""
    return min(timeit.repeat(predict, number=number, repeat=repeat)) / number * 1e6


def measure_general(predict: Callable[[], Any], **counts: int) -> float:
    """Return the time of a call that does not read rows cell by cell."""
    encode = FewRows.encode
    FewRows.encode = lambda self, X: None  # type: ignore[method-assign]
    try:
        return measure(predict, **counts)
    finally:
        FewRows.encode = encode  # type: ignore[method-assign]


def table_row(name: str, few: float, general: float) -> str:
    """Return a row of the table of the page."""
    return f"| {name} | {few:,.0f} µs | {general:,.0f} µs |"


if __name__ == "__main__":
    print("| one row | time | general path |\n|---|---|---|")
    for case, predict in cases().items():
        print(table_row(case, measure(predict), measure_general(predict, number=10)))
