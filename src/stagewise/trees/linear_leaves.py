"""Linear models in the leaves of a tree: intercept + Σ slope · (x - centre).

The linear models are plain arrays beside the arrays of a tree, with a few terms for each leaf that
has one. If a feature of the leaf is missing in a row, the prediction is the value of the node, as
in a tree with constant leaves. This module must not fit models.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import LeafModels

__all__ = ["LINEAR_LEAF_ARRAYS", "LinearLeafSlopes", "LinearLeaves"]

Vector = npt.NDArray[np.float64]

# The arrays of LinearLeaves and their types, in the order of its fields.
LINEAR_LEAF_ARRAYS: Mapping[str, np.dtype[Any]] = MappingProxyType(
    {
        "node": np.dtype(np.int64),
        "start": np.dtype(np.uint64),
        "feature": np.dtype(np.int32),
        "slope": np.dtype(np.float64),
        "centre": np.dtype(np.float64),
        "intercept": np.dtype(np.float64),
        "low": np.dtype(np.float64),
        "high": np.dtype(np.float64),
        "beyond": np.dtype(np.uint8),
        "grain": np.dtype(np.float64),
    }
)


@dataclass(frozen=True, slots=True, eq=False)
class LinearLeaves:
    """The linear models of some leaves of one tree.

    Attributes
    ----------
    node : int64 array
        The leaves that have a linear model, in increasing order.
    start : uint64 array
        The first term of each model, and the number of terms at the end.
    feature, slope, centre : int32, float64 and float64 arrays
        The terms; those of a model in increasing order of their features.
    intercept : float64 array
        The prediction of a model at its centres, learning rate included.
    low, high : float64 array
        The predictions of a model are clipped to this range.
    beyond : uint8 array
        1 where an infinite value gives the bound of the range; 0 where it counts as missing.
    grain : float64 array
        Where above 0, predictions are rounded to a multiple of it, so that they can be subtracted
        from a score exactly; see `stagewise.boosting.dropout`.
    """

    node: npt.NDArray[np.int64]
    start: npt.NDArray[np.uint64]
    feature: npt.NDArray[np.int32]
    slope: Vector
    centre: Vector
    intercept: Vector
    low: Vector
    high: Vector
    beyond: npt.NDArray[np.uint8]
    grain: Vector

    def scaled(self, factor: float, grain: float) -> LinearLeaves:
        """Return the models multiplied by a factor, rounded to a grain (0: not rounded)."""
        low, high = factor * self.low, factor * self.high
        if grain > 0:  # rounded as constants are, each time, which keeps their order
            low, high = np.rint(low / grain) * grain, np.rint(high / grain) * grain
        return replace(
            self,
            slope=factor * self.slope,
            intercept=factor * self.intercept,
            low=low,
            high=high,
            grain=np.full(len(self.node), grain),
        )

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def native(self, n_nodes: int, n_features: int) -> LeafModels:
        """Return the models as an object of the native core."""
        return LeafModels(**self.arrays(), n_nodes=n_nodes, n_features=n_features)


@dataclass(frozen=True, slots=True, eq=False)
class LinearLeafSlopes:
    """Slopes fitted by the core; a boosting step chooses the intercepts.

    Attributes
    ----------
    node, start, feature, slope, centre
        As in `LinearLeaves`; centres are means weighted by the hessian.
    gradient, hessian : float64 array
        The sums over the complete rows: those without missing values in the features of the path.
    newton : float64 array
        The value of a leaf with only these rows: -T(G) / (H + λ).
    complete : uint8 array
        1 where all rows of the leaf are complete.
    spread : float64 array
        The standard deviation, weighted by the hessian, of the model's predictions for its rows.
    """

    node: npt.NDArray[np.int32]
    start: npt.NDArray[np.uint64]
    feature: npt.NDArray[np.int32]
    slope: Vector
    centre: Vector
    gradient: Vector
    hessian: Vector
    newton: Vector
    complete: npt.NDArray[np.uint8]
    spread: Vector

    def with_intercepts(
        self, intercept: Vector, low: Vector, high: Vector, *, beyond: bool = False
    ) -> LinearLeaves:
        """Return the linear models with these intercepts and bounds; see `LinearLeaves`."""
        return LinearLeaves(
            self.node.astype(np.int64),
            self.start,
            self.feature,
            self.slope,
            self.centre,
            intercept,
            low,
            high,
            np.full(len(self.node), beyond, dtype=np.uint8),
            np.zeros(len(self.node)),
        )
