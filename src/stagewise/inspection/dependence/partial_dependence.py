"""Partial dependence of predictions on one or two features.

Two methods average over the other features: "brute" over rows, which also gives the curves of
single rows (ICE), and "recursion" over the training rows by the covers of the trees, which needs
no data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from stagewise._native import Columns
from stagewise.display import Summary, Tabled
from stagewise.errors import InvalidParameterError
from stagewise.inspection.dependence.arguments import check_order
from stagewise.inspection.dependence.grid import Grid, grid_summary, make_grids
from stagewise.inspection.dependence.traversal import Traversal
from stagewise.inspection.encoded_rows import sample_rows
from stagewise.inspection.fitted_model import FittedModel, Response, Vector, check_argument
from stagewise.inspection.plots import (
    format_datetime_axes,
    plot_categories,
    plot_curves,
    plot_surface,
    plot_surface_3d,
)
from stagewise.validation.arguments import suggests_arguments
from stagewise.validation.rules import Number, OneOf

__all__ = [
    "Dependence",
    "brute_score",
    "over_rows",
    "partial_dependence",
    "recursion_score",
]

METHODS = OneOf(("auto", "brute", "recursion"))
RESPONSES = OneOf(("score", "mean"))
PLOT_KINDS = OneOf((None, "contour", "surface"))
ROWS_AT_ONCE = 2**14
"""The number of rows, at one or several grid points, that are predicted at once."""
CELLS_AT_ONCE = 2**22
"""The same limit in cells: for wide tables fewer rows are predicted at once."""


@dataclass(frozen=True, eq=False, repr=False)
class Dependence(Tabled):
    """The partial dependence on one or two features.

    Attributes
    ----------
    grids : tuple of Grid
        The grid points of each feature.
    outputs : tuple of str
        The classes or targets.
    response : {"score", "mean"}
        The averaged quantity.
    method : {"brute", "recursion"}
        The method of averaging.
    mean : float64 array of shape (n_points, n_outputs) or (n_points, n_points, n_outputs)
        The partial dependence.
    individual : float64 array of shape (n_rows, n_points, n_outputs), or None
        The curves of single rows (individual conditional expectation, ICE).
    quantity : {"score", "prediction", "probability"}
        What is averaged, for labels: scores of a regression with the identity link are predictions.
    """

    grids: tuple[Grid, ...]
    outputs: tuple[str, ...]
    response: Response
    method: str
    mean: Vector
    individual: Vector | None = None
    quantity: str = "score"

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features."""
        return tuple(grid.name for grid in self.grids)

    def _summary(self) -> Summary:
        names = " × ".join(self.features)
        title = f"Partial dependence on {names} ({self.quantity}, {self.method})"
        n_curves = 0 if self.individual is None else len(self.individual)
        facts = {"curves of rows": n_curves} if n_curves else {}
        return grid_summary(title, self.grids, self.outputs, self.mean, facts)

    def centred(self, at: int = 0) -> Dependence:
        """Return the curves, each minus its own value at one grid point.

        Centred curves of single rows that diverge indicate interactions (Goldstein et al. 2015).
        """
        if len(self.grids) > 1:
            raise InvalidParameterError(
                "centred() needs the partial dependence on one feature; this has two."
            )
        n = len(self.mean)
        at = check_argument("at", Number(0, n - 1, whole=True), at)
        curves = self.individual
        moved = None if curves is None else curves - curves[:, [at]]
        return replace(self, mean=self.mean - self.mean[at], individual=moved)

    def table(self) -> list[dict[str, Any]]:
        """Return one row per point and output."""
        rows = []
        labels = {grid.name: grid.formatted for grid in self.grids}
        for place in product(*(range(len(grid.codes)) for grid in self.grids)):
            point = {name: text[i] for (name, text), i in zip(labels.items(), place, strict=True)}
            for k, output in enumerate(self.outputs):
                value = float(self.mean[(*place, k)])
                rows.append({**point, "output": output, "dependence": value})
        return rows

    def plot(self, ax: Any = None, *, output: str | None = None, kind: str | None = None) -> Any:
        """Plot a curve or dots for each output; for two features one output.

        Parameters
        ----------
        ax : matplotlib axes, or None
            Where to draw; None: on a new figure. A surface needs 3D axes.
        output : str or None
            One of `outputs`. None: all outputs; for two features, and with curves of rows, the last
            one.
        kind : {None, "contour", "surface"}
            Two numeric features: contours (also None), or a 3D surface. With a categorical feature
            always a heat map.

        Returns
        -------
        matplotlib axes
        """
        if output is not None and output not in self.outputs:
            raise InvalidParameterError(
                f"output must be one of {', '.join(map(repr, self.outputs))}; got {output!r}."
            )
        how = check_argument("kind", PLOT_KINDS, kind)
        if how is not None and [grid.kind for grid in self.grids] != ["number", "number"]:
            raise InvalidParameterError(
                f"kind={how!r} needs two numeric features; these are "
                f"{' and '.join(f'{g.name!r} (a {g.kind})' for g in self.grids)}. Omit kind."
            )
        one = len(self.outputs) - 1 if output is None else self.outputs.index(output)
        first, what = self.grids[0], f"partial dependence ({self.quantity})"
        if len(self.grids) == 2:
            second = self.grids[1]
            whose = f": {self.outputs[one]}" if len(self.outputs) > 1 else ""
            labels = (first.name, second.name, f"{what}{whose}")
            if how == "surface":
                drawn = plot_surface_3d(first.x, second.x, self.mean[..., one], labels, ax)
            else:
                drawn = plot_surface(
                    first.x,
                    second.x,
                    self.mean[..., one],
                    labels,
                    ax,
                    ticks=(first.labels, second.labels),
                    title="; ".join(f"{g.name}: {g.note}" for g in self.grids if g.note),
                )
            return format_datetime_axes(drawn, first.temporal_type, second.temporal_type)
        single = output is not None or self.individual is not None
        chosen = [one] if single else list(range(len(self.outputs)))
        names, labels_1d = [self.outputs[k] for k in chosen], (first.name, what)
        curves = self.mean[:, chosen]
        if first.labels is not None:
            return plot_categories(first.labels, curves, names, labels_1d, ax, title=first.note)
        rows = None if self.individual is None else self.individual[:, :, one]
        drawn = plot_curves(
            first.x, curves, names, labels_1d, ax, individual=rows, rug=first.deciles
        )
        return format_datetime_axes(drawn, first.temporal_type)


