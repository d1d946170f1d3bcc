"""A table with a categorical column, made from a table of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from estimators.tables import Table, quick
from stagewise import GradientBoostingRegressor

__all__ = ["NAMES", "ROWS", "cities", "fitted", "frame", "unknown"]

ROWS = 300
NAMES = np.array(["oslo", "rom", "wien", "kyiv", "bonn", "lima", "riga"])


def cities(table: Table) -> list[str | None]:
    """Return seven texts, some of them missing, that depend on the target."""
    codes = table.X[:, 1]
    known = NAMES[np.where(np.isnan(codes), 0, codes).astype(int)]
    return [None if gone else str(name) for name, gone in zip(known, np.isnan(codes), strict=True)]


def frame(table: Table, city: Any = None) -> pd.DataFrame:
    """Return a numeric column, and the cities or other values as a category type."""
    city = cities(table) if city is None else city
    return pd.DataFrame({"x": table.X[:, 0], "city": pd.Series(city, dtype="category")})


def unknown(table: Table) -> pd.DataFrame:
    """Return the same table with an unknown city."""
    return frame(table, ["atlantis" if city == "rom" else city for city in cities(table)])


def fitted(X: Any, table: Table, **params: Any) -> GradientBoostingRegressor:
    """Fit a regressor to the numeric target of a table."""
    return quick(GradientBoostingRegressor, **params).fit(X, table.number)
