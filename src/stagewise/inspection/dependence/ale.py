"""Accumulated local effects (ALE) of one or two features.

For the rows in a small interval of a feature, the mean change of the prediction from one end of the
interval to the other is computed; these changes are accumulated (Apley & Zhu 2020). Unlike partial
dependence, this does not evaluate unrealistic combinations of feature values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.display import Summary, Tabled
from stagewise.errors import InvalidParameterError
from stagewise.inspection.dependence.arguments import check_order
from stagewise.inspection.dependence.grid import MAX_POINTS, Grid, grid_summary, make_grids
from stagewise.inspection.dependence.partial_dependence import RESPONSES
from stagewise.inspection.fitted_model import FittedModel, Response, Vector, check_argument
from stagewise.inspection.plots import (
    format_datetime_axes,
    plot_categories,
    plot_curves,
    plot_surface,
)
from stagewise.inspection.tables.similarity import similar_order
from stagewise.validation.arguments import suggests_arguments
from stagewise.validation.messages import short_repr
from stagewise.validation.rules import Number

__all__ = ["AccumulatedEffects", "accumulated_effects"]

Places = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False, repr=False)
class AccumulatedEffects(Tabled):
    """The effect of one feature, or the interaction effect of two.

    Attributes
    ----------
    grids : tuple of Grid
        The interval ends of each feature; the categories of a categorical feature, similar ones
        next to each other.
    outputs : tuple of str
        The classes or targets.
    response : {"score", "mean"}
        The quantity whose changes are accumulated.
    effect : float64 array of shape (n_points, n_outputs) or (n_points, n_points, n_outputs)
        The effects, centred to mean 0 over the rows.
    rows : float64 array
        The weight of the rows in each interval, cell or category. An empty cell uses the change of
        the nearest cell with rows.
    quantity : {"score", "prediction", "probability"}
        As of `Dependence`.
    """

    grids: tuple[Grid, ...]
    outputs: tuple[str, ...]
    response: Response
    effect: Vector
    rows: Vector
    quantity: str = "score"

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features."""
        return tuple(grid.name for grid in self.grids)

    def _summary(self) -> Summary:
        title = f"Accumulated local effects of {' × '.join(self.features)} ({self.quantity})"
        return grid_summary(title, self.grids, self.outputs, self.effect)

    def table(self) -> list[dict[str, Any]]:
        """Return one row per point and output."""
        rows = []
        labels = {grid.name: grid.formatted for grid in self.grids}
        for place in product(*(range(len(grid.codes)) for grid in self.grids)):
            point = {name: text[i] for (name, text), i in zip(labels.items(), place, strict=True)}
            for k, output in enumerate(self.outputs):
                rows.append({**point, "output": output, "effect": float(self.effect[(*place, k)])})
        return rows

    def plot(self, ax: Any = None, *, output: str | None = None) -> Any:
        """Plot a curve or dots for each output; for two features contours of one output.

        Parameters
        ----------
        ax : matplotlib axes, or None
            Where to draw; None: on a new figure.
        output : str or None
            One of `outputs`. None: all outputs; for two features the last one.

        Returns
        -------
        matplotlib axes
        """
        if output is not None and output not in self.outputs:
            raise InvalidParameterError(
                f"output must be one of {', '.join(map(repr, self.outputs))}; got {output!r}."
            )
        one = len(self.outputs) - 1 if output is None else self.outputs.index(output)
        first, what = self.grids[0], f"accumulated effect ({self.quantity})"
        if len(self.grids) == 2:
            whose = f": {self.outputs[one]}" if len(self.outputs) > 1 else ""
            labels = (first.name, self.grids[1].name, f"{what}{whose}")
            second = self.grids[1]
            drawn = plot_surface(first.x, second.x, self.effect[..., one], labels, ax)
            return format_datetime_axes(drawn, first.temporal_type, second.temporal_type)
        chosen = list(range(len(self.outputs))) if output is None else [one]
        names, curves = [self.outputs[k] for k in chosen], self.effect[:, chosen]
        if first.labels is not None:
            labels_1d = (first.name, what)
            return plot_categories(first.labels, curves, names, labels_1d, ax, title=first.note)
        drawn = plot_curves(first.x, curves, names, (first.name, what), ax, rug=first.deciles)
        return format_datetime_axes(drawn, first.temporal_type)