@suggests_arguments
def partial_dependence(
    estimator: Any,
    X: Any,
    features: Any,
    *,
    sample_weight: Any = None,
    method: str = "auto",
    response: str = "score",
    grid_resolution: Any = 40,
    n_ice: int = 0,
    max_samples: int | None = 1000,
    random_state: int = 0,
    offset: Any = None,
    exposure: Any = None,
) -> Dependence:
    """Return the partial dependence on one or two features (Friedman 2001, section 8.2).

        f_S(x_S) = E over x_C of f(x_S, x_C)        C: all other features

    Parameters
    ----------
    estimator : estimator
        A fitted boosting estimator, forest or tree.
    X : array-like, data frame or sparse matrix, or None
        Rows to average over; their quantiles are the grid. Sampled rows of a sparse matrix become
        dense. None: method="recursion", with a grid from the thresholds of the trees.
    features : str, int, or two of them
        One or two numeric or categorical features, by name or index.
    sample_weight : array-like or None
        Sample weights.
    method : {"auto", "brute", "recursion"}, default="auto"
        "brute": the mean over the rows of X, predicted at every grid point. "recursion": a weighted
        tree traversal; at a split on another feature it follows both children, weighted by the
        training rows. It needs no rows and is fast. Both methods agree if the features are
        independent. "auto": "brute" if X is passed, else "recursion".
    response : {"score", "mean"}, default="score"
        The averaged quantity: "score" (regression with the identity link: units of the target;
        two classes with the log loss: log odds) or "mean" (predictions, probabilities).
        "recursion" averages scores only, unless predictions are a + b · score.
    grid_resolution : int, values, or mapping of feature to values, default=40
        The number of grid points of a numeric feature, at quantiles of X, or between thresholds of
        the trees if X is None; of a categorical feature all categories, or the most frequent ones
        if X has more. Or the grid points themselves; dates and times as objects (dates, durations,
        times), text such as "2024-03-01 14:05", or nanoseconds.
    n_ice : int, default=0
        The number of rows whose own curves are kept (ICE, Goldstein et al. 2015); needs one feature
        and X.
    max_samples : int or None, default=1000
        "brute" samples this many rows if X has more; None: all rows.
    random_state : int, default=0
        The seed of the sampling.
    offset, exposure : array-like, number, str or None
        As of `predict` of the estimator, for the rows of X; numbers only with
        method="recursion".

    Returns
    -------
    Dependence

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stagewise import GradientBoostingRegressor
    >>> from stagewise.inspection import partial_dependence
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = GradientBoostingRegressor(n_estimators=20).fit(X, y)
    >>> partial_dependence(model, X, "bmi", grid_resolution=5).mean.shape
    (5, 1)
    """
    fitted = FittedModel.of(estimator, "partial_dependence", offsets=True, of_targets=True)
    check_order(X, features, "partial_dependence")
    places = fitted.positions(features)
    if len(places) > 2:
        raise InvalidParameterError(
            f"features must be one or two features; got {len(places)}. For a plot of "
            "each: for name in features: partial_dependence(model, X, name).plot(); interactions"
            "(model, X) has the strength of every pair."
        )
    how = _method(fitted, check_argument("method", METHODS, method), X, sample_weight, n_ice)
    kind: Response = check_argument("response", RESPONSES, response)
    n_curves = check_argument("n_ice", Number(0, whole=True), n_ice)
    if n_curves and len(places) > 1:
        raise InvalidParameterError("n_ice needs one feature; pass one feature, or n_ice=0.")
    fitted.warn_unused(places, "the dependence is flat")
    rows = weight = columns = None
    if X is not None:
        rows = fitted.rows(X, least=1)
        weight = fitted.weight(sample_weight, rows.n)
        columns = {j: rows.column(j) for j in places}
    grids = make_grids(fitted, places, grid_resolution, columns, weight)
    if how == "recursion":
        if kind == "mean" and not fitted.mean_is_affine:
            raise InvalidParameterError(
                "method='recursion' averages scores, and the mean of the predictions is not the "
                "prediction of the mean score. Use response='score', or pass X for "
                "method='brute'."
            )
        n_rows = 1 if rows is None else rows.n
        shift = np.average(fitted.offset(X, n_rows, offset, exposure), axis=0, weights=weight)
        mean = fitted.respond(recursion_score(fitted, _points(grids)) + shift, kind)
        outputs, quantity = fitted.outputs(kind), fitted.quantity(kind)
        return Dependence(grids, outputs, kind, how, _shaped(mean, grids), quantity=quantity)
    assert rows is not None
    assert weight is not None
    most = check_argument("max_samples", Number(1, whole=True, or_none=True), max_samples)
    seed = check_argument("random_state", Number(0, whole=True), random_state)
    drawn = sample_rows(weight, most, seed)
    added = fitted.offset(X, rows.n, offset, exposure)[drawn]
    return over_rows(fitted, grids, rows.columns(drawn), weight[drawn], kind, n_curves, seed, added)


