"""Partial dependence for the report page.

The curves of the most important features, with ICE curves, and the maps of a few pairs are computed
in advance, over a sample of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from stagewise.data.reading.datetimes import TemporalType
from stagewise.inspection.dependence.grid import Grid, make_grids, quantile_points
from stagewise.inspection.dependence.partial_dependence import over_rows
from stagewise.inspection.encoded_rows import sample_rows
from stagewise.inspection.fitted_model import FittedModel, Vector
from stagewise.report.payload import compact
from stagewise.report.row_budget import row_budget
from stagewise.report.row_facts import take

__all__ = ["Axis", "Curve", "DependenceFacts", "Map", "dependence_facts"]

ROWS, ROWS_OF_MAPS = 500, 150
"""The number of rows to average over: of curves, and of maps."""
CURVES = 40
"""The maximum number of ICE curves of a feature."""
POINTS, POINTS_OF_MAPS = 32, 14
FEATURES, FEATURES_OF_MAPS = 24, 6
MOST_NUMBERS = 120_000
"""The maximum number of values of all ICE curves."""


@dataclass(frozen=True, eq=False)
class Axis:
    """The grid points of a feature.

    Attributes
    ----------
    feature : int
        The index of the feature.
    codes : float64 array
        The encoded points.
    x : float64 array
        The coordinates of the points.
    labels : tuple of str, or None
        The names of the categories; None for a numeric feature.
    deciles : float64 array
        The deciles of the rows.
    temporal_type : {"date", "duration", "time of day"}, or None
        The temporal type of `x`, if it is in nanoseconds.
    """

    feature: int
    codes: Vector
    x: Vector
    labels: tuple[str, ...] | None
    deciles: Vector
    temporal_type: TemporalType | None


@dataclass(frozen=True, eq=False)
class Curve:
    """Partial dependence and ICE curves of one feature.

    Attributes
    ----------
    axis : Axis
        The grid points.
    mean : float array of shape (n_points, n_outputs)
        The partial dependence.
    rows : float array of shape (n_rows, n_points, n_outputs)
        The ICE curves.
    """

    axis: Axis
    mean: Vector
    rows: Vector


@dataclass(frozen=True, eq=False)
class Map:
    """Partial dependence on two features.

    Attributes
    ----------
    first, second : Axis
        The grid points of both features.
    mean : float array of shape (n_points, n_points, n_outputs)
        The partial dependence.
    """

    first: Axis
    second: Axis
    mean: Vector


@dataclass(frozen=True, eq=False)
class DependenceFacts:
    """The curves and maps of the page.

    Attributes
    ----------
    outputs : tuple of str
        The classes or targets.
    n_rows : int
        The number of rows that are averaged.
    curves : tuple of Curve
        The curves of the most important features, in this order.
    maps : tuple of Map
        The maps of pairs of the first few features.
    unused : tuple of str
        Features that the model does not use; their curves are constant.
    empty : tuple of str
        Features without a finite value in the sample; they have no curve.
    """

    outputs: tuple[str, ...]
    n_rows: int
    curves: tuple[Curve, ...]
    maps: tuple[Map, ...]
    unused: tuple[str, ...]
    empty: tuple[str, ...]


def dependence_facts(
    fitted: FittedModel, X: Any, weight: Vector, order: list[int], seed: int, offset: Vector
) -> DependenceFacts:
    """Compute the curves and maps.

    Parameters
    ----------
    fitted : FittedModel
        The model.
    X : table
        The rows.
    weight : float64 array
        The sample weights.
    order : list of int
        The features, the most important first.
    seed : int
        The seed of the sampling.
    offset : float64 array of shape (n_rows, n_scores)
        The offset of each row in units of F.
    """
    budget = row_budget(fitted)
    rows = sample_rows(weight, budget.limit(ROWS, 50), seed)
    columns, own = fitted.columns(take(X, rows)), weight[rows]
    few = sample_rows(own, budget.limit(ROWS_OF_MAPS, 20), seed)
    fewer, own_fewer = [column[few] for column in columns], own[few]
    # A column without finite values has no grid.
    candidates = [j for j in order if j in fitted.used]
    empty = [j for j in candidates if not np.isfinite(columns[j]).any()]
    used = [j for j in candidates if j not in empty][: budget.limit(FEATURES, 10)]
    n_points, mapped = budget.limit(POINTS, 16), budget.limit(FEATURES_OF_MAPS, 3)
    outputs = fitted.outputs("mean")
    kept = MOST_NUMBERS // (max(1, len(used)) * n_points * len(outputs))
    n_curves = int(np.clip(kept, 5, min(CURVES, len(rows))))
    curves, maps = [], []
    for j in used:
        grids = make_grids(
            fitted, (j,), _points(fitted, j, columns[j], own, n_points), {j: columns[j]}, own
        )
        found = over_rows(fitted, grids, columns, own, "mean", n_curves, seed, offset[rows])
        assert found.individual is not None
        curves.append(Curve(_axis(found.grids[0]), compact(found.mean), compact(found.individual)))
    for pair in combinations(used[:mapped], 2):
        points = {j: fewer[j] for j in pair}
        grids = make_grids(fitted, pair, budget.limit(POINTS_OF_MAPS, 8), points, own_fewer)
        both = over_rows(fitted, grids, fewer, own_fewer, "mean", offset=offset[rows][few])
        maps.append(Map(_axis(both.grids[0]), _axis(both.grids[1]), compact(both.mean)))
    unused = tuple(name for j, name in enumerate(fitted.names) if j not in fitted.used)
    empty_names = tuple(fitted.names[j] for j in empty)
    return DependenceFacts(outputs, len(rows), tuple(curves), tuple(maps), unused, empty_names)


def _points(fitted: FittedModel, place: int, x: Vector, weight: Vector, n: int) -> Any:
    """Return grid points of a feature: two thirds at quantiles, the rest at equal distances.

    Quantiles alone would leave few points in a long tail.
    """
    feature = fitted.model.features[place]
    if feature.kind != "real" or feature.temporal_type is not None:
        return n
    finite = x[np.isfinite(x)]
    evenly = np.linspace(finite.min(), finite.max(), n // 3 + 1)
    if np.array_equal(finite, np.floor(finite)):
        evenly = np.unique(np.floor(evenly))
    return np.union1d(quantile_points(x, weight, n - n // 3), evenly)


def _axis(grid: Grid) -> Axis:
    labels = None if grid.labels is None else tuple(grid.labels)
    return Axis(grid.place, grid.codes, grid.x, labels, grid.deciles, grid.temporal_type)
