"""Rows of the benchmarks: divisions of a table, times, and tables of Markdown."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["divide", "table", "timed"]


def table(rows: list[dict[str, Any]], columns: list[str]) -> list[str]:
    """Return rows as a Markdown table."""
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    return lines + ["| " + " | ".join(str(row[c]) for c in columns) + " |" for row in rows]


def timed(fit: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of a function and its processor seconds."""
    begin = time.process_time()
    found = fit()
    return found, time.process_time() - begin


def divide(frame: pd.DataFrame, y: np.ndarray, seed: int) -> list[tuple[pd.DataFrame, np.ndarray]]:
    """Return training, held-out and test rows."""
    order = np.random.default_rng(seed).permutation(len(y))
    test, rest = np.split(order, [len(y) // 4])
    held, train = np.split(rest, [int(0.15 * len(rest))])
    return [(frame.iloc[rows], y[rows]) for rows in (train, held, test)]