def over_rows(
    fitted: FittedModel,
    grids: tuple[Grid, ...],
    columns: Sequence[Vector],
    weight: Vector,
    response: Response,
    n_curves: int = 0,
    seed: int = 0,
    offset: Vector | None = None,
) -> Dependence:
    """Return the partial dependence averaged over encoded rows, whose offsets are added."""
    n = min(n_curves, len(weight))
    mean, curves = brute_score(fitted, columns, weight, _points(grids), response, n, seed, offset)
    outputs, quantity = fitted.outputs(response), fitted.quantity(response)
    shaped = _shaped(mean, grids)
    return Dependence(grids, outputs, response, "brute", shaped, curves, quantity)


def _points(grids: tuple[Grid, ...]) -> dict[int, Vector]:
    """Return all combinations of the grid points, feature by feature."""
    points = np.meshgrid(*(g.codes for g in grids), indexing="ij")
    return {g.place: p.ravel() for g, p in zip(grids, points, strict=True)}


def _shaped(mean: Vector, grids: tuple[Grid, ...]) -> Vector:
    return mean.reshape(*(len(g.codes) for g in grids), -1)


def _method(fitted: FittedModel, method: str, X: Any, sample_weight: Any, n_ice: Any) -> str:
    """Return the method to use; raise if the arguments do not fit it."""
    if method == "auto":
        method = "recursion" if X is None else "brute"
    if method == "brute" and X is None:
        raise InvalidParameterError("method='brute' averages over rows: pass X.")
    if X is None and sample_weight is not None:
        raise InvalidParameterError("sample_weight was passed without X.")
    if method == "recursion" and n_ice:
        raise InvalidParameterError(
            "n_ice needs rows, and method='recursion' uses none: pass X with method='brute', or "
            "n_ice=0."
        )
    if method == "recursion" and fitted.has_linear_leaves:
        raise InvalidParameterError(
            "method='recursion' needs constant leaves, and this model has linear leaves. Pass X "
            "and use method='brute'."
        )
    return method


