"""Losses of rankings: all rows of a query are evaluated together.

y is a structured array with the fields "gain" and "query" (`QueryReader`), perhaps "position". A
score that is added to all rows of a query changes nothing, so the best constant is 0. The mean loss
is that of queries, in which each query counts by the weight of its rows. Each docstring: domain,
link, formula, hessian.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from stagewise._native import Gradients, QueryLoss, RowLoss, Workers
from stagewise.exact_sums import sum_rows
from stagewise.losses.base import Loss
from stagewise.losses.bound_loss import BoundLoss
from stagewise.losses.kernel import NativeBoundLoss
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

POSITION = "position"
LARGEST_EXPONENT = 30
"""Gains up to 2^±30 are used as they are by losses that depend on their size."""
USUAL_EXPONENT = 4
"""Larger or smaller ones are divided so that the largest is nearly 2^4, that of five grades."""
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

        It makes the mean over rows that over queries.
        """
        bound = _QueryBoundLoss(self.measured_only(), Workers(1), y, None)
        own = bound.losses(np.asarray(score, dtype=np.float64).reshape(-1))
        measured, code = bound.measured, bound.codes
        share = np.bincount(code, minlength=len(own))
        n = max(1, int(measured.sum()))
        factor = np.where(measured, len(y) / (share * n), 0.0)
        return np.asarray((own * factor)[code])

    def derivatives(self, y: npt.NDArray[Any], score: Matrix) -> tuple[Matrix, Matrix]:
        bound = _QueryBoundLoss(self.measured_only(), Workers(1), y, None)
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
        bound = _QueryBoundLoss(self, workers, y, weight)
        if bound.bias is not None:
            return bound
        return NativeBoundLoss(workers, bound.row_loss())

    def learn(
        self, y: npt.NDArray[Any], weight: Vector | None, score: Matrix
    ) -> dict[str, npt.NDArray[np.float64]]:
        """Return the biases of positions at the last scores; empty: there are no positions."""
        if POSITION not in (y.dtype.names or ()):
            return {}
        bound = _QueryBoundLoss(self, Workers(1), y, weight)
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
    """Return gains divided by a power of two, if float32 could not add them up as they are.

    The losses of pairs and of gains with random numbers depend on the size of ordinary gains.
    """
    exponent = int(np.frexp(gain.max(initial=0.0))[1])
    return gain if abs(exponent) <= LARGEST_EXPONENT else np.ldexp(gain, USUAL_EXPONENT - exponent)


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

    Domain: gains of at least 0. Link: identity.

        L = Σ |gain_i - gain_j| log(1 + exp(-σ (F_i - F_j))),  over pairs with gain_i > gain_j

    The loss that is reported is the mean of the pairs, without their weights. Hessian:
    σ² Σ_j |gain_i - gain_j| p_ij (1 - p_ij).

    Parameters
    ----------
    truncation : int or None, default=None
        A pair has a row of at most this rank. None: all pairs.
    sigmoid, normalize, position_regularization
        As of `LambdaNdcg`; `normalize` is about the gradients of a query only.
    """

    name = "pairwise"
    metric = "pairs"

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

    u_i in (0, 1) is drawn anew in every round, as a hash of the score and the gain of the row; the
    loss that is reported has u_i = ½. The gradient is that of the paper, with three terms of the
    series of the inverse hessian. Hessian: p_i (1 - p_i).

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

    The rows are ordered by F + ε with ε of the logistic distribution, a hash of the score and the
    gain of the row. Gains are divided so that the largest of a query is between ½ and 1. The loss
    that is reported is 1 - NDCG. Hessian: Σ_j w_ij p_ij (1 - p_ij).

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

    Domain: gains of at least 0. Link: identity.

        L = ½ Σ_i (gain_i - F_i - c)² / n,  c = mean(gain - F)        ∂L/∂F_i = F_i + c - gain_i

    n is the number of rows of the query. Hessian: 1. The gains are those of the ranker: with
    gains="linear" the relevance itself.

    Parameters
    ----------
    position_regularization : float, default=0.0
        As of `LambdaNdcg`.
    """

    name = "query_squared_error"
    metric = "squared"

    def _scaled_gains(self, gain: Vector, codes: npt.NDArray[np.int32]) -> Vector:
        return _common_unit(gain)


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