@suggests_arguments
def accumulated_effects(
    estimator: Any,
    X: Any,
    features: Any,
    *,
    sample_weight: Any = None,
    response: str = "score",
    grid_resolution: Any = 40,
    offset: Any = None,
    exposure: Any = None,
) -> AccumulatedEffects:
    """Return the accumulated local effect of one feature, or the interaction effect of two.

        ALE_j(x) = ∫ E[ ∂f/∂x_j | x_j = z ] dz - constant         integrated up to x

    (Apley & Zhu 2020). The integral is a sum over intervals with equally many rows, the derivative
    the difference between the ends of an interval; for two features the second difference, less the
    main effects. Categories are ordered so that neighbours have similar rows. With correlated
    features, partial dependence averages over unrealistic rows; ALE does not.

    Parameters
    ----------
    estimator : estimator
        A fitted boosting estimator, forest or tree.
    X : array-like, data frame or sparse matrix
        Rows from the distribution of interest. Rows in which a feature is missing or infinite are
        left out. Sparse rows become dense (at most 1 GiB).
    features : str, int, or two of them
        One numeric or categorical feature, or two numeric features.
    sample_weight : array-like or None
        Sample weights.
    response : {"score", "mean"}, default="score"
        The quantity whose changes are accumulated; see `partial_dependence`.
    grid_resolution : int, values, or mapping of feature to values, default=40
        The number of intervals, with ends at quantiles; or the ends of the intervals, increasing;
        dates and times as objects, text or nanoseconds.
    offset, exposure : array-like, number, str or None
        As of `predict` of the estimator.

    Returns
    -------
    AccumulatedEffects
    """
    fitted = FittedModel.of(estimator, "accumulated_effects", offsets=True, of_targets=True)
    check_order(X, features, "accumulated_effects")
    places = fitted.positions(features)
    kind: Response = check_argument("response", RESPONSES, response)
    categorical = [fitted.names[j] for j in places if j in fitted.model.features.categorical]
    if len(places) > 2 or (len(places) == 2 and categorical):
        raise InvalidParameterError(
            "features must be one feature or two numeric features"
            + (f"; {categorical[0]!r} is categorical" if categorical else f"; got {len(places)}")
            + ". Use partial_dependence or interactions instead."
        )
    fitted.warn_unused(places, "the effect is 0")
    rows = fitted.rows(X, least=1)
    weight = fitted.weight(sample_weight, rows.n)
    kept = weight > 0
    for j in places:
        kept &= np.isfinite(rows.column(j))
    if not kept.any():
        raise ValueError(
            f"No row of X has a finite value of {', '.join(repr(fitted.names[j]) for j in places)}."
            " Pass other rows."
        )
    columns, weight = rows.columns(np.flatnonzero(kept)), weight[kept]
    grid, is_count = grid_resolution, isinstance(grid_resolution, (int, np.integer))
    if is_count and not categorical:
        grid = check_argument("grid_resolution", Number(1, MAX_POINTS - 1, whole=True), grid) + 1
    grids = make_grids(fitted, places, grid, {j: columns[j] for j in places}, weight)
    added = fitted.offset(X, rows.n, offset, exposure)[kept]
    respond = _Responses(fitted, columns, kind, added)
    if categorical:
        return _categorical(fitted, grids[0], columns, weight, respond)
    for one in grids:
        _check_ends(one, given=not is_count)
    effect, held = (_first if len(places) == 1 else _second)(respond, grids, columns, weight)
    outputs, quantity = fitted.outputs(kind), fitted.quantity(kind)
    return AccumulatedEffects(grids, outputs, kind, effect, held, quantity)


@dataclass(frozen=True, eq=False)
class _Responses:
    """The responses of rows with some columns replaced."""

    fitted: FittedModel
    columns: Sequence[Vector]
    response: Response
    offset: Vector

    def __call__(self, changed: dict[int, Vector], rows: Places | None = None) -> Vector:
        """Return the responses of all rows, or of some, with the changed columns."""
        columns = self.columns if rows is None else [c[rows] for c in self.columns]
        moved = [changed.get(j, column) for j, column in enumerate(columns)]
        added = self.offset if rows is None else self.offset[rows]
        return self.fitted.respond(self.fitted.score(moved) + added, self.response)


def _check_ends(grid: Grid, given: bool) -> None:
    if len(grid.codes) < 2 and not given:
        raise ValueError(
            f"The feature {grid.name!r} has only one value in X, so it has no effect to compute. "
            "Pass rows with different values."
        )
    increasing = np.isfinite(grid.codes).all() and (np.diff(grid.codes) > 0).all()
    if len(grid.codes) < 2 or not increasing:
        raise InvalidParameterError(
            f"grid_resolution: the interval ends of {grid.name!r} must be at least two finite, "
            f"increasing values; got {short_repr(list(grid.formatted))}."
        )


def _intervals(grid: Grid, x: Vector) -> Places:
    """Return the interval of each row; values beyond the ends are in the outer intervals."""
    inside = np.searchsorted(grid.codes[1:-1], x, side="left")
    return np.asarray(inside, dtype=np.intp)


def _weights(place: Places, n: int, weight: Vector) -> Vector:
    """Return the weight of the rows of each interval."""
    return np.bincount(place, weight, minlength=n).astype(np.float64)


def _sums(place: Places, n: int, weight: Vector, values: Vector) -> Vector:
    """Return the weighted sums of the rows of each interval, shape (n, n_outputs)."""
    return np.stack([np.bincount(place, weight * v, minlength=n) for v in values.T], axis=1)


