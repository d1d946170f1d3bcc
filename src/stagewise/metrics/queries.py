"""Metrics of rankings: NDCG, MAP, MRR and ERR, query by query.

y is a structured array with the fields "gain" and "query". The mean over queries leaves out those
without a relevant row, for which the metrics are not defined. Of rows with equal scores, the least
relevant one comes first, except for NDCG, where they have each of their ranks equally often.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.exact_sums import mean_rows

__all__ = ["RANKING_NAMES", "QueryMetric", "RankedQueries", "parse_ranking_name", "uses_gains"]

Vector = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]

RANKING_NAMES = ("ndcg", "map", "mrr", "err")
"""The metrics without a rank; "ndcg@10" counts the first ten rows of each query."""
_NAME = re.compile(rf"({'|'.join(RANKING_NAMES)})(?:@([1-9][0-9]{{0,8}}))?")


def parse_ranking_name(name: str) -> tuple[str, int | None] | None:
    """Return the kind and the rank of a name such as "ndcg@10"; None: it is no such name."""
    found = _NAME.fullmatch(name)
    return None if found is None else (found[1], int(found[2]) if found[2] else None)


def uses_gains(name: str) -> bool:
    """Return whether a metric depends on the size of gains, which then must not be negative."""
    found = parse_ranking_name(name)
    return found is not None and found[0] in ("ndcg", "err")


@dataclass(frozen=True)
class RankedQueries:
    """The rows of queries in the order of their scores.

    Attributes
    ----------
    queries : int array
        The codes of the queries, sorted.
    starts : intp array
        The first row of each query, in this order.
    query : intp array
        The place of the query of each row.
    rank : intp array
        The rank of each row in its query, from 1.
    gain, score : float64 array
        The gains and the scores of the rows.
    rows : intp array
        The numbers of the rows.
    """

    queries: npt.NDArray[Any]
    starts: Codes
    query: Codes
    rank: Codes
    gain: Vector
    score: Vector
    rows: Codes

    @classmethod
    def of(cls, y: npt.NDArray[Any], score: Vector) -> RankedQueries:
        """Return the rows in the order of query, descending score and ascending gain."""
        rows = np.lexsort((y["gain"], -score, y["query"]))
        code = y["query"][rows]
        first = np.flatnonzero(np.r_[True, code[1:] != code[:-1]])
        sizes = np.diff(np.r_[first, len(code)])
        query = np.repeat(np.arange(len(first)), sizes)
        rank = np.arange(len(code)) - first[query] + 1
        gain = np.ascontiguousarray(y["gain"][rows])
        return cls(code[first], first, query, rank, gain, score[rows], rows)

    @property
    def sizes(self) -> Codes:
        """The number of rows of each query."""
        return np.asarray(np.diff(np.r_[self.starts, len(self.rows)]))

    @property
    def is_measured(self) -> npt.NDArray[np.bool_]:
        """Whether a query has a relevant row."""
        return np.asarray(np.maximum.reduceat(self.gain, self.starts) > 0)

    def values(self, kind: str, k: int | None) -> Vector:
        """Return a metric of every query, NaN where it is not defined."""
        found = getattr(self, f"_{kind}")(k)
        return np.where(self.is_measured, found, np.nan)

    def _sums(self, values: Vector) -> Vector:
        return np.asarray(np.add.reduceat(values, self.starts))

    def _within(self, values: Vector, k: int | None) -> Vector:
        return values if k is None else np.where(self.rank <= k, values, 0.0)

    def _before(self, values: Vector) -> Vector:
        """Return the sums of the values of the rows up to each one, in its query."""
        sums = np.cumsum(values)
        return np.asarray(sums - (sums[self.starts] - values[self.starts])[self.query])

    def _ndcg(self, k: int | None) -> Vector:
        """Return DCG / DCG of the best order, DCG = Σ gain / log2(1 + rank)."""
        discount = self._within(1.0 / np.log2(1.0 + self.rank), k)
        order = np.lexsort((-self.gain, self.query))
        best = self._sums(self.gain[order] * discount)
        new = np.r_[True, (self.score[1:] != self.score[:-1]) | (np.diff(self.query) != 0)]
        tie = np.flatnonzero(new)
        shared = np.add.reduceat(discount, tie) / np.diff(np.r_[tie, len(discount)])
        own = self._sums(self.gain * shared[np.cumsum(new) - 1])
        return np.divide(own, best, out=np.zeros_like(own), where=best > 0)

    def _map(self, k: int | None) -> Vector:
        """Return the mean precision at the ranks of the relevant rows, at most k of them."""
        hit = (self.gain > 0).astype(np.float64)
        precision = self._within(hit * self._before(hit) / self.rank, k)
        relevant = self._sums(hit)
        most = relevant if k is None else np.minimum(relevant, k)
        return np.asarray(self._sums(precision) / np.maximum(most, 1.0))

    def _mrr(self, k: int | None) -> Vector:
        """Return 1 / rank of the first relevant row, 0 beyond rank k."""
        inverse = self._within(np.where(self.gain > 0, 1.0 / self.rank, 0.0), k)
        return np.asarray(np.maximum.reduceat(inverse, self.starts))

    def _err(self, k: int | None) -> Vector:
        """Return Σ_r 1/r R_r Π_{s<r} (1 - R_s), R = gain / (1 + largest gain)."""
        stops = self.gain / (1.0 + self.gain.max())
        log = np.log1p(-stops)
        reached = np.exp(self._before(log) - log)
        return self._sums(self._within(reached * stops / self.rank, k))


@dataclass(frozen=True)
class QueryMetric:
    """The mean of a metric over queries, as a function (y, score, weight).

    Attributes
    ----------
    kind : str
        One of `RANKING_NAMES`.
    k : int or None
        The number of rows of a query that count; None: all.
    """

    kind: str
    k: int | None = None

    def __call__(self, y: npt.NDArray[Any], score: Vector, weight: Vector | None) -> float:
        """Return the weighted mean over the queries; NaN if it is defined for none of them."""
        if weight is not None and not weight.min() > 0:
            kept = weight > 0
            y, score, weight = y[kept], score[kept], weight[kept]
        ranked = RankedQueries.of(y, np.asarray(score, dtype=np.float64).reshape(-1))
        values = ranked.values(self.kind, self.k)
        measured = ranked.is_measured
        if not measured.any():
            return float("nan")
        own = None if weight is None else weight[ranked.rows[ranked.starts]][measured]
        return mean_rows(np.ascontiguousarray(values[measured]), own)
