"""The tables that accuracy is measured on: real ones with categories, read from a folder.

One idea: a table is a frame whose text columns are categories, a target and a task; which columns
are what is said by the index.json that lies beside the tables. Nothing here knows any library.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

MOST_ROWS = 60_000  # of a table; more are drawn from

# By how many levels their largest category has: these have hundreds or more.
MANY_LEVELS = ("airline_delay_100k", "hotel_bookings", "insteval_ratings", "kc_house_sales",
               "nyc_flights13", "uk_used_cars")  # fmt: skip
FEW_LEVELS = ("adult", "ames_housing", "bank_marketing", "car_evaluation", "diamonds",
              "german_credit", "krkopt", "nursery", "telco_churn", "titanic_kaggle")  # fmt: skip
# Whole numbers that name something, by table.
CODES = {
    "insteval_ratings": ("s", "d", "dept", "studage", "lectage", "service"),
    "kc_house_sales": ("zipcode",),
    "nyc_flights13": ("flight", "carrier", "tailnum", "origin", "dest", "month", "day"),
}


@dataclass(frozen=True)
class Table:
    """One table: features, target (codes of classes or numbers), and what it is."""

    name: str
    X: pd.DataFrame
    y: np.ndarray
    task: str  # "binary", "classes" or "regression"

    def splits(self, n: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield (training, test) rows, three quarters and one, the classes alike."""
        for seed in range(n):
            rng = np.random.default_rng([seed, len(self.y)])
            order = rng.permutation(len(self.y))
            if self.task != "regression":
                order = order[np.argsort(self.y[order], kind="stable")]
            test = np.zeros(len(order), dtype=bool)
            test[seed % 4 :: 4] = True
            yield np.sort(order[~test]), np.sort(order[test])


def read_table(folder: Path, name: str) -> Table:
    facts = json.loads((folder / "index.json").read_text())[name]
    frame = pd.read_parquet(folder / f"{name}.parquet")
    target = facts["targets"][0]
    frame = frame[frame[target].notna()]
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=0)
    X = frame.drop(columns=[target, *facts["targets"][1:], *facts["ignore"]])
    for column in X.columns:
        kind = X[column].dtype
        if column in CODES.get(name, ()) or not (
            pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_bool_dtype(kind)
        ):
            X[column] = X[column].astype("string").astype("category")
    values: Any = frame[target]
    if facts["task"].startswith("regression"):
        return Table(name, X.reset_index(drop=True), values.to_numpy(np.float64), "regression")
    labels, y = np.unique(values.astype(str), return_inverse=True)
    # A class must be on both sides of every split.
    common = np.bincount(y)[y] >= 20
    y = np.unique(y[common], return_inverse=True)[1]
    X = X[common].reset_index(drop=True)
    return Table(name, X, y, "binary" if len(labels) == 2 else "classes")