def recursion_score(
    fitted: FittedModel, known: Mapping[int, Vector], traversal: Traversal | None = None
) -> Vector:
    """Return the expectation of F given some features, by tree traversal.

    Parameters
    ----------
    fitted : FittedModel
        The model.
    known : mapping of int to float64 array of shape (n_rows,)
        The values of the given features, encoded.
    traversal : Traversal or None
        The traversal object of the model, if it exists already.

    Raises
    ------
    InvalidParameterError
        If a derived column combines a given and another feature, or the model has
        missing='probability' and a given value is missing.
    """
    features = fitted.model.features
    if fitted.has_fractional_rows and any(np.isnan(x).any() for x in known.values()):
        raise InvalidParameterError(
            "method='recursion' does not support missing values of a model with "
            "missing='probability'. Pass X and use method='brute'."
        )
    n_rows = len(next(iter(known.values())))
    blank = np.full(n_rows, np.nan)
    table = Columns([known.get(j, blank) for j in range(features.n)])
    columns, next_column = dict(known), features.n
    for derived in features.derived:
        inside = [j in known for j in derived.sources]
        if any(inside) and not all(inside):
            names = ", ".join(repr(fitted.names[j]) for j in derived.sources)
            raise InvalidParameterError(
                f"The model has a column that is computed from {names} together, and "
                "method='recursion' needs all or none of them. Use method='brute' with X."
            )
        found = derived.columns(table) if all(inside) else []
        for number, column in enumerate(found):
            columns[next_column + number] = np.asarray(column, dtype=np.float64)
        next_column += derived.n_columns
    return (traversal or Traversal(fitted.model.ensemble)).score(columns)


def brute_score(
    fitted: FittedModel,
    columns: Sequence[Vector],
    weight: Vector,
    known: Mapping[int, Vector],
    response: Response,
    n_curves: int = 0,
    seed: int = 0,
    offset: Vector | None = None,
) -> tuple[Vector, Vector | None]:
    """Return the mean response at every grid point, and the curves of some of the rows."""
    n, n_points = len(weight), len(next(iter(known.values())))
    kept = np.sort(np.random.default_rng(seed).choice(n, n_curves, replace=False))
    mean, curves = [], []
    used = fitted.used
    step = max(1, min(ROWS_AT_ONCE, CELLS_AT_ONCE // max(len(used), 1)) // n)
    for first in range(0, n_points, step):
        points = {j: values[first : first + step] for j, values in known.items()}
        several = min(step, n_points - first)
        unused = np.zeros(several * n)  # for columns that the model does not use
        moved = [np.tile(c, several) if j in used else unused for j, c in enumerate(columns)]
        for j, values in points.items():
            moved[j] = np.repeat(values, n)
        score = fitted.score(moved)
        if offset is not None:
            score = score + np.tile(offset, (several, 1))
        values = fitted.respond(score, response).reshape(several, n, -1)
        mean.append(np.average(values, axis=1, weights=weight))
        curves.append(values[:, kept])
    kept_curves = np.concatenate(curves).swapaxes(0, 1)
    return np.concatenate(mean), np.ascontiguousarray(kept_curves) if n_curves else None
