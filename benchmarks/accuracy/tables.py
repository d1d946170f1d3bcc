"""The tables on which accuracy is measured, read from a folder with an index.json.

A table is a data frame whose text columns are categorical, a target and a task. All tables of the
folder with one numeric target or one class target are used. This module does not depend on any
library that is measured.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["Table", "read_table", "table_names"]

TASKS = ("regression", "binary", "multiclass")
# Counts with an exposure need an offset; its amounts are in a table of their own.
EXCLUDED = frozenset({"freMTPL2"})
# Columns of whole numbers that are identifiers, by table.
CODES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "insteval_ratings": ("s", "d", "dept", "studage", "lectage", "service"),
        "kc_house_sales": ("zipcode",),
        "nyc_flights13": ("flight", "carrier", "tailnum", "origin", "dest", "month", "day"),
    }
)
MIN_CLASS_ROWS = 8
"""Rarer classes are left out, so that every class is in both parts of every split."""


@dataclass(frozen=True)
class Table:
    """A table: features, target and task.

    Attributes
    ----------
    name : str
        Its name in the index.
    X : DataFrame
        The features.
    y : array
        Numbers, or codes of classes.
    task : {"regression", "binary", "multiclass"}
        The task.
    """

    name: str
    X: pd.DataFrame
    y: np.ndarray
    task: str

    def split(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return training and test rows, three quarters and one, with the same class shares."""
        rng = np.random.default_rng([number, len(self.y)])
        order = rng.permutation(len(self.y))
        if self.task != "regression":
            order = order[np.argsort(self.y[order], kind="stable")]
        test = np.zeros(len(order), dtype=bool)
        test[number % 4 :: 4] = True
        return np.sort(order[~test]), np.sort(order[test])

    def facts(self) -> dict[str, Any]:
        """Return what the strata of the report are made of."""
        categories = [self.X[c].nunique() for c in self.X.columns if self.X[c].dtype == "category"]
        return {
            "task": self.task,
            "rows": len(self.y),
            "features": self.X.shape[1],
            "most_categories": max(categories, default=0),
            "classes": 0 if self.task == "regression" else len(np.unique(self.y)),
        }


def table_names(folder: Path) -> list[str]:
    """Return the names of the usable tables of a folder, smallest first."""
    index = json.loads((folder / "index.json").read_text())
    usable = [
        name
        for name, facts in index.items()
        if facts["task"].split()[0].rstrip(":") in TASKS and name not in EXCLUDED
    ]
    return sorted(usable, key=lambda name: index[name]["rows"])


def read_table(folder: Path, name: str, most_rows: int) -> Table:
    """Read a table; of a longer one, draw `most_rows` rows."""
    facts = json.loads((folder / "index.json").read_text())[name]
    frame = pd.read_parquet(folder / f"{name}.parquet")
    target = facts["targets"][0]
    frame = frame[frame[target].notna()]
    if len(frame) > most_rows:
        frame = frame.sample(most_rows, random_state=0)
    X = frame.drop(columns=[*facts["targets"], *facts["ignore"]])
    codes = CODES.get(name, ())
    for column in X.columns:
        if column in codes or not pd.api.types.is_numeric_dtype(X[column].dtype):
            X[column] = X[column].astype("string").astype("category")
        else:
            X[column] = X[column].astype(np.float64)
    if facts["task"].startswith("regression"):
        y = frame[target].to_numpy(np.float64)
        return Table(name, X.reset_index(drop=True), y, "regression")
    y = np.unique(frame[target].astype(str), return_inverse=True)[1]
    common = np.bincount(y)[y] >= MIN_CLASS_ROWS
    labels, y = np.unique(y[common], return_inverse=True)
    task = "binary" if len(labels) == 2 else "multiclass"
    return Table(name, X[common].reset_index(drop=True), y, task)
