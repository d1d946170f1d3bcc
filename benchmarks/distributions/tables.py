"""Regression tables with numeric features, divided at random."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

NUMBERS = (
    "abalone",
    "ames_housing",
    "bike_sharing_hour",
    "california_housing",
    "concrete_strength",
    "cpu_act",
    "diamonds",
    "elevators",
    "house_8L",
    "kc_house_sales",
    "medical_cost",
    "pol",
    "power_plant_ccpp",
    "protein_casp",
    "wine_quality",
)


@dataclass(frozen=True)
class Parts:
    """Training rows, rows that stop a fit, and test rows."""

    X: np.ndarray
    y: np.ndarray
    X_stop: np.ndarray
    y_stop: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def read(folder: Path, name: str, seed: int, most: int) -> Parts:
    """Return at most `most` rows: 64 % training, 16 % stopping and 20 % test rows."""
    about = json.loads((folder / "index.json").read_text())[name]
    frame = pd.read_parquet(folder / f"{name}.parquet")
    target = about["targets"][0]
    frame = frame.dropna(subset=[target])
    y = frame[target].to_numpy(np.float64)
    numbers = frame.drop(columns=[*about["targets"], *about["ignore"]]).select_dtypes("number")
    X = numbers.astype(np.float64).fillna(numbers.median()).to_numpy()  # NGBoost reads no NaN
    rows = np.random.default_rng(seed).permutation(len(y))[:most]
    first, second = round(0.64 * len(rows)), round(0.8 * len(rows))
    parts = rows[:first], rows[first:second], rows[second:]
    return Parts(*(own for part in parts for own in (X[part], y[part])))