class _PositionBias:
    """An additive bias of the position of a row, which is estimated together with the model.

    The loss of a click is that of F + b_position (Wang et al. 2018; LightGBM's lambdarank does the
    same). After every evaluation each bias makes a damped Newton step, and their weighted mean is
    0, since a constant changes nothing.
    """

    STEP = 0.5
    STEPS_AT_END = 200

    def __init__(self, position: Vector, regularization: float) -> None:
        self.positions, self._code = np.unique(position, return_inverse=True)
        self.values = np.zeros(len(self.positions))
        self._regularization = regularization
        self._counts = np.bincount(self._code)

    def added(self, score: Vector) -> Vector:
        """Return F + b."""
        return np.asarray(score + self.values[self._code])

    def update(self, gradient: Vector, hessian: Vector, weight: Vector | None) -> None:
        """Make one step."""
        own = 1.0 if weight is None else weight
        n = len(self.values)
        penalty = self._regularization * self._counts
        g = np.bincount(self._code, gradient * own, n) + penalty * self.values
        h = np.bincount(self._code, hessian * own, n) + penalty
        step = np.divide(g, h, out=np.zeros(n), where=h > 1e-12)
        self.values = self.values - self.STEP * np.clip(step, -1.0, 1.0)
        self.values -= np.average(self.values, weights=self._counts)

    def estimate(self, bound: _QueryBoundLoss, score: Vector) -> None:
        """Estimate the biases of given scores."""
        for _ in range(self.STEPS_AT_END):
            before = self.values
            bound.losses(score)
            self.update(bound.gradient[bound.rows], bound.hessian[bound.rows], bound.row_weight)
            if np.abs(self.values - before).max() < 1e-6:
                break


class _QueryBoundLoss(BoundLoss):
    """A bound loss whose native kernel evaluates the queries; rows of weight 0 are absent."""

    bias: _PositionBias | None = None

    def __init__(
        self, loss: RankingLoss, workers: Workers, y: npt.NDArray[Any], weight: Vector | None
    ) -> None:
        self._workers, self._weight = workers, weight
        self.gradient, self.hessian = np.zeros((2, len(y)))
        self._packed = Gradients(len(y))
        absent = weight is not None and not weight.min() > 0.0
        self.rows: Any = np.flatnonzero(weight > 0.0) if absent else slice(None)  # type: ignore[operator]
        self.is_part = absent
        own = y[self.rows]
        self.row_weight = None if weight is None else np.ascontiguousarray(weight[self.rows])
        self.codes = np.unique(own["query"], return_inverse=True)[1].reshape(-1)
        self._native = loss.query_loss(own)
        n = self._native.n_queries
        self._losses = np.zeros(n)
        measured = np.zeros(n)
        self._native.measured(measured)
        self.measured = measured > 0
        of_queries = np.ones(n)
        if self.row_weight is not None:
            of_queries[self.codes] = self.row_weight
        own_weight = of_queries[self.measured]
        total = float(len(y)) if weight is None else sum_rows(weight)
        # The mean over queries times the sum of the weights of the rows, as of other losses.
        self._query_share = own_weight * (total / max(float(own_weight.sum()), 1e-300))
        if loss.corrects_position and POSITION in (y.dtype.names or ()):
            self.bias = _PositionBias(own[POSITION], loss.position_regularization)

    def losses(self, score: Vector) -> Vector:
        """Return the loss of every query; set the derivatives of the rows."""
        own = np.ascontiguousarray(score[self.rows])
        if self.bias is not None:
            own = self.bias.added(own)
        if not self.is_part:
            self._native.evaluate(self._workers, own, self.gradient, self.hessian, self._losses)
            return self._losses
        gradient, hessian = np.empty((2, len(own)))
        self._native.evaluate(self._workers, own, gradient, hessian, self._losses)
        self.gradient[self.rows], self.hessian[self.rows] = gradient, hessian
        return self._losses

    def row_loss(self) -> RowLoss:
        """Return the same as a native object, which has no biases of positions."""
        share = np.zeros(self._native.n_queries)
        share[self.measured] = self._query_share
        rows = self.rows.astype(np.uint32) if self.is_part else None
        n = len(self.gradient)
        return self._native.row_loss(self._workers, n, rows, self._weight, share)

    def evaluate(self, score: Matrix) -> float:
        """Return the mean loss of the queries, times the sum of the weights of the rows."""
        losses = self.losses(score[:, 0])
        if self.bias is not None:
            self.bias.update(self.gradient[self.rows], self.hessian[self.rows], self.row_weight)
        if not self.measured.any():
            return 0.0
        weighted = losses[self.measured] * self._query_share
        return math.fsum(weighted.tolist())  # exactly rounded, so the order does not matter

    def gradients(self, output: int) -> Gradients:
        self._packed.assign(self._workers, self.gradient, self.hessian, self._weight)
        return self._packed
