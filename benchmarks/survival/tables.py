"""The tables of the survival benchmark, and their splits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from contenders import Rows

__all__ = ["TABLES", "read_table", "split"]

TABLES: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "flchain": ("futime", "death", ("chapter",)),
    "gbsg2": ("time", "cens", ()),
    "metabric": ("time", "event", ("split",)),
    "rossi": ("week", "arrest", ()),
    "veteran": ("Survival_in_days", "Status", ()),
    "whas500": ("lenfol", "fstat", ()),
}
"""The columns of the time and of the event, and columns that are left out."""
HELD = 0.3
"""The share of the rows that is held out, of rows with an event and of censored rows."""


def read_table(folder: Path, name: str) -> Rows:
    """Return the rows of a table; times of 0 are half a unit, since AFT needs their logarithm."""
    time, event, ignored = TABLES[name]
    table = pd.read_parquet(folder / f"surv_{name}.parquet").drop(columns=[*ignored])
    times = table.pop(time).to_numpy(np.float64)
    events = table.pop(event).to_numpy() > 0
    for column in table.select_dtypes(exclude=["number"]):
        table[column] = table[column].astype("category")
    return Rows(table, np.where(times > 0, times, 0.5), events)


def split(rows: Rows, seed: int) -> tuple[Rows, Rows]:
    """Return training rows and held-out rows, stratified by event."""
    rng = np.random.default_rng(seed)
    held = np.zeros(len(rows.time), dtype=bool)
    for kind in (False, True):
        own = rng.permutation(np.flatnonzero(rows.event == kind))
        held[own[: round(HELD * len(own))]] = True
    return _part(rows, ~held), _part(rows, held)


def _part(rows: Rows, mask: Any) -> Rows:
    return Rows(rows.frame[mask], rows.time[mask], rows.event[mask])
