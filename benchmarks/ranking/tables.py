"""The tables of the benchmark: two real ones, read by path, and a simulated click log."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["NAMES", "Queries", "read"]

Array = npt.NDArray[Any]
NAMES = ("lightgbm_rank", "catboost_querywise", "clicks")
HELD_OUT = 1 / 3
CLICK_QUERIES = 1200


@dataclass(frozen=True)
class Queries:
    """Rows of queries, sorted by query.

    Attributes
    ----------
    X : float64 array
        The features.
    label : int array
        The grades, or the clicks, that models are fitted to.
    truth : float64 array
        The relevance by which they are measured.
    qid : int array
        The queries.
    position : int array or None
        Where rows were shown.
    """

    X: Array
    label: Array
    truth: Array
    qid: Array
    position: Array | None = None

    def __getitem__(self, rows: Array) -> Queries:
        shown = None if self.position is None else self.position[rows]
        return Queries(self.X[rows], self.label[rows], self.truth[rows], self.qid[rows], shown)

    def split(self, seed: int) -> tuple[Queries, Queries]:
        """Return training queries, and a third of the queries, held out at random."""
        names = np.unique(self.qid)
        rng = np.random.default_rng(seed)
        held = rng.choice(names, round(HELD_OUT * len(names)), replace=False)
        is_held = np.isin(self.qid, held)
        return self[~is_held], self[is_held]


def read(name: str, folder: Path) -> Queries:
    """Return a table; `folder` has the real ones as Parquet files."""
    if name == "clicks":
        return simulated_clicks()
    import pandas as pd

    frame = pd.read_parquet(folder / f"{name}.parquet").sort_values("qid", kind="stable")
    X = frame.drop(columns=["relevance", "qid", "split"]).to_numpy(np.float64)
    relevance, qid = frame["relevance"].to_numpy(np.float64), frame["qid"].to_numpy()
    # Grades of 0 to 4: its relevance is a fraction, and LightGBM needs integers.
    if name == "catboost_querywise":
        relevance = np.digitize(relevance, [0.01, 0.1, 0.2, 0.5]).astype(np.float64)
    return Queries(X, relevance.astype(np.int64), relevance, qid)


def simulated_clicks(n_queries: int = CLICK_QUERIES, seed: int = 0) -> Queries:
    """Return clicks on lists of 10 to 40 rows, measured by the true grades.

    Rows are shown in the order of a poor ranker. A row at rank r is examined with probability
    1 / √r, and clicked with a probability that grows with its grade.
    """
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), rng.integers(10, 41, n_queries))
    n = len(qid)
    X = rng.normal(size=(n, 30))
    score = X[:, 0] + X[:, 1] * X[:, 2] + np.sin(2 * X[:, 3]) + 0.5 * X[:, 4] + rng.normal(size=n)
    grade = np.digitize(score, [0.0, 1.0, 2.0, 3.0])
    poor = X[:, 0] + X[:, 5] + rng.normal(size=n)
    order = np.lexsort((-poor, qid))
    starts = np.flatnonzero(np.r_[True, np.diff(qid) > 0])
    position = np.empty(n, np.int64)
    position[order] = np.arange(n) - np.repeat(starts, np.diff(np.r_[starts, n])) + 1
    clicked = rng.random(n) < (0.05 + 0.9 * grade / 4) / np.sqrt(position)
    return Queries(X, clicked.astype(np.int64), grade.astype(np.float64), qid, position)
