"""Losses of rankings: all rows of a query are evaluated together.

y is a structured array with the fields "gain" and "query" (`QueryReader`), perhaps "position". A
score that is added to all rows of a query changes nothing, so the best constant is 0. The mean loss
is that of queries, in which each query counts by the weight of its rows, or (`counts_rows`) that of
rows. Each docstring: domain, link, formula, hessian.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from stagewise._native import QueryLoss, Workers
from stagewise.exact_sums import mean_rows
from stagewise.losses.base import Loss
from stagewise.losses.bound_loss import BoundLoss
from stagewise.losses.kernel import NativeBoundLoss
from stagewise.losses.query_bound_loss import POSITION, QueryBoundLoss
from stagewise.losses.regression import check_positive
from stagewise.losses.scores import Matrix, Vector
from stagewise.validation.arguments import check_argument
from stagewise.validation.rules import Number

__all__ = [
    "RANKING_LOSSES",
    "LambdaMap",
    "LambdaNdcg",
    "ListwiseSoftmax",
    "PairwiseLogistic",
    "QuerySquaredError",
    "RankingLoss",
    "XeNdcg",
    "YetiRank",
]

USUAL_EXPONENTS = range(1, 6)
"""Losses that depend on the size of gains use them as they are if the largest is from 1 to 31."""
USUAL_EXPONENT = 4
"""Other gains are divided so that the largest is nearly 2^4, that of five grades."""
LARGEST_EXPONENT = 60
"""Relevance is fitted itself if its differences within queries are about 2^-60 to 2^60."""
LEAST_GAIN = 2.0**-100


class RankingLoss(Loss):
    """The base class of the losses of rankings."""

    task: Literal["ranking"] = "ranking"
    metric: str
    """The name of the native kernel."""
    corrects_position = True
    """Whether the biases of positions are estimated; not for rows that are only measured."""
    truncation: int | None = None
    sigmoid: float = 1.0
    normalize: bool = False
    n_orders: int = 1
    decay: float = 1.0
    position_regularization: float = 0.0
    counts_rows: bool = False
    """Whether the mean loss is that of rows, so that a query counts by the number of its rows."""
    uses_differences = False
    """Whether only differences of gains matter, so that the relevance may be negative."""
    largest_bias_step: float = 1.0
    """The largest Newton step of the bias of a position."""

    def query_loss(self, y: npt.NDArray[Any]) -> QueryLoss:
        """Return the native loss of rows."""
        codes = np.unique(y["query"], return_inverse=True)[1].astype(np.int32).reshape(-1)
        return QueryLoss(
            np.ascontiguousarray(self._scaled_gains(y["gain"], codes)),
            codes,
            self.metric,
            sigmoid=self.sigmoid,
            truncation=self.truncation or 0,
            normalise=self.normalize,
            orders=self.n_orders,
            decay=self.decay,
        )

    def _scaled_gains(self, gain: Vector, codes: npt.NDArray[np.int32]) -> Vector:
        """Return gains as the core has them, in float32: divided by a power of two.

        Only ratios of the gains of a query matter, so each query has a largest gain near 1.
        """
        largest = np.zeros(int(codes.max(initial=-1)) + 1)
        np.maximum.at(largest, codes, gain)
        return np.asarray(np.ldexp(gain, -np.frexp(largest)[1][codes]))

    def loss(self, y: npt.NDArray[Any], score: Matrix) -> Vector:
        """Return the loss of the query of every row, with a factor.

        It makes the mean over rows that of the loss, over queries or over rows of queries that are
        measured.
        """
        bound = QueryBoundLoss(self.measured_only(), Workers(1), y, None)
        own = bound.losses(np.asarray(score, dtype=np.float64).reshape(-1))
        counts, total = bound.counts, max(1.0, float(bound.counts.sum()))
        factor = counts * (len(y) / total) / np.bincount(bound.codes, minlength=len(own))
        return np.asarray((own * factor)[bound.codes])

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        bound = QueryBoundLoss(self.measured_only(), Workers(1), y, None)
        bound.losses(np.asarray(score, dtype=np.float64).reshape(-1))
        return bound.gradient.copy(), bound.hessian.copy()

    def best_constant(self, y: npt.NDArray[Any], weight: Vector | None) -> Vector:
        return np.zeros(1)

    def best_constant_with_offset(
        self, y: npt.NDArray[Any], weight: Vector | None, offset: Matrix
    ) -> Vector:
        return np.zeros(1)

    def check(self, y: npt.NDArray[Any]) -> None:
        """Raise ValueError if no query has two rows of different gains."""
        order = np.argsort(y["query"], kind="stable")
        query, gain = y["query"][order], y["gain"][order]
        if not ((query[1:] == query[:-1]) & (gain[1:] != gain[:-1])).any():
            n = len(np.unique(query))
            raise ValueError(
                f"nothing can be ranked: none of the {n} queries ({len(y)} rows) has rows of "
                "different relevance. Check that qid has the same value for all rows of a query."
            )

    def with_positions(self, y: npt.NDArray[Any]) -> RankingLoss:
        """Return the loss of rows; it learns the biases of their positions, if they have some."""
        own = copy.copy(self)
        own.learns = POSITION in (y.dtype.names or ())
        return own

    def measured_only(self) -> RankingLoss:
        """Return the loss of rows that are not fitted: positions do not matter."""
        own = copy.copy(self)
        own.corrects_position = False
        return own

    def evaluation(self) -> Loss:
        return self.measured_only()

    def bind(self, workers: Workers, y: npt.NDArray[Any], weight: Vector | None) -> BoundLoss:
        bound = QueryBoundLoss(self, workers, y, weight)
        if bound.bias is not None:
            return bound
        return NativeBoundLoss(workers, bound.row_loss())

    def learn(
        self, y: npt.NDArray[Any], weight: Vector | None, score: Matrix
    ) -> dict[str, npt.NDArray[np.float64]]:
        """Return the biases of positions at the last scores; empty: there are no positions."""
        if POSITION not in (y.dtype.names or ()):
            return {}
        bound = QueryBoundLoss(self, Workers(1), y, weight)
        assert bound.bias is not None
        bound.bias.estimate(bound, np.asarray(score, dtype=np.float64).reshape(-1))
        return {"position": bound.bias.positions, "position_bias": bound.bias.values}


def _check_truncation(truncation: int | None) -> int | None:
    if truncation is None:
        return None
    if isinstance(truncation, bool) or int(truncation) != truncation or truncation < 1:
        raise ValueError(
            f"truncation must be a whole number of at least 1, or None; got {truncation}."
        )
    return int(truncation)


class _PairLoss(RankingLoss):
    """Losses of pairs of rows, weighted by the change of a metric."""

    parameter_names = ("truncation", "sigmoid", "normalize", "position_regularization")

    def __init__(
        self,
        truncation: int | None = 30,
        sigmoid: float = 1.0,
        normalize: bool = True,
        position_regularization: float = 0.0,
    ) -> None:
        self.truncation = _check_truncation(truncation)
        self.sigmoid = check_positive("sigmoid", sigmoid)
        self.normalize = bool(normalize)
        self.position_regularization = _check_regularization(position_regularization)


def _common_unit(gain: Vector) -> Vector:
    """Return gains divided by a power of two, unless the largest has an ordinary size.

    The losses of pairs and of gains with random numbers depend on the size of gains.
    """
    exponent = int(np.frexp(np.abs(gain).max(initial=0.0))[1])
    return gain if exponent in USUAL_EXPONENTS else np.ldexp(gain, USUAL_EXPONENT - exponent)


def _centred_gains(y: npt.NDArray[Any]) -> Vector:
    """Return the gains without the mean of their query; inf if they are too large."""
    query = y["query"]
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.bincount(query, y["gain"]) / np.maximum(1, np.bincount(query))
        centred = y["gain"] - mean[query]
    return np.where(np.isfinite(centred), centred, math.inf)


def _check_regularization(value: float) -> float:
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"position_regularization must be a number of at least 0; got {value}.")
    return float(value)


class LambdaNdcg(_PairLoss):
    """LambdaMART for NDCG: logistic losses of pairs, times the change of NDCG by their swap.

    Domain: gains of at least 0. Link: identity.

        ∂L/∂F_i = -σ Σ_j d_ij p_ij,  p_ij = 1 / (1 + exp(σ (F_i - F_j))),  gain_i > gain_j
        d_ij = |gain_i - gain_j| |D(rank_i) - D(rank_j)| / DCG_max,  D(r) = 1 / log2(1 + r)

    (Burges 2010, section 7.) The loss that is reported is 1 - NDCG@truncation. Hessian:
    σ² Σ_j d_ij p_ij (1 - p_ij).

    Parameters
    ----------
    truncation : int or None, default=30
        A pair has a row of at most this rank; ranks above it have D = 0. None: all pairs.
    sigmoid : float, default=1.0
        σ.
    normalize : bool, default=True
        Divide d_ij by 0.01 + σ |F_i - F_j|, and the gradients of a query by S / log2(1 + S), with S
        the sum of all |gradients|, as LightGBM does.
    position_regularization : float, default=0.0
        The penalty of the biases of positions; see docs/ranking.md.
    """

    name = "ndcg"
    metric = "ndcg"


class LambdaMap(_PairLoss):
    """LambdaMART for the mean average precision: relevant rows are those of a gain above 0.

    Domain: gains of at least 0. Link: identity.

        As `LambdaNdcg`, with d_ij the change of the average precision by the swap of i and j.

    The loss that is reported is 1 - MAP. Hessian: σ² Σ_j d_ij p_ij (1 - p_ij).

    Parameters
    ----------
    truncation, sigmoid, normalize, position_regularization
        As of `LambdaNdcg`.
    """

    name = "map"
    metric = "map"

    def _scaled_gains(self, gain: Vector, codes: npt.NDArray[np.int32]) -> Vector:
        scaled = super()._scaled_gains(gain, codes)
        return np.where(gain > 0, np.maximum(scaled, LEAST_GAIN), 0.0)  # still relevant in float32


class PairwiseLogistic(_PairLoss):
    """RankNet: the logistic loss of the pairs of a query (Burges et al. 2005).

    Domain: any gains. Link: identity.

        L = Σ |gain_i - gain_j| log(1 + exp(-σ (F_i - F_j))),  over pairs with gain_i > gain_j

    The loss that is reported is the mean of the pairs, without their weights. Gains whose largest
    size is below 1 or at least 32 are divided by a power of two, so that it is from 8 to 16.
    Hessian: σ² Σ_j |gain_i - gain_j| p_ij (1 - p_ij).

    Parameters
    ----------
    truncation : int or None, default=None
        A pair has a row of at most this rank. None: all pairs.
    sigmoid, normalize, position_regularization
        As of `LambdaNdcg`; `normalize` is about the gradients of a query only.
    """

    name = "pairwise"
    metric = "pairs"
    uses_differences = True

    def _scaled_gains(self, gain: Vector, codes: npt.NDArray[np.int32]) -> Vector:
        return _common_unit(gain)

    def __init__(
        self,
        truncation: int | None = None,
        sigmoid: float = 1.0,
        normalize: bool = True,
        position_regularization: float = 0.0,
    ) -> None:
        super().__init__(truncation, sigmoid, normalize, position_regularization)


class _ListLoss(RankingLoss):
    """Losses of all rows of a query at once."""

    parameter_names = ("position_regularization",)

    def __init__(self, position_regularization: float = 0.0) -> None:
        self.position_regularization = _check_regularization(position_regularization)


class ListwiseSoftmax(_ListLoss):
    """ListNet: the cross entropy of shares of gains and softmax(F) (Cao et al. 2007).

    Domain: gains of at least 0. Link: identity.

        L = -Σ_i q_i log p_i,  q_i = gain_i / Σ gain,  p = softmax(F)        ∂L/∂F_i = p_i - q_i

    Hessian: p_i (1 - p_i).

    Parameters
    ----------
    position_regularization : float, default=0.0
        As of `LambdaNdcg`.
    """

    name = "softmax"
    metric = "softmax"


class XeNdcg(_ListLoss):
    """XE-NDCG: a cross entropy that bounds NDCG (Bruch 2021).

    Domain: gains of at least 0. Link: identity.

        L = -Σ_i q_i log p_i,  q_i = (gain_i + u_i) / Σ (gain + u),  p = softmax(F)

    u_i in (0, 1) is drawn anew in every round, as a hash of the scores and gains of the query and
    those of the row; the loss that is reported has u_i = ½. Gains are divided as in
    `PairwiseLogistic`. The gradient is that of the paper, with three terms of the series of the
    inverse hessian. Hessian: p_i (1 - p_i).

    Parameters
    ----------
    position_regularization : float, default=0.0
        As of `LambdaNdcg`.
    """

    name = "xendcg"
    metric = "xendcg"

    def _scaled_gains(self, gain: Vector, codes: npt.NDArray[np.int32]) -> Vector:
        return _common_unit(gain)


class YetiRank(RankingLoss):
    """YetiRank: logistic losses of neighbours in random orders (Gulin et al. 2011).

    Domain: gains of at least 0. Link: identity.

        ∂L/∂F_i = -Σ_j w_ij p_ij,  p_ij = 1 / (1 + exp(F_i - F_j)),  gain_i > gain_j
        w_ij = |gain_i - gain_j| times the mean of decay^(r-1) over orders with i, j at r and r + 1

    The rows are ordered by F + ε with ε of the logistic distribution, a hash of the query (its
    place among the sorted ones), of its scores and gains, and of the rank of the row. Gains are
    divided so that the largest of a query is between ½ and 1. The loss that is reported is
    1 - NDCG. Hessian: Σ_j w_ij p_ij (1 - p_ij).

    Parameters
    ----------
    n_orders : int, default=10
        The number of random orders of a round.
    decay : float, default=0.99
        The factor of a weight from one rank to the next, above 0 and at most 1.
    position_regularization : float, default=0.0
        As of `LambdaNdcg`.
    """

    name = "yetirank"
    metric = "yetirank"
    parameter_names = ("n_orders", "decay", "position_regularization")

    def __init__(
        self, n_orders: int = 10, decay: float = 0.99, position_regularization: float = 0.0
    ) -> None:
        self.n_orders = check_argument("n_orders", Number(1, 10_000, whole=True), n_orders)
        self.decay = check_argument("decay", Number(0.0, 1.0, open_low=True), decay)
        self.position_regularization = _check_regularization(position_regularization)


class QuerySquaredError(_ListLoss):
    """Squared error within queries: a constant of each query does not matter (QueryRMSE).

    Domain: any gains. Link: identity.

        L = ½ Σ_i (gain_i - F_i - c)² / n,  c = mean of gain - F over the query of row i

    The sum is over all rows of queries with two rows at least, and n is their number, so that long
    queries count more than short ones. Times n, ∂L/∂F_i = F_i + c - gain_i. Hessian: 1; it is 0 in
    queries of one row. The gains are those of the ranker: with gains="linear" the relevance itself.

    Parameters
    ----------
    position_regularization : float, default=0.0
        As of `LambdaNdcg`.
    """

    name = "query_squared_error"
    metric = "squared"
    uses_differences = True
    counts_rows = True
    largest_bias_step = math.inf

    def _scaled_gains(self, gain: Vector, codes: npt.NDArray[np.int32]) -> Vector:
        return gain

    def check(self, y: npt.NDArray[Any]) -> None:
        """Raise ValueError if no query has rows of different gains, or they differ too much."""
        super().check(y)
        largest = float(np.abs(_centred_gains(y)).max())
        if not 2.0**-LARGEST_EXPONENT <= largest <= 2.0**LARGEST_EXPONENT:
            raise ValueError(
                f"Within queries the gains differ from their mean by up to {largest:g}, which is "
                f"{'above' if largest > 1 else 'below'} the limit 2^"
                f"{LARGEST_EXPONENT if largest > 1 else -LARGEST_EXPONENT} of the loss "
                "'query_squared_error'. Divide the relevance by a constant, and multiply the "
                "scores by it."
            )

    def region_optimum(self, gradient: Vector, hessian: Vector) -> Vector:
        """Return -G/H without a limit: scores have the unit of the gains."""
        return np.divide(-gradient, hessian, out=np.zeros_like(gradient), where=hessian > 0)

    def sampling_unit(self, y: npt.NDArray[Any], weight: Vector | None) -> float:
        """Return the mean distance of gains within queries, up to the next power of two."""
        if weight is not None:
            y, weight = y[weight > 0], weight[weight > 0]
        distance = np.abs(_centred_gains(y))
        if not 0.0 < distance.max() < math.inf:
            return 1.0
        return math.ldexp(1.0, math.frexp(mean_rows(distance, weight))[1])


RANKING_LOSSES: Mapping[str, type[RankingLoss]] = MappingProxyType(
    {
        loss.name: loss
        for loss in (
            LambdaNdcg,
            LambdaMap,
            PairwiseLogistic,
            ListwiseSoftmax,
            XeNdcg,
            YetiRank,
            QuerySquaredError,
        )
    }
)
