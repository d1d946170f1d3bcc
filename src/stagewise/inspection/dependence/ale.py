"""Accumulated local effects: what a feature does where its rows are.

The one idea: a model is asked how much it changes when a feature goes from one end of a small
interval to the other, only of rows that lie in it, and the means of these changes are added up. So
no row is asked about that could not be (Apley & Zhu 2020), which partial dependence does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.errors import InvalidParameterError
from stagewise.inspection.dependence.grid import MOST_POINTS, Grid, make_grids
from stagewise.inspection.dependence.partial_dependence import RESPONSES
from stagewise.inspection.fitted_model import Fitted, Response, Vector, checked
from stagewise.inspection.plots import name_moments, plot_curves, plot_levels, plot_surface
from stagewise.inspection.tables.similarity import similar_order
from stagewise.validation.messages import shown
from stagewise.validation.rules import Number

__all__ = ["AccumulatedEffects", "accumulated_effects"]

Places = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class AccumulatedEffects:
    """What one feature does, or two beyond what each does alone.

    Attributes
    ----------
    grids : tuple of Grid
        The ends of the intervals of each feature; the levels of a category, similar ones side by
        side.
    outputs : tuple of str
        The classes or targets.
    response : {"score", "mean"}
        What changes.
    effect : float64 array of shape (n_points, n_outputs) or (n_points, n_points, n_outputs)
        The effects; their mean over the rows is 0.
    rows : float64 array
        The weight of the rows in each interval, cell or level. An empty cell has borrowed the
        change of the nearest one with rows.
    """

    grids: tuple[Grid, ...]
    outputs: tuple[str, ...]
    response: Response
    effect: Vector
    rows: Vector

    @property
    def features(self) -> tuple[str, ...]:
        """What the features are called."""
        return tuple(grid.name for grid in self.grids)

    def table(self) -> list[dict[str, Any]]:
        """Return a row for each point and output."""
        rows = []
        written = {grid.name: grid.written for grid in self.grids}
        for place in product(*(range(len(grid.codes)) for grid in self.grids)):
            point = {name: told[i] for (name, told), i in zip(written.items(), place, strict=True)}
            for k, output in enumerate(self.outputs):
                rows.append({**point, "output": output, "effect": float(self.effect[(*place, k)])})
        return rows

    def plot(self, ax: Any = None, *, output: str | None = None) -> Any:
        """Draw a curve or dots for each output; of two features contours of one output.

        Parameters
        ----------
        ax : matplotlib axes, or None
            Where to draw; None: on a new figure.
        output : str or None
            One of `outputs`. None: all of them; of two features the last one.

        Returns
        -------
        matplotlib axes
        """
        if output is not None and output not in self.outputs:
            raise InvalidParameterError(
                f"output must be one of {', '.join(map(repr, self.outputs))}; got {output!r}."
            )
        one = len(self.outputs) - 1 if output is None else self.outputs.index(output)
        first, what = self.grids[0], f"accumulated effect ({self.response})"
        if len(self.grids) == 2:
            whose = f": {self.outputs[one]}" if len(self.outputs) > 1 else ""
            labels = (first.name, self.grids[1].name, f"{what}{whose}")
            second = self.grids[1]
            drawn = plot_surface(first.x, second.x, self.effect[..., one], labels, ax)
            return name_moments(drawn, first.moment, second.moment)
        chosen = list(range(len(self.outputs))) if output is None else [one]
        names, curves = [self.outputs[k] for k in chosen], self.effect[:, chosen]
        if first.labels is not None:
            return plot_levels(first.labels, curves, names, (first.name, what), ax)
        drawn = plot_curves(first.x, curves, names, (first.name, what), ax, rug=first.deciles)
        return name_moments(drawn, first.moment)


def accumulated_effects(
    model: Any,
    features: Any,
    X: Any,
    *,
    sample_weight: Any = None,
    response: str = "score",
    grid: Any = 40,
) -> AccumulatedEffects:
    """Return what a feature does to what a model says, or two beyond what each does alone.

        ALE_j(x) = ∫ E[ ∂f/∂x_j | x_j = z ] dz - a constant       integrated up to x

    (Apley & Zhu 2020), the integral as a sum over intervals with equally many rows each, and the
    derivative as the change from one end to the other; of two features the change of the change,
    less what is left of each alone. Levels of a category are put in an order in which neighbours
    have similar rows. Where features are correlated partial dependence asks about rows that cannot
    be; this does not.

    Parameters
    ----------
    model : estimator
        A fitted boosting estimator, forest or tree.
    features : str, int, or two of them
        A feature of numbers or a category; or two features of numbers.
    X : array-like, data frame or sparse matrix
        Rows like those that the model is for. Rows in which a feature is missing or infinite say
        nothing about it. Sparse rows become dense, up to 1 GiB of them.
    sample_weight : array-like or None
        How much each row counts.
    response : {"score", "mean"}, default="score"
        What changes; see `partial_dependence`.
    grid : int, values, or mapping of feature to values, default=40
        How many intervals (and one end more) at quantiles, or their ends, increasing; those of
        moments as objects, text or nanoseconds.

    Returns
    -------
    AccumulatedEffects
    """
    fitted = Fitted.of(model, "accumulated_effects")
    places = fitted.positions(features)
    kind: Response = checked("response", RESPONSES, response)
    categorical = [fitted.names[j] for j in places if j in fitted.model.features.categorical]
    if len(places) > 2 or (len(places) == 2 and categorical):
        raise InvalidParameterError(
            "features must be one, or two of numbers"
            + (f"; {categorical[0]!r} is a category" if categorical else f"; got {len(places)}")
            + ". See partial_dependence and interactions for others."
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
    if isinstance(grid, (int, np.integer)) and not categorical:
        grid = checked("grid", Number(1, MOST_POINTS - 1, whole=True), grid) + 1
    grids = make_grids(fitted, places, grid, {j: columns[j] for j in places}, weight)
    ask = _Asked(fitted, columns, kind)
    if categorical:
        return _of_levels(fitted, grids[0], columns, weight, ask)
    for one in grids:
        _check_ends(one, given=not isinstance(grid, (int, np.integer)))
    effect, held = (_first if len(places) == 1 else _second)(ask, grids, columns, weight)
    return AccumulatedEffects(grids, fitted.outputs(kind), kind, effect, held)


@dataclass(frozen=True, eq=False)
class _Asked:
    """Rows, some of whose cells are others for the moment."""

    fitted: Fitted
    columns: Sequence[Vector]
    response: Response

    def __call__(self, changed: dict[int, Vector], rows: Places | None = None) -> Vector:
        """Return what is said of the rows, or of some of them, with other cells."""
        columns = self.columns if rows is None else [c[rows] for c in self.columns]
        moved = [changed.get(j, column) for j, column in enumerate(columns)]
        return self.fitted.respond(self.fitted.score(moved), self.response)


def _check_ends(grid: Grid, given: bool) -> None:
    if len(grid.codes) < 2 and not given:
        raise ValueError(
            f"The feature {grid.name!r} has one value in X, so nothing can change with it. Pass "
            "rows in which it differs, or leave it out."
        )
    increasing = np.isfinite(grid.codes).all() and (np.diff(grid.codes) > 0).all()
    if len(grid.codes) < 2 or not increasing:
        raise InvalidParameterError(
            f"grid: the ends of the intervals of {grid.name!r} must be two or more, finite and "
            f"increasing; got {shown(list(grid.written))}."
        )


def _intervals(grid: Grid, x: Vector) -> Places:
    """Return the interval of each row; values beyond the ends belong to the outer ones."""
    inside = np.searchsorted(grid.codes[1:-1], x, side="left")
    return np.asarray(inside, dtype=np.intp)


def _held(place: Places, n: int, weight: Vector) -> Vector:
    """Return the weight of the rows of each place."""
    return np.bincount(place, weight, minlength=n).astype(np.float64)


def _sums(place: Places, n: int, weight: Vector, values: Vector) -> Vector:
    """Return the weighted sums of the rows of each place, shape (n, n_outputs)."""
    return np.stack([np.bincount(place, weight * v, minlength=n) for v in values.T], axis=1)


def _first(
    ask: _Asked, grids: Sequence[Grid], columns: Sequence[Vector], weight: Vector
) -> tuple[Vector, Vector]:
    """Return the effect of one feature of numbers, and the weight of its intervals."""
    (grid,) = grids
    j, n = grid.place, len(grid.codes) - 1
    place = _intervals(grid, columns[j])
    change = ask({j: grid.codes[place + 1]}) - ask({j: grid.codes[place]})
    rows = _held(place, n, weight)
    mean = _sums(place, n, weight, change) / np.maximum(rows, np.finfo(np.float64).tiny)[:, None]
    effect = np.concatenate([np.zeros((1, mean.shape[1])), np.cumsum(mean, axis=0)])
    centre = np.average((effect[1:] + effect[:-1]) / 2, axis=0, weights=rows)
    return effect - centre, rows


def _second(
    ask: _Asked, grids: Sequence[Grid], columns: Sequence[Vector], weight: Vector
) -> tuple[Vector, Vector]:
    """Return what two features do beyond what each does alone, and the weight of the cells."""
    one, two = grids
    a, b = (_intervals(g, columns[g.place]) for g in grids)
    shape = (len(one.codes) - 1, len(two.codes) - 1)

    def corner(up: int, right: int) -> Vector:
        return ask({one.place: one.codes[a + up], two.place: two.codes[b + right]})

    change = (corner(1, 1) - corner(0, 1)) - (corner(1, 0) - corner(0, 0))
    cell = np.ravel_multi_index((a, b), shape)
    rows = _held(cell, shape[0] * shape[1], weight)
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
    """Return the effect of the first feature that is still in an accumulated surface."""
    up = whole[1:] - whole[:-1]
    between = (up[:, 1:] + up[:, :-1]) / 2
    total = np.maximum(rows.sum(axis=1), np.finfo(np.float64).tiny)[:, np.newaxis]
    mean = (between * rows[..., np.newaxis]).sum(axis=1) / total
    return np.concatenate([np.zeros((1, mean.shape[1])), np.cumsum(mean, axis=0)])


def _nearest_with_rows(rows: Vector) -> Places:
    """Return for each cell the nearest one that has rows: mostly itself."""
    at = np.indices(rows.shape).reshape(2, -1).T / np.array(rows.shape)
    full, empty = np.flatnonzero(rows.ravel() > 0), np.flatnonzero(rows.ravel() <= 0)
    source = np.arange(rows.size)
    if len(empty):
        distance = ((at[empty][:, np.newaxis] - at[full]) ** 2).sum(axis=2)
        source[empty] = full[distance.argmin(axis=1)]
    return source


def _of_levels(
    fitted: Fitted, grid: Grid, columns: Sequence[Vector], weight: Vector, ask: _Asked
) -> AccumulatedEffects:
    """Return the effect of a category: steps between levels that have similar rows."""
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
    here = ask({})
    sums, rows = np.zeros((n - 1, here.shape[1])), np.zeros(n - 1)
    for step in (1, -1):
        inside = np.flatnonzero((place >= 0) & (place + step >= 0) & (place + step < n))
        if len(inside):
            there = ask({j: grid.codes[place[inside] + step]}, inside)
            first = np.minimum(place[inside], place[inside] + step)
            own = weight[inside]
            sums += _sums(first, n - 1, own, step * (there - here[inside]))
            rows += _held(first, n - 1, own)
    mean = sums / rows[:, np.newaxis]
    effect = np.concatenate([np.zeros((1, here.shape[1])), np.cumsum(mean, axis=0)])
    held = _held(place[place >= 0], n, weight[place >= 0])
    effect -= np.average(effect, axis=0, weights=held)
    return AccumulatedEffects((grid,), fitted.outputs(ask.response), ask.response, effect, held)


def _chosen(grid: Grid, places: Places) -> Grid:
    """Return some points of a grid, in this order."""
    values = tuple(grid.values[i] for i in places.tolist())
    return Grid(grid.name, grid.place, grid.kind, values, grid.codes[places], grid.deciles)