def _first(
    respond: _Responses, grids: Sequence[Grid], columns: Sequence[Vector], weight: Vector
) -> tuple[Vector, Vector]:
    """Return the effect of one numeric feature, and the weight of its intervals."""
    (grid,) = grids
    j, n = grid.place, len(grid.codes) - 1
    place = _intervals(grid, columns[j])
    change = respond({j: grid.codes[place + 1]}) - respond({j: grid.codes[place]})
    rows = _weights(place, n, weight)
    mean = _sums(place, n, weight, change) / np.maximum(rows, np.finfo(np.float64).tiny)[:, None]
    effect = np.concatenate([np.zeros((1, mean.shape[1])), np.cumsum(mean, axis=0)])
    centre = np.average((effect[1:] + effect[:-1]) / 2, axis=0, weights=rows)
    return effect - centre, rows


def _second(
    respond: _Responses, grids: Sequence[Grid], columns: Sequence[Vector], weight: Vector
) -> tuple[Vector, Vector]:
    """Return the interaction effect of two numeric features, and the weight of the cells."""
    one, two = grids
    a, b = (_intervals(g, columns[g.place]) for g in grids)
    shape = (len(one.codes) - 1, len(two.codes) - 1)

    def corner(up: int, right: int) -> Vector:
        return respond({one.place: one.codes[a + up], two.place: two.codes[b + right]})

    change = (corner(1, 1) - corner(0, 1)) - (corner(1, 0) - corner(0, 0))
    cell = np.ravel_multi_index((a, b), shape)
    rows = _weights(cell, shape[0] * shape[1], weight)
    sums = _sums(cell, len(rows), weight, change)
    mean = sums / np.maximum(rows, np.finfo(np.float64).tiny)[:, None]
    mean = mean[_nearest_with_rows(rows.reshape(shape))].reshape(*shape, -1)
    whole = np.zeros((shape[0] + 1, shape[1] + 1, mean.shape[-1]))
    whole[1:, 1:] = mean.cumsum(axis=0).cumsum(axis=1)
    rows = rows.reshape(shape)
    effect = whole - _main(whole, rows)[:, np.newaxis]
    effect -= _main(whole.swapaxes(0, 1), rows.T)[np.newaxis]
    corners = effect[1:, 1:] + effect[1:, :-1] + effect[:-1, 1:] + effect[:-1, :-1]
    centre = (corners / 4 * rows[..., np.newaxis]).sum(axis=(0, 1)) / rows.sum()
    return effect - centre, rows


def _main(whole: Vector, rows: Vector) -> Vector:
    """Return the main effect of the first feature in an accumulated surface."""
    up = whole[1:] - whole[:-1]
    between = (up[:, 1:] + up[:, :-1]) / 2
    total = np.maximum(rows.sum(axis=1), np.finfo(np.float64).tiny)[:, np.newaxis]
    mean = (between * rows[..., np.newaxis]).sum(axis=1) / total
    return np.concatenate([np.zeros((1, mean.shape[1])), np.cumsum(mean, axis=0)])


def _nearest_with_rows(rows: Vector) -> Places:
    """Return for each cell the nearest cell with rows (itself if it has rows)."""
    at = np.indices(rows.shape).reshape(2, -1).T / np.array(rows.shape)
    full, empty = np.flatnonzero(rows.ravel() > 0), np.flatnonzero(rows.ravel() <= 0)
    source = np.arange(rows.size)
    if len(empty):
        distance = ((at[empty][:, np.newaxis] - at[full]) ** 2).sum(axis=2)
        source[empty] = full[distance.argmin(axis=1)]
    return source


def _categorical(
    fitted: FittedModel, grid: Grid, columns: Sequence[Vector], weight: Vector, respond: _Responses
) -> AccumulatedEffects:
    """Return the effect of a categorical feature: changes between neighbouring categories."""
    j, x = grid.place, columns[grid.place]
    held = np.array([weight[x == code].sum() for code in grid.codes])
    if (held <= 0).any():
        grid = _chosen(grid, np.flatnonzero(held > 0))
    order = similar_order(fitted.model.features, columns, weight, j, grid.codes)
    grid = _chosen(grid, order)
    n = len(grid.codes)
    place = np.full(len(x), -1, dtype=np.intp)
    for k, code in enumerate(grid.codes):
        place[x == code] = k
    here = respond({})
    sums, rows = np.zeros((n - 1, here.shape[1])), np.zeros(n - 1)
    for step in (1, -1):
        inside = np.flatnonzero((place >= 0) & (place + step >= 0) & (place + step < n))
        if len(inside):
            there = respond({j: grid.codes[place[inside] + step]}, inside)
            first = np.minimum(place[inside], place[inside] + step)
            own = weight[inside]
            sums += _sums(first, n - 1, own, step * (there - here[inside]))
            rows += _weights(first, n - 1, own)
    mean = sums / rows[:, np.newaxis]
    effect = np.concatenate([np.zeros((1, here.shape[1])), np.cumsum(mean, axis=0)])
    held = _weights(place[place >= 0], n, weight[place >= 0])
    effect -= np.average(effect, axis=0, weights=held)
    kind = respond.response
    outputs, quantity = fitted.outputs(kind), fitted.quantity(kind)
    return AccumulatedEffects((grid,), outputs, kind, effect, held, quantity)


def _chosen(grid: Grid, places: Places) -> Grid:
    """Return the chosen points of a grid, in this order."""
    values = tuple(grid.values[i] for i in places.tolist())
    return replace(grid, values=values, codes=grid.codes[places])
