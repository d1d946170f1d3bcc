"""The table of motor third-party liability policies, freMTPL2, and its division into rows.

678,013 French policies (Dutang & Charpentier, R package CASdatasets). As usual with these data,
claims are limited to 4 per policy, exposures to 1 year, and amounts to 200,000 per policy.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

FEATURES = [
    "Area",
    "VehPower",
    "VehAge",
    "DrivAge",
    "BonusMalus",
    "VehBrand",
    "VehGas",
    "Density",
    "Region",
]
CATEGORICAL = ["Area", "VehBrand", "VehGas", "Region"]
MOST_CLAIMS, MOST_YEARS, MOST_AMOUNT = 4, 1.0, 200_000.0


class Parts(NamedTuple):
    """The policies of a split: to fit, to stop early, and to measure."""

    fit: pd.DataFrame
    stop: pd.DataFrame
    test: pd.DataFrame

    @property
    def train(self) -> pd.DataFrame:
        """All policies that are not measured."""
        return pd.concat([self.fit, self.stop])


def read_policies(folder: Path) -> pd.DataFrame:
    """Return the policies: features, Exposure, ClaimNb, ClaimAmount and ClaimCountSev."""
    table = pd.read_parquet(folder / "freMTPL2.parquet")
    table["Exposure"] = table["Exposure"].clip(upper=MOST_YEARS)
    table["ClaimNb"] = table["ClaimNb"].clip(upper=MOST_CLAIMS).astype(float)
    table["ClaimAmount"] = table["ClaimAmount"].clip(upper=MOST_AMOUNT)
    for name in CATEGORICAL:
        table[name] = table[name].astype("category")
    return table


def split(table: pd.DataFrame, seed: int) -> Parts:
    """Return 72 % of the policies to fit, 8 % to stop early and 20 % to measure, at random."""
    order = np.random.default_rng(seed).permutation(len(table))
    n_test, n_stop = len(table) // 5, len(table) * 2 // 25
    places = np.split(order, [n_test, n_test + n_stop])
    test, stop, fit = (table.iloc[np.sort(own)] for own in places)
    return Parts(fit, stop, test)
