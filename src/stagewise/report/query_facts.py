"""The quality of a ranking for the report page: the distribution over queries, and by rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.inspection.fitted_model import Vector
from stagewise.inspection.quality.query_scores import QueryScores
from stagewise.inspection.quality.scores import Score

__all__ = ["QueryQuality", "query_quality"]

BARS = 20
RANKS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20)
"""The k of the curve of NDCG@k."""
WORST = 20


@dataclass(frozen=True)
class WorstQuery:
    """A query with a low score.

    Attributes
    ----------
    name : str
        Its name.
    n_rows, n_relevant : int
        Its rows, and those that are relevant.
    values : tuple of float
        Its scores.
    """

    name: str
    n_rows: int
    n_relevant: int
    values: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class QueryQuality:
    """The quality of the order of the rows of queries.

    Attributes
    ----------
    scores : tuple of Score
        The means over queries, with confidence limits.
    n_queries, n_left_out : int
        The number of queries, and of those without a relevant row.
    edges, share : float64 arrays
        The histogram of the first score over queries.
    rank, ndcg, low, high, baseline : float64 arrays
        k, the mean NDCG@k with its confidence limits, and that of random orders.
    worst : tuple of WorstQuery
        The queries with the lowest first score.
    """

    scores: tuple[Score, ...]
    n_queries: int
    n_left_out: int
    edges: Vector
    share: Vector
    rank: Vector
    ndcg: Vector
    low: Vector
    high: Vector
    baseline: Vector
    worst: tuple[WorstQuery, ...]


def query_quality(
    target: npt.NDArray[Any],
    names: npt.NDArray[Any],
    score: Vector,
    weight: Vector | None,
    confidence_level: float,
    seed: int,
) -> QueryQuality:
    """Return the quality of the order of rows; the arguments are as of `QueryScores.of_arrays`."""

    def scored(metrics: Any) -> QueryScores:
        return QueryScores.of_arrays(
            *(target, names, score, weight),
            metrics=metrics,
            confidence_level=confidence_level,
            random_state=seed,
        )

    found = scored(None)
    by_rank = scored([f"ndcg@{k}" for k in RANKS]).scores.scores
    first = found.values[:, 0]
    known = ~np.isnan(first)
    edges = np.linspace(0.0, 1.0, BARS + 1)
    share, _ = np.histogram(first[known], bins=edges, weights=found.weight[known])
    order = np.argsort(np.where(known, first, np.inf), kind="stable")[: min(WORST, known.sum())]
    worst = tuple(
        WorstQuery(
            str(found.queries[i]),
            int(found.n_rows[i]),
            int(found.n_relevant[i]),
            tuple(found.values[i].tolist()),
        )
        for i in order
    )
    return QueryQuality(
        scores=found.scores.scores,
        n_queries=len(first),
        n_left_out=int((~known).sum()),
        edges=edges,
        share=share / share.sum(),
        rank=np.array(RANKS, dtype=np.float64),
        ndcg=np.array([own.value for own in by_rank]),
        low=np.array([own.low for own in by_rank]),
        high=np.array([own.high for own in by_rank]),
        baseline=np.array([own.baseline for own in by_rank]),
        worst=worst,
    )
