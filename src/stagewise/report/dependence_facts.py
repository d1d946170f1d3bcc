"""How predictions depend on features, for a page where one picks them.

The one idea: the curves of the features that matter are made beforehand, over a sample of rows and
with some rows' own curves; so are the maps of the few pairs that matter most.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from stagewise.data.reading.moments import Moment
from stagewise.inspection.dependence.grid import Grid, make_grids, quantile_points
from stagewise.inspection.dependence.partial_dependence import over_rows
from stagewise.inspection.encoded_rows import drawn_rows
from stagewise.inspection.fitted_model import Fitted, Vector
from stagewise.report.payload import compact
from stagewise.report.row_budget import patience
from stagewise.report.row_facts import take

__all__ = ["Axis", "Curve", "DependenceFacts", "Map", "dependence_facts"]

ROWS, ROWS_OF_MAPS = 500, 150
"""Over how many rows predictions are averaged."""
CURVES = 40
"""How many rows' own curves are kept."""
POINTS, POINTS_OF_MAPS = 32, 14
FEATURES, FEATURES_OF_MAPS = 24, 6
MOST_NUMBERS = 120_000
"""How many numbers the curves of rows may take."""


@dataclass(frozen=True, eq=False)
class Axis:
    """The points of a feature.

    Attributes
    ----------
    feature : int
        Its place.
    codes : float64 array
        The points as the model reads them.
    x : float64 array
        Where they are drawn.
    labels : tuple of str, or None
        What levels are called; None of numbers.
    deciles : float64 array
        Of the rows.
    moment : {"date", "duration", "time of day"}, or None
        What `x` stands for, if it is in nanoseconds.
    """

    feature: int
    codes: Vector
    x: Vector
    labels: tuple[str, ...] | None
    deciles: Vector
    moment: Moment | None


@dataclass(frozen=True, eq=False)
class Curve:
    """What is said on average, and of single rows, when a feature is changed.

    Attributes
    ----------
    axis : Axis
        The points.
    mean : float array of shape (n_points, n_outputs)
        The averages.
    rows : float array of shape (n_rows, n_points, n_outputs)
        What is said of single rows.
    """

    axis: Axis
    mean: Vector
    rows: Vector


@dataclass(frozen=True, eq=False)
class Map:
    """The same of two features.

    Attributes
    ----------
    first, second : Axis
        The points of both.
    mean : float array of shape (n_points, n_points, n_outputs)
        The averages.
    """

    first: Axis
    second: Axis
    mean: Vector


@dataclass(frozen=True, eq=False)
class DependenceFacts:
    """Curves and maps.

    Attributes
    ----------
    outputs : tuple of str
        What predictions are of: classes or targets.
    n_rows : int
        Over how many rows averages are.
    curves : tuple of Curve
        Of the features that matter most, the first of them first.
    maps : tuple of Map
        Of pairs of the first few of them.
    unused : tuple of str
        Features whose curves would be flat, since the model never asks about them.
    empty : tuple of str
        Features without a finite value in these rows, of which nothing can be drawn.
    """

    outputs: tuple[str, ...]
    n_rows: int
    curves: tuple[Curve, ...]
    maps: tuple[Map, ...]
    unused: tuple[str, ...]
    empty: tuple[str, ...]


def dependence_facts(
    fitted: Fitted, X: Any, weight: Vector, order: list[int], seed: int
) -> DependenceFacts:
    """Make the curves.

    Parameters
    ----------
    fitted : Fitted
        The model.
    X : table
        The rows.
    weight : float64 array
        How much they count.
    order : list of int
        The features, the most important first.
    seed : int
        Keys which rows are looked at.
    """
    time = patience(fitted)
    rows = drawn_rows(weight, time.of(ROWS, 50), seed)
    columns, own = fitted.columns(take(X, rows)), weight[rows]
    few = drawn_rows(own, time.of(ROWS_OF_MAPS, 20), seed)
    fewer, own_fewer = [column[few] for column in columns], own[few]
    # A column without numbers, all missing or infinite, has no points to be looked at.
    asked = [j for j in order if j in fitted.used]
    empty = [j for j in asked if not np.isfinite(columns[j]).any()]
    used = [j for j in asked if j not in empty][: time.of(FEATURES, 10)]
    n_points, mapped = time.of(POINTS, 16), time.of(FEATURES_OF_MAPS, 3)
    outputs = fitted.outputs("mean")
    kept = MOST_NUMBERS // (max(1, len(used)) * n_points * len(outputs))
    n_curves = int(np.clip(kept, 5, min(CURVES, len(rows))))
    curves, maps = [], []
    for j in used:
        grids = make_grids(
            fitted, (j,), _points(fitted, j, columns[j], own, n_points), {j: columns[j]}, own
        )
        found = over_rows(fitted, grids, columns, own, "mean", n_curves, seed)
        assert found.individual is not None
        curves.append(Curve(_axis(found.grids[0]), compact(found.mean), compact(found.individual)))
    for pair in combinations(used[:mapped], 2):
        points = {j: fewer[j] for j in pair}
        grids = make_grids(fitted, pair, time.of(POINTS_OF_MAPS, 8), points, own_fewer)
        both = over_rows(fitted, grids, fewer, own_fewer, "mean")
        maps.append(Map(_axis(both.grids[0]), _axis(both.grids[1]), compact(both.mean)))
    unused = tuple(name for j, name in enumerate(fitted.names) if j not in fitted.used)
    hollow = tuple(fitted.names[j] for j in empty)
    return DependenceFacts(outputs, len(rows), tuple(curves), tuple(maps), unused, hollow)


def _points(fitted: Fitted, place: int, x: Vector, weight: Vector, n: int) -> Any:
    """Return where to look at a feature: two thirds of the points where rows are, the rest evenly.

    Quantiles alone leave the ends of a long tail to straight lines.
    """
    feature = fitted.model.features[place]
    if feature.kind != "real" or feature.moment is not None:
        return n
    finite = x[np.isfinite(x)]
    evenly = np.linspace(finite.min(), finite.max(), n // 3 + 1)
    if np.array_equal(finite, np.floor(finite)):
        evenly = np.unique(np.floor(evenly))
    return np.union1d(quantile_points(x, weight, n - n // 3), evenly)


def _axis(grid: Grid) -> Axis:
    labels = None if grid.labels is None else tuple(grid.labels)
    return Axis(grid.place, grid.codes, grid.x, labels, grid.deciles, grid.moment)
