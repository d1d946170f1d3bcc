"""Leaves that say a line: intercept + Σ slope · (x - centre).

The one idea: lines are plain data beside the arrays of a tree, a few terms for each of some of its
leaves. What a leaf says of a row without one of its features is the value of its node, as in a tree
of constants. This file must not know how a line was fitted.
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

# The arrays of lines and their types, in the order of the fields of LinearLeaves.
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
    """The lines of some leaves of one tree.

    Attributes
    ----------
    node : int64 array
        The leaves that have one, in increasing order.
    start : uint64 array
        Where the terms of each begin, and at the end how many there are in all.
    feature, slope, centre : int32, float64 and float64 arrays
        The terms; of a line in increasing order of their features.
    intercept : float64 array
        What a line says at its centres, learning rate included.
    low, high : float64 array
        Between which a line is kept.
    beyond : uint8 array
        1 where an infinite value is beyond all others and takes the line to a bound; 0 where it is
        missing.
    grain : float64 array
        Where it is above 0, what a line says is rounded to a multiple of it, so that it can be
        taken out of a score without a trace; see `stagewise.boosting.dropout`.
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

    def scaled(self, share: float, grain: float) -> LinearLeaves:
        """Return the lines, multiplied, as multiples of a grain (0: as they come)."""
        low, high = share * self.low, share * self.high
        if grain > 0:  # as constants are, each time, so that what was in order stays in order
            low, high = np.rint(low / grain) * grain, np.rint(high / grain) * grain
        return replace(
            self,
            slope=share * self.slope,
            intercept=share * self.intercept,
            low=low,
            high=high,
            grain=np.full(len(self.node), grain),
        )

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def native(self, n_nodes: int, n_features: int) -> LeafModels:
        """Return the lines as the core reads them."""
        return LeafModels(**self.arrays(), n_nodes=n_nodes, n_features=n_features)


@dataclass(frozen=True, slots=True, eq=False)
class LinearLeafSlopes:
    """Slopes fresh from the core, with intercepts still to be settled by a step.

    Attributes
    ----------
    node, start, feature, slope, centre
        As of `LinearLeaves`; centres are the means by hessian.
    gradient, hessian : float64 array
        The sums over the rows that have all features of the leaf's path.
    newton : float64 array
        What a leaf of only these rows would say: -T(G) / (H + λ).
    complete : uint8 array
        1 where these are all rows of the leaf.
    spread : float64 array
        The standard deviation, by hessian, of what the line says of its rows.
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
        """Return the lines with these intercepts and bounds; see `LinearLeaves`."""
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
